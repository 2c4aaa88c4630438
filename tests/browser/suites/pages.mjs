// The pages around the acts: instant navigation, light and dark, a phone's width.
// @ts-check
import assert from "node:assert/strict";
import { chooseScheme } from "../harness/scheme.mjs";
import { actReady, chartSays, instrumentsOpen, openAct, position, predict, set } from "./act_page.mjs";
import { Snippet } from "./snippet_page.mjs";

const PHONE_PX = 360;
const PHONE_HIGH_PX = 740;
/** Presses of Tab from the first instrument to the reveal. */
const INSTRUMENTS = 9;

/** @param {import("../harness/world.mjs").Facts} facts */
export function pageTests({ everywhere, once }) {
  everywhere("pages: widgets work after instant navigation to them, away from them, and back", async ({ browser, server }) => {
    await browser.open(server.base);
    await browser.eval(() => void Object.assign(window, { sameDocument: true }));
    await browser.click({ role: "link", name: "Play the first act" });
    await actReady(browser);
    await predict(browser, "3");
    await set(browser, "Optimizer", "Adam");

    // The tabs cannot be clicked while the page is scrolled down, nor for a moment after it was scrolled up.
    await browser.eval(() => scrollTo(0, 0));
    await browser.click({ role: "link", name: "Measured", within: ".md-tabs:not([hidden])" });
    await browser.waitFor(() => !document.querySelector("live-act") && location.pathname.endsWith("/measured/"));
    await browser.eval(() => history.back());
    await actReady(browser);
    await instrumentsOpen(browser);
    // The controls are where they were, and so is the chart.
    await chartSays(browser, "Adam m 6.23 GB");
    await set(browser, "Optimizer", "Momentum");
    const name = await browser.of("live-snippet", (host) => host.dataset.name);
    const snippet = new Snippet(browser, name);
    const baked = await snippet.output();
    assert.equal(await snippet.run(), baked);
    assert.equal(await browser.eval(() => "sameDocument" in window), true, "the navigation was instant all along");
    const starts = server.log().filter(({ path }) => /\/worker-[^/]*\.js$/.test(path));
    assert.equal(starts.length, 1, "one worker served both visits");
  });

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
        for (let left = 40; left > 0 && covers(); left -= 1) await new Promise((done) => setTimeout(done, 50));
        return covers() ? (seen.textContent ?? "") : "";
      });
      if (name) covered.push(name);
    }
    assert.deepEqual(covered, []);
  });
}
