// How the ledger's pages write an act's numbers.
import fc from "fast-check";
import { expect, test } from "vitest";
import { answerWords, figureWords, gapWords, shownIn } from "../src/ledger/numbers";

const gap = (answer: number, prediction: number, unit?: string) => ({ answer, difference: answer - prediction, factor: null, ...(unit !== undefined && { unit }) });

test("a number has the digits that the act shows of it", () => {
  expect(shownIn(12.4608896, "You said 12.5 GB, and that is right: two numbers for every parameter are 12.46 GB.")).toBe("12.46");
  expect(shownIn(1128.859, "1,129 GB: weights 282, gradients 282.")).toBe("1,129");
  expect(shownIn(0.0208, "It becomes 0.021 times what it was.")).toBe("0.021");
  expect(shownIn(13.3607, "It fits.", "13.36")).toBe("13.36");
});

test("where no sentence says it, three digits are enough", () => {
  expect(shownIn(12.4608896, "Adam adds a lot.")).toBe("12.5");
  expect(shownIn(1.0000016)).toBe("1");
});

test("an answer has its unit, also where words were chosen", () => {
  expect(answerWords(gap(0.0208, 1, "times"), "It becomes 0.021 times what it was.")).toBe("0.021 times");
  expect(answerWords(gap(35, 75), "Less.")).toBe("35");
});

test.each([
  [12.4608896, 25, "12.46 GB. You said 25 GB.", "12.46"],
  [12.4608896, 12.461, "12.46 GB. You said 12.461 GB, and that is right.", "12.46"],
  [12.4608896, 12.4609, "You said 12.4609 GB, and that is right: 12.46 GB.", "12.46"],
  [12.4608896, 12.46, "You said 12.46 GB, and that is right: 12.46 GB.", "12.46"],
  [12.4608896, 12.461, "12.46 GB, as you said.", "12.46"],
  [11.9199, 11.92, "11.9 GB: weights 3.0, gradients 3.0. You said 11.92.", "11.9"],
  [11.9199, 12, "11.9 GB: weights 3.0. You said 12.", "11.9"],
])("an answer of %d has the digits of the act, whether %d was predicted or another number", (answer, prediction, headline, shown) => {
  expect(answerWords(gap(answer, prediction, "GB"), headline)).toBe(`${shown} GB`);
});

test("the numbers of a gap add up as they are shown", () => {
  const headline = "You said 12.5 GB, and that is right: 12.46 GB.";
  expect(gapWords(gap(12.4608896, 12.5, "GB"), headline)).toBe("answer 12.46 GB, −0.04 from the prediction");
  expect(gapWords(gap(0.147733, 1 / 7, "times"), "It becomes 0.15 times what it was.")).toMatch(/^answer 0\.15 times, \+0\.00488 from the prediction/);
  expect(gapWords(gap(58.62, 58.5, "%"), "In fact 59 %.")).toBe("answer 59 %, +0.5 from the prediction");
});

test("any number and any sentence give words", () => {
  fc.assert(
    fc.property(fc.double({ min: -1e15, max: 1e15, noNaN: true }), fc.double({ min: -1e15, max: 1e15, noNaN: true }), fc.string(), (answer, said, text) => {
      expect(gapWords(gap(answer, said), `${text} ${answer.toFixed(3)}`)).toMatch(/^answer .+, [−+].+ from the prediction$/);
      expect(shownIn(answer, `0.${"1".repeat(400)}`)).toBeTruthy();
    }),
  );
});

test("the number stands before what is said of it in brackets", () => {
  const label = "Frames per second (4.61 frames per joule, 100\u00a0% of the best found, move 5 of 5)";
  expect(figureWords({ label, value: "8.61", unit: "" })).toBe("Frames per second: 8.61 (4.61 frames per joule, 100\u00a0% of the best found, move 5 of 5)");
  expect(figureWords({ label: "MFU", value: "41", unit: "%" })).toBe("MFU: 41 %");
});
