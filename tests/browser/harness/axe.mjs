// Accessibility: runs axe-core in the page and says what it found in one line per element.
// @ts-check
import axe from "axe-core";

const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
const SETTLE_LIMIT_MS = 5000;

/**
 * The violations axe-core finds in the page as it stands, as readable lines; empty when there are none.
 * @param {import("./browser.mjs").Browser} browser
 * @returns {Promise<string[]>}
 */
export async function violations(browser) {
  await settled(browser);
  const present = await browser.eval(() => "axe" in window);
  if (!present) await browser.driver.evaluate(`void (0, ${wrapped()})()`);
  return browser.eval(async (tags) => {
    const { axe } = /** @type {{axe: typeof import("axe-core")}} */ (/** @type {unknown} */ (window));
    const report = await axe.run(document, { runOnly: { type: "tag", values: tags }, resultTypes: ["violations"] });
    return report.violations.flatMap((found) =>
      found.nodes.map((node) => {
        const summary = (node.failureSummary ?? "").split("\n").slice(1).map((line) => line.trim()).join("; ");
        return `${found.id}: ${node.target.join(" ")}: ${summary}`;
      }),
    );
  }, RULES);
}

/** Waits until nothing fades or moves: half a transition has the contrast of neither end.
 * @param {import("./browser.mjs").Browser} browser */
async function settled(browser) {
  await browser.waitFor(
    () => document.getAnimations().every((one) => one.playState !== "running"),
    SETTLE_LIMIT_MS,
    "the page to come to rest",
  );
}

/** The library as a function expression: it looks for `window` and `module` as a script of the page would. */
const wrapped = () => `function () { const module = undefined, define = undefined; ${axe.source}\n}`;
