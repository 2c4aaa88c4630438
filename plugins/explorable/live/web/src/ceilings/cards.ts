// The cards that the page knows, and what of their figures a measurement is held against.
import type { Format } from "./file";

/** A peak of a card: of products in these formats, with tensor cores or without. */
export interface Roof {
  label: string;
  formats: Format[];
  flops_per_s: number;
  tensor_cores: boolean;
}

/** A card, as the book describes it. */
export interface Card {
  name: string;
  title: string;
  bandwidth: number;
  roofs: Roof[];
}

/** The peak that a product in a format could reach; null where none is known. A program without tensor cores is held against no peak of theirs. */
export function roofOf(card: Card | null, format: Format, tensorCores: boolean): Roof | null {
  const possible = card?.roofs.filter((roof) => roof.formats.includes(format) && (tensorCores || !roof.tensor_cores)) ?? [];
  return possible.sort((one, other) => other.flops_per_s - one.flops_per_s)[0] ?? null;
}

const PREFIXES: readonly (readonly [size: number, prefix: string])[] = [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];

/** A rate with three digits: `82.6 TFLOP/s`. */
export function rate(value: number, unit: string): string {
  const [size, prefix] = PREFIXES.find(([least]) => value >= 0.9995 * least) ?? [1, ""];
  return `${(value / size).toLocaleString("en-US", { maximumSignificantDigits: 3 })} ${prefix}${unit}`;
}
