// What every test gets: a browser of one engine, the site's server, the refusing proxy; and how a test begins and ends.
// @ts-check
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { BrowserCrash, DESKTOP } from "./browser.mjs";
import { askedByTheSite } from "./foreign.mjs";
import { BLANK_PATH } from "./server.mjs";
import { RESULTS } from "./site.mjs";

/** Where a failed test leaves its picture. */
export const EVIDENCE = join(RESULTS, "browser");
/** Generous: a machine that is busy with something else must not look like a defect. */
const TEST_LIMIT_MS = 600_000;
/** The same for one call to the browser's storage. */
const STORAGE_LIMIT_MS = 60_000;

/**
 * @typedef {object} World
 * @property {import("./browser.mjs").Browser} browser
 * @property {import("./server.mjs").SiteServer} server
 * @property {import("./proxy.mjs").RefusingProxy} proxy
 * @property {string} site     folder of the built site
 * @property {string[]} pages  addresses of its pages, relative to its root
 * @property {boolean} [thorough]  is this the engine that visits every page?
 * @property {string[]} sample  the pages that this engine visits in tests that go through the site
 *
 * @typedef {object} Expectation
 * @property {boolean} [foreign]     the test itself asks for something foreign
 * @property {boolean} [pageErrors]  the test itself provokes uncaught errors in the page
 * @property {number} [limitMs]      the time it may take, where that depends on how many pages the site has
 *
 * @callback Register
 * @param {string} fact
 * @param {(world: World) => Promise<void>} body
 * @param {Expectation} [expected]
 * @returns {void}
 *
 * How a suite registers its tests.
 * @typedef {object} Facts
 * @property {Register} everywhere  in every engine: what depends on the engine (acts, Python, storage, rendering)
 * @property {Register} once        in one engine: what depends on the site's own code only
 * @property {Register} widely      in one engine, and in a full run in every engine
 * @property {Register} full        only in a full run, in one engine: what other tests prove in part
 * @property {Register} fully       only in a full run, in every engine
 */

/** Is this a full run (FULL=1)? Checks of a pull request have one beside the short run. */
export const FULL = Boolean(process.env["FULL"]);

/** Like a reader who comes for the first time: nothing stored, nothing logged, desktop size. @param {World} world */
export async function newReader({ browser, server, proxy }) {
  // Browsers keep pages that were left alive, each with its Python; with too many, Firefox starts no other Python.
  await browser.renew();
  await browser.resize(DESKTOP.width, DESKTOP.height);
  server.lose(false);
  await browser.open(server.origin + BLANK_PATH);
  await browser.eval(async (/** @type {number} */ limitMs) => {
    /** A step that does not end is named: the engine's own limit for a script would say only that the script took too long.
     * @template T @param {string} step @param {Promise<T>} doing @returns {Promise<T>} */
    const inTime = (step, doing) =>
      Promise.race([doing, new Promise((_, fail) => setTimeout(() => fail(new Error(`${step} did not end in ${limitMs} ms`)), limitMs))]);
    localStorage.clear();
    sessionStorage.clear();
    for (const name of await inTime("listing the caches", caches.keys())) await inTime(`deleting the cache ${name}`, caches.delete(name));
    const workers = await inTime("listing the service workers", navigator.serviceWorker.getRegistrations());
    for (const worker of workers) await inTime("unregistering a service worker", worker.unregister());
    const deleted = new Promise((done) => {
      const request = indexedDB.deleteDatabase("iron-law");
      request.onsuccess = request.onerror = () => done(undefined);
    });
    await inTime("deleting the database", deleted);
  }, STORAGE_LIMIT_MS);
  server.clear();
  proxy.clear();
  browser.driver.clearErrors();
}

/**
 * Registers tests that start as a new reader. A test fails also when the site asked a foreign host for something, or when
 * a page had an uncaught error; a failure leaves a picture and the page's text in test-results/browser/.
 * @param {() => World} world
 * @param {boolean} thorough  is this the engine that runs the tests of `once`, `widely` and `full`?
 * @returns {Facts}
 */
export function factsIn(world, thorough) {
  /** @type {Register} */
  const everywhere = (fact, body, expected = {}) => {
    const attempt = async () => {
      const { browser, proxy } = world();
      await newReader(world());
      await body(world());
      if (!expected.foreign) assert.deepEqual(askedByTheSite(proxy.asked()), [], "foreign addresses were asked for");
      if (!expected.pageErrors) assert.deepEqual(browser.driver.pageErrors(), [], "uncaught errors in the page");
    };
    test(fact, { timeout: expected.limitMs ?? TEST_LIMIT_MS }, async (context) => {
      const { browser } = world();
      try {
        /** @param {unknown} error */
        const again = (error) => {
          if (!(error instanceof BrowserCrash)) throw error;
          // Chromium 150 crashes now and then, mostly under many calls of its debugging protocol, and beside other work
          // twice in a row. A page that crashes it each time fails all the same.
          context.diagnostic(`${browser.engine} crashed (${error.message}); the test begins once more`);
          return attempt();
        };
        await attempt().catch(again).catch(again);
      } catch (error) {
        await keepEvidence(browser, fact);
        throw error;
      }
    });
  };
  /** @param {boolean} wanted @returns {Register} */
  const only = (wanted) => (wanted ? everywhere : () => {});
  return { everywhere, once: only(thorough), widely: only(thorough || FULL), full: only(thorough && FULL), fully: only(FULL) };
}

/** @param {import("./browser.mjs").Browser} browser @param {string} fact */
async function keepEvidence(browser, fact) {
  mkdirSync(EVIDENCE, { recursive: true });
  const stem = join(EVIDENCE, `${browser.engine}-${fact.toLowerCase().replace(/[^a-z0-9]+/g, "-").slice(0, 80)}`);
  try {
    await browser.screenshot(`${stem}.png`);
    const text = await browser.eval(() => `${location.href}\n\n${document.body.innerText}`);
    writeFileSync(`${stem}.txt`, `${text}\n\nuncaught errors:\n${browser.driver.pageErrors().join("\n")}\n`);
  } catch {
    // The browser itself is gone; the test's own error says more.
  }
}
