// Memory that is freed: that of an act that was removed, and what the theme keeps of pages that were left.
// @ts-check
import assert from "node:assert/strict";
import { WAIT_MS } from "../harness/browser.mjs";
import { actReady, chartSays, openAct, predict, set } from "./act_page.mjs";

/** @typedef {import("../harness/browser.mjs").Browser} Browser */

const ROUNDS = 4;
/** What is freed late, such as by a timer of the chart's, is freed within this time. */
const FREED_MS = 30_000;
/** A page loads in full after 3 pages instead of 30, so that the test is short. @type {import("../harness/server.mjs").Fault} */
const SHORT = { path: /\/live-\w+\.js$/, replace: ['"pages": 30', '"pages": 3'] };

/** @param {import("../harness/world.mjs").Facts} facts */
export function memoryTests({ once }) {
  once("memory: an act that is taken away leaves no listener, no node and no worker behind", async (all) => {
    const { browser } = all;
    await openAct(all);
    await predict(browser, "3");
    await set(browser, "Optimizer", "Adam");
    await replaced(browser, 1);
    const before = await browser.driver.footprint();
    await browser.eval(() => void Object.assign(window, { left: [] }));
    await replaced(browser, ROUNDS);
    const until = Date.now() + FREED_MS;
    let after = await browser.driver.footprint();
    let stays = await leftOver(browser);
    while (stays.length && Date.now() < until) {
      await new Promise((done) => setTimeout(done, 200));
      after = await browser.driver.footprint();
      stays = await leftOver(browser);
    }
    assert.deepEqual(stays, [], "nodes and drawn marks of acts that are gone stay in memory");
    assert.deepEqual(after, before, "listeners around the act and workers, after and before");
  });

  once("memory: after many pages the next link loads its page in full", async ({ browser, server }) => {
    server.fault(SHORT);
    await browser.open(server.base);
    await browser.eval(() => void Object.assign(window, { sameDocument: true }));
    /** @type {(boolean | undefined)[]} */
    const visits = [];
    for (const [name, path] of /** @type {const} */ ([["Compared", "measured/"], ["Lab", "lab/"], ["Compared", "measured/"], ["Lab", "lab/"]])) {
      await browser.eval(() => scrollTo(0, 0));
      await browser.click({ role: "link", name, within: ".md-tabs:not([hidden])" });
      visits.push(await arrived(browser, server.base + path));
    }
    assert.deepEqual(visits, [true, true, true, false], "three more pages in the same document, and then a new one");
  });
}

/** What is still in memory of the acts that were taken away: of each round, how many objects of how many, and examples.
 * @param {Browser} browser @returns {Promise<string[]>} */
const leftOver = (browser) =>
  browser.eval(() =>
    /** @type {WeakRef<Node>[][]} */ (Reflect.get(window, "left")).flatMap((act, round) => {
      const there = act.map((one) => one.deref()).filter((one) => one !== undefined);
      const kinds = [...new Set(there.map((one) => one.nodeName ?? "a drawn mark"))].slice(0, 5);
      return there.length ? [`round ${round}: ${there.length} of ${act.length}, ${kinds.join(", ")}`] : [];
    }),
  );

/** Waits for the page of an address; says whether the document is still the first. @param {Browser} browser @param {string} url */
async function arrived(browser, url) {
  const until = Date.now() + WAIT_MS;
  for (;;) {
    const [there, same] = await browser.eval(
      (wanted) => [location.href === wanted && document.querySelector('link[rel="canonical"]')?.getAttribute("href")?.endsWith(new URL(wanted).pathname.split("/").slice(-2).join("/")), "sameDocument" in window],
      url,
    ).catch(() => [false, false]);
    if (there) return same;
    if (Date.now() > until) throw new Error(`${browser.engine}: ${url} did not come`);
  }
}

/** Puts the act of the page as it was built in place of the one that was played, as navigation between two pages with acts does.
 * @param {Browser} browser @param {number} rounds */
async function replaced(browser, rounds) {
  for (let round = 0; round < rounds; round += 1) {
    await browser.eval(async () => {
      const built = new DOMParser().parseFromString(await (await fetch(location.href)).text(), "text/html");
      const act = /** @type {HTMLElement} */ (document.querySelector("live-act"));
      const next = /** @type {Element} */ (built.querySelector("live-act"));
      /** @type {HTMLElement | null} */ (act.querySelector('[data-part="explore"] input:enabled'))?.focus();
      /** @type {WeakRef<object>[]} */
      const objects = [];
      const nodes = document.createTreeWalker(act);
      for (let node = /** @type {Node | null} */ (act); node; node = nodes.nextNode()) {
        objects.push(new WeakRef(node));
        // Vega keeps the mark beside its node.
        const mark = /** @type {object | undefined} */ (Reflect.get(node, "__data__"));
        if (mark) objects.push(new WeakRef(mark));
      }
      /** @type {WeakRef<object>[][] | undefined} */ (Reflect.get(window, "left"))?.push(objects);
      act.replaceWith(document.adoptNode(next));
    });
    await actReady(browser);
    await chartSays(browser, "Adam m 6.23 GB");
  }
}
