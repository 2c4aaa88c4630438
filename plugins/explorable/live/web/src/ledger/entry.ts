// One act's entry in the ledger: its `memory`, from which the page can stand again, and its `account`, the same in words.
import { boundedIn } from "../marks";
import { DEFINITIONS, faultOf, type Rule } from "./schema";
import type { Account, Act, Mark, Memory } from "./types";

export type { Account, Mark, Memory } from "./types";

export interface Entry extends Omit<Act, "memory"> {
  act: string;
  /** Null after a reset: the entry stays, so that no older copy comes back. */
  memory: Memory | null;
  /** When it was played, where an import brought it later than that: `updated` is then the moment of the import. */
  played?: number;
  /** Whether the code of its exercise came with an import: perhaps somebody else has written it. */
  brought?: boolean;
}

/** How far the reader is: nothing locked in, locked in, answer seen, every reflection answered right. */
export type Stage = Entry["stage"];
export const STAGES: readonly Stage[] = ["none", "predicted", "revealed", "done"];

/** Characters of an argument. */
export const MOST_WORDS = DEFINITIONS.memory.properties.argument.maxLength;
export const MOST_HINTS = DEFINITIONS.memory.properties.hints.maximum;
export const MOST_MOVES = DEFINITIONS.memory.properties.moves.maxItems;
/** No moment is later, so that the clock of whoever wrote an entry cannot put it beyond every later one. */
export const LATEST = DEFINITIONS.moment.maximum;

/** Marks that turn text around, and controls beside tabs and line ends: in code they hide what it does. */
// eslint-disable-next-line no-control-regex -- that is what it looks for
const HIDES = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** What is done to texts. */
type Bound = <T>(value: T) => T;

/** An entry with every field as the ledger's schema has it, or null. An account that cannot be read is left out. Whoever wrote the
 * texts, a browser can show them: rows of marks end. */
export const parseEntry = (stored: unknown): Entry | null => entryIn(stored, boundedIn);

/** The same of what this browser keeps. What its reader wrote stays as it is. */
export const keptEntry = (stored: unknown): Entry | null => entryIn(stored, isObject(stored) && stored.brought === true ? boundedIn : (value) => value);

function entryIn(stored: unknown, bound: Bound): Entry | null {
  if (!isObject(stored) || faultOf(stored.act, DEFINITIONS.name)) return null;
  const { updated, stage } = DEFINITIONS.act.properties;
  if (faultOf(stored.updated, updated) || faultOf(stored.stage, stage)) return null;
  const memory = stored.memory === null ? null : parseMemory(stored.memory, bound);
  if (stored.memory !== null && !memory) return null;
  return {
    ...(stored.played !== undefined && !faultOf(stored.played, updated) && { played: stored.played as number }),
    act: stored.act as string,
    updated: stored.updated as number,
    stage: memory ? (stored.stage as Stage) : "none",
    memory,
    ...(stored.brought === true && { brought: true }),
    account: faultOf(stored.account, DEFINITIONS.account as Rule) ? null : bound(stored.account as Account | null),
  };
}

/** A memory with every field as the ledger's schema has it, or null. Values an act no longer offers are the caller's to drop. */
export function parseMemory(stored: unknown, bound: Bound = boundedIn): Memory | null {
  if (!isObject(stored)) return null;
  const known = Object.keys(DEFINITIONS.memory.properties).filter((field) => Object.hasOwn(stored, field));
  // What a newer version of the site added is left out.
  const memory = Object.fromEntries(known.map((field) => [field, stored[field]])) as unknown as Memory;
  if (faultOf(memory, DEFINITIONS.memory as Rule)) return null;
  const { exercise } = memory;
  return {
    ...bound({ ...memory, ...(exercise && bound === boundedIn && { exercise: { ...exercise, code: exercise.code.replace(HIDES, "") } }) }),
    // An answer is never shown before the commitment, whatever the browser has kept.
    revealed: memory.revealed && memory.prediction !== null,
  };
}

/** When the reader played what the entry says, in this browser or in another. */
export const playedAt = ({ played, updated }: Entry): number => played ?? updated;

/** The newer entry; of two equally new ones the first. */
export function newer(one: Entry, other: Entry | null | undefined): Entry {
  return other && other.updated > one.updated ? other : one;
}

/** `asks`: the act has a question. An instrument has nothing to complete: it is done once it was moved. */
export function stageOf(memory: Memory, asks: boolean, reflections: readonly string[]): Stage {
  if (!asks) return memory.explored ? "done" : "none";
  if (memory.prediction === null) return "none";
  if (!memory.revealed) return "predicted";
  return allRight(memory, reflections) ? "done" : "revealed";
}

/** Whether every reflection was answered right: to have asked is not to have found out. */
export function allRight(memory: Memory, reflections: readonly string[]): boolean {
  return reflections.every((name) => memory.checked.includes(name) && Object.hasOwn(memory.right ?? {}, name));
}

/** The memory with a state that was reached: it may be the first that counts, or the best. */
export function withMark(memory: Memory, mark: Mark): Memory {
  const best = memory.best && memory.best.score >= mark.score ? memory.best : mark;
  return { ...memory, first: memory.first ?? mark, best };
}

/** The memory with a hint more. It never counts more of them than a ledger may hold: with one more it could not be read. */
export function withHint(memory: Memory): Memory {
  return { ...memory, hints: Math.min(MOST_HINTS, (memory.hints ?? 0) + 1) };
}

/** Whether nothing was done since the act was reset: all that the memory holds is what is known of earlier attempts. */
export function untouched({ prediction, earlier, explored }: Memory): boolean {
  return earlier !== undefined && prediction === null && !explored;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
