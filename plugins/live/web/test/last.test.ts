// A reload shows what the tab showed last, and only for exactly the same state, act and Python.
import { beforeEach, describe, expect, test } from "vitest";
import { NO_RESULTS, type Results } from "../src/account";
import { lastShown, rememberShown } from "../src/last";

const results: Results = {
  ...NO_RESULTS,
  verdict: { correct: true, headline: "h", paragraphs: [], tables: {}, gap: { answer: 1, difference: 0, factor: 1 } },
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
      sessionStorage.setItem("iron-law/shown/act", text);
      expect(lastShown("act", "state 1")).toBeNull();
    }
  });
});
