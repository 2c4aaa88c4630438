// What readers of an earlier site kept is read by this one: their ledger, their edits of snippets, and their copy of the book.
//
// The names and the shapes are those that the site of commit 56db28b (23 November 2026) wrote, as literals: whoever changes a name
// has to bring over what lies under the old one.
// @ts-check
import assert from "node:assert/strict";
import { actReady } from "./act_page.mjs";
import { ACT_3, LEDGER, ledgerDocument, lever, number, open } from "./lab_page.mjs";
import { COPY_LIMIT_MS } from "./offline.mjs";
import { Snippet } from "./snippet_page.mjs";

const MOMENT = Date.UTC(2026, 10, 23, 3, 5);
const RACE = {
  act: "cloud-pipeline-race",
  updated: MOMENT,
  stage: "revealed",
  memory: {
    prediction: 1.5,
    context: "cloud",
    controls: { devices: 1280, workers: 4, augmentation: "rules", every: 200 },
    explored: true,
    revealed: true,
    answers: {},
    checked: [],
    moves: [
      {
        control: "every",
        from: 50,
        to: 200,
        before: { value: "9.6", unit: "" },
        after: { value: "11.2", unit: "" },
      },
    ],
    argument: "Checkpoints were the longest pole.",
  },
  account: {
    title: "Cloud Titan 2: The Staged Race",
    page: "missions/cloud-race/",
    engine: "0.1.0+1a2b3c4d",
    question: "1,280 GPUs become 2,560. How many times as fast does training become?",
    prediction: "1.5 times",
    context: "256 nodes of H100",
    controls: [{ label: "Checkpoint every", value: "200" }],
    headline: { label: "New texts per second", value: "11.2", unit: "" },
    failure: null,
    verdict: { correct: true, headline: "1.5 times as fast.", gap: { answer: 1.5, difference: 0, factor: 1 } },
    moves: ["Checkpoint every 50 became 200: 9.6, then 11.2."],
    reflections: [],
    fields: {},
  },
};
/** In the journal: the tab ended before the database had it. */
const GAP = {
  act: "mfu-gap",
  updated: MOMENT,
  stage: "revealed",
  memory: {
    prediction: 70,
    context: "a100",
    controls: { prefetch: true, checkpointing: false, precision: "mixed", batch: 32 },
    explored: true,
    revealed: true,
    answers: {},
    checked: [],
    moves: [],
  },
  account: null,
};
const EDIT = 'print("mine")';
const PAGE = "chapter/precision/";
/** @type {[string, string][]} */
const STORED = [
  ["iron-law/ledger/mfu-gap/k3v9x0q2", JSON.stringify(GAP)],
  ["iron-law/snippet/chapter/precision.md/vanish/b58a4c9d-156", JSON.stringify(EDIT)],
];

/** @param {import("../harness/world.mjs").Facts} facts */
export function earlierSiteTests({ widely }) {
  widely("earlier site: the ledger and an edit of a snippet are there as they were left", async (all) => {
    const { browser, server } = all;
    await browser.eval(writeStorage, STORED, RACE);
    await browser.open(server.base + LEDGER);
    await browser.waitFor("live-ledger h2");
    assert.match(await browser.text("live-ledger"), /Cloud Titan 2: The Staged Race.*Prediction 1\.5 times/);
    const { acts } = await ledgerDocument(browser);
    assert.deepEqual(Object.keys(acts).sort(), [RACE.act, GAP.act]);
    const { act: _, ...race } = RACE;
    assert.deepEqual(acts[RACE.act], race, "nothing of it is lost");
    assert.deepEqual(acts[GAP.act].memory, GAP.memory);

    for (const [page, said] of [[RACE.account.page, "1.5"], [ACT_3, "70"]]) {
      await open(all, String(page));
      assert.equal(await browser.of(number, (input) => input.value), said, page);
    }
    assert.equal(await browser.of(lever("Prefetching"), (input) => input.checked), true);

    await browser.open(server.base + PAGE);
    const snippet = new Snippet(browser, "vanish");
    await snippet.ready();
    await browser.waitFor(`${snippet.host} .cm-content`);
    assert.equal(await snippet.code(), EDIT);
  });

  widely("earlier site: a copy of the book that it kept is known, and brought up to date", async ({ browser, server }) => {
    const before = await browser.eval(keepEarlier, server.base);
    await browser.open(server.base);
    await browser.waitFor(async () => {
      const names = (await caches.keys()).filter((name) => name.startsWith("iron-law-book"));
      const lists = await Promise.all(names.map(async (name) => (await caches.open(name)).match(new URL("offline.json", location.href).href)));
      return lists.filter(Boolean).length === 2;
    }, COPY_LIMIT_MS, "the whole of this release");
    assert.ok((await browser.eval(() => caches.keys())).includes(before), "the release before stays for its tabs");
    server.lose(true);
    await browser.open(server.base + ACT_3);
    await actReady(browser);
  });
}

/** In a page: stores what the earlier site stored. @param {[string, string][]} stored @param {object} entry */
const writeStorage = (stored, entry) =>
  new Promise((done, fail) => {
    for (const [key, text] of stored) localStorage.setItem(key, text);
    const opened = indexedDB.open("iron-law", 1);
    opened.onerror = () => fail(opened.error);
    opened.onupgradeneeded = () => void opened.result.createObjectStore("acts", { keyPath: "act" });
    opened.onsuccess = () => {
      const change = opened.result.transaction("acts", "readwrite");
      change.objectStore("acts").put(entry);
      change.onerror = () => fail(change.error);
      change.oncomplete = () => {
        opened.result.close();
        done(null);
      };
    };
  });

/** In a page: keeps a release of the site at `root` as the earlier site did. Returns the name of its cache. @param {string} root */
async function keepEarlier(root) {
  const name = `iron-law-book ${new URL(root).pathname} 0.1.0+11112222`;
  const cache = await caches.open(name);
  const files = { "index.html": [5, "2cf24dba5fb0a30e"] };
  await cache.put(`${root}index.html`, new Response("hello", { headers: { "content-type": "text/html" } }));
  const headers = { "content-type": "application/json", "x-kept": "1795403100000" };
  await cache.put(`${root}offline.json`, new Response(JSON.stringify({ release: "0.1.0+11112222", files }), { headers }));
  return name;
}
