// Accessibility by axe-core: the act before and after the reveal, in light and dark.
// @ts-check
import assert from "node:assert/strict";
import { violationsInLightAndDark } from "../harness/axe.mjs";
import { openAct, predict, revealButton, set, verdictShown } from "./act_page.mjs";

/** @param {import("../harness/world.mjs").Facts} facts */
export function accessTests({ everywhere }) {
  everywhere("access: axe-core finds no violation in the act unlocked, out of memory and revealed, light and dark", async (all) => {
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
