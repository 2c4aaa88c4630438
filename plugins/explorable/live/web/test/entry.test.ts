// An entry's memory is taken back only when it is whole; stages; the best state reached.
import { describe, expect, test } from "vitest";
import { MOST_HINTS, parseMemory, stageOf, withHint, withMark, type Mark, type Memory } from "../src/ledger/entry";

const whole: Memory = {
  prediction: 3,
  context: "laptop",
  controls: { optimizer: "adam", batch: 8, activations: true },
  explored: true,
  revealed: true,
  answers: { saving: { factor: 1.5 } },
  checked: ["saving"],
  moves: [{ control: "batch", from: 1, to: 8, before: null, after: { value: "30.1", unit: "GB" } }],
};

describe("memory", () => {
  test("survives JSON", () => {
    expect(parseMemory(JSON.parse(JSON.stringify(whole)))).toEqual(whole);
  });

  test.each<[string, unknown]>([
    ["nothing", null],
    ["a list", []],
    ["an older shape", { prediction: 3 }],
    ["a control that is no value", { ...whole, controls: { batch: { evil: 1 } } }],
    ["answers of the wrong shape", { ...whole, answers: { saving: 2 } }],
    ["a prediction that is no value", { ...whole, prediction: {} }],
    ["a move without its control", { ...whole, moves: [{ from: 1, to: 8, before: null, after: null }] }],
  ])("refuses %s", (_, stored) => {
    expect(parseMemory(stored)).toBeNull();
  });

  test("nothing is revealed without a prediction, whatever the storage says", () => {
    expect(parseMemory({ ...whole, prediction: null })?.revealed).toBe(false);
  });

  test("hints are counted, and never so many that the ledger could not be read", () => {
    expect(withHint(whole).hints).toBe(1);
    expect(withHint(withHint(whole)).hints).toBe(2);
    const most = withHint({ ...whole, hints: MOST_HINTS });
    expect(parseMemory(JSON.parse(JSON.stringify(most)))?.hints).toBe(MOST_HINTS);
    expect(parseMemory({ ...whole, hints: MOST_HINTS + 1 })).toBeNull();
  });

  test("an act is done when every reflection was answered right, an instrument when it was moved", () => {
    const stages = [
      stageOf({ ...whole, prediction: null, revealed: false }, true, ["saving"]),
      stageOf({ ...whole, revealed: false }, true, ["saving"]),
      stageOf({ ...whole, checked: [] }, true, ["saving"]),
      stageOf(whole, true, ["saving"]),
      stageOf({ ...whole, right: { saving: 1 } }, true, ["saving"]),
      stageOf({ ...whole, explored: false }, false, []),
      stageOf(whole, false, []),
    ];
    expect(stages).toEqual(["none", "predicted", "revealed", "revealed", "done", "none", "done"]);
  });

  test("the first state that counts stays, and the best only makes way for a better one", () => {
    const mark = (score: number): Mark => ({ at: score, score, headline: { label: "l", value: "v", unit: "u" }, controls: [], fields: {} });
    const reached = [5, 9, 7, 9].reduce((memory, score, index) => withMark(memory, { ...mark(score), at: index }), whole);
    expect([reached.first?.at, reached.best?.at, reached.best?.score]).toEqual([0, 1, 9]);
    expect(parseMemory(reached)).toEqual(reached);
    expect(parseMemory({ ...reached, best: { ...mark(9), at: "today" } })).toBeNull();
  });
});
