// Accessibility: runs axe-core in the page and says what it found in one line per element.
// @ts-check
import axe from "axe-core";
import { chooseScheme } from "./scheme.mjs";

/** @type {import("axe-core").RunOnly} */
const EVERY = {
  type: "tag",
  values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
};

/** The only rules whose outcome depends on light or dark. @type {import("axe-core").RunOnly} */
export const COLOR = { type: "rule", values: ["color-contrast", "link-in-text-block"] };

/**
 * The violations axe-core finds in the page as it stands, as readable lines; empty when there are none.
 * @param {import("./browser.mjs").Browser} browser
 * @param {import("axe-core").RunOnly} [rules]  all when left out
 * @param {string} [within]  a selector: only what is in there, the whole page when left out
 * @param {import("axe-core").RuleObject} [except]  rules to leave out, as axe-core takes them
 * @returns {Promise<string[]>}
 */
export async function violations(browser, rules = EVERY, within = "html", except = {}) {
  const present = await browser.eval(() => "axe" in window);
  if (!present) await browser.driver.evaluate(`void (0, ${wrapped()})()`);
  return browser.eval(async (runOnly, within, rules) => {
    const { axe } = /** @type {{axe: typeof import("axe-core")}} */ (/** @type {unknown} */ (window));
    // Half a fade has the contrast of neither end, and one may begin while axe looks: everything is at its end meanwhile.
    const still = new CSSStyleSheet();
    still.replaceSync("*, ::before, ::after { animation: none !important; transition: none !important; }");
    document.adoptedStyleSheets.push(still);
    const report = await axe.run(within, { runOnly, rules, resultTypes: ["violations"] });
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => sheet !== still);
    return report.violations.flatMap((found) =>
      found.nodes.map((node) => {
        const summary = (node.failureSummary ?? "").split("\n").slice(1).map((line) => line.trim()).join("; ");
        return `${found.id}: ${node.target.join(" ")}: ${summary}`;
      }),
    );
  }, rules, within, except);
}

/**
 * The violations in the page as it stands, in light by all rules, then in dark by those on color.
 * @param {import("./browser.mjs").Browser} browser
 * @param {string} state  what the page is, for the reader of the lines
 * @param {string} [within]  a selector: only what is in there, the whole page when left out
 */
export async function violationsInLightAndDark(browser, state, within) {
  await chooseScheme(browser, "light");
  const light = await violations(browser, EVERY, within);
  await chooseScheme(browser, "dark");
  const dark = await violations(browser, COLOR, within);
  return [...light.map((line) => `${state}, light: ${line}`), ...dark.map((line) => `${state}, dark: ${line}`)];
}

/** Leaves the rules on color to another look. @type {import("axe-core").RuleObject} */
const COLORLESS = Object.fromEntries(COLOR.values.map((rule) => [rule, { enabled: false }]));

/**
 * The violations in a page whose frame (header, navigation, footer) another page has shown: everything in light, and of
 * the rules on color, which take most of the time, only those that the page's own text can break.
 * @param {import("./browser.mjs").Browser} browser
 */
export async function violationsInTheText(browser) {
  const found = await violations(browser, EVERY, "html", COLORLESS);
  for (const scheme of /** @type {const} */ (["light", "dark"])) {
    await chooseScheme(browser, scheme);
    found.push(...(await violations(browser, COLOR, "main article")).map((line) => `${scheme}: ${line}`));
  }
  return found;
}

/** The library as a function expression: it looks for `window` and `module` as a script of the page would. */
const wrapped = () => `function () { const module = undefined, define = undefined; ${axe.source}\n}`;
