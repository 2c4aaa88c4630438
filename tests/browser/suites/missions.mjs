// The missions played to their ends: one of each part in every engine; MISSIONS=all plays every track by mouse and by keyboard.
// @ts-check
import assert from "node:assert/strict";
import { failure, redrawn, verdict, verdictShown } from "./act_page.mjs";
import { answerAll, choice, headline, lever, movesOf, open, predict } from "./lab_page.mjs";

/** @typedef {import("../harness/world.mjs").World} World */
/** @typedef {import("../harness/locate.mjs").Locator} Locator */

/**
 * @typedef Play
 * @property {string} page
 * @property {string} says What is predicted.
 * @property {RegExp} told What the reveal says.
 * @property {Locator[]} moves In order, to a setting that the search counts among the best.
 * @property {string} reflection
 * @property {Record<string, string>} answers
 */

/** @type {Record<string, Play>} */
const PLAYS = {
  "edge 1": {
    page: "missions/edge-audit/",
    says: "8",
    told: /16 bytes/,
    moves: [choice("optimizer", "Momentum"), choice("precision", "Mixed"), choice("batch", "8")],
    reflection: "serving",
    answers: { "How many times": "more than sixteen", "The largest part": "the activations" },
  },
  "cloud 1": {
    page: "missions/cloud-audit/",
    says: "12",
    told: /16 bytes/,
    moves: [choice("precision", "Mixed"), choice("zero", "3"), lever("Gradient checkpointing")],
    reflection: "serving",
    answers: { "How many times": "less than twice", "The largest part": "the activations" },
  },
  "mobile 1": {
    page: "missions/mobile-audit/",
    says: "16",
    told: /16 bytes/,
    moves: [choice("scope", "Last 2 blocks"), lever("Update during backward")],
    reflection: "serving",
    answers: { "How many times": "less than twice", "The largest part": "the weights" },
  },
  "tiny 1": {
    page: "missions/tiny-audit/",
    says: "4",
    told: /16 bytes/,
    moves: [choice("scope", "Output layer"), choice("frames", "0.5 s")],
    reflection: "serving",
    answers: { "How many times": "less than twice", "The largest part": "the activations" },
  },
};
const EVERYWHERE = ["edge 1"];

/** @param {import("../harness/world.mjs").Facts} facts */
export function missionTests({ everywhere, once }) {
  const all = process.env["MISSIONS"] === "all";
  for (const [name, play] of Object.entries(PLAYS)) {
    if (EVERYWHERE.includes(name)) everywhere(`missions: ${name} is played to the end`, (world) => toTheEnd(world, play, "mouse"));
    else if (all) once(`missions: ${name} is played to the end by mouse`, (world) => toTheEnd(world, play, "mouse"));
    if (all || EVERYWHERE.includes(name)) {
      once(`missions: ${name} is played to the end by keyboard`, (world) => toTheEnd(world, play, "keyboard"));
    }
  }
}

/** @param {World} world @param {Play} play @param {"mouse" | "keyboard"} by */
async function toTheEnd(world, play, by) {
  const { browser } = world;
  await open(world, play.page);
  await predict(browser, play.says);
  await browser.press("Escape");
  await verdictShown(browser);
  assert.match(await browser.text(verdict), play.told);
  assert.doesNotMatch(await browser.text(headline), /of the best found/, "the mission begins with what fails");
  for (const target of play.moves) {
    await redrawn(browser, async () => {
      if (by === "mouse") return browser.click(target);
      await browser.focus(target);
      await browser.press("Space");
    });
  }
  assert.equal((await movesOf(browser)).length, play.moves.length);
  assert.match(await browser.text(headline), /9[5-9] %|100 %/);
  assert.match(await browser.text(failure), /Mission accomplished/);
  await answerAll(browser, play.reflection, play.answers);
  await browser.waitFor('[data-step="reflect"][data-done="true"]');
}
