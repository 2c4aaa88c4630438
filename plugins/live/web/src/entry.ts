// One act's place in the design ledger: what the reader did there, in data and in words, and which version is newer.
import { isObject, isTexts, isValue, parseMemory, STAGES, type Memory, type Stage } from "./memory";
import type { Figure, Gap, Value } from "./protocol";

export interface Entry {
  act: string;
  /** When the reader last did something, in ms since 1970. The newer of two entries of an act counts. */
  updated: number;
  stage: Stage;
  /** Null after a reset: the entry stays, so that no older copy comes back. */
  memory: Memory | null;
  /** Null while the words are unknown: the act was last played in version 1 of this site. */
  account: Account | null;
}

/** An act in the words and numbers the reader saw, so that a ledger can be read without the site. */
export interface Account {
  title: string;
  /** The act's home page, relative to the site's root. */
  page: string;
  /** The engine that computed the numbers; "" while none did. */
  engine: string;
  question: string;
  prediction: string | null;
  context: string;
  controls: { label: string; value: string }[];
  /** The number that matters in the final state, and the limit that it exceeds. */
  headline: Figure | null;
  failure: string | null;
  verdict: { correct: boolean; headline: string; gap: Gap } | null;
  moves: string[];
  /** Sentences with the reader's words filled in; `correct` is null until they were checked. */
  reflections: { text: string; correct: boolean | null }[];
  /** What the act writes into the ledger's own fields. */
  fields: Record<string, Value>;
}

/** A stored entry with every field of the right type, or null. An account that cannot be read is left out. */
export function parseEntry(stored: unknown): Entry | null {
  if (!isObject(stored)) return null;
  const { act, updated, stage } = stored;
  if (typeof act !== "string" || typeof updated !== "number" || !Number.isFinite(updated)) return null;
  if (!STAGES.includes(stage as Stage)) return null;
  const memory = stored.memory === null ? null : parseMemory(stored.memory);
  if (stored.memory !== null && !memory) return null;
  return { act, updated, stage: memory ? (stage as Stage) : "none", memory, account: parseAccount(stored.account) };
}

/** The newer entry; of two equally new ones the first. */
export function newer(one: Entry, other: Entry | null | undefined): Entry {
  return other && other.updated > one.updated ? other : one;
}

function parseAccount(stored: unknown): Account | null {
  if (!isObject(stored)) return null;
  const { title, page, engine, question, prediction, context, controls, headline, failure, verdict, moves, reflections, fields } = stored;
  const texts = [title, page, engine, question, context].every((one) => typeof one === "string");
  const optional = [prediction, failure].every((one) => one === null || typeof one === "string");
  if (!texts || !optional || !isTexts(moves) || !isFigure(headline) || !isVerdict(verdict)) return null;
  if (!Array.isArray(controls) || !controls.every((one) => isObject(one) && isTexts([one.label, one.value]))) return null;
  if (!Array.isArray(reflections) || !reflections.every(isSentence)) return null;
  if (!isObject(fields) || !Object.values(fields).every(isValue)) return null;
  return stored as unknown as Account;
}

function isFigure(value: unknown): boolean {
  return value === null || (isObject(value) && isTexts([value.label, value.value, value.unit]));
}

function isVerdict(value: unknown): boolean {
  if (value === null) return true;
  if (!isObject(value) || typeof value.correct !== "boolean" || typeof value.headline !== "string") return false;
  const { gap } = value;
  if (!isObject(gap) || typeof gap.answer !== "number" || typeof gap.difference !== "number") return false;
  return gap.factor === null || typeof gap.factor === "number";
}

function isSentence(value: unknown): boolean {
  return isObject(value) && typeof value.text === "string" && [true, false, null].includes(value.correct as boolean | null);
}
