// Figures that move: every state was drawn at build; a slider, a button or a drag on the picture shows another.
// @ts-check
import assert from "node:assert/strict";
import { WAIT_MS } from "../harness/browser.mjs";
import { FULL } from "../harness/world.mjs";

const HOME = "live-figure";

/** @param {import("../harness/world.mjs").Facts} facts */
export function figureTests({ everywhere, once, full }) {
  everywhere("figures: the law on the home page follows a slider and a button, and needs no Python", async ({ browser, server }) => {
    await browser.open(server.base);
    await browser.waitFor(`${HOME}[data-ready]`);
    const readings = () => browser.of(`${HOME} [data-slot=readings]`, (place) => place.innerText);
    const words = () => browser.of(`${HOME} svg`, (svg) => svg.getAttribute("aria-label") ?? "");
    const [before, said] = [await readings(), await words()];
    await browser.focus(`${HOME} input[type=range]`);
    await browser.press("ArrowRight");
    await changed(browser, before);
    assert.notEqual(await words(), said, "the picture's text changes with the picture");
    assert.equal(await browser.of(`${HOME} input[type=range]`, (input) => input.getAttribute("aria-valuetext")), "16");
    const faster = await readings();
    await browser.click({ role: "radio", name: "B200", within: HOME });
    await changed(browser, faster);
    const frames = /** @type {[string, string, string[][]][]} */ (
      await browser.of(HOME, (host) => fetch(new URL(host.dataset["states"] ?? "", document.baseURI)).then((answer) => answer.json()))
    );
    const shown = await words();
    const frame = frames.find(([, text]) => text === shown);
    assert.ok(frame, "the state on the page is one of those that were drawn");
    assert.match(shown, /on 16 B200 /);
    const last = await readings();
    for (const text of frame[2].flat()) assert.ok(last.includes(text), `${text} is read in ${last}`);
    assert.deepEqual(server.log().filter(({ path }) => /pyodide|vega/.test(path)), [], "neither Python nor a chart is loaded");
  });

  full("figures: on a phone the letters of every picture are at least 11 pixels high and inside it, and no page is wider", async ({ browser, server, pages }) => {
    await browser.resize(360, 800);
    /** @type {string[]} */
    const small = [];
    /** @type {string[]} */
    const outside = [];
    for (const page of ["", ...pages.filter((one) => one.startsWith("chapter/")).filter((_, at) => FULL || at % 6 === 0)]) {
      await browser.open(server.base + page);
      const [letters, wider, beyond] = await browser.eval(() => {
        const words = [...document.querySelectorAll(".il-plot text")].filter((text) => text.checkVisibility()).filter((text) => {
          const [own, picture] = [text.getBoundingClientRect(), text.closest("svg")?.getBoundingClientRect() ?? new DOMRect()];
          return Math.max(picture.left - own.left, own.right - picture.right, picture.top - own.top, own.bottom - picture.bottom) > 4;
        });
        const found = [...document.querySelectorAll(".il-plot")].flatMap((picture) => {
          if (!(picture instanceof SVGSVGElement) || !picture.checkVisibility()) return [];
          const scale = picture.getBoundingClientRect().width / picture.viewBox.baseVal.width;
          const sizes = [...picture.querySelectorAll("text")].map((text) => scale * parseFloat(getComputedStyle(text).fontSize));
          // Exponents are smaller than the letters that they stand at.
          return sizes.filter((size) => size > 0.75 * Math.max(...sizes) && size < 11);
        });
        const wider = document.documentElement.scrollWidth - document.documentElement.clientWidth;
        return /** @type {[number[], number, string[]]} */ ([found, wider, words.map((text) => text.textContent)]);
      });
      outside.push(...beyond.map((words) => `${page}: ${words}`));
      if (letters.length > 0) small.push(`${page}: ${Math.min(...letters).toFixed(2)} px`);
      assert.equal(wider, 0, page);
    }
    assert.deepEqual(small, []);
    assert.deepEqual(outside, []);
  });

  once("figures: a drag on the picture moves its slider", async ({ browser, server }) => {
    await browser.open(`${server.base}chapter/precision/`);
    const figure = "#fig-number-line live-figure";
    await browser.waitFor(`${figure}[data-ready]`);
    const bit = () => browser.of(`${figure} input[type=range]`, (input) => Number(/** @type {HTMLInputElement} */ (input).value));
    await browser.drag(`${figure} svg`, 120, 0);
    const dragged = await bit();
    assert.ok(dragged > 11, `a drag to the right of the middle leads to bit ${dragged + 1}`);
    await browser.drag(`${figure} svg`, -120, 0);
    assert.ok((await bit()) < 11);
  });
}

/** @param {import("../harness/browser.mjs").Browser} browser @param {string} before */
async function changed(browser, before) {
  const until = Date.now() + WAIT_MS;
  while ((await browser.of(`${HOME} [data-slot=readings]`, (place) => place.innerText)) === before) {
    assert.ok(Date.now() < until, `the readings stay ${before}`);
    await new Promise((wake) => setTimeout(wake, 20));
  }
}
