// A reload shows what the tab showed last, and only for exactly the same state, act and Python.
import fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import { lastShown, NO_RESULTS, rememberShown, type Basis, type Results } from "../src/act/results";
import { renderFailure, renderFeedback, renderTable, renderVerdict } from "../src/act/render";
import { mutantsOf, type Json } from "./mutants";

const table = { caption: "c", columns: [{ key: "size", label: "Size", unit: "GB", numeric: true }], rows: [{ size: "1.5" }], links: {} };
const results: Results = {
  ...NO_RESULTS,
  view: {
    data: { bars: [{ part: "weights", gb: 1.5, over: false, note: null }] },
    headline: { label: "Memory", value: "1.5", unit: "GB" },
    summary: "s",
    tables: { sizes: table },
    failure: { title: "Out of memory", what: "w", excess: "e", remedy: "r" },
    success: null,
    command: "",
    readings: {},
    ledger: { laptop_fit_achieved: false },
    score: null,
    share: null,
  },
  verdict: { correct: true, headline: "h", paragraphs: ["p"], tables: { sizes: table }, gap: { answer: 1, difference: 0, factor: 1 } },
  feedback: new Map([["floor", { size: { correct: false, why: "w" } }]]),
  engine: "1.0+abc",
};

const state = { context: "a100", controls: { batch: 8, flash: true }, prediction: null, revealed: false, held: null, moves: 0, hint: false };
const STATE_1: Basis = { program: "act.json", python: "1.0", state, checked: [["floor", { size: "big" }]] };
const STATE_2: Basis = { ...STATE_1, state: { ...state, controls: { batch: 16, flash: true } } };

beforeEach(() => sessionStorage.clear());

describe("what was shown last", () => {
  test("comes back whole", () => {
    rememberShown("act", STATE_1, results);
    expect(lastShown("act", STATE_1)).toEqual(results);
  });

  test("does not stand for another state or another act", () => {
    rememberShown("act", STATE_1, results);
    expect(lastShown("act", STATE_2)).toBeNull();
    expect(lastShown("other", STATE_1)).toBeNull();
  });

  test("stands for the same state in whatever order its controls are named, and not for other answers or another Python", () => {
    rememberShown("act", STATE_1, results);
    expect(lastShown("act", { ...STATE_1, state: { ...state, controls: { flash: true, batch: 8 } } })).toEqual(results);
    for (const other of [{ python: "1.1" }, { program: "other.json" }, { checked: [] }]) expect(lastShown("act", { ...STATE_1, ...other })).toBeNull();
  });

  test("what someone else left there is nothing", () => {
    for (const text of ["{not json", "5", '"state 1"', "[]"]) {
      sessionStorage.setItem("a-book/shown/act", text);
      expect(lastShown("act", STATE_1)).toBeNull();
    }
  });

  test("a mutated one is nothing, or can be shown", () => {
    const key = "a-book/shown/act";
    rememberShown("act", STATE_1, results);
    const whole = JSON.parse(sessionStorage.getItem(key) ?? "") as Json;
    let [shown, refused] = [0, 0];
    fc.assert(
      fc.property(mutantsOf(whole), (mutant) => {
        sessionStorage.setItem(key, JSON.stringify(mutant));
        const found = lastShown("act", STATE_1);
        if (!found) return void (refused += 1);
        shown += 1;
        const { view, verdict, feedback } = found;
        const page = document.createElement("div");
        if (view) page.append(...Object.values(view.tables).map(renderTable), ...(view.failure ? [renderFailure(view.failure, true)] : []));
        if (verdict) page.append(...renderVerdict(verdict));
        for (const one of feedback.values()) page.append(...renderFeedback(one, new Map([["size", "small"]])));
        expect(page.textContent).not.toMatch(/function|\[object|undefined/);
      }),
      { numRuns: 300 },
    );
    expect([shown > 5, refused > 50]).toEqual([true, true]);
  });
});
