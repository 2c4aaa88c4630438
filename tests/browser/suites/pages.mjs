// The pages around the acts: instant navigation, light and dark, a phone's width.
// @ts-check
import assert from "node:assert/strict";
import { chooseScheme } from "../harness/scheme.mjs";
import { fact } from "../harness/world.mjs";
import { actReady, chartSays, instrumentsOpen, openAct, position, predict, set } from "./act_page.mjs";
import { Snippet } from "./snippet_page.mjs";

const PHONE_PX = 360;
const PHONE_HIGH_PX = 740;
/** Stops of the keyboard from the first instrument to the reveal. */
const INSTRUMENTS = 9;

/** @param {() => import("../harness/world.mjs").World} world */
export function pageTests(world) {
  fact(world, "pages: widgets work after instant navigation to them, away from them, and back", async ({ browser, server }) => {
    await browser.open(server.base);
    await browser.eval(() => void Object.assign(window, { sameDocument: true }));
    await browser.click({ role: "link", name: "Start with Act 1" });
    await actReady(browser);
    await predict(browser, "About 3 GB");
    await set(browser, "Optimizer", "Adam");

    // The tabs take no click while the page is scrolled down, and need a moment to notice that it is not.
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
    const starts = server.log().filter(({ path }) => path.endsWith("runtime.json"));
    assert.equal(starts.length, 1, "one worker served both visits");
  });

  fact(world, "pages: the chart follows the switch between light and dark without being drawn again", async (all) => {
    const { browser } = all;
    await openAct(all);
    await predict(browser, "About 3 GB");
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

  fact(world, "pages: no page is wider than a phone of 360 px", async (all) => {
    const { server, pages } = all;
    for (const page of pages) {
      const wide = await overflowAt(all, server.base + page, PHONE_PX);
      assert.deepEqual(wide, [], `${page || "home"} scrolls sideways at ${PHONE_PX} px`);
    }
  });

  fact(world, "pages: on a phone, the chart that stays in view never covers what has the keyboard's focus", async (all) => {
    const { browser } = all;
    await openAct(all);
    await browser.resize(PHONE_PX, PHONE_HIGH_PX);
    await predict(browser, "About 3 GB");
    await browser.focus(position("Context", "Training node"));
    /** @type {string[]} */
    const covered = [];
    // Forwards through the instruments to the reveal, and back: the browser scrolls to what gets the focus.
    for (const key of [...Array(INSTRUMENTS).fill("Tab"), ...Array(INSTRUMENTS).fill("Shift+Tab")]) {
      await browser.press(key);
      const name = await browser.eval(async () => {
        // Browser and page scroll in answer to the focus, WebKit some frames later.
        await new Promise((done) => setTimeout(done, 150));
        const focused = /** @type {HTMLInputElement} */ (document.activeElement);
        const seen = focused.labels?.[0] ?? focused;
        const box = seen.getBoundingClientRect();
        const top = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
        return top !== null && (seen.contains(top) || top.contains(seen)) ? "" : (seen.textContent ?? "");
      });
      if (name) covered.push(name);
    }
    assert.deepEqual(covered, []);
  });
}

/**
 * What sticks out of a viewport of `width` pixels, empty when the page does not scroll sideways.
 * A frame stands in for the window, because a desktop window of WebKitGTK cannot be as narrow as a phone.
 * @param {import("../harness/world.mjs").World} world
 * @param {string} address
 * @param {number} width
 */
async function overflowAt({ browser, server }, address, width) {
  const frame = server.add(
    "__phone.html",
    "text/html",
    `<!doctype html><html lang="en"><title>phone</title><link rel="icon" href="data:,">
     <iframe title="phone" style="border:0;width:${width}px;height:740px" src="${address}"></iframe>`,
  );
  await browser.open(frame);
  // The theme puts tables into boxes that scroll some time after the page has loaded.
  await browser.waitFor(
    () => {
      const inner = document.querySelector("iframe")?.contentDocument;
      const tables = [...(inner?.querySelectorAll(".md-typeset table:not([class])") ?? [])];
      return inner?.readyState === "complete" && tables.every((table) => table.closest(".md-typeset__scrollwrap"));
    },
    5000,
    "every table in its box",
  );
  return browser.eval(() => {
    const inner = /** @type {HTMLIFrameElement} */ (document.querySelector("iframe"));
    const page = /** @type {Document} */ (inner.contentDocument);
    const root = page.documentElement;
    if (root.scrollWidth <= root.clientWidth) return [];
    // What lies in a box that scrolls or clips is not what makes the page wide.
    const contained = (/** @type {Element} */ element) => {
      for (let box = element.parentElement; box && box !== page.body; box = box.parentElement) {
        if (getComputedStyle(box).overflowX !== "visible") return true;
      }
      return false;
    };
    const wide = [...page.querySelectorAll("body *")].filter(
      (element) => element.getBoundingClientRect().right > root.clientWidth + 1 && !contained(element),
    );
    return [`${root.scrollWidth} px`, ...wide.slice(0, 8).map((one) => `${one.tagName.toLowerCase()}.${one.className}`)];
  });
}
