// Accessibility by axe-core: every page, and the act before and after the reveal, in light and dark.
// @ts-check
import assert from "node:assert/strict";
import { violations } from "../harness/axe.mjs";
import { chooseScheme } from "../harness/scheme.mjs";
import { fact } from "../harness/world.mjs";
import { openAct, predict, revealButton, set, verdictShown } from "./act_page.mjs";

/** @typedef {import("../harness/scheme.mjs").Scheme} Scheme */

/** @type {Scheme[]} */
const SCHEMES = ["light", "dark"];

/** @param {() => import("../harness/world.mjs").World} world */
export function accessTests(world) {
  for (const scheme of SCHEMES) {
    fact(world, `access: axe-core finds no violation on any page, ${scheme}`, async ({ browser, server, pages }) => {
      await browser.open(server.base);
      // The choice is kept by the site, so that every later page comes in it.
      await chooseScheme(browser, scheme);
      /** @type {string[]} */
      const found = [];
      for (const page of pages) {
        // Chromium 150 crashes in a page in which axe-core has looked at a dozen pages in a chosen scheme.
        await browser.renew();
        await browser.open(server.base + page);
        found.push(...(await violations(browser)).map((line) => `${page || "home"}: ${line}`));
      }
      assert.deepEqual(found, []);
    });
  }

  fact(world, "access: axe-core finds no violation in the act unlocked, out of memory and revealed, light and dark", async (all) => {
    const { browser } = all;
    /** @type {string[]} */
    const found = [];
    const look = async (/** @type {string} */ state) => {
      for (const scheme of SCHEMES) {
        await chooseScheme(browser, scheme);
        found.push(...(await violations(browser)).map((line) => `${state}, ${scheme}: ${line}`));
      }
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
