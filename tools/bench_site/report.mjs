// Prints the budgets of the design with what was measured here: `make bench-site`. It reports; it never fails a build.
// @ts-check
//
//   node tools/bench_site/report.mjs [--record]      --record adds the run to the history that the site shows
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findPrograms } from "../../tests/browser/harness/launch.mjs";
import { quantile } from "./drag.mjs";
import { record } from "./history.mjs";
import { CONTROL_CHANGES, controlToChart, DRAG_MOVES, dragToChart, quietPage, recordVisit, STARTS, starts } from "./in_browser.mjs";

/** @typedef {import("../../tests/browser/harness/launch.mjs").Engine} Engine */

const REPOSITORY = fileURLToPath(new URL("../../", import.meta.url));
const PYTHON = join(REPOSITORY, ".venv", "bin", "python");
/** @type {Engine[]} */
const ENGINES = ["chromium", "firefox", "webkit"];
/** The goals: seconds to the first act, milliseconds from a control or a hand to the chart. */
const FIRST_ACT_S = { chromium: 1.5, firefox: 1.5, webkit: 3 };
const FRAME_MS = { chromium: 12, firefox: 16, webkit: 16 };
/** A phone's processor, and a line of 1.6 Mbit/s. */
const SLOW_PROCESSOR = 4;
/** Two frames of 60 a second: what a drag may take there. */
const SLOW_FRAME_MS = 33;
const SLOW_LINE = 200_000;

/** @type {import("./history.mjs").Line[]} */
const lines = [];

/** @param {string} what @param {number} value @param {number} limit @param {string} unit @param {{digits?: number, atLeast?: boolean, note?: string}} [options] */
function add(what, value, limit, unit, { digits = 1, atLeast = false, note = "" } = {}) {
  const format = (/** @type {number} */ number, /** @type {number} */ places) =>
    number.toLocaleString("en-US", { minimumFractionDigits: places, maximumFractionDigits: places });
  lines.push({
    what,
    budget: `${atLeast ? ">=" : "<="} ${limit.toLocaleString("en-US")} ${unit}`,
    measured: `${format(value, digits)} ${unit}${note ? ` (${note})` : ""}`,
    met: atLeast ? value >= limit : value <= limit,
  });
}

/** @param {string} what @param {number | string} value @param {number} limit @param {string} unit @param {{digits?: number, atLeast?: boolean}} [options] */
function addOrSay(what, value, limit, unit, options) {
  if (typeof value === "number") add(what, value, limit, unit, options);
  else lines.push({ what, budget: `${limit.toLocaleString("en-US")} ${unit}`, measured: `not measured: ${value}`, met: null });
}

/** A measurement without a goal. @param {string} what @param {string} measured */
function say(what, measured) {
  lines.push({ what, budget: "", measured, met: null });
}

/** @param {number[]} values */
const median = (values) => quantile(values, 0.5);

/** Runs one of the Python measurements and returns its JSON. @param {string} script @param {string[]} args */
function python(script, ...args) {
  const ran = spawnSync(PYTHON, [join(REPOSITORY, "tools", "bench_site", script), ...args], {
    cwd: REPOSITORY,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  if (ran.status !== 0) {
    console.error(`bench-site: ${script} failed with ${ran.status}; its message is above`);
    process.exit(1);
  }
  return JSON.parse(ran.stdout);
}

/** @param {string} text */
const progress = (text) => console.error(`==> ${text}`);

const programs = findPrograms(ENGINES);
const site = mkdtempSync(join(tmpdir(), "iron-law-bench-site-"));
process.once("exit", () => rmSync(site, { recursive: true, force: true }));

progress("Building the site from clean caches, then editing it under mkdocs serve");
const build = python("build_speed.py", "--site-dir", site);
progress("Measuring a page without acts");
const quiet = await quietPage("chromium", programs, site);
add("our JavaScript on a page without acts (gzip)", quiet.scripts / 1000, 15, "KB");
add("bytes of Python before intent", quiet.python, 0, "bytes", { digits: 0 });

const visit = await recordVisit("chromium", programs, site);
for (const engine of ENGINES) {
  progress(`Starting in ${engine}, ${STARTS} times cold and warm`);
  const runs = [];
  for (let run = 0; run < STARTS; run += 1) runs.push(await starts(engine, programs, site, visit));
  const [first] = runs;
  for (const kind of /** @type {const} */ (["cold", "warm"])) {
    const seconds = runs.map((run) => run[kind]);
    const range = `median of ${STARTS}, ${Math.min(...seconds).toFixed(2)} to ${Math.max(...seconds).toFixed(2)}`;
    add(`first act usable after intent, ${kind}, ${engine}`, median(seconds), FIRST_ACT_S[engine], "s", { digits: 2, note: range });
  }
  add(`  the runtime for it, as sent, ${engine}`, (first?.runtime ?? Number.NaN) / 1e6, 5, "MB", { digits: 2 });
  add(`  the charts for it, as sent, ${engine}`, (first?.charts ?? Number.NaN) / 1000, 320, "KB", { digits: 0 });
}
progress("Starting with a slow processor, then on a slow line");
for (const [what, hardship] of /** @type {const} */ ([
  [`page's thread ${SLOW_PROCESSOR} times slower`, { slowDown: SLOW_PROCESSOR }],
  [`line of ${(8 * SLOW_LINE) / 1e6} Mbit/s`, { rate: SLOW_LINE }],
])) {
  const { cold, warm } = await starts("chromium", programs, site, visit, hardship);
  for (const [kind, seconds] of Object.entries({ cold, warm })) say(`first act usable after intent, ${kind}, chromium, ${what}`, `${seconds.toFixed(2)} s`);
}
for (const engine of ENGINES) {
  progress(`Moving controls in ${engine}, ${CONTROL_CHANGES} times`);
  const times = await controlToChart(engine, programs, site);
  const note = `median ${median(times).toFixed(1)}, n = ${times.length}`;
  add(`control to redrawn chart, p95, ${engine}`, quantile(times, 0.95), FRAME_MS[engine], "ms", { note });
}
for (const engine of ENGINES) {
  progress(`Dragging in ${engine}, ${DRAG_MOVES} moves`);
  const times = await dragToChart(engine, programs, site);
  const note = `median ${median(times).toFixed(1)}, n = ${times.length}`;
  add(`pointer to redrawn mark while dragging, p95, ${engine}`, quantile(times, 0.95), FRAME_MS[engine], "ms", { note });
}
{
  progress("Dragging with a slow processor");
  const times = await dragToChart("chromium", programs, site, { slowDown: SLOW_PROCESSOR });
  const note = `median ${median(times).toFixed(1)}, n = ${times.length}`;
  add(`pointer to redrawn mark while dragging, p95, chromium, page's thread ${SLOW_PROCESSOR} times slower`, quantile(times, 0.95), SLOW_FRAME_MS, "ms", { note });
}
add("full site build from clean caches", build.build_s, 60, "s");
for (const [kind, { s, limit_s }] of Object.entries(/** @type {Record<string, {s: number, limit_s: number}>} */ (build.rebuilds))) {
  add(`edit to reload under mkdocs serve: ${kind}`, s, limit_s, "s");
}
progress("Measuring the engine");
const engine = python("engine_speed.py");
addOrSay("python -m ironlaw estimate, start-up included", engine.estimate_ms, 150, "ms", { digits: 0 });
addOrSay("scalar estimates in process", engine.scalar_per_s, 20_000, "/s", { digits: 0, atLeast: true });
addOrSay("estimates swept with NumPy", engine.swept_per_s / 1e6, 5, "million/s", { atLeast: true });

const load = loadavg()[0]?.toFixed(1);
console.log(`${cpus().length} cores (${cpus()[0]?.model ?? "unknown"}), load ${load} at the end; the site served from this machine`);
const widths = [
  Math.max(...lines.map((line) => line.what.length)),
  Math.max(...lines.map((line) => line.budget.length)),
  Math.max(...lines.map((line) => line.measured.length)),
];
for (const { what, budget, measured, met } of lines) {
  const verdict = met === null ? "" : met ? "within" : "OVER BUDGET";
  console.log(`${what.padEnd(widths[0] ?? 0)}  ${budget.padEnd(widths[1] ?? 0)}  ${measured.padEnd(widths[2] ?? 0)}  ${verdict}`);
}
const over = lines.filter((line) => line.met === false).length;
console.log(over ? `${over} of ${lines.length} lines are over budget.` : "Everything measured is within budget.");
if (process.argv.includes("--record")) record(lines);
