// What is downloaded, and when: nothing foreign, nothing of Python before the reader shows intent.
// @ts-check
import assert from "node:assert/strict";
import { START_LIMIT_MS } from "./act_page.mjs";
import { Snippet } from "./snippet_page.mjs";

/** Pyodide, its standard library, the worker that holds it, its wheels, and the acts' programs. */
export const OF_PYTHON = /\/(pyodide|library|wheels|acts)\/|\/worker-|\.whl(\.packed)?$|\.wasm$/;

/** The part of Python's standard library that a start leaves out. */
const REST = /\/python_rest\.zip$/;

const OUR_SCRIPTS = /\/assets\/live\/[^/]*\.js$/;
/** What a page without acts may bring of our own scripts, as sent; what is written into the site is held to the same by `finish/budgets.py`. */
const MOST_SCRIPTS = 15_000;

/** The act needed no more of Python's library than a start fetches. @param {import("../harness/server.mjs").SiteServer} server */
export function startWasEnough(server) {
  assert.deepEqual(server.log().filter(({ path }) => REST.test(path)), [], "the start holds all that the act imports");
}

/** @param {import("../harness/world.mjs").Facts} facts */
export function loadingTests({ once, widely }) {
  once("loading: focus on a snippet is intent, and progress is visible while Python loads", async ({ browser, server }) => {
    await browser.open(`${server.base}lab/act1/`);
    const snippet = new Snippet(browser, await browser.of("live-snippet", (host) => host.dataset.name));
    await snippet.ready();
    server.fault({ path: /pyodide\.asm\.wasm$/, delayMs: 1500 });
    // On a busy machine the words may be gone before a test comes to read them, so the page notes them.
    await browser.eval((selector) => {
      const chip = /** @type {HTMLElement} */ (document.querySelector(selector));
      document.body.dataset.words = "";
      const note = () => void (document.body.dataset.words += `${chip.textContent}; `);
      new MutationObserver(note).observe(chip, { childList: true, characterData: true, subtree: true });
    }, `${snippet.host} [data-slot="state"]`);
    await snippet.focusEditor();
    await browser.waitFor(`${snippet.host} [data-slot="state"][data-phase="ready"]`, START_LIMIT_MS, "Python to be ready");
    assert.match((await browser.eval(() => document.body.dataset.words)) ?? "", /Python loads \d+ %; /);
    assert.ok(server.log().some(({ path }) => OF_PYTHON.test(path)));
  });

  once("loading: the home page, read to its foot, brings few scripts, and none that keeps the book before it is asked for", async ({ browser, server }) => {
    await browser.open(server.base);
    await browser.eval(() => scrollTo(0, document.body.scrollHeight));
    await browser.waitFor("live-keep button");
    await browser.waitFor('live-figure[data-ready="true"]');
    const ours = () => server.log().filter(({ path }) => OUR_SCRIPTS.test(path));
    const sum = ours().reduce((bytes, one) => bytes + one.bytes, 0);
    assert.ok(sum <= MOST_SCRIPTS, `${sum} bytes: ${ours().map(({ path, bytes }) => `${path} ${bytes}`).join(", ")}`);
    const before = ours().length;
    await browser.click({ role: "button", name: "Keep this book", exact: true, within: "live-keep" });
    await browser.waitFor({ role: "button", name: "Not now", exact: true, within: "live-keep" });
    assert.ok(ours().length > before, "what keeps it comes when it is asked for");
  });

  widely("loading: a start brings only what it imports of Python's library; an import of more fetches the rest, once", async ({
    browser,
    server,
  }) => {
    await browser.open(`${server.base}lab/act1/`);
    const snippet = new Snippet(browser, await browser.of("live-snippet", (host) => host.dataset.name));
    await snippet.ready();
    const rest = () => server.log().filter(({ path }) => REST.test(path));
    await snippet.write("import statistics\nprint(statistics.mean([1, 3]))");
    server.fault({ path: REST, status: 503 });
    assert.match(await snippet.run(), /^statistics is in the part of Python's library that is fetched on demand, which could not be downloaded\.$/);
    assert.equal(rest().length, 1, "nothing before the import has asked for the rest");

    server.heal();
    assert.equal(await snippet.run(), "2", "a failed download is tried again");
    await snippet.write("import decimal, encodings.cp1252\nprint(decimal.Decimal('0.1') * 3, 'é'.encode('latin-1'))");
    assert.equal(await snippet.run(), "0.3 b'\\xe9'", "a package that the start holds in part is completed");
    assert.equal(rest().length, 2, "what was fetched is not fetched again");
    await snippet.write("import tkinter");
    assert.match(await snippet.run(), /^tkinter needs an operating system/);
  });
}
