// A reload shows what the tab showed last, and only for exactly the same state, act and Python.
import fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import { lastShown, NO_RESULTS, rememberShown, type Results } from "../src/act/results";
import { renderFailure, renderFeedback, renderTable, renderVerdict } from "../src/act/render";
import { mutantsOf, type Json } from "./mutants";

const table = { caption: "c", columns: [{ key: "size", label: "Size", unit: "GB", numeric: true }], rows: [{ size: "1.5" }] };
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

beforeEach(() => sessionStorage.clear());

describe("what was shown last", () => {
  test("comes back whole", () => {
    rememberShown("act", "state 1", results);
    expect(lastShown("act", "state 1")).toEqual(results);
  });

  test("does not stand for another state or another act", () => {
    rememberShown("act", "state 1", results);
    expect(lastShown("act", "state 2")).toBeNull();
    expect(lastShown("other", "state 1")).toBeNull();
  });

  test("what someone else left there is nothing", () => {
    for (const text of ["{not json", "5", '"state 1"', "[]"]) {
      sessionStorage.setItem("a-book/shown/act", text);
      expect(lastShown("act", "state 1")).toBeNull();
    }
  });

  test("a mutated one is nothing, or can be shown", () => {
    const key = "a-book/shown/act";
    rememberShown("act", "state 1", results);
    const whole = JSON.parse(sessionStorage.getItem(key) ?? "") as Json;
    let [shown, refused] = [0, 0];
    fc.assert(
      fc.property(mutantsOf(whole), (mutant) => {
        sessionStorage.setItem(key, JSON.stringify(mutant));
        const found = lastShown("act", "state 1");
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
