// How an account's numbers are written: with the digits that the act showed, and a figure before what is said of it.
import type { Gap } from "./types";

/** A number in a text; more digits than these no act shows. */
const NUMBER = /\d[\d,]*(?:\.\d{1,9})?/g;

/** To three digits: for what no text of the act says. */
export const round = (value: number): string => value.toLocaleString("en-US", { maximumSignificantDigits: 3 });

/** A number that a reader typed, or the middle of such, with all its digits. */
export function typedWords(value: number): string {
  // Binary fractions leave a last digit over.
  const exact = Number(value.toPrecision(12));
  const digits = String(exact).split(".")[1]?.length ?? 0;
  return (digits < ENDLESS ? fixed(exact, digits) : round(exact)).replace("-", "−");
}

/** So many digits behind the point as the texts show of a number; null where none says it. Of two that say it, the finer counts.
 * Where the texts quote a prediction besides, which may be as near, its number is none of them. */
function digitsIn(value: number, texts: readonly string[], prediction?: number): number | null {
  const all = texts.flatMap((text) => text.match(NUMBER) ?? []);
  const behind = (found: string): number => found.split(".")[1]?.length ?? 0;
  const says = (number: number) => (found: string) => Number(found.replaceAll(",", "")) === Number(Math.abs(number).toFixed(behind(found)));
  const digits = all.filter(says(value)).map(behind);
  if (prediction !== undefined && digits.length > 1) {
    const quoted = Math.max(...all.filter(says(value)).filter(says(prediction)).map(behind));
    if (digits.includes(quoted)) digits.splice(digits.indexOf(quoted), 1);
  }
  return digits.length ? Math.max(...digits) : null;
}

/** What was predicted. Binary fractions leave a last digit over. */
const predictionOf = ({ answer, difference }: Gap): number => Number((answer - difference).toPrecision(12));

const fixed = (value: number, digits: number): string =>
  value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });

/** A number as these texts show it. */
export function shownIn(value: number, ...texts: string[]): string {
  return withDigits(value, digitsIn(value, texts));
}

const withDigits = (value: number, digits: number | null): string => (digits === null ? round(value) : fixed(value, digits));

/** The answer in the words that can be chosen, or as the act's sentence shows it, with its unit where the gap has one. */
export const answerWords = (gap: Gap, headline: string): string =>
  gap.words ?? [withDigits(gap.answer, digitsIn(gap.answer, [headline], predictionOf(gap))), gap.unit].filter(Boolean).join(" ");

/** Digits behind the point from which on a prediction is a fraction that nobody typed, such as a seventh. */
const ENDLESS = 7;

/** The gap in numbers, or the answer where words are chosen. What is shown adds up: prediction and difference are the answer that is shown. */
export function gapWords(gap: Gap, headline: string): string {
  const { answer, difference, factor, words } = gap;
  if (words !== undefined) return `answer “${words}”`;
  const prediction = predictionOf(gap);
  const digits = digitsIn(answer, [headline], prediction);
  const typed = String(prediction).split(".")[1]?.length ?? 0;
  const adds = digits !== null && typed < ENDLESS;
  const far = adds ? Number(answer.toFixed(digits)) - prediction : difference;
  const size = adds ? fixed(Math.abs(far), Math.max(digits, typed)) : round(Math.abs(far));
  const signed = `${far < 0 ? "−" : "+"}${size}`;
  return `answer ${answerWords(gap, headline)}, ${signed} from the prediction${factor === null ? "" : `, factor ${round(factor)}`}`;
}

/** A number that matters, in words: what its label says of it in brackets stands behind it. */
export function figureWords({ label, value, unit }: { label: string; value: string; unit: string }): string {
  const [, name = label, said = ""] = /^(.*?) (\(.*\))$/s.exec(label) ?? [];
  return `${name}: ${[value, unit, said].filter(Boolean).join(" ")}`;
}
