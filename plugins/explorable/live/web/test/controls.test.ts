import { expect, test } from "vitest";
import { controlWords, NumberRange, numberWords, type RangeSpec } from "../src/act/controls";

const range = (change: Partial<RangeSpec>): NumberRange =>
  new NumberRange({ minimum: 1, maximum: 64, scale: "linear", step: 0, integer: false, ...change });
const RANGES = {
  batch: range({ scale: "log", integer: true }),
  percent: range({ minimum: 0, maximum: 100, step: 0.5 }),
  rate: range({ minimum: 1e-5, maximum: 1, scale: "log" }),
  layers: range({ minimum: 2, maximum: 9, integer: true }),
  free: range({ minimum: -1, maximum: 1 }),
};

test.each(Object.entries(RANGES))("%s: the ends are exact, values rise, and every value has its place", (_, one) => {
  const values = Array.from({ length: one.last + 1 }, (_, place) => one.at(place));
  expect(values[0]).toBe(one.spec.minimum);
  expect(values.at(-1)).toBe(one.spec.maximum);
  for (const [index, value] of values.entries()) {
    expect(one.offers(value)).toBe(true);
    if (index) expect(value).toBeGreaterThanOrEqual(values[index - 1] ?? value);
    expect(one.at(one.placeOf(value))).toBe(value);
  }
  expect(new Set(values).size).toBeGreaterThan(Math.min(one.last, 60) / 2);
});

test("a hand outside of the range gets its nearer end", () => {
  expect(RANGES.batch.snap(-3)).toBe(1);
  expect(RANGES.batch.snap(1000)).toBe(64);
  expect(RANGES.percent.snap(33.3)).toBe(33.5);
});

test("an arrow key always reaches another value, until the end", () => {
  let place = 0;
  const seen = [RANGES.batch.at(0)];
  for (let next = RANGES.batch.next(place, 1); next !== place; next = RANGES.batch.next(place, 1)) {
    place = next;
    if (seen.at(-1) !== RANGES.batch.at(place)) seen.push(RANGES.batch.at(place));
  }
  expect(seen).toEqual(Array.from({ length: 64 }, (_, index) => index + 1));
});

test("numbers are written as the page writes them", () => {
  expect(numberWords(12.5, "GB")).toBe("12.5 GB");
  expect(numberWords(4096, "")).toBe("4,096");
});

test("controls of a page that has been left still have their words", () => {
  const root = document.body.appendChild(document.createElement("div"));
  root.innerHTML = `<fieldset data-choice="optimizer"><legend>Optimizer</legend><input type="radio" id="r-1" data-value='"sgd"'><label for="r-1">SGD</label></fieldset>
    <label for="m-1">Card</label><select id="m-1" data-menu="card"><option data-value='"a100"'>A100</option></select>
    <label><input type="checkbox" data-toggle="fused">Fused update</label>`;
  const said = (): unknown[] => [controlWords(root, "optimizer", "sgd"), controlWords(root, "card", "a100"), controlWords(root, "fused", true)];
  const before = said();
  expect(before).toEqual([{ label: "Optimizer", value: "SGD" }, { label: "Card", value: "A100" }, { label: "Fused update", value: "on" }]);
  root.remove();
  expect(said()).toEqual(before);
});
