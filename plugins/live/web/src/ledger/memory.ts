// What an act remembers of its reader, and how it is read back from storage that may hold anything.
import type { Move } from "../act/moves";
import type { Figure, Value } from "../python/protocol";
import { DEFINITIONS, faultOf, type Rule } from "./schema";

/** A state that the reader reached, in words and numbers, and when. */
export interface Mark {
  /** Milliseconds since 1970. */
  at: number;
  score: number;
  /** The score over the best that a search found, where there was one. */
  share?: number;
  headline: Figure;
  controls: { label: string; value: string }[];
  /** What the act wrote into the ledger's own fields there. */
  fields: Record<string, Value>;
}

export interface Memory {
  prediction: Value | null;
  context: string;
  controls: Record<string, Value>;
  /** Whether the reader has moved an instrument since the lock. */
  explored: boolean;
  revealed: boolean;
  /** Reflection -> blank -> answer. */
  answers: Record<string, Record<string, Value>>;
  /** Reflections whose answers the reader has asked to check. */
  checked: string[];
  /** Every change of a control that was not undone, for acts that record them; of very many the last `MOST_MOVES`. */
  moves: Move[];
  /** The first state that counts and the best, for acts that keep a score. Moving on does not change them. */
  first?: Mark;
  best?: Mark;
  /** Reflection -> when the answers that stand in it were found right, at the bench as it stood then. */
  right?: Record<string, number>;
  /** Why the reader chose what they chose, in their own words. */
  argument?: string;
}

/** How far the reader is: nothing locked in, locked in, answer seen, every reflection answered right. */
export type Stage = "none" | "predicted" | "revealed" | "done";
export const STAGES: readonly Stage[] = ["none", "predicted", "revealed", "done"];

/** Characters of an argument. */
export const MOST_WORDS = DEFINITIONS.memory.properties.argument.maxLength;
export const MOST_MOVES = DEFINITIONS.memory.properties.moves.maxItems;

/** Where version 1 of this site kept an act: one key per act, in local storage. */
export const VERSION_1 = /^iron-law\/act\/(.+)\/1$/;

/** A memory with every field as the ledger's schema has it, or null. Values an act no longer offers are the caller's to drop. */
export function parseMemory(stored: unknown): Memory | null {
  if (!isObject(stored)) return null;
  const known = Object.keys(DEFINITIONS.memory.properties).filter((field) => Object.hasOwn(stored, field));
  // What a newer version of the site added is left out.
  const memory = Object.fromEntries(known.map((field) => [field, stored[field]])) as unknown as Memory;
  if (faultOf(memory, DEFINITIONS.memory as Rule)) return null;
  // An answer is never shown before the commitment, whatever the storage says.
  return { ...memory, revealed: memory.revealed && memory.prediction !== null };
}

/** A memory of version 1, which knew no moves, or null. */
export function parseVersion1(stored: unknown): Memory | null {
  return isObject(stored) ? parseMemory({ ...stored, moves: [] }) : null;
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

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
