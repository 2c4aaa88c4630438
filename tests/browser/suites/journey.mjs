// A reader's whole way through one act, by keyboard, and to other pages and back: the one long test that every engine runs.
// @ts-check
import assert from "node:assert/strict";
import { DESKTOP, WAIT_MS } from "../harness/browser.mjs";
import { describeLocator } from "../harness/locate.mjs";
import {
  actReady,
  answerBox,
  blank,
  chartSays,
  checkButton,
  confirmReset,
  feedback,
  fill,
  instrumentsOpen,
  lockButton,
  position,
  positions,
  redrawn,
  resetButton,
  revealButton,
  set,
  shown,
  verdict,
  verdictShown,
} from "./act_page.mjs";
import { Snippet } from "./snippet_page.mjs";

/** The blanks of the reflection, by their labels. */
const SAVING = "How much";
const REASON = "Why";

/** @param {import("../harness/world.mjs").Facts} facts */
export function journeyTests({ everywhere }) {
  everywhere("journey: Act 1 by keyboard, away and back without a reload, a program, a reload that keeps it all, a reset", async (all) => {
    const { browser, server } = all;
    await browser.open(server.base);
    await browser.eval(() => void Object.assign(window, { sameDocument: true }));
    await browser.click({ role: "link", name: "Play the first act" });
    await actReady(browser);
    const atFirst = await positions(browser);

    await tabTo(browser, { role: "link", name: "Skip to content" });
    await browser.press("Enter");
    await tabTo(browser, answerBox);
    await browser.type("12");
    await tabTo(browser, lockButton);
    await browser.press("Enter");
    await instrumentsOpen(browser);

    await tabTo(browser, position("Optimizer", "SGD"));
    await redrawn(browser, () => browser.press("ArrowRight"));
    await redrawn(browser, () => browser.press("ArrowRight"));
    await chartSays(browser, "Adam v 6.23 GB");
    await tabTo(browser, shown("Activations"));
    await browser.press("Space");
    await browser.waitFor(() => document.querySelector('[data-table="ledger"]')?.textContent?.includes("hidden"));

    await tabTo(browser, revealButton);
    await browser.press("Enter");
    await verdictShown(browser);
    assert.match(await browser.text(verdict), /You said 12 GB, and that is right: two FP32 numbers for every parameter are 12\.46 GB\./);
    await tabTo(browser, blank(SAVING));
    await fill(browser, SAVING, "half or more");
    await tabTo(browser, blank(REASON));
    await fill(browser, REASON, "every tensor");
    await tabTo(browser, checkButton);
    await browser.press("Enter");
    await browser.waitFor(`${feedback} li + li`);
    assert.match(await browser.text(feedback), /half or more.*Not so\..*every tensor.*Not so\./);
    await tabTo(browser, resetButton);
    const left = { positions: await positions(browser), verdict: await browser.text(verdict) };
    const stands = async () => {
      await verdictShown(browser);
      assert.deepEqual({ positions: await positions(browser), verdict: await browser.text(verdict) }, left);
      assert.equal(await browser.of(answerBox, (box) => box.value), "12");
      assert.equal(await browser.of(blank(SAVING), (select) => select.selectedOptions[0].label), "half or more");
    };

    // The tabs cannot be clicked while the page is scrolled down, nor for a moment after it was scrolled up.
    await browser.eval(() => scrollTo(0, 0));
    await browser.click({ role: "link", name: "Compared", within: ".md-tabs:not([hidden])" });
    await browser.waitFor(() => !document.querySelector("live-act") && location.pathname.endsWith("/measured/"));
    await browser.eval(() => history.back());
    await actReady(browser);
    await instrumentsOpen(browser);
    await chartSays(browser, "Adam v 6.23 GB");
    await stands();
    await set(browser, "Optimizer", "Momentum");
    await set(browser, "Optimizer", "Adam");
    await browser.resize(360, 740);
    const wider = await browser.of(blank(REASON), (select) => {
      const [root, chosen] = [document.documentElement, select.selectedIndex];
      const widths = [...select.options].map((_, at) => {
        select.selectedIndex = at;
        return root.scrollWidth - root.clientWidth;
      });
      select.selectedIndex = chosen;
      return Math.max(...widths);
    });
    assert.equal(wider, 0, "no answer makes the page wider than the window");
    await browser.resize(DESKTOP.width, DESKTOP.height);
    const snippet = new Snippet(browser, await browser.of("live-snippet", (host) => host.dataset.name));
    const baked = await snippet.output();
    assert.equal(await snippet.run(), baked, "the program prints what the build printed");
    assert.equal(await browser.eval(() => "sameDocument" in window), true, "the page was never loaded anew");
    const starts = server.log().filter(({ path }) => /\/worker-[^/]*\.js$/.test(path));
    assert.equal(starts.length, 1, "one worker served both visits");

    await browser.reload();
    await actReady(browser);
    // Browsers scroll to different places after a reload, and an act computes once it is in view.
    await browser.of("live-act", (element) => element.scrollIntoView());
    await instrumentsOpen(browser);
    await stands();

    await browser.click(resetButton);
    await browser.click(confirmReset);
    await browser.waitFor('live-act [data-slot="controls"][disabled]', WAIT_MS, "the instruments to lock again");
    assert.equal(await browser.text(verdict), "");
    assert.deepEqual(await positions(browser), atFirst);
    await browser.reload();
    await actReady(browser);
    assert.equal(await browser.of(answerBox, (box) => box.value), "");
    assert.equal(await browser.text(verdict), "");
  });
}

/** Presses Tab until the element has the focus. @param {import("../harness/browser.mjs").Browser} browser
 * @param {import("../harness/locate.mjs").Locator} locator */
async function tabTo(browser, locator) {
  for (let press = 0; press < 150; press += 1) {
    if (await browser.of(locator, (element) => {
      const radio = element instanceof HTMLInputElement && element.type === "radio";
      const active = document.activeElement;
      // Tab stops only once in a group of radio buttons, at any of them.
      return active === element || (radio && active instanceof HTMLInputElement && active.name === element.name);
    })) return;
    await browser.press("Tab");
  }
  throw new Error(`${browser.engine}: 150 presses of Tab do not reach ${describeLocator(locator)}`);
}
