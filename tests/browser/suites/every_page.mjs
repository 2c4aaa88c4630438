// One visit to each page for all that is asked of every page: quiet until intent, complete, accessible, phone-wide.
// @ts-check
import assert from "node:assert/strict";
import { violationsBesides } from "../harness/axe.mjs";
import { DESKTOP } from "../harness/browser.mjs";
import { firstOfEachFolder, pagesWith } from "../harness/site.mjs";
import { FULL } from "../harness/world.mjs";
import { wordsBefore } from "./act_page.mjs";
import { OF_PYTHON } from "./loading.mjs";
import { SEARCH_INDEX } from "./search.mjs";

/** The pages are many, the longest have ten thousand elements, and the machine may be busy with something else. */
const LIMIT_MS = 1_800_000;
/** Pages that are made in one way. Every twelfth of them is visited, and in a full run each. */
const ALIKE = /^(authoring|chapter|engine|measured|missions|notebooks|reference)\//;
/** Pages without a part of their own that can be operated: axe-core sees them in a full run. */
const REFERENCE = /^(authoring|engine|reference)\//;
const NTH = 12;
const PHONE = { width: 360, height: 740 };
const BOXES_LIMIT_MS = 60_000;
const MOST_WORDS = 60;

/** @typedef {import("../harness/world.mjs").World} World */

/** @param {import("../harness/world.mjs").Facts} facts */
export function everyPageTests({ everywhere }) {
  everywhere(
    "every page: no Python and no search index before intent, nothing missing, no axe violation in light and dark, code in a font of equal widths, no wider than a phone",
    async (all) => {
      /** @type {string[]} */
      const found = [];
      /** @type {Set<string>} */
      const looks = new Set();
      const alike = all.sample.filter((page) => ALIKE.test(page));
      const first = firstOfEachFolder(alike);
      const wanted = all.sample.filter((page) => FULL || first.includes(page) || alike.indexOf(page) % NTH <= 0);
      // What a page with acts still asks for when it is left would count against a quiet page, so the quiet ones come first.
      const withActs = new Set(pagesWith(all, "<live-act"));
      const visited = [...wanted.filter((page) => !withActs.has(page)), ...wanted.filter((page) => withActs.has(page))];
      // axe-core computes names and contrast in the same way in every engine, so one engine is enough.
      const examined = all.thorough ? (FULL ? wanted : firstOfEachFolder(wanted).filter((page) => !REFERENCE.test(page))) : [];
      let renew = false;
      for (const page of visited) {
        const says = (/** @type {string} */ line) => found.push(`${page || "home"}: ${line}`);
        // A new tab after each page that axe-core has examined: Chromium 150 crashes after a dozen of them in one tab.
        if (renew) await all.browser.renew();
        renew = examined.includes(page);
        all.server.clear();
        // Acts show what the build computed: the worker that an act in view starts is empty, so no Python comes.
        all.server.fault({ path: /\/worker-[^/]*\.js$/, bytes: 0 });
        await all.browser.open(all.server.base + page);
        // A page with an act in view may start; every other page must stay quiet, down to its end.
        const acts = withActs.has(page);
        if (!acts) await all.browser.eval(() => scrollTo(0, document.body.scrollHeight));
        // Only an act's own page has to begin with the act; on other pages acts stand in the text.
        const words = acts && /^(lab|missions)\//.test(page) ? await wordsBefore(all.browser, "live-act") : 0;
        if (words > MOST_WORDS) says(`${words} words before the first thing to do, and the limit is ${MOST_WORDS}`);
        if (renew) (await violationsBesides(all.browser, looks)).forEach(says);
        (await proportional(all.browser)).forEach(says);
        if (all.browser.driver.exactViewport) (await cutOff(all.browser)).forEach(says);
        (await stickingOut(all, page)).forEach((line) => says(`sticks out at ${PHONE.width} px: ${line}`));
        for (const { path, status } of all.server.log()) {
          if ((!acts && OF_PYTHON.test(path)) || SEARCH_INDEX.test(path)) says(`fetches ${path}`);
          if (status >= 400) says(`asks for ${path}, which is not there`);
        }
      }
      assert.deepEqual(found, []);
    },
    { limitMs: LIMIT_MS },
  );
}

/** Code in letters of unequal widths, of which a cycle of custom properties once made all. @param {import("../harness/browser.mjs").Browser} browser */
async function proportional(browser) {
  const found = await browser.eval(() =>
    [...document.querySelectorAll("code, pre, kbd")]
      .filter((part) => !/\bmonospace\b/.test(getComputedStyle(part).fontFamily))
      .map((part) => part.textContent.trim().slice(0, 40)),
  );
  return found.length ? [`${found.length} pieces of code in letters of unequal widths, first: ${found[0]}`] : [];
}

/** Measured tables that a laptop's window cuts off. @param {import("../harness/browser.mjs").Browser} browser */
async function cutOff(browser) {
  const cut = await browser.eval(() =>
    [...document.querySelectorAll(".il-measured-table__scroll")]
      .filter((box) => box.scrollWidth > box.clientWidth)
      .map((box) => `${box.scrollWidth} of ${box.clientWidth} px, ${box.querySelector("caption")?.textContent ?? ""}`),
  );
  return cut.map((line) => `cut off at ${DESKTOP.width} px: ${line}`);
}

/**
 * What sticks out of a phone's viewport, empty when the page does not scroll sideways.
 * @param {World} world
 * @param {string} page
 */
async function stickingOut({ browser, server }, page) {
  if (browser.driver.exactViewport) {
    await browser.resize(PHONE.width, PHONE.height);
  } else {
    // A frame stands in for the window, because a desktop window of WebKitGTK cannot be as narrow as a phone.
    const frame = server.add(
      "__phone.html",
      "text/html",
      `<!doctype html><html lang="en"><title>phone</title><link rel="icon" href="data:,">
       <iframe title="phone" style="border:0;width:${PHONE.width}px;height:${PHONE.height}px" src="${server.base + page}"></iframe>`,
    );
    await browser.open(frame);
  }
  // Only some time after the page has loaded does the theme put tables into boxes that scroll.
  await browser.waitFor(
    () => {
      const inner = document.querySelector('iframe[title="phone"]');
      const shown = inner instanceof HTMLIFrameElement ? inner.contentDocument : document;
      const tables = [...(shown?.querySelectorAll(".md-typeset table:not([class])") ?? [])];
      return shown?.readyState === "complete" && tables.every((table) => table.closest(".md-typeset__scrollwrap"));
    },
    BOXES_LIMIT_MS,
    "every table in its box",
  );
  const wide = await browser.eval(() => {
    const inner = document.querySelector('iframe[title="phone"]');
    const shown = /** @type {Document} */ (inner instanceof HTMLIFrameElement ? inner.contentDocument : document);
    const root = shown.documentElement;
    if (root.scrollWidth <= root.clientWidth) return [];
    // What lies in a box that scrolls or clips is not what makes the page wide.
    const contained = (/** @type {Element} */ element) => {
      for (let box = element.parentElement; box && box !== shown.body; box = box.parentElement) {
        if (getComputedStyle(box).overflowX !== "visible") return true;
      }
      return false;
    };
    const out = [...shown.querySelectorAll("body *")].filter(
      (element) => element.getBoundingClientRect().right > root.clientWidth + 1 && !contained(element),
    );
    return [`${root.scrollWidth} px`, ...out.slice(0, 8).map((one) => `${one.tagName.toLowerCase()}.${one.className}`)];
  });
  if (browser.driver.exactViewport) await browser.resize(DESKTOP.width, DESKTOP.height);
  return wide;
}
