// Accessibility by axe-core: every page, and the act before and after the reveal, in light and dark.
// @ts-check
import assert from "node:assert/strict";
import { violationsInLightAndDark } from "../harness/axe.mjs";
import { fact } from "../harness/world.mjs";
import { openAct, predict, revealButton, set, verdictShown } from "./act_page.mjs";

/** The pages are many, and the longest have ten thousand elements. */
const LIMIT_MS = 600_000;

/** @param {() => import("../harness/world.mjs").World} world */
export function accessTests(world) {
  fact(
    world,
    "access: axe-core finds no violation on any page, light and dark",
    async ({ browser, server, sample }) => {
      /** @type {string[]} */
      const found = [];
      for (const page of sample) {
        // Chromium 150 crashes in a page in which axe-core has looked at a dozen pages in a chosen scheme.
        await browser.renew();
        await browser.open(server.base + page);
        found.push(...(await violationsInLightAndDark(browser, page || "home")));
      }
      assert.deepEqual(found, []);
    },
    { limitMs: LIMIT_MS },
  );

  fact(world, "access: axe-core finds no violation in the act unlocked, out of memory and revealed, light and dark", async (all) => {
    const { browser } = all;
    /** @type {string[]} */
    const found = [];
    const look = async (/** @type {string} */ state) => {
      found.push(...(await violationsInLightAndDark(browser, state)));
    };
    await openAct(all);
    await predict(browser, "About 3 GB");
    await set(browser, "Optimizer", "Adam");
    await look("unlocked");
    await set(browser, "Batch size", "64");
    await look("out of memory");
    await browser.click(revealButton);
    await verdictShown(browser);
    await look("revealed");
    assert.deepEqual(found, []);
  });
}
