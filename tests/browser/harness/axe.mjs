// Accessibility: runs axe-core in the page and says what it found in one line per element.
// @ts-check
import axe from "axe-core";
import { chooseScheme, schemeOf } from "./scheme.mjs";

/** @type {import("axe-core").RunOnly} */
const EVERY = {
  type: "tag",
  values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
};

/** The only rules whose outcome depends on light or dark. @type {import("axe-core").RunOnly} */
export const COLOR = { type: "rule", values: ["color-contrast", "link-in-text-block"] };

/** @typedef {{unlike: string[]}} Unlike  one element for each look (see `textsUnlike`) that is not in this list */

/**
 * The violations axe-core finds in the present page, one readable line each.
 * @param {import("./browser.mjs").Browser} browser
 * @param {import("axe-core").RunOnly} [rules]  all when left out
 * @param {string} [within]  a selector: only what is in there, the whole page when left out
 * @returns {Promise<string[]>}
 */
export async function violations(browser, rules = EVERY, within = "html") {
  return (await report(browser, rules, within)).lines;
}

/**
 * What axe-core finds, and the looks (see `textsUnlike`) of the elements it examined.
 * @param {import("./browser.mjs").Browser} browser
 * @param {import("axe-core").RunOnly} rules
 * @param {string | Unlike} within
 * @param {import("axe-core").RuleObject} [except]  rules to leave out, as axe-core takes them
 * @returns {Promise<{lines: string[], looks: string[]}>}
 */
async function report(browser, rules, within, except = {}) {
  const present = await browser.eval(() => "axe" in window);
  if (!present) await browser.driver.evaluate(`void ((0, ${wrapped()})(), (window.textsUnlike = ${textsUnlike}))`);
  return browser.eval(async (runOnly, within, rules) => {
    const { axe, textsUnlike: unlike } =
      /** @type {{axe: typeof import("axe-core"), textsUnlike: typeof textsUnlike}} */ (/** @type {unknown} */ (window));
    const texts = typeof within === "string" ? null : unlike(within.unlike);
    const looks = texts ? [...texts.keys()] : [];
    if (texts && !looks.length) return { lines: [], looks };
    // In the middle of a fade, text has too little contrast. So animations and transitions are off while axe-core runs.
    const still = new CSSStyleSheet();
    still.replaceSync("*, ::before, ::after { animation: none !important; transition: none !important; }");
    document.adoptedStyleSheets.push(still);
    const where = texts ? [...texts.values()] : /** @type {string} */ (within);
    const report = await axe.run(where, { runOnly, rules, resultTypes: ["violations"] });
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => sheet !== still);
    const lines = report.violations.flatMap((found) =>
      found.nodes.map((node) => {
        const summary = (node.failureSummary ?? "").split("\n").slice(1).map((line) => line.trim()).join("; ");
        return `${found.id}: ${node.target.join(" ")}: ${summary}`;
      }),
    );
    return { lines, looks };
  }, rules, within, except);
}

/** Switches the rules on color off. @type {import("axe-core").RuleObject} */
const COLORLESS = Object.fromEntries(COLOR.values.map((rule) => [rule, { enabled: false }]));

/**
 * The violations in a page: all rules in the scheme it opens in, the rules on color in both schemes. The rules on color take
 * most of the time, and pages share their styles: they examine only text whose look no earlier page had.
 * @param {import("./browser.mjs").Browser} browser
 * @param {Set<string>} seen  looks of text on earlier pages; the new looks of this page are added
 * @param {string} [within]  a selector: rules that do not concern color look only in there
 */
export async function violationsBesides(browser, seen, within = "html") {
  const found = (await report(browser, EVERY, within, COLORLESS)).lines;
  const first = await schemeOf(browser);
  for (const scheme of /** @type {const} */ ([first, first === "light" ? "dark" : "light"])) {
    await chooseScheme(browser, scheme);
    const { lines, looks } = await report(browser, COLOR, { unlike: [...seen] });
    found.push(...lines.map((line) => `${scheme}: ${line}`));
    for (const look of looks) seen.add(look);
  }
  return found;
}

/**
 * One element with text for each look that is not in `before`. A look is everything contrast depends on: size and weight of
 * the font, the colors of the text, the backgrounds behind it, its element and the next two around it. Runs in the page.
 * @param {string[]} before
 * @returns {Map<string, Element>}
 */
function textsUnlike(before) {
  const seen = new Set(before);
  /** @type {Map<string, Element>} */
  const found = new Map();
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (!element || !texts.currentNode.textContent?.trim() || !element.checkVisibility()) continue;
    const { fontSize, fontWeight, textDecorationLine } = getComputedStyle(element);
    const look = [fontSize, fontWeight, textDecorationLine];
    let depth = 0;
    for (let box = /** @type {Element | null} */ (element); box; box = box.parentElement, depth += 1) {
      const { color, fill, backgroundColor, backgroundImage, opacity } = getComputedStyle(box);
      if (depth < 3) look.push(`${box.localName}.${box.getAttribute("class") ?? ""}`, color, fill);
      look.push(backgroundColor, backgroundImage, opacity);
    }
    const name = look.filter((part) => part !== "rgba(0, 0, 0, 0)" && part !== "none" && part !== "1").join(" ");
    if (!seen.has(name) && !found.has(name)) found.set(name, element);
  }
  return found;
}

/** The library as a function expression. It finds no `module` and no `define`, so it makes itself known as `window.axe`. */
const wrapped = () => `function () { const module = undefined, define = undefined; ${axe.source}\n}`;
