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
 * @returns {Promise<string[]>}
 */
export async function violations(browser, rules = EVERY) {
  const present = await browser.eval(() => "axe" in window);
  if (!present) await browser.driver.evaluate(`void (0, ${wrapped()})()`);
  return browser.eval(async (runOnly) => {
    const { axe } = /** @type {{axe: typeof import("axe-core")}} */ (/** @type {unknown} */ (window));
    // Half a fade has the contrast of neither end, and one may begin while axe looks: everything is at its end meanwhile.
    const still = new CSSStyleSheet();
    still.replaceSync("*, ::before, ::after { animation: none !important; transition: none !important; }");
    document.adoptedStyleSheets.push(still);
    const report = await axe.run(document, { runOnly, resultTypes: ["violations"] });
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => sheet !== still);
    return report.violations.flatMap((found) =>
      found.nodes.map((node) => {
        const summary = (node.failureSummary ?? "").split("\n").slice(1).map((line) => line.trim()).join("; ");
        return `${found.id}: ${node.target.join(" ")}: ${summary}`;
      }),
    );
  }, rules);
}

/**
 * The violations in the page as it stands, in light by all rules, then in dark by those on color.
 * @param {import("./browser.mjs").Browser} browser
 * @param {string} state  what the page is, for the reader of the lines
 */
export async function violationsInLightAndDark(browser, state) {
  await chooseScheme(browser, "light");
  const light = await violations(browser);
  await chooseScheme(browser, "dark");
  const dark = await violations(browser, COLOR);
  return [...light.map((line) => `${state}, light: ${line}`), ...dark.map((line) => `${state}, dark: ${line}`)];
}

/** The library as a function expression: it looks for `window` and `module` as a script of the page would. */
const wrapped = () => `function () { const module = undefined, define = undefined; ${axe.source}\n}`;
