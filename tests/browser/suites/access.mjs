// Accessibility by axe-core: the act before and after the reveal, and what a pointer brings up, in light and dark.
// @ts-check
import assert from "node:assert/strict";
import { COLOR, violations, violationsInLightAndDark } from "../harness/axe.mjs";
import { chooseScheme } from "../harness/scheme.mjs";
import { openAct, predict, revealButton, set, verdictShown } from "./act_page.mjs";

/** @param {import("../harness/world.mjs").Facts} facts */
export function accessTests({ once }) {
  once("access: the tooltips of the header have contrast enough, light and dark", async ({ browser, server }) => {
    await browser.open(server.base);
    for (const scheme of /** @type {const} */ (["light", "dark"])) {
      await chooseScheme(browser, scheme);
      const { x, y } = await browser.of("[data-md-component=palette] label:not([hidden])", (label) => {
        const { left, top, width, height } = label.getBoundingClientRect();
        return { x: left + width / 2, y: top + height / 2 };
      });
      await browser.driver.point(x, y);
      await browser.waitFor(".md-tooltip--active .md-tooltip__inner");
      assert.deepEqual(await violations(browser, COLOR), [], scheme);
    }
  });

  once("access: what a tooltip says is text to read, not a label", async ({ browser, server }) => {
    await browser.open(`${server.base}claims/`);
    const { x, y } = await browser.of("article p > .il-number", (number) => {
      number.scrollIntoView({ block: "center", behavior: "instant" });
      const { left, top, width, height } = number.getBoundingClientRect();
      return { x: left + width / 2, y: top + height / 2 };
    });
    await browser.driver.point(x, y);
    const { size, weight } = await browser.of('[role="tooltip"] > .md-tooltip2__inner', (tip) => ({
      size: Number.parseFloat(getComputedStyle(tip).fontSize),
      weight: getComputedStyle(tip).fontWeight,
    }));
    assert.ok(size >= 13, `its letters are ${size} px`);
    assert.equal(weight, "400");
  });

  once("access: axe-core finds no violation in the act unlocked, out of memory and revealed, light and dark", async (all) => {
    const { browser } = all;
    /** @type {string[]} */
    const found = [];
    const look = async (/** @type {string} */ state) => {
      found.push(...(await violationsInLightAndDark(browser, state, "main article")));
    };
    await openAct(all);
    await predict(browser, "3");
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
