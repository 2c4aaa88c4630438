// The file of a card's ceilings: what it holds, how one from elsewhere is checked, and where this browser keeps its own.
import { faultOf, type Rule } from "../ledger/schema";
import { bookId } from "../release";
import { openStorage } from "../storage";
import schema from "../../../../measured/ceilings/schema.json";

export type Format = "fp32" | "fp16" | "bf16";

/** (m, k) times (k, n). */
export interface Product {
  format: Format;
  m: number;
  n: number;
  k: number;
  flops_per_s: number;
}

/** A buffer of `bytes` that was copied; read and written bytes both count. */
export interface Copy {
  bytes: number;
  bytes_per_s: number;
}

/** One measurement of one card; `schema.json` says what each field means. */
export interface Ceilings {
  kind: "ceilings";
  schema_version: 1;
  card: string;
  measured: string;
  place: "browser" | "shell";
  program: string;
  system: string;
  device: string;
  emulated: boolean;
  tensor_cores: boolean;
  statistic: "best" | "median";
  products: Product[];
  copies: Copy[];
  contributor?: { name: string; link: string };
}

export const MOST_BYTES = 64 * 1024;
/** Of what this browser measured, the newest so many are kept. */
export const MOST_KEPT = 4;
export const LONGEST = {
  system: schema.properties.system.maxLength,
  device: schema.properties.device.maxLength,
  program: schema.properties.program.maxLength,
  name: schema.properties.contributor.properties.name.maxLength,
  link: schema.properties.contributor.properties.link.maxLength,
};

/** Whether both fields are given, as a file may hold them. */
export const isContributor = (given: { name: string; link: string }): boolean => !faultOf(given, schema.properties.contributor as Rule);

/** Why a text is no such file, in one line for the reader. */
export class FileProblem extends Error {}

/** The measurement in a text. Raises `FileProblem`. */
export function ceilingsIn(text: string): Ceilings {
  if (new TextEncoder().encode(text).length > MOST_BYTES) throw new FileProblem(`it has more than ${MOST_BYTES / 1024} KiB`);
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw new FileProblem("it is not JSON");
  }
  return checked(parsed);
}

/** Plain data as a measurement. Raises `FileProblem`. */
function checked(parsed: unknown): Ceilings {
  if ((parsed as { kind?: unknown } | null)?.kind !== "ceilings") throw new FileProblem('it is no file of ceilings: it has no "kind": "ceilings"');
  const fault = faultOf(parsed, schema as Rule);
  if (fault) throw new FileProblem(`${fault.path.map((name) => name.slice(0, 40).replace(/\s/g, " ")).join(" › ") || "its top level"}: ${fault.allowed}`);
  const made = parsed as Ceilings;
  if (!made.products.length && !made.copies.length) throw new FileProblem("it holds no measurement");
  return made;
}

export const textOf = (made: Ceilings): string => `${JSON.stringify(made, null, 2)}\n`;

/** `ceilings-<card>-<date>.json`: letters, digits and hyphens only. */
export const nameOf = ({ card, measured }: Ceilings): string => `ceilings-${card || "another-card"}-${measured.slice(0, 10)}.json`;

/** FLOP for each byte that must move at least: both operands read, the result written. */
export function intensity({ format, m, n, k }: Product): number {
  const width = format === "fp32" ? 4 : 2;
  return (2 * m * n * k) / (width * (m * k + k * n + m * n));
}

const storage = openStorage(() => localStorage);
const place = (): string => `${bookId()}/ceilings`;

/** What this browser has measured before, newest first. Anything else that lies there is left out. */
export function kept(): Ceilings[] {
  const read = storage.read(place());
  if (!Array.isArray(read)) return [];
  return read.slice(0, MOST_KEPT).flatMap((one) => {
    try {
      return [checked(one)];
    } catch {
      return [];
    }
  });
}

/** Keeps these, the newest first; returns whether they outlive the page. */
export function keep(all: readonly Ceilings[]): boolean {
  if (all.length) return storage.write(place(), all.slice(0, MOST_KEPT));
  storage.remove(place());
  return true;
}
