// The pages around the acts: light and dark, a phone's width.
// @ts-check
import assert from "node:assert/strict";
import { chooseScheme } from "../harness/scheme.mjs";
import { openAct, position, predict, set } from "./act_page.mjs";

const PHONE_PX = 360;
const PHONE_HIGH_PX = 740;
/** Presses of Tab from the first instrument to the reveal. */
const INSTRUMENTS = 9;

/** @param {import("../harness/world.mjs").Facts} facts */
export function pageTests({ once }) {
  once("pages: the chart follows the switch between light and dark without being drawn again", async (all) => {
    const { browser } = all;
    await openAct(all);
    await predict(browser, "3");
    await set(browser, "Optimizer", "Adam");
    const ink = () =>
      browser.of('live-act [data-slot="plot"] svg', (svg) => {
        const text = svg.querySelector("text[fill]:not([fill=none])") ?? svg.querySelector("text");
        return getComputedStyle(text).fill;
      });
    await chooseScheme(browser, "light");
    const light = await ink();
    await chooseScheme(browser, "dark");
    await browser.waitFor(() => document.body.getAttribute("data-md-color-scheme") === "slate");
    assert.notEqual(await ink(), light);
    await set(browser, "Optimizer", "Momentum");
    await chooseScheme(browser, "light");
    assert.equal(await ink(), light);
  });

  once("pages: on a phone, the chart that stays in view never covers what has the keyboard's focus", async (all) => {
    const { browser } = all;
    await openAct(all);
    await browser.resize(PHONE_PX, PHONE_HIGH_PX);
    await predict(browser, "3");
    await browser.focus(position("Context", "Training node"));
    /** @type {string[]} */
    const covered = [];
    // Forwards through the instruments to the reveal, and back: the browser scrolls to what gets the focus.
    for (const key of [...Array(INSTRUMENTS).fill("Tab"), ...Array(INSTRUMENTS).fill("Shift+Tab")]) {
      await browser.press(key);
      const name = await browser.eval(async () => {
        const focused = /** @type {HTMLInputElement} */ (document.activeElement);
        const seen = focused.labels?.[0] ?? focused;
        const covers = () => {
          const box = seen.getBoundingClientRect();
          const top = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
          return top === null || !(seen.contains(top) || top.contains(seen));
        };
        // Browser and page both scroll to the focus, WebKit some frames later, and a busy machine later still.
        await new Promise((done) => setTimeout(done, 150));
        for (let left = 400; left > 0 && covers(); left -= 1) await new Promise((done) => setTimeout(done, 50));
        return covers() ? (seen.textContent ?? "") : "";
      });
      if (name) covered.push(name);
    }
    assert.deepEqual(covered, []);

    const room = await browser.eval(async () => {
      const focused = /** @type {HTMLInputElement} */ (document.activeElement);
      const [seen, stage] = [focused.labels?.[0] ?? focused, /** @type {HTMLElement} */ (document.querySelector('live-act [data-slot="stage"]'))];
      const between = () => seen.getBoundingClientRect().top - stage.getBoundingClientRect().bottom;
      focused.blur();
      focused.focus({ preventScroll: true });
      scrollBy({ top: between() - 4, behavior: "instant" });
      // On a busy machine the chart gets its height after the focus has come.
      await new Promise((done) => setTimeout(done, 400));
      stage.style.paddingBottom = "80px";
      for (let left = 60; left > 0 && between() < 0; left -= 1) await new Promise((done) => setTimeout(done, 50));
      return between();
    });
    assert.ok(room >= 0, `a chart that grows covers ${-room} px of what has the focus`);
  });
}
