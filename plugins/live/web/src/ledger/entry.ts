// One act's place in the design ledger: what the reader did there, in data and in words, and which version is newer.
import { isObject, parseMemory, type Memory, type Stage } from "./memory";
import type { Figure, Gap, Value } from "../python/protocol";
import { DEFINITIONS, faultOf, type Rule } from "./schema";

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
  fields: Record<string, Value | null>;
}

/** No moment is later, so that the clock of whoever wrote an entry cannot put it beyond every later one. */
export const LATEST = DEFINITIONS.act.properties.updated.maximum;

/** An entry with every field as the ledger's schema has it, or null. An account that cannot be read is left out. */
export function parseEntry(stored: unknown): Entry | null {
  if (!isObject(stored) || faultOf(stored.act, DEFINITIONS.name)) return null;
  const { updated, stage } = DEFINITIONS.act.properties;
  if (faultOf(stored.updated, updated) || faultOf(stored.stage, stage)) return null;
  const memory = stored.memory === null ? null : parseMemory(stored.memory);
  if (stored.memory !== null && !memory) return null;
  return {
    act: stored.act as string,
    updated: stored.updated as number,
    stage: memory ? (stored.stage as Stage) : "none",
    memory,
    account: faultOf(stored.account, DEFINITIONS.account as Rule) ? null : (stored.account as Account | null),
  };
}

/** The newer entry; of two equally new ones the first. */
export function newer(one: Entry, other: Entry | null | undefined): Entry {
  return other && other.updated > one.updated ? other : one;
}
