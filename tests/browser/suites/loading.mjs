// What is downloaded, and when: nothing foreign, nothing of Python before the reader shows intent.
// @ts-check
import assert from "node:assert/strict";
import { fact, newReader } from "../harness/world.mjs";
import { Snippet } from "./snippet_page.mjs";

/** Pyodide, the worker that holds it, its manifest and wheels, and the acts' programs. */
const OF_PYTHON = /\/(pyodide|wheels|acts)\/|\/worker-|runtime\.json$|\.whl$|\.wasm$/;
const SETTLE_MS = 500;

/** @param {() => import("../harness/world.mjs").World} world */
export function loadingTests(world) {
  fact(world, "loading: no page fetches a byte of Python before intent, and none fetches anything twice gone wrong", async (all) => {
    const { browser, server, sample } = all;
    for (const page of sample) {
      await newReader(all);
      await browser.open(server.base + page);
      const acts = await browser.eval(() => document.querySelectorAll("live-act").length);
      // A page with an act in view may start; every other page must stay quiet, down to its end.
      if (!acts) await browser.eval(() => scrollTo(0, document.body.scrollHeight));
      await new Promise((done) => setTimeout(done, SETTLE_MS));
      const log = server.log();
      if (!acts) {
        assert.deepEqual(log.filter(({ path }) => OF_PYTHON.test(path)), [], `${page || "home"} fetched Python`);
      }
      assert.deepEqual(log.filter(({ status }) => status >= 400), [], `${page || "home"} asks for what is not there`);
    }
  });

  fact(world, "loading: focus on a snippet is intent, and progress is visible while Python loads", async ({ browser, server }) => {
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
