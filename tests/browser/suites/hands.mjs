// Charts that a reader works with: points dragged, the same by keyboard, one segment shown alone. The roofline explorer has all.
// @ts-check
import assert from "node:assert/strict";
import { START_LIMIT_MS } from "./act_page.mjs";

/** @typedef {import("../harness/browser.mjs").Browser} Browser */

const ACT = 'live-act[data-name="roofline-explorer"]';
const GRIP = `${ACT} .il-grip:not([hidden])`;
const slider = `${ACT} input[data-slider="batch"]`;

/** @param {import("../harness/world.mjs").Facts} facts */
export function handsTests({ once, widely, fully }) {
  widely("hands: a point is dragged along its curve, the control follows, and so does the same control by keyboard", async (all) => {
    const { browser } = all;
    await openExplorer(all);
    assert.equal(await valueText(browser), "4");
    const before = await headline(browser);

    await browser.drag(GRIP, -120, 60);
    assert.equal(await valueText(browser), "1", "the point is at the lower end of its curve");
    await browser.waitFor(() => document.querySelectorAll('[data-slot="headline-value"]').length);
    await changes(browser, before);
    const dragged = await headline(browser);

    await browser.focus(slider);
    await browser.press("ArrowRight", 3);
    assert.equal(await valueText(browser), "4", "every press reaches the next whole number");
    await changes(browser, dragged);
    assert.equal(await headline(browser), before, "the same control, the same number");
    assert.equal(await browser.of(GRIP, (grip) => grip.getAttribute("aria-hidden")), "true", "one control for a screen reader");

    // The slider moves away and, before Python has answered, the keyboard brings it back.
    await browser.of(slider, (input) => {
      input.value = input.min;
      input.dispatchEvent(new Event("input", { bubbles: true }));
    });
    await changes(browser, before);
    const away = await headline(browser);
    await browser.of(slider, (input) => {
      for (let press = 0; press < 3; press += 1) input.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
    });
    await changes(browser, away);
    assert.equal(await headline(browser), before, "the number belongs to where the slider is in the end");
  });

  fully("hands: a segment is shown alone by keyboard, and its name is read", async (all) => {
    const { browser } = all;
    await openExplorer(all);
    const part = { role: "button", name: "GELU", within: ACT };
    await browser.focus(part);
    assert.ok((await dimmed(browser)) > 3, "the marks of the other segments are dimmed");
    const before = await headline(browser);
    await browser.of(`${ACT} [data-slot="plot"]`, (plot) => plot.scrollIntoView({ block: "center", behavior: "instant" }));
    await browser.driver.point(...(await browser.of(`${ACT} [data-slot="plot"]`, middle)));
    await browser.focus(slider);
    await browser.focus(part);
    await browser.of(slider, (input) => {
      input.value = input.min;
      for (const kind of ["input", "change"]) input.dispatchEvent(new Event(kind, { bubbles: true }));
    });
    await changes(browser, before);
    assert.ok((await dimmed(browser)) > 3, "a mouse that does not move points at nothing, even when the picture is drawn anew under it");
    await browser.press("Enter");
    assert.equal(await browser.of(part, (button) => button.getAttribute("aria-pressed")), "true");
    await browser.focus(slider);
    assert.ok((await dimmed(browser)) > 3, "only the chosen segment stays bright");
    await browser.focus(part);
    await browser.press("Escape");
    assert.equal(await dimmed(browser), 0);
  });

  once("hands: a finger drags the point, the page scrolls elsewhere; frames are dropped while Python computes, never out of order", async (all) => {
    const { browser } = all;
    await openExplorer(all);
    const allowed = await browser.of(GRIP, (grip) => [getComputedStyle(grip).touchAction, grip.offsetWidth, grip.offsetHeight]);
    assert.deepEqual(allowed, ["none", 44, 44], "a point is dragged in both directions, and is as large as a finger");
    assert.equal(await browser.of(`${ACT} [data-slot="plot"]`, (plot) => getComputedStyle(plot).touchAction), "auto");

    const seen = await browser.of(GRIP, async (grip) => {
      const act = grip.closest("live-act");
      const table = /** @type {string[]} */ ([]);
      const plot = act.querySelector('[data-slot="plot"]');
      const watch = new MutationObserver(() => {
        table.push(/batch (\d+)/.exec(plot.getAttribute("aria-label") ?? "")?.[1] ?? "");
      });
      watch.observe(plot, { attributes: true, attributeFilter: ["aria-label"] });
      const box = grip.getBoundingClientRect();
      const at = { clientX: box.x + 22, clientY: box.y + 22, pointerId: 7, button: 0, bubbles: true };
      grip.dispatchEvent(new PointerEvent("pointerdown", at));
      for (let step = 0; step <= 40; step += 1) {
        grip.dispatchEvent(new PointerEvent("pointermove", { ...at, clientX: at.clientX + 3 * step, clientY: at.clientY - 3 * step }));
        if (step % 8 === 0) await new Promise((done) => setTimeout(done, 0));
      }
      grip.dispatchEvent(new PointerEvent("pointerup", at));
      await new Promise((done) => setTimeout(done, 1500));
      watch.disconnect();
      return { table, last: act.querySelector("output").textContent };
    });
    const batches = seen.table.map(Number);
    assert.ok(batches.length >= 1, "the chart followed");
    assert.deepEqual(batches, [...batches].sort((one, other) => one - other), "in the order of the finger's moves");
    assert.equal(String(batches.at(-1)), seen.last, "the last frame is that of where the finger stopped");
  });
}

/** @param {import("../harness/world.mjs").World} world */
async function openExplorer({ browser, server }) {
  await browser.open(`${server.base}lab/explorers/`);
  await browser.of(ACT, (act) => act.scrollIntoView());
  await browser.waitFor(GRIP, START_LIMIT_MS, "the grip, which needs a live chart");
}

/** Runs in the page. @param {HTMLElement} element @returns {[number, number]} */
function middle(element) {
  const { x, y, width, height } = element.getBoundingClientRect();
  return [x + width / 2, y + height / 2];
}

/** @param {Browser} browser */
const headline = (browser) => browser.text(`${ACT} [data-slot="headline-value"]`);

/** @param {Browser} browser */
const valueText = (browser) => browser.of(slider, (input) => input.getAttribute("aria-valuetext"));

/** @param {Browser} browser */
const dimmed = (browser) =>
  browser.eval(() => document.querySelectorAll('live-act[data-name="roofline-explorer"] [data-dim]').length);

/** @param {Browser} browser @param {string} from */
async function changes(browser, from) {
  for (let left = 200; left > 0 && (await headline(browser)) === from; left -= 1) await new Promise((done) => setTimeout(done, 25));
  assert.notEqual(await headline(browser), from);
}
