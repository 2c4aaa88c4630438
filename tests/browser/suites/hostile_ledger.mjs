// Ledgers that somebody made to do harm: in the browser's storage, which other code of the same host can write to, and in links.
// @ts-check
import assert from "node:assert/strict";
import { WAIT_MS } from "../harness/browser.mjs";
import { LEDGER, ledgerButton, ledgerDocument } from "./lab_page.mjs";

/** @param {string} page  the page that the entry names as that of its act */
const entryAt = (page) => ({
  updated: 1000,
  stage: "predicted",
  memory: { prediction: 7, context: "a100", controls: {}, explored: true, revealed: false, answers: {}, checked: [], moves: [] },
  account: {
    title: "An act", page, engine: "", question: "?", prediction: "7", context: "", controls: [], headline: null, failure: null,
    verdict: null, moves: [], reflections: [], fields: {},
  },
});

/** Puts an entry into the database, as a snippet's worker can. @param {string} act @param {object} entry */
const plant = async (act, entry) => {
  const database = await new Promise((opened) => {
    const request = indexedDB.open("iron-law", 1);
    request.onsuccess = () => opened(request.result);
  });
  const transaction = /** @type {IDBDatabase} */ (database).transaction("acts", "readwrite");
  transaction.objectStore("acts").put({ act, ...entry });
  await new Promise((done) => (transaction.oncomplete = done));
  /** @type {IDBDatabase} */ (database).close();
};

/** The fragment of a link that carries so many acts, all alike. @param {number} count @param {object} entry */
const linkOf = async (count, entry) => {
  const acts = Object.fromEntries(Array.from({ length: count }, (_, index) => [`act-${index}`, entry]));
  const fields = ["optimizer_chosen", "precision_chosen", "gradient_checkpointing", "final_mfu_pct", "baseline_mfu_estimate_pct"];
  const none = Object.fromEntries([...fields, "laptop_fit_achieved", "laptop_minimum_memory_gb"].map((field) => [field, null]));
  const document = { schema_version: 2, engine_version: "", chapter: 8, ...none, predictions: {}, gaps: {}, moves: {}, acts };
  const packed = new Blob([JSON.stringify(document)]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(packed).arrayBuffer());
  const text = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return `#ledger=${text.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}`;
};

/** @param {import("../harness/world.mjs").Facts} facts */
export function hostileLedgerTests({ once }) {
  once("hostile ledger: what other code has put into the storage becomes no link out of the site", async ({ browser, server }) => {
    await browser.open(server.base + LEDGER);
    await browser.waitFor("live-ledger a[download]");
    for (const page of ["javascript:document.title='ran'", "//example.org/", "lab/../../elsewhere/", "lab/act1/"]) {
      await browser.eval(plant, page.replace(/\W+/g, "-").replace(/^-|-$/g, ""), entryAt(page));
    }
    await browser.reload();
    await browser.waitFor("live-ledger h2");
    const links = await browser.eval(() =>
      [...document.querySelectorAll("live-ledger h2 a")].map((link) => /** @type {HTMLAnchorElement} */ (link).href),
    );
    assert.deepEqual(links, [`${server.base}lab/act1/`]);
    assert.equal(Object.keys((await ledgerDocument(browser)).acts).length, 4, "the acts themselves are not lost");
  });

  once("hostile ledger: a link of a thousand acts is refused, and one of eighty is shown in one go", async ({ browser, server }) => {
    await browser.open(server.base + LEDGER);
    await browser.waitFor("live-ledger a[download]");
    const [refused, shown] = [await browser.eval(linkOf, 1000, entryAt("lab/act1/")), await browser.eval(linkOf, 80, entryAt("lab/act1/"))];
    // From another page: where only the fragment of an address changes, the theme may show the page anew at any moment.
    await browser.open(server.base);
    await browser.open(server.base + LEDGER + refused);
    await browser.waitFor(() =>
      /was not opened.* acts: it must have at most 100 members/.test(document.querySelector("live-ledger p.il-trouble")?.textContent ?? ""),
    );

    await browser.open(server.base);
    await browser.open(server.base + LEDGER + shown);
    await browser.waitFor(`live-ledger [data-action="merge"]`);
    assert.match(await browser.text("live-ledger .il-ledger__offer"), /An act, 70 more/);
    await browser.eval(() => {
      const times = /** @type {{drawn: number}} */ ({ drawn: 0 });
      Object.assign(window, { times });
      const acts = /** @type {HTMLElement} */ (document.querySelector(".il-ledger__acts:not(.il-ledger__offer *)"));
      new MutationObserver((changes) => (times.drawn += changes.length)).observe(acts, { childList: true });
    });
    await browser.click(ledgerButton("Merge into mine"));
    await browser.waitFor(() => !document.querySelector('live-ledger [data-action="merge"]'), WAIT_MS, "the acts of the link to be merged");
    assert.equal(await browser.eval(() => /** @type {{times: {drawn: number}}} */ (/** @type {unknown} */ (window)).times.drawn), 1);
  });
}
