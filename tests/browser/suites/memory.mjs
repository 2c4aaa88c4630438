// Memory that is freed: that of an act that was removed, and what the theme keeps of pages that were left.
// @ts-check
import assert from "node:assert/strict";
import { actReady, chartSays, openAct, predict, set } from "./act_page.mjs";

/** @typedef {import("../harness/browser.mjs").Browser} Browser */

const ROUNDS = 8;
const LOOKS = 3;
/** A page loads in full after 3 pages instead of 30, so that the test is short. @type {import("../harness/server.mjs").Fault} */
const SHORT = { path: /\/live-\w+\.js$/, replace: ['"pages": 30', '"pages": 3'] };

/** @param {import("../harness/world.mjs").Facts} facts */
export function memoryTests({ once }) {
  once("memory: an act that is taken away leaves no listener, no node and no worker behind", async (all) => {
    const { browser } = all;
    await openAct(all);
    await predict(browser, "3");
    await set(browser, "Optimizer", "Adam");
    // The first rounds make what is made only once, such as caches.
    await replaced(browser, 2);
    const before = await least(browser);
    await replaced(browser, ROUNDS);
    const after = await least(browser);
    const report = JSON.stringify({ before, after });
    assert.ok(after.listeners - before.listeners < ROUNDS, `a listener stays with each act: ${report}`);
    assert.ok(after.nodes - before.nodes < 20 * ROUNDS, `nodes stay with each act: ${report}`);
    assert.ok(after.bytes - before.bytes < 100_000 * ROUNDS, `memory stays with each act: ${report}`);
    assert.equal(after.workers, before.workers);
  });

  once("memory: after many pages the next link loads its page in full", async ({ browser, server }) => {
    server.fault(SHORT);
    await browser.open(server.base);
    await browser.eval(() => void Object.assign(window, { sameDocument: true }));
    /** @type {(boolean | undefined)[]} */
    const visits = [];
    for (const [name, path] of /** @type {const} */ ([["Measured", "measured/"], ["Lab", "lab/"], ["Measured", "measured/"], ["Lab", "lab/"]])) {
      await browser.eval(() => scrollTo(0, 0));
      await browser.click({ role: "link", name, within: ".md-tabs:not([hidden])" });
      visits.push(await arrived(browser, server.base + path));
    }
    assert.deepEqual(visits, [true, true, true, false], "three more pages in the same document, and then a new one");
  });
}

/** The smallest of several footprints, with a new act between them: a leak is in each of them, memory that is freed late is not.
 * @param {Browser} browser */
async function least(browser) {
  const looks = [await browser.driver.footprint()];
  while (looks.length < LOOKS) {
    await replaced(browser, 1);
    looks.push(await browser.driver.footprint());
  }
  /** @param {keyof import("../harness/browser.mjs").Footprint} of */
  const fewest = (of) => Math.min(...looks.map((look) => look[of]));
  return { nodes: fewest("nodes"), listeners: fewest("listeners"), bytes: fewest("bytes"), workers: fewest("workers") };
}

/** Waits for the page of an address; says whether the document is still the first. @param {Browser} browser @param {string} url */
async function arrived(browser, url) {
  const until = Date.now() + 10_000;
  for (;;) {
    const [there, same] = await browser.eval(
      (wanted) => [location.href === wanted && document.querySelector('link[rel="canonical"]')?.getAttribute("href")?.endsWith(new URL(wanted).pathname.split("/").slice(-2).join("/")), "sameDocument" in window],
      url,
    ).catch(() => [false, false]);
    if (there) return same;
    if (Date.now() > until) throw new Error(`${browser.engine}: ${url} did not come`);
  }
}

/** Takes the act out and puts a new one in, as navigation between two pages with acts does. @param {Browser} browser @param {number} rounds */
async function replaced(browser, rounds) {
  for (let round = 0; round < rounds; round += 1) {
    await browser.eval(() => {
      const act = /** @type {HTMLElement} */ (document.querySelector("live-act"));
      const html = document.createElement("div");
      const place = /** @type {HTMLElement} */ (act.parentElement);
      const next = act.nextSibling;
      html.append(act.cloneNode(true));
      const copy = /** @type {HTMLElement} */ (html.firstElementChild);
      delete copy.dataset["ready"];
      act.remove();
      place.insertBefore(copy, next);
    });
    await actReady(browser);
    await chartSays(browser, "Adam m 6.23 GB");
  }
}
