// The lab: Act 3, the laptop challenge and Act 2 to their ends, by pointer and keyboard, and what a reload keeps.
// @ts-check
import assert from "node:assert/strict";
import { OF_PYTHON, startWasEnough } from "./loading.mjs";
import {
  actReady,
  chartSays,
  failure,
  instruments,
  instrumentsOpen,
  lockButton,
  redrawn,
  resetButton,
  START_LIMIT_MS,
  verdict,
  verdictShown,
} from "./act_page.mjs";
import {
  ACT_2,
  ACT_3,
  answerAll,
  check,
  choice,
  EXPLORERS,
  headline,
  inChapter,
  LAPTOP,
  LEDGER,
  ledgerDocument,
  lever,
  move,
  moveList,
  movesOf,
  movesSay,
  needed,
  number,
  open,
  predict,
  problem,
  reveal,
  said,
  stepsDone,
  tabTo,
  trail,
  undoButton,
} from "./lab_page.mjs";

/** @typedef {import("../harness/world.mjs").World} World */

const skipLink = /** @type {const} */ ({ role: "link", name: "Skip to content" });
const PHONE = { width: 360, height: 740 };

/** @param {import("../harness/world.mjs").Facts} facts */
export function labTests({ widely, full, fully }) {
  fully("lab: Act 3 played to the end; the gap is a factor and points, and both agree with the answer", async (all) => {
    const { browser } = all;
    await open(all, ACT_3);
    await browser.click(lockButton);
    assert.equal(await browser.text(problem), "Type a number from 0 to 100 first.");
    await browser.type("140");
    await browser.press("Enter");
    assert.match(await browser.text(problem), /^140 % is out of range/);
    await browser.press("Backspace", 3);
    await predict(browser, "80");
    assert.equal(await browser.text(problem), "");
    // Locking in plays the reveal step by step; Escape shows its end at once.
    await browser.press("Escape");
    await verdictShown(browser);

    await move(browser, lever("Prefetching"));
    await move(browser, choice("precision", "Mixed"));
    await move(browser, choice("batch", "256"));
    assert.match(await browser.text(failure), /Out of memory.*GB too much.*enough: .*checkpointing on/);
    await move(browser, lever("Gradient checkpointing"));
    assert.equal(await browser.text(failure), "");
    assert.match(await browser.text(headline), /target 50 %/);
    await move(browser, lever("Gradient checkpointing"));
    await move(browser, choice("batch", "64"));
    assert.match(await browser.text(headline), /target reached\) 5\d ?%/);

    const gap = /computes (\d+) %.*figure is ([\d.]+) times that, (\d+) points too high/.exec(await browser.text(verdict));
    const [, answer, factor, points] = gap ?? [];
    assert.deepEqual([Number(factor), Number(points)], [Math.round(800 / Number(answer)) / 10, 80 - Number(answer)]);

    await answerAll(browser, "bottleneck", { "The change": "halve the batch" });
    assert.match(await said(browser, "bottleneck"), /halve the batch.*Not so\./);
    // An answer is judged in the present state of the instruments: with prefetching off, loading helps most.
    await answerAll(browser, "bottleneck", { "The change": "load the next batch" });
    assert.match(await said(browser, "bottleneck"), /load the next batch.*Not so\./);
    await move(browser, lever("Prefetching"));
    await browser.waitFor('[data-reflection="bottleneck"] [data-correct="true"]');
    await answerAll(browser, "checkpointing", { "By how much": "12", Compute: "33 %", Why: "recompute" });
    assert.equal(await stepsDone(browser), "Predict Reveal Explore", "a wrong answer does not complete the step");
    await answerAll(browser, "checkpointing", { "By how much": "3", Compute: "33 %", Why: "recompute" });
    await browser.waitFor('[data-step="reflect"][data-done="true"]');
    assert.equal(await trail(browser, "The MFU Gap"), "(done)");
    startWasEnough(all.server);
  });

  widely("lab: the challenge: moves are listed and undone, the limit is found, the epilogue opens and wins", async (all) => {
    const { browser } = all;
    await open(all, LAPTOP);
    assert.equal(await browser.has(lever("Update during backward")), false, "the levers of the epilogue are not there yet");
    await predict(browser, "6");
    assert.equal(await browser.has(undoButton), false, "there is nothing to undo");
    const first = await needed(browser);
    await move(browser, choice("precision", "Mixed"));
    const second = await needed(browser);
    await browser.waitFor(`${moveList} li`);
    await movesSay(browser, [`Precision FP32 → Mixed: ${first} → ${second} GB`]);
    const above = await browser.of(undoButton, (button) => button.getBoundingClientRect().bottom <= button.closest('[data-slot="moves"]').querySelector("ol").getBoundingClientRect().top);
    assert.ok(above, "a list that gets shorter does not move the button");
    await redrawn(browser, () => browser.click(undoButton));
    assert.equal(await needed(browser), first);
    await movesSay(browser, []);

    await move(browser, choice("optimizer", "SGD"));
    await move(browser, choice("batch", "1"));
    await move(browser, choice("precision", "Mixed"));
    assert.match(await browser.text(failure), /Physical limit.*No setting here that trains needs less/);
    await move(browser, choice("precision", "FP16"));
    assert.match(await browser.text(failure), /It fits, and it does not train/);
    await reveal(browser);
    assert.match(await browser.text(verdict), /You said 6 GB.*times what you said, [\d.]+ GB more/);

    await browser.waitFor(lever("Update during backward"));
    await move(browser, choice("precision", "FP32"));
    await move(browser, lever("Gradient checkpointing"));
    await move(browser, lever("Loss in chunks"));
    assert.match(await browser.text(failure), /Out of memory/);
    await move(browser, lever("Update during backward"));
    assert.match(await browser.text(headline), /it fits, and it trains/);
    assert.match(await browser.text(failure), /^✓ It fits, and it trains You changed 5 levers; \d are enough: .* tokens per second; the fastest/);
    assert.equal((await movesOf(browser)).length, 5, "what went from FP32 to Mixed, FP16 and back is no move");

    await answerAll(browser, "largest", { "The largest part": "the parameters", "The lever": "pure FP16" });
    await answerAll(browser, "floor", { "The smallest update": "0.00001", "The cure": "an FP32 copy" });
    assert.equal(await browser.eval(() => document.querySelectorAll('live-act [data-correct="false"][data-blank]').length), 0);
    assert.equal(await stepsDone(browser), "Predict Explore Reveal Reflect");
    startWasEnough(all.server);
  });

  full("lab: on a phone the win comes into view below the chart, and a reload does not scroll to it", async (all) => {
    const { browser } = all;
    await browser.resize(PHONE.width, PHONE.height);
    await open(all, LAPTOP);
    await predict(browser, "6");
    await reveal(browser);
    await browser.waitFor(lever("Update during backward"));
    await move(browser, choice("optimizer", "SGD"));
    await move(browser, choice("batch", "1"));
    await move(browser, lever("Gradient checkpointing"));
    await move(browser, lever("Loss in chunks"));
    await move(browser, lever("Update during backward"));
    assert.match(await browser.text(failure), /It fits, and it trains/);
    await browser.waitFor(() => {
      const { top, height } = /** @type {Element} */ (document.querySelector('live-act [data-slot="failure"]')).getBoundingClientRect();
      const chart = /** @type {Element} */ (document.querySelector('live-act [data-slot="stage"]')).getBoundingClientRect();
      return top >= chart.bottom && top + Math.min(height, 120) <= innerHeight;
    });
    await browser.reload();
    await actReady(browser);
    await browser.of("live-act", (act) => act.scrollIntoView({ behavior: "instant" }));
    // A hand that does something ends what the page puts back after a reload.
    await browser.press("Escape");
    const from = await browser.eval(() => scrollY);
    await browser.waitFor(() => /It fits, and it trains/.test(document.querySelector('live-act [data-slot="failure"]')?.textContent ?? ""));
    await new Promise((done) => setTimeout(done, 500));
    assert.equal(await browser.eval(() => scrollY), from);
  });

  fully("lab: Act 2 played to the end, with every configuration on offer", async (all) => {
    const { browser } = all;
    await open(all, ACT_2);
    // Two boxes are switched: that of queries, keys and values by a tap in the picture, that after GELU in the form.
    // The baked picture takes no taps, because its marks have no data; so this waits for the live one.
    await browser.waitFor(() => "__data__" in (document.querySelector("live-act .boxes_marks > path") ?? {}), START_LIMIT_MS);
    await browser.click("live-act .boxes_marks > path:nth-child(3)");
    const switched = { role: "checkbox", name: "After GELU", within: 'live-act [data-slot="adding"]' };
    await browser.click(switched);
    const { base, parts } = await browser.of('live-act [data-slot="adding"]', (set) => ({
      base: Number(set.closest("live-act").querySelector("input[data-prediction]").dataset.base),
      parts: [...set.querySelectorAll("input:checked")].map((box) => [box.dataset.toggle, Number(box.dataset.adds)]),
    }));
    assert.deepEqual(parts.map(([name]) => name), ["qkv", "gelu"]);
    const sum = parts.reduce((total, [, size]) => total + Number(size), base);
    assert.equal(await browser.of(number, (box) => Number(box.value)), Math.round(100 * sum) / 100, "what is tapped adds up");
    await browser.click(lockButton);
    await verdictShown(browser);
    assert.match(await browser.text(verdict), new RegExp(`You said ${Math.round(100 * sum) / 100} MB. PyTorch keeps 70.41 MB`));
    assert.match(await browser.of(verdict, (element) => element.textContent), /You found 2 of 8\. Missed: Residual \(attention\)/);
    assert.ok(await browser.of(switched, (box) => box.matches(":disabled")), "the prediction is locked");
    const offered = await browser.eval(() => document.querySelectorAll('live-act [data-choice="configuration"] input').length);
    assert.ok(offered > 1);
    await browser.focus({ role: "radio", name: "", within: 'live-act [data-choice="configuration"]' });
    for (let step = 1; step < offered; step += 1) {
      await redrawn(browser, () => browser.press("ArrowDown"));
      assert.match(await browser.text(headline), /PyTorch keeps [\d.]+ [MG]B/);
    }
    await answerAll(browser, "missed", { "The kind": "attention's scores", "How much": "less than 50 %", Why: "leaks" });
    assert.match(await said(browser, "missed"), /Not so\. A fused kernel.*Not so\..*Not so\. Nothing leaks/);
    assert.equal(await stepsDone(browser), "Predict Reveal Explore");
    startWasEnough(all.server);
  });

  full("lab: Act 3 and the challenge can be played with the keyboard alone", async (all) => {
    const { browser } = all;
    await open(all, ACT_3);
    await tabTo(browser, skipLink);
    await browser.press("Enter");
    await tabTo(browser, number);
    await browser.type("50");
    await browser.press("Enter");
    await instrumentsOpen(browser);
    await tabTo(browser, lever("Prefetching"));
    await redrawn(browser, () => browser.press("Space"));
    await verdictShown(browser);
    await tabTo(browser, check("checkpointing"));
    await tabTo(browser, resetButton);

    await open(all, LAPTOP);
    await tabTo(browser, skipLink);
    await browser.press("Enter");
    await tabTo(browser, number);
    await browser.type("9.5");
    await browser.press("Enter");
    await instrumentsOpen(browser);
    await tabTo(browser, choice("optimizer", "Adam"));
    await redrawn(browser, () => browser.press("ArrowRight"));
    await tabTo(browser, undoButton);
    await redrawn(browser, () => browser.press("Enter"));
    await movesSay(browser, []);
  });

  full("lab: a reload shows the last state at once, while Python still starts, and keeps it", async (all) => {
    const { browser, server } = all;
    const shown = async () => [await instruments(browser), await movesOf(browser), await browser.text(verdict), await said(browser, "floor")];
    await open(all, LAPTOP);
    await predict(browser, "12.5");
    await move(browser, choice("optimizer", "SGD"));
    await reveal(browser);
    await answerAll(browser, "floor", { "The smallest update": "0.00001", "The cure": "an FP32 copy" });
    const before = await shown();
    // Python arrives only after the checks below.
    server.fault({ path: /pyodide\.asm\.wasm$/, delayMs: 4000 });
    await browser.reload();
    await actReady(browser);
    await browser.of("live-act", (element) => element.scrollIntoView());
    await chartSays(browser, "SGD in FP32");
    await new Promise((done) => setTimeout(done, 500));
    assert.equal(await browser.has("live-act[data-stale]"), false, "nothing is dimmed");
    assert.deepEqual(await shown(), before);
    assert.ok(await browser.has('live-act [data-slot="state"][data-phase="loading"]'), "Python is not ready yet");
    server.heal();
    await instrumentsOpen(browser);
    assert.deepEqual(await shown(), before);
    assert.equal(await browser.of(number, (input) => input.value), "12.5");
  });

  full("lab: an explorer in the chapter is the one of the lab: Python starts when it is seen, state and address are the same", async (all) => {
    const { browser, server } = all;
    const here = 'live-act[data-name="scaling-explorer"]';
    const standing = () => browser.of(`${here} [data-slot="headline"]`, (element) => element.textContent);
    await browser.open(inChapter(all, "chapter/why/", EXPLORERS, "scaling-explorer"));
    await actReady(browser);
    await new Promise((done) => setTimeout(done, 500));
    assert.deepEqual(server.log().filter(({ path }) => OF_PYTHON.test(path)), [], "nothing of Python before the act is seen");
    const first = await standing();
    await browser.of(here, (element) => element.scrollIntoView());
    await browser.waitFor(`${here} [data-slot="state"][data-phase="ready"]`, START_LIMIT_MS, "Python to be ready");
    await move(browser, choice("network", "10 GbE"));
    const moved = await standing();
    assert.notEqual(moved, first);

    await open(all, EXPLORERS);
    await browser.of(here, (element) => element.scrollIntoView());
    for (const deadline = Date.now() + START_LIMIT_MS; (await standing()) !== moved; ) {
      assert.ok(Date.now() < deadline, `the lab's page says ${await standing()}, the chapter's said ${moved}`);
      await new Promise((done) => setTimeout(done, 100));
    }
    await browser.open(server.base + LEDGER);
    await browser.waitFor("live-ledger h2");
    const { acts } = await ledgerDocument(browser);
    assert.deepEqual(Object.keys(acts), ["scaling-explorer"]);
    assert.equal(acts["scaling-explorer"].account.page, EXPLORERS);
  });
}
