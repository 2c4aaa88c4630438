// Plain data compared by what it says.
import { expect, test } from "vitest";
import { equal } from "../src/equal";

const STATE = { context: "node", controls: { batch: 4, on: false }, held: null, moves: [{ from: "a" }] };

test("data says the same whatever the order of its names", () => {
  expect(equal(STATE, { moves: [{ from: "a" }], held: null, controls: { on: false, batch: 4 }, context: "node" })).toBe(true);
  expect(equal(Number.NaN, Number.NaN)).toBe(true);
  expect(equal([], [])).toBe(true);
});

test.each([
  [{ ...STATE, held: 0 }],
  [{ ...STATE, controls: { batch: 4 } }],
  [{ ...STATE, controls: { batch: 4, on: false, more: 1 } }],
  [{ ...STATE, controls: { batch: 4, off: false } }],
  [{ ...STATE, moves: [] }],
  [{ ...STATE, moves: { 0: { from: "a" } } }],
  [null],
  ["node"],
])("anything else is something else: %o", (other) => {
  expect(equal(STATE, other)).toBe(false);
  expect(equal(other, STATE)).toBe(false);
});
