// The missions played to their ends: one of each part, two of them by keyboard and one on a phone. A full run (FULL=1) plays every
// track by mouse, by keyboard and on a phone, and one of each part in every engine.
// MISSIONS_TIMES=<file> adds a line of JSON for each play, with its seconds: python -m tools.missions_table <file> reads them.
// @ts-check
import assert from "node:assert/strict";
import { appendFileSync } from "node:fs";
import { FULL } from "../harness/world.mjs";
import { confirmReset, failure, instrumentsOpen, lockButton, resetButton, verdict, verdictShown } from "./act_page.mjs";
import { answerAll, choice, headline, lever, moveList, movesOf, open, predict } from "./lab_page.mjs";

/** @typedef {import("../harness/world.mjs").World} World */
/** @typedef {import("../harness/locate.mjs").Locator} Locator */

/**
 * @typedef Play
 * @property {string} page
 * @property {string} says What is predicted.
 * @property {RegExp} told What the reveal says.
 * @property {(Locator | {control: string, steps: number})[]} moves In order, to a setting that the search counts among the best.
 * @property {string} reflection
 * @property {Record<string, string>} answers
 */

/** The arrow keys that lead a slider to its place. @param {string} control @param {number} steps */
const slide = (control, steps) => ({ control, steps });
/** @type {Record<string, Play>} */
const PLAYS = {
  "edge 1": {
    page: "missions/edge-audit/",
    says: "8",
    told: /11\.9 GB.*You said 8/,
    moves: [choice("optimizer", "Momentum"), choice("precision", "Mixed"), choice("batch", "16")],
    reflection: "serving",
    answers: { "How many times": "more than sixteen", "The largest part": "the activations" },
  },
  "edge 2": {
    page: "missions/edge-race/",
    says: "2",
    told: /1\.00 times as fast.*You said 2/,
    moves: [slide("workers", 2), choice("format", "JPEG 640 x 640")],
    reflection: "pole",
    answers: { "The longest pole": "GPU", "“GPUs” doubled": "somewhat" },
  },
  "cloud 2": {
    page: "missions/cloud-race/",
    says: "2",
    told: /1\.43 times as fast.*You said 2/,
    moves: [choice("devices", "2,048"), choice("every", "800"), slide("workers", -3)],
    reflection: "pole",
    answers: { "The longest pole": "GPUs", "“GPUs” doubled": "somewhat" },
  },
  "mobile 2": {
    page: "missions/mobile-race/",
    says: "1.5",
    told: /1\.20 times as fast.*You said 1\.5/,
    moves: [slide("devices", 1), choice("numbers", "FP16"), choice("batch", "2")],
    reflection: "pole",
    answers: { "The longest pole": "GPU", "“GPU cores” doubled": "somewhat" },
  },
  "tiny 2": {
    page: "missions/tiny-race/",
    says: "1",
    told: /1\.53 times as fast.*You said 1/,
    moves: [slide("workers", 1), choice("augmentation", "Noise"), choice("windows", "8")],
    reflection: "pole",
    answers: { "The longest pole": "Core", "“Ears that learn” doubled": "somewhat" },
  },
  "edge 3": {
    page: "missions/edge-wall/",
    says: "It falls to about a half",
    told: /0\.15 times what it was.*You said: it falls to about a half/,
    moves: [
      choice("devices", "4"),
      choice("payload", "FP16"),
      choice("scaling", "Dynamic"),
      lever("Gradient clipping"),
    ],
    reflection: "defend",
    answers: { "The network": "less than a tenth", "In the way": "nothing" },
  },
  "cloud 3": {
    page: "missions/cloud-wall/",
    says: "It stays",
    told: /It stays the same/,
    moves: [
      choice("layout", "Tensor 8"),
      choice("devices", "512"),
      choice("accumulate", "32"),
      choice("precision", "FP16"),
      lever("Gradient checkpointing"),
      lever("Gradient clipping"),
      choice("rate", "Square root"),
    ],
    reflection: "defend",
    answers: { "The network": "less than a tenth", "In the way": "nothing" },
  },
  "mobile 3": {
    page: "missions/mobile-wall/",
    says: "It falls to about a quarter",
    told: /0\.021 times what it was.*You said: it falls to about a quarter/,
    moves: [
      choice("scope", "Adapters"),
      choice("devices", "2"),
      choice("accumulate", "4"),
      choice("precision", "FP16"),
      choice("link", "Wi-Fi, a twentieth"),
      lever("Gradient checkpointing"),
      lever("Gradient clipping"),
    ],
    reflection: "defend",
    answers: { "The network": "less than a tenth", "In the way": "nothing" },
  },
  "tiny 3": {
    page: "missions/tiny-wall/",
    says: "It stays",
    told: /2\.94 times what it was.*You said: it stays/,
    moves: [choice("accumulate", "32"), choice("payload", "INT8")],
    reflection: "defend",
    answers: { "The network": "less than a tenth", "In the way": "nothing" },
  },
  "cloud 1": {
    page: "missions/cloud-audit/",
    says: "12",
    told: /1,129 GB.*You said 12/,
    moves: [choice("precision", "Mixed"), choice("zero", "3"), lever("Gradient checkpointing")],
    reflection: "serving",
    answers: { "How many times": "less than twice", "The largest part": "the activations" },
  },
  "mobile 1": {
    page: "missions/mobile-audit/",
    says: "16",
    told: /135\.3 % of 512 MB: optimizer state 692\.5 MB\. You said 16/,
    moves: [choice("scope", "Last 2 blocks"), lever("Update during backward")],
    reflection: "serving",
    answers: { "How many times": "less than twice", "The largest part": "the weights" },
  },
  "tiny 1": {
    page: "missions/tiny-audit/",
    says: "4",
    told: /8\.67 times the SRAM left: .*You said 4/,
    moves: [choice("scope", "Output layer"), choice("frames", "0.5 s")],
    reflection: "serving",
    answers: { "How many times": "less than twice", "The largest part": "the activations" },
  },
};
/** @typedef {"mouse" | "keyboard" | "phone"} By */
const PHONE = { width: 360, height: 740 };
/** How one mission of each part is played in every run. @type {Record<string, By>} */
const ALWAYS = { "edge 1": "keyboard", "edge 2": "phone", "edge 3": "keyboard" };
/** @type {By[]} */
const WAYS = ["mouse", "keyboard", "phone"];

/** @param {import("../harness/world.mjs").Facts} facts */
export function missionTests({ everywhere, once, full }) {
  for (const name of Object.keys(PLAYS)) {
    for (const by of WAYS) {
      // No engine but Chromium can be as narrow as a phone, or asked for less motion: there a mouse plays.
      const register = ALWAYS[name] === by ? once : FULL && name in ALWAYS && by === "mouse" ? everywhere : full;
      register(`missions: ${name} is played to the end, by ${by}`, async (world) => {
        await played(world, name, by);
        if (name === "edge 1" && by === "keyboard") await defend(world);
      });
    }
  }
}

const playback = 'live-act [data-chart="curve"] .il-playback';
const playButton = `${playback} button`;
const step = `${playback} input`;
/** The drawn curve of the loss: the length of its line, and its text. @param {World["browser"]} browser */
const curve = (browser) =>
  browser.of('live-act [data-chart="curve"] [data-slot="plot"]', (plot) => ({
    line: plot.querySelector("g.mark-line path")?.getAttribute("d")?.length ?? 0,
    lost: /NaN|explodes/.test(plot.textContent ?? ""),
  }));
/** @param {World["browser"]} browser */
const stepOf = (browser) => browser.of(step, (slider) => slider.getAttribute("aria-valuetext") ?? "");

/** @param {World} world @param {string} name @param {By} by */
async function played(world, name, by) {
  if (by === "phone") await world.browser.resize(PHONE.width, PHONE.height);
  const play = /** @type {Play} */ (PLAYS[name]);
  const begun = performance.now();
  await toTheEnd(world, play, by);
  const seconds = (performance.now() - begun) / 1000;
  const file = process.env["MISSIONS_TIMES"];
  if (file) appendFileSync(file, `${JSON.stringify({ name, by, engine: world.browser.engine, seconds })}\n`);
  if (name !== "edge 3") return;
  await explode(world.browser, by);
  if (by === "keyboard") await staysStill(world.browser);
}

/** With reduced motion nothing plays: the whole curve is shown at once, and can be stepped through. @param {World["browser"]} browser */
async function staysStill(browser) {
  await browser.driver.reduceMotion(true);
  try {
    const shown = await browser.eval(() => document.querySelector('live-act [data-chart="curve"] .il-playback button')?.checkVisibility());
    assert.equal(shown, false);
    assert.equal(await browser.of(step, (slider) => slider.value === slider.max), true);
    await stepThrough(browser);
  } finally {
    await browser.driver.reduceMotion(false);
  }
}

/** The explosion is provoked, and seen as it happens: played, paused, stepped through. @param {World["browser"]} browser @param {By} by */
async function explode(browser, by) {
  await moveBy(browser, choice("scaling", "Static"), by);
  await browser.waitFor(() => /NaN$/.test(document.querySelector('live-act [data-chart="curve"] .il-playback input')?.getAttribute("aria-valuetext") ?? ""));
  // On a slow machine the play may end before it is paused; then it is started again.
  for (let left = 5; left > 0 && (left === 5 || /NaN$/.test(await stepOf(browser))); left -= 1) {
    await moveBy(browser, { role: "button", name: "Play", within: playback }, by);
    await browser.waitFor(() => !document.querySelector('live-act [data-chart="curve"] .il-playback input[aria-valuetext^="Update 1 "]'));
    if ((await browser.text(playButton)) === "Pause") await moveBy(browser, playButton, by);
    if ((await browser.text(playButton)) === "Pause") await moveBy(browser, playButton, by);
  }
  const paused = await stepOf(browser);
  await pause(600);
  assert.equal(await stepOf(browser), paused, "it waits");
  assert.equal((await curve(browser)).lost, false, "the explosion is still to come");
  await stepThrough(browser);
}

/** @param {World["browser"]} browser */
async function stepThrough(browser) {
  await browser.focus(step);
  await browser.press("Home");
  assert.match(await stepOf(browser), /^Update 1 of \d+: toy loss/);
  await browser.press("ArrowRight", 2);
  assert.match(await stepOf(browser), /^Update \d+ of \d+: toy loss/);
  await browser.waitFor(() => !/NaN|explodes/.test(document.querySelector('live-act [data-chart="curve"] [data-slot="plot"]')?.textContent ?? ""));
  const early = await curve(browser);
  await browser.press("End");
  await browser.waitFor(() => /NaN|explodes/.test(document.querySelector('live-act [data-chart="curve"] [data-slot="plot"]')?.textContent ?? ""));
  assert.ok((await curve(browser)).line > early.line, "the line grows with the steps");
}

/** Locks a prediction in, which opens the instruments. @param {World["browser"]} browser @param {string} says */
async function begin(browser, says) {
  if (/^\d/.test(says)) return predict(browser, says);
  await browser.click({ role: "radio", name: says, within: 'live-act [data-part="predict"]' });
  await browser.click(lockButton);
  await instrumentsOpen(browser);
}

/** @param {World} world @param {Play} play @param {By} by */
async function toTheEnd(world, play, by) {
  const { browser } = world;
  await open(world, play.page);
  await begin(browser, play.says);
  await browser.press("Escape");
  await verdictShown(browser);
  assert.match(await browser.text(verdict), play.told);
  assert.doesNotMatch(await browser.text(headline), /of the best (MFU )?found/, "the first setting of the mission fails");
  for (const [index, target] of play.moves.entries()) {
    await moveBy(browser, target, by);
    await browser.waitFor(`${moveList} li:nth-child(${index + 1})`);
  }
  assert.equal((await movesOf(browser)).length, play.moves.length);
  const best = /(9[5-9]|100)\s% of the best (MFU )?found/;
  // Moves are listed at once; the number follows when Python has computed it.
  for (let left = 200; left > 0 && !best.test(await browser.text(headline)); left -= 1) await pause(100);
  assert.match(await browser.text(headline), best);
  assert.match(await browser.text(failure), /Mission accomplished|The balance point/);
  await answerAll(browser, play.reflection, play.answers);
  await browser.waitFor('[data-step="reflect"][data-done="true"]');
}

/**
 * A reader defends a choice: the written argument survives a reload, and its link shows it to others instead of their own.
 *
 * @param {World} world
 */
async function defend({ browser, server }) {
  const page = `${server.base}missions/defense/`;
  const box = "live-defense textarea";
  await browser.open(page);
  await browser.waitFor(box);
  assert.match(await browser.text("live-defense"), /Edge Guardian.*Chosen.*Mixed.*Of the best found (9[5-9]|100) %.*Not played yet/s);
  assert.equal(await browser.eval(() => document.querySelectorAll("live-defense h2").length), 1, "missions not begun are not listed");
  await browser.focus(box);
  await browser.type("Activations, so <b>mixed</b>.");
  await browser.click({ role: "button", name: "Copy link", within: "live-defense" });
  await browser.waitFor(() => document.querySelector("live-defense .il-ledger__status")?.textContent);
  const link = await browser.of("live-defense .il-ledger__link", (input) => /** @type {HTMLInputElement} */ (input).value);
  await browser.open(page);
  await browser.waitFor(box);
  const kept = () => browser.of(box, (field) => field.value);
  assert.equal(await kept(), "Activations, so <b>mixed</b>.", "the argument outlives the page");
  await browser.focus(box);
  await browser.press("Control+End");
  await browser.type(" Mine now.");
  await browser.open(server.base);
  await browser.open(link);
  await browser.waitFor(`live-defense [data-action="close"]`);
  assert.match(await browser.text("live-defense"), /came with a link.*so <b>mixed<\/b>\./s);
  assert.equal(await browser.eval(() => document.querySelector("live-defense textarea")), null, "it is for reading");
  await browser.click({ role: "button", name: "Back to mine", within: "live-defense" });
  await browser.waitFor(() => document.activeElement?.textContent === "This is your own defense again. Nothing was changed.");
  await browser.waitFor(box);
  assert.equal(await kept(), "Activations, so <b>mixed</b>. Mine now.", "one's own was not touched");
  await browser.open(`${server.base}${PLAYS["edge 1"]?.page}`);
  await browser.click(resetButton);
  await browser.click(confirmReset);
  await browser.open(page);
  await browser.waitFor(box);
  assert.equal(await kept(), "Activations, so <b>mixed</b>. Mine now.", "a reset of the act takes nothing of it");
  assert.match(await browser.text("live-defense"), /Chosen.*Mixed/s);
}

/** @param {World["browser"]} browser @param {Play["moves"][number]} target @param {By} by */
async function moveBy(browser, target, by) {
  if (typeof target === "object" && "steps" in target) {
    await browser.focus(`live-act input[data-slider="${target.control}"]`);
    return browser.press(target.steps > 0 ? "ArrowRight" : "ArrowLeft", Math.abs(target.steps));
  }
  if (by !== "keyboard") return browser.click(target);
  await browser.focus(target);
  return browser.press("Space");
}

/** @param {number} ms */
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
