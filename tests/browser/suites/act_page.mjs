// Act 1 as a reader handles it: the parts of the scene by their roles and names.
// @ts-check
import { WAIT_MS } from "../harness/browser.mjs";

/** @typedef {import("../harness/browser.mjs").Browser} Browser */
/** @typedef {import("../harness/world.mjs").World} World */
/** @typedef {"Context" | "Optimizer" | "Precision" | "Batch size"} Control */

export const ACT = "lab/act1/";
/** Enough for a cold start on a busy two-core machine. Whether a start is fast is for the benchmark to say, not for a test. */
export const START_LIMIT_MS = 120_000;
const REDRAW_LIMIT_MS = 20_000;

/** @param {string} name */
const part = (name) => `live-act [data-part="${name}"]`;
/** @type {Record<Control, string>} */
const GROUPS = {
  Context: '[data-context="context"]',
  Optimizer: '[data-choice="optimizer"]',
  Precision: '[data-choice="precision"]',
  "Batch size": '[data-choice="batch"]',
};

/** The box with the number that the reader predicts. */
export const answerBox = `${part("predict")} input[data-prediction]`;
/** The scale on which the number is dragged. */
export const scale = `${part("predict")} input[data-scale]`;
export const lockButton = { role: "button", name: "Lock in", within: part("predict") };
export const revealButton = { role: "button", name: "Reveal the answer", within: part("reveal") };
export const checkButton = { role: "button", name: "Check", within: part("reflect") };
export const lockNote = 'live-act [data-slot="problem"]';
export const resetButton = { role: "button", name: "Reset this act", within: "live-act" };
/** The second button, which asks again before answers are lost. */
export const confirmReset = { role: "button", name: "Reset", exact: true, within: "live-act" };
export const verdict = 'live-act [data-slot="verdict"]';
export const failure = 'live-act [data-slot="failure"]';
export const feedback = 'live-act [data-slot="feedback"]';

/** A position of a segmented control. @param {Control} control @param {string} label */
export const position = (control, label) => ({
  role: "radio",
  name: label,
  exact: control !== "Context",
  within: `live-act ${GROUPS[control]}`,
});
/** A check box under "Show". @param {string} label */
export const shown = (label) => ({ role: "checkbox", name: label, exact: true, within: part("explore") });
/** A gap in the reflection's sentence. @param {string} label */
export const blank = (label) => ({ role: "combobox", name: label, within: part("reflect") });

/** Opens the act's page and waits until its code has arrived. @param {World} world */
export async function openAct({ browser, server }) {
  await browser.open(server.base + ACT);
  await actReady(browser);
}

/** Follows a link to a page, without a reload: the page's Python lives on. @param {Browser} browser @param {string} address */
export async function follow(browser, address) {
  await browser.eval((href) => {
    const article = document.querySelector("main article");
    article?.setAttribute("data-left", href);
    const link = Object.assign(document.createElement("a"), { href });
    article?.append(link);
    link.click();
  }, address);
  await browser.waitFor(() => !document.querySelector("[data-left]"), WAIT_MS, `instant navigation to ${address}`);
}

/** @param {Browser} browser */
export async function actReady(browser) {
  await browser.waitFor('live-act[data-ready="true"]', WAIT_MS, "the act's code");
}

/** Waits until the instruments are open and Python has drawn the first live view. @param {Browser} browser */
export async function instrumentsOpen(browser) {
  await browser.waitFor('live-act [data-slot="controls"]:not([disabled])', START_LIMIT_MS, "the instruments to unlock");
  await browser.waitFor('live-act [data-slot="state"][data-phase="ready"]', START_LIMIT_MS, "Python to be ready");
}

/** Types an answer and locks it in, with the pointer. @param {Browser} browser @param {string} answer */
export async function predict(browser, answer) {
  await browser.focus(answerBox);
  await browser.type(answer);
  await browser.click(lockButton);
  await instrumentsOpen(browser);
}

/** Moves a control with the pointer and waits for the redrawn chart.
 * @param {Browser} browser @param {Control} control @param {string} label */
export async function set(browser, control, label) {
  const locator = position(control, label);
  if (await browser.of(locator, (element) => element.checked)) return;
  await redrawn(browser, () => browser.click(locator));
}

/** Does something that changes the state, and waits until the chart shows the new one.
 * @param {Browser} browser @param {() => Promise<void>} action */
export async function redrawn(browser, action) {
  const before = await chartLabel(browser);
  await action();
  await chartLabelIs(browser, (label) => label !== before, "another chart");
}

/** Waits until the chart's label contains these words. @param {Browser} browser @param {string} words @param {number} [limitMs] */
export function chartSays(browser, words, limitMs) {
  return chartLabelIs(browser, (label) => label.includes(words), words, limitMs);
}

/** @param {Browser} browser @param {(label: string) => boolean} wanted @param {string} what @param {number} [limitMs] */
async function chartLabelIs(browser, wanted, what, limitMs = REDRAW_LIMIT_MS) {
  const deadline = Date.now() + limitMs;
  for (let label = await chartLabel(browser); !wanted(label); label = await chartLabel(browser)) {
    if (Date.now() > deadline) throw new Error(`${browser.engine}: waited for ${what}; the chart shows "${label}"`);
    await new Promise((done) => setTimeout(done, 40));
  }
}

/** The chart's label for screen readers, which is written after the chart is drawn. @param {Browser} browser */
const chartLabel = (browser) =>
  browser.eval(() => document.querySelector('live-act [data-slot="plot"]')?.getAttribute("aria-label") ?? "");

/** @param {Browser} browser */
export async function verdictShown(browser) {
  await browser.waitFor(`${verdict} .il-reveal__headline`, REDRAW_LIMIT_MS, "the verdict");
}

/** Focuses a blank of the reflection and chooses an option with the arrow keys.
 * @param {Browser} browser @param {string} label of the blank @param {string} option */
export async function fill(browser, label, option) {
  const steps = await browser.of(blank(label), (select) => {
    select.focus();
    return [...select.options].map((one) => one.label);
  });
  const at = await browser.of(blank(label), (select) => select.selectedIndex);
  const wanted = steps.findIndex((/** @type {string} */ one) => one.includes(option));
  if (wanted < 0) throw new Error(`the blank "${label}" does not offer "${option}"`);
  await browser.press(wanted < at ? "ArrowUp" : "ArrowDown", Math.abs(wanted - at));
}

/** What the instruments show now, as text: headline, the chart's label, failure and every table. @param {Browser} browser */
export function instruments(browser) {
  return browser.eval(() => {
    const text = (/** @type {Element | null} */ element) => (element?.textContent ?? "").replace(/\s+/g, " ").trim();
    const slot = (/** @type {string} */ name) => text(document.querySelector(`live-act [data-slot="${name}"]`));
    const tables = [...document.querySelectorAll('live-act [data-part="explore"] [data-table]')].map((holder) => ({
      name: holder.getAttribute("data-table"),
      caption: text(holder.querySelector("caption")),
      rows: [...holder.querySelectorAll("tr")].map((row) => [...row.querySelectorAll("th, td")].map(text)),
    }));
    return {
      headline: `${slot("headline-label")}: ${slot("headline-value")} ${slot("headline-unit")}`,
      chart: document.querySelector('live-act [data-slot="plot"]')?.getAttribute("aria-label") ?? "",
      failure: slot("failure"),
      tables,
    };
  });
}

/** The labels of everything that is chosen among the instruments. @param {Browser} browser */
export function positions(browser) {
  return browser.eval(() =>
    [...document.querySelectorAll('live-act [data-part="explore"] input')].flatMap((element) => {
      const input = /** @type {HTMLInputElement} */ (element);
      return input.checked ? [(input.labels?.[0]?.textContent ?? "").trim()] : [];
    }),
  );
}

/** Words that a reader sees from the page's title to the first thing to do in an act, its title, steps and minutes included.
 * @param {Browser} browser @param {string} act @returns {Promise<number>} */
export const wordsBefore = (browser, act) =>
  browser.of(act, (element) => {
    const first = [...element.querySelectorAll("input, select, button")].find((one) => !one.disabled && one.getClientRects().length > 0);
    const range = document.createRange();
    range.setStartBefore(document.querySelector("article h1") ?? document.querySelector("article") ?? element);
    range.setEndBefore(first ?? element);
    // Only visible words count: not those for screen readers or for browsers without scripts, and not the progress of
    // Python's start, whose number of words changes with time.
    const texts = document.createTreeWalker(document.querySelector("article") ?? element, NodeFilter.SHOW_TEXT);
    let seen = "";
    while (texts.nextNode()) {
      const parent = texts.currentNode.parentElement;
      const shown = parent?.checkVisibility() && !parent.closest('noscript, .il-vh, svg, .headerlink, [data-slot="state"]');
      if (shown && range.intersectsNode(texts.currentNode)) seen += ` ${texts.currentNode.textContent}`;
    }
    return (seen.match(/[\p{L}\p{N}]+(?:['’.,-][\p{L}\p{N}]+)*/gu) ?? []).length;
  });
