// What is downloaded, and when: nothing foreign, nothing of Python before the reader shows intent.
// @ts-check
import assert from "node:assert/strict";
import { Snippet } from "./snippet_page.mjs";

/** Pyodide, the worker that holds it, its manifest and wheels, and the acts' programs. */
export const OF_PYTHON = /\/(pyodide|wheels|acts)\/|\/worker-|runtime\.json$|\.whl$|\.wasm$/;

/** @param {import("../harness/world.mjs").Facts} facts */
export function loadingTests({ once }) {
  once("loading: focus on a snippet is intent, and progress is visible while Python loads", async ({ browser, server }) => {
    await browser.open(`${server.base}lab/act1/`);
    const snippet = new Snippet(browser, await browser.of("live-snippet", (host) => host.dataset.name));
    await snippet.ready();
    server.fault({ path: /pyodide\.asm\.wasm$/, delayMs: 1500 });
    await snippet.focusEditor();
    await browser.waitFor(
      `${snippet.host} [data-slot="state"][data-phase="loading"]`,
      10_000,
      "the snippet to say that Python loads",
    );
    assert.match(await browser.text(`${snippet.host} [data-slot="state"]`), /Python loads \d+ %/);
    await browser.waitFor(`${snippet.host} [data-slot="state"][data-phase="ready"]`, 45_000, "Python to be ready");
    assert.ok(server.log().some(({ path }) => OF_PYTHON.test(path)));
  });
}
