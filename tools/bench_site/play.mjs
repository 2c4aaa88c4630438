// Plays every act from its page's top to its last answer, and says what that takes: seconds, clicks, words before the first
// thing to do, and the time from a move of the pointer to the redrawn mark.
// @ts-check
//
//   node tools/bench_site/play.mjs                 builds the site first
//   SITE_DIR=site node tools/bench_site/play.mjs   plays a built one
//   ONLY=plan, ONLY=acts                           the planner's sliders alone, or all but these
//   ENGINES=chromium                               which browsers; chromium and firefox when empty
//
// The script reads nothing, so the seconds are what the page itself takes: starting Python, staging the reveal, judging answers.
import { findPrograms, launch, wantedEngines } from "../../tests/browser/harness/launch.mjs";
import { refuseForeign } from "../../tests/browser/harness/proxy.mjs";
import { serveSite } from "../../tests/browser/harness/server.mjs";
import { builtSite } from "../../tests/browser/harness/site.mjs";
import { newReader } from "../../tests/browser/harness/world.mjs";
import { ACT, START_LIMIT_MS, wordsBefore } from "../../tests/browser/suites/act_page.mjs";
import { ACT_2, ACT_3, EXPLORERS, LAPTOP } from "../../tests/browser/suites/lab_page.mjs";
import { deflateRawSync } from "node:zlib";
import { dragTimes, quantile, slideTimes } from "./drag.mjs";

/** @typedef {import("../../tests/browser/harness/browser.mjs").Browser} Browser */
/** @typedef {{name: string, page: string, predict: string | null, follows?: string}} Scene  what is typed, or null for an instrument; the mark that follows the scale */

/** @type {Scene[]} */
const SCENES = [
  { name: "optimizer-memory-tax", page: ACT, predict: "3", follows: ".ghost_marks" },
  { name: "mfu-gap", page: ACT_3, predict: "80" },
  { name: "laptop-challenge", page: LAPTOP, predict: "6", follows: ".guess_marks" },
  { name: "trust-but-measure", page: ACT_2, predict: "45" },
  { name: "step-peak", page: "lab/peak/", predict: null },
  { name: "roofline-explorer", page: EXPLORERS, predict: null },
];
const MOVES = 200;
const BUDGET_MS = { chromium: 12, firefox: 16, webkit: 16 };

/** Plans whose sliders are dragged: a dense model of 80 layers, on one card and on many. @type {Record<string, Record<string, unknown>>} */
const PLANS = {
  "1 card, full": { gpus: 1, method: "full" },
  "1 card, QLoRA": { gpus: 1, method: "qlora" },
  "64 cards, full": { gpus: 64, method: "full", zero: 3 },
  "64 cards, QLoRA": { gpus: 64, method: "qlora" },
};
const SLIDERS = ["gpus", "batch", "sequence", "accumulate", "tp", "pp"];
const PLAN = 'live-act[data-name="plan"]';
const PLAN_MOVES = 40;
const PLAN_BUDGET_MS = 16;
const SETTLED_MS = 2500;

/** Drags every slider of the planner over its whole length. @param {Browser} browser @param {string} base */
async function dragPlans(browser, base) {
  console.log("Plan a run, Llama 3 70B   slider      p95 ms (median, most, n)");
  for (const [name, plan] of Object.entries(PLANS)) {
    const packed = deflateRawSync(JSON.stringify({ controls: { model: "meta-llama/Meta-Llama-3-70B", ...plan } })).toString("base64url");
    const link = `#state=1.plan.${packed}`;
    await browser.open(base);
    await browser.open(`${base}plan/${link}`);
    for (const slider of SLIDERS) {
      // Each from the same plan, which a link opens again.
      await browser.eval((link) => void (location.hash = link), link);
      await new Promise((done) => setTimeout(done, SETTLED_MS));
      await browser.waitFor(`${PLAN}[data-live="true"]`, START_LIMIT_MS, "the plan");
      await browser.waitFor(() => !/Looking/.test(document.querySelector("live-act .il-suggestions [role=status]")?.textContent ?? ""), START_LIMIT_MS, "all changes");
      await browser.eval(() => document.querySelector("live-act .il-more")?.setAttribute("open", ""));
      const shown = [`${PLAN} [data-slot="headline"]`, `${PLAN} [data-chart="memory"] [data-slot="plot"]`];
      const times = await slideTimes(browser, `${PLAN} input[data-slider="${slider}"]`, shown, PLAN_MOVES);
      // The address follows the hand that has let go; then the link opens the first plan again.
      await new Promise((done) => setTimeout(done, SETTLED_MS));
      const p95 = quantile(times, 0.95);
      const rest = `${quantile(times, 0.5).toFixed(1)}, ${Math.max(...times).toFixed(1)}, ${times.length}`;
      console.log(`${name.padEnd(25)} ${slider.padEnd(11)} ${p95.toFixed(1)} (${rest})${p95 <= PLAN_BUDGET_MS ? "" : ` over ${PLAN_BUDGET_MS}`}`);
    }
  }
}

/** @param {Browser} browser @param {string} act */
async function ready(browser, act) {
  await browser.waitFor(`${act}[data-ready="true"]`, START_LIMIT_MS);
  await browser.of(act, (element) => element.scrollIntoView());
  await browser.waitFor(`${act} [data-slot="state"][data-phase="ready"]`, START_LIMIT_MS, "Python");
}

/** Plays a scene to its end. Returns clicks; a typed number counts as one. @param {Browser} browser @param {string} act @param {Scene} scene */
async function play(browser, act, { predict }) {
  const button = (/** @type {string} */ name) => ({ role: "button", name, within: act });
  let clicks = 0;
  if (predict === null) {
    await browser.of(`${act} [data-slot="controls"] :is(input[type="range"], input[type="radio"]:not(:checked))`, (input) => input.focus());
    await browser.press("ArrowRight");
    return 1;
  }
  // Empty the box, which may hold the number that was dragged before.
  const box = `${act} input[data-prediction]`;
  await browser.of(box, (input) => {
    input.value = "";
    input.focus();
  });
  await browser.type(predict);
  await browser.click({ ...button("Lock in"), within: `${act} [data-part="predict"]` });
  clicks += 2;
  await browser.waitFor(`${act} [data-slot="controls"]:not([disabled])`, START_LIMIT_MS);
  if (await browser.has(button("Reveal the answer"))) {
    await browser.click(button("Reveal the answer"));
    clicks += 1;
  }
  await browser.waitFor(`${act} .il-reveal__headline`, START_LIMIT_MS);
  const answered = await browser.of(act, async (element) => {
    let chosen = 0;
    for (const form of element.querySelectorAll("form[data-reflection]")) {
      for (const select of form.querySelectorAll("select")) {
        select.selectedIndex = 1;
        select.dispatchEvent(new Event("change", { bubbles: true }));
        chosen += 1;
      }
      form.requestSubmit();
      chosen += 1;
    }
    return chosen;
  });
  clicks += answered;
  await browser.waitFor(`${act} [data-reflection]:last-of-type [data-blank][data-correct]`, START_LIMIT_MS);
  return clicks;
}

/** Milliseconds from a move of the pointer to the redrawn mark, Python included; none where nothing can be dragged.
 * @param {Browser} browser @param {string} act @param {Scene} scene @returns {Promise<number[]>} */
async function drag(browser, act, { follows }) {
  if (follows) {
    await browser.waitFor(`${act}[data-live="true"]`, START_LIMIT_MS, "the live chart");
    return dragTimes(browser, { plot: `${act} [data-slot="plot"]`, grip: `${act} input[data-scale]`, mark: follows }, MOVES);
  }
  const takes = await browser.of(act, (element) => (element.dataset.hands ?? "").includes('"handle"'));
  if (!takes) return [];
  await browser.waitFor(`${act} .il-grip:not([hidden])`, START_LIMIT_MS, "the grip");
  const { chart, mark } = await browser.of(act, (element) =>
    JSON.parse(element.dataset.hands ?? "[]").find((/** @type {any} */ one) => one.kind === "handle"),
  );
  const figure = `${act} [data-chart="${chart}"]`;
  return dragTimes(browser, { plot: `${figure} [data-slot="plot"]`, grip: `${figure} .il-grip:not([hidden])`, mark: `.${mark}_marks` }, MOVES);
}

const engines = process.env["ENGINES"] ? wantedEngines() : /** @type {const} */ (["chromium", "firefox"]);
const programs = findPrograms([...engines]);
const site = builtSite();
const only = process.env["ONLY"] ?? "";
if (!["", "plan", "acts"].includes(only)) throw new Error(`ONLY is ${only}; allowed: plan, acts`);
if (only !== "plan") console.log("act                    browser    seconds  clicks  words before  drag p95 ms (median, n)");
for (const engine of engines) {
  const proxy = await refuseForeign();
  const server = await serveSite(site);
  const browser = await launch(engine, programs, proxy.port, { asReaders: true });
  try {
    await newReader({ browser, server, proxy, site, pages: [], sample: [] });
    if (only !== "acts") await dragPlans(browser, server.base);
    for (const scene of only === "plan" ? [] : SCENES) {
      const act = `live-act[data-name="${scene.name}"]`;
      await browser.open(server.base + scene.page);
      const words = await wordsBefore(browser, act);
      const begun = performance.now();
      await ready(browser, act);
      const before = performance.now() - begun;
      const times = await drag(browser, act, scene);
      const again = performance.now();
      const clicks = await play(browser, act, scene);
      const seconds = (before + performance.now() - again) / 1000;
      const p95 = quantile(times, 0.95);
      const dragged = times.length
        ? `${p95.toFixed(1)} (${quantile(times, 0.5).toFixed(1)}, ${times.length})${p95 <= BUDGET_MS[engine] ? "" : ` over ${BUDGET_MS[engine]}`}`
        : "nothing to drag";
      console.log(
        `${scene.name.padEnd(22)} ${engine.padEnd(9)} ${seconds.toFixed(1).padStart(8)} ${String(clicks).padStart(7)} ${String(words).padStart(13)}  ${dragged}`,
      );
    }
  } finally {
    await browser.close();
    await server.close();
    await proxy.close();
  }
}
