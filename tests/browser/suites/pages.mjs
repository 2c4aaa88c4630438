// The pages around the acts: light and dark, a phone's width.
// @ts-check
import assert from "node:assert/strict";
import { chooseScheme } from "../harness/scheme.mjs";
import { FULL } from "../harness/world.mjs";
import { actReady, answerBox, lockButton, openAct, position, predict, set, verdictShown } from "./act_page.mjs";
import { choice, headline, moveList, movesOf, open, predict as predictNumber } from "./lab_page.mjs";

const PHONE_PX = 360;
const PHONE_HIGH_PX = 740;
/** Presses of Tab from the first instrument to the reveal. */
const INSTRUMENTS = 9;

/** Acts whose chart stays in view above the levers. */
const CHARTS = ["lab/act1/", "lab/act3/", "lab/laptop/", "lab/peak/"];

/** @param {import("../harness/world.mjs").Facts} facts */
export function pageTests({ once, widely, full }) {
  full("pages: the chart follows the switch between light and dark without being drawn again", async (all) => {
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

  once("pages: on a phone, what a mission's number is has its whole line, and all moves are read without scrolling", async (all) => {
    const { browser } = all;
    await open(all, "missions/edge-race/");
    await browser.resize(PHONE_PX, PHONE_HIGH_PX);
    await predictNumber(browser, "1.4");
    await verdictShown(browser);
    const moves = [choice("format", "JPEG 640 x 640"), choice("augmentation", "None"), choice("format", "Raw pixels"), choice("augmentation", "Light and rain")];
    for (const moved of moves) await browser.click(moved);
    // What moves came to follows after them.
    for (let left = 100; left > 0 && !/→ [\d.]+/.test((await movesOf(browser))[moves.length - 1] ?? ""); left -= 1) await new Promise((done) => setTimeout(done, 50));
    assert.equal((await movesOf(browser)).length, moves.length);
    const { label, whole } = await browser.of(headline, (place) => ({
      label: place.querySelector('[data-slot="headline-label"]').getBoundingClientRect().width,
      whole: place.getBoundingClientRect().width,
    }));
    assert.ok(label > 0.95 * whole, `${label} px of ${whole}`);
    const hidden = await browser.of(moveList, (list) => list.scrollHeight - list.clientHeight);
    assert.ok(hidden <= 1, `${hidden} px of the moves are out of sight`);
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

  once("pages: on a phone, the chart that stays in view and the header leave three fifths of the window, and every lever can be touched", async ({ browser, server }) => {
    await browser.resize(PHONE_PX, PHONE_HIGH_PX);
    for (const page of FULL ? CHARTS : CHARTS.slice(0, 1)) {
      await browser.open(server.base + page);
      await actReady(browser);
      if (await browser.has(answerBox)) {
        await browser.focus(answerBox);
        await browser.type("2");
        await browser.click(lockButton);
        await browser.waitFor('live-act [data-slot="stage"] svg');
      }
      const { cover, hidden } = await browser.eval(async () => {
        const find = (/** @type {string} */ slot) => /** @type {HTMLElement} */ (document.querySelector(`live-act [data-slot="${slot}"]`));
        const [stage, plot] = [find("stage"), find("plot")];
        const levers = [...find("controls").querySelectorAll("label")].filter((one) => one.checkVisibility());
        const hidden = [];
        for (const lever of levers) {
          lever.scrollIntoView({ block: "center", behavior: "instant" });
          await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
          const box = lever.getBoundingClientRect();
          const top = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
          if (!top || !(lever.contains(top) || top.contains(lever))) hidden.push(lever.textContent);
        }
        // Beside the last lever the chart has come to its place: the picture, whole, below the header.
        const cover = stage.getBoundingClientRect().bottom;
        if (plot.getBoundingClientRect().top < (document.querySelector(".md-header")?.getBoundingClientRect().bottom ?? 0)) hidden.push("the picture");
        return { cover, hidden };
      });
      assert.deepEqual(hidden, [], page);
      assert.ok(cover > 0 && cover <= 0.4 * PHONE_HIGH_PX, `${page}: header and chart end at ${cover} px of ${PHONE_HIGH_PX}`);
    }
  });

  widely("pages: at 360 px Tab meets nothing of the shut menu and search; both open by keyboard, and Escape gives the focus back", async ({ browser, server }) => {
    if (!browser.driver.exactViewport) return;
    await browser.resize(PHONE_PX, PHONE_HIGH_PX);
    await browser.open(`${server.base}lab/act1/`);
    /** Where the focus is, and whether it can be seen. */
    const focus = () =>
      browser.eval(async () => {
        await new Promise((done) => setTimeout(done, 300));
        const one = /** @type {HTMLElement} */ (document.activeElement);
        const { left, right, width } = (one.closest("label") ?? one.parentElement ?? one).getBoundingClientRect();
        return {
          name: one.getAttribute("aria-label") ?? one.textContent?.trim().slice(0, 40) ?? "",
          seen: one !== document.body && right > 0 && left < innerWidth && width > 0,
          inside: ["article", ".md-sidebar--primary", ".md-search"].find((part) => one.closest(part)) ?? "",
        };
      });
    /** @param {string} until @returns {Promise<string[]>} */
    const tabTo = async (until) => {
      const met = [];
      for (let presses = 0; presses < 30; presses += 1) {
        await browser.press("Tab");
        const { name, seen, inside } = await focus();
        met.push(name);
        assert.ok(seen, `${name} has the focus and is not in the window`);
        if (name === until || inside === until) return met;
      }
      throw new Error(`30 presses of Tab did not lead to ${until}: ${met.join(", ")}`);
    };
    const before = await tabTo("article");
    assert.ok(before.includes("Menu") && before.includes("Search"), before.join(", "));

    await browser.open(`${server.base}lab/act1/`);
    for (const [name, inside, key] of /** @type {const} */ ([["Menu", ".md-sidebar--primary", "Enter"], ["Search", ".md-search", " "]])) {
      await tabTo(name);
      await browser.press(key);
      assert.equal((await focus()).inside, inside, `${name} opens and takes the focus`);
      if (name === "Menu") {
        await browser.press("Tab");
        const next = await focus();
        assert.ok(next.seen && next.inside === inside, `Tab leads to ${next.name}`);
      }
      await browser.press("Escape");
      assert.equal((await focus()).name, name, "Escape shuts it and gives the focus back");
      assert.equal(await browser.eval(() => document.querySelectorAll("[data-md-toggle]:checked").length), 0);
    }
    await browser.focus('.md-header__button[for="__drawer"]');
    await browser.press("Enter");
    await browser.eval(() => {
      const links = /** @type {HTMLElement[]} */ ([...document.querySelectorAll(".md-sidebar--primary a")]);
      links.filter((one) => one.checkVisibility({ visibilityProperty: true })).at(-1)?.focus();
    });
    await browser.press("Tab");
    const beyond = await focus();
    assert.ok(beyond.inside !== ".md-sidebar--primary", `Tab from the menu's end leads to ${beyond.name}`);
    assert.equal(await browser.eval(() => document.querySelectorAll("[data-md-toggle]:checked").length), 0, "what has the focus is not under the menu");
    await browser.press("s");
    assert.equal((await focus()).inside, ".md-search", "the theme's shortcut");
  });
}
