// What readers of an earlier site kept is read by this one: their ledger, their edits of snippets, and their copy of the book.
//
// `earlier_site.json` is what that site itself left in a browser, and says how it was made: whoever changes a name or a shape has to
// bring over what lies under the old one.
// @ts-check
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { actReady, position } from "./act_page.mjs";
import { ACT_3, choice, LEDGER, ledgerDocument, number, open } from "./lab_page.mjs";
import { COPY_LIMIT_MS } from "./offline.mjs";
import { Snippet } from "./snippet_page.mjs";

const KEPT = JSON.parse(readFileSync(new URL("earlier_site.json", import.meta.url), "utf8"));
/** In the journal: the tab ended before the database had it. */
const JOURNAL = /^iron-law\/ledger\//;
const EDIT = /^iron-law\/snippet\/(.*)\.md\/(\w+)\//;

/** @param {import("../harness/world.mjs").Facts} facts */
export function earlierSiteTests({ widely, full }) {
  widely("earlier site: the ledger and an edit of a snippet are there as they were left", async (all) => {
    const { browser, server } = all;
    await browser.eval(writeStorage, KEPT);
    await browser.open(server.base + LEDGER);
    await browser.waitFor("live-ledger h2");
    const journal = Object.entries(KEPT.localStorage).flatMap(([key, text]) => (JOURNAL.test(key) ? [JSON.parse(text)] : []));
    const entries = [...KEPT.database.rows, ...journal];
    assert.equal(entries.length, 3);
    const shown = await browser.text("live-ledger");
    for (const { account } of entries) assert.ok(shown.includes(account.title) && shown.includes(`Prediction ${account.prediction}`), account.title);
    assert.deepEqual((await ledgerDocument(browser)).acts, Object.fromEntries(entries.map(({ act, ...rest }) => [act, rest])), "nothing of it is lost");

    for (const { account, memory } of entries) {
      await open(all, account.page);
      assert.equal(await browser.of(number, (input) => Number(input.value)), memory.prediction, account.page);
      const set = account.page === ACT_3 ? choice("precision", "Mixed") : account.page === "lab/act1/" ? position("Precision", "Mixed") : choice("every", "800");
      assert.equal(await browser.of(set, (input) => input.checked), true, account.page);
    }
    await browser.open(`${server.base}missions/defense/`);
    await browser.waitFor("live-defense textarea");
    assert.equal(await browser.of("live-defense textarea", (box) => box.value), "Checkpoints were the longest pole.");

    const [key, text] = /** @type {[string, string]} */ (Object.entries(KEPT.localStorage).find(([key]) => EDIT.test(key)));
    const [, page, name] = /** @type {string[]} */ (/** @type {unknown} */ (EDIT.exec(key)));
    await browser.open(`${server.base}${page}/`);
    const snippet = new Snippet(browser, String(name));
    await snippet.ready();
    await browser.waitFor(`${snippet.host} .cm-content`);
    assert.equal(await snippet.code(), JSON.parse(text));
  });

  full("earlier site: a copy of the book that it kept is known, and brought up to date", async ({ browser, server }) => {
    const { cache } = KEPT.copy;
    await browser.eval(keepCopy, KEPT.copy, server.base);
    await browser.open(server.base);
    await browser.waitFor(async () => {
      const names = (await caches.keys()).filter((name) => name.startsWith("iron-law-book"));
      const lists = await Promise.all(names.map(async (name) => (await caches.open(name)).match(new URL("offline.json", location.href).href)));
      return lists.filter(Boolean).length === 2;
    }, COPY_LIMIT_MS, "the whole of this release");
    assert.ok((await browser.eval(() => caches.keys())).includes(cache), "the release before stays for its tabs");
    server.lose(true);
    await browser.open(server.base + ACT_3);
    await actReady(browser);
  });
}

/** In a page: stores what the earlier site stored. @param {{localStorage: Record<string, string>, database: {name: string, version: number, store: string, keyPath: string, rows: object[]}}} kept */
const writeStorage = ({ localStorage: texts, database: { name, version, store, keyPath, rows } }) =>
  new Promise((done, fail) => {
    for (const [key, text] of Object.entries(texts)) localStorage.setItem(key, text);
    const opened = indexedDB.open(name, version);
    opened.onerror = () => fail(opened.error);
    opened.onupgradeneeded = () => void opened.result.createObjectStore(store, { keyPath });
    opened.onsuccess = () => {
      const change = opened.result.transaction(store, "readwrite");
      for (const row of rows) change.objectStore(store).put(row);
      change.onerror = () => fail(change.error);
      change.oncomplete = () => {
        opened.result.close();
        done(null);
      };
    };
  });

/** In a page: keeps a release of the site at `root` as the earlier site did; its list comes last.
 * @param {{cache: string, headers: Record<string, string>, list: {files: Record<string, unknown>}}} copy @param {string} root */
async function keepCopy({ cache: name, headers, list }, root) {
  const cache = await caches.open(name);
  for (const file of Object.keys(list.files)) await cache.put(root + file, new Response("of that release"));
  await cache.put(`${root}offline.json`, new Response(JSON.stringify(list), { headers }));
}
