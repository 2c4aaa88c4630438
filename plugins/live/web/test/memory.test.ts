// What an act remembers is taken back only when it is whole.
import { describe, expect, test } from "vitest";
import { memoryKey, parseMemory, type Memory } from "../src/memory";

const whole: Memory = {
  prediction: 3,
  context: "laptop",
  controls: { optimizer: "adam", batch: 8, activations: true },
  explored: true,
  revealed: true,
  answers: { saving: { factor: 1.5 } },
  checked: ["saving"],
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
  ])("refuses %s", (_, stored) => {
    expect(parseMemory(stored)).toBeNull();
  });

  test("nothing is revealed without a prediction, whatever the storage says", () => {
    expect(parseMemory({ ...whole, prediction: null })?.revealed).toBe(false);
  });

  test("the key carries the act and a version", () => {
    expect(memoryKey("optimizer-memory-tax")).toBe("iron-law/act/optimizer-memory-tax/1");
  });
});
