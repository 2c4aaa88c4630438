// What an act remembers of its reader, and how it is read back from storage that may hold anything.
import type { Move } from "./moves";
import type { Value } from "./protocol";

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
  /** Every change of a control that was not undone, for acts that record them. */
  moves: Move[];
}

/** How far the reader is: nothing locked in, locked in, answer seen, every reflection checked. */
export type Stage = "none" | "predicted" | "revealed" | "done";
export const STAGES: readonly Stage[] = ["none", "predicted", "revealed", "done"];

/** Where version 1 of this site kept an act: one key per act, in local storage. */
export const VERSION_1 = /^iron-law\/act\/(.+)\/1$/;

/** A stored memory with every field of the right type, or null. Values an act no longer offers are the caller's to drop. */
export function parseMemory(stored: unknown): Memory | null {
  if (!isObject(stored)) return null;
  const { prediction, context, controls, explored, revealed, answers, checked, moves } = stored;
  if (prediction !== null && !isValue(prediction)) return null;
  if (typeof context !== "string" || typeof explored !== "boolean" || typeof revealed !== "boolean") return null;
  if (!isValues(controls) || !isObject(answers) || !Object.values(answers).every(isValues)) return null;
  if (!isTexts(checked) || !Array.isArray(moves) || !moves.every(isMove)) return null;
  return {
    prediction,
    context,
    controls,
    explored,
    // An answer is never shown before the commitment, whatever the storage says.
    revealed: revealed && prediction !== null,
    answers: answers as Memory["answers"],
    checked,
    moves,
  };
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
  return reflections.every((name) => memory.checked.includes(name)) ? "done" : "revealed";
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isValue(value: unknown): value is Value {
  return typeof value === "string" || typeof value === "boolean" || (typeof value === "number" && Number.isFinite(value));
}

export function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}

function isValues(value: unknown): value is Record<string, Value> {
  return isObject(value) && Object.values(value).every(isValue);
}

function isMove(value: unknown): value is Move {
  if (!isObject(value) || typeof value.control !== "string" || !isValue(value.from) || !isValue(value.to)) return false;
  return [value.before, value.after].every(
    (amount) => amount === null || (isObject(amount) && typeof amount.value === "string" && typeof amount.unit === "string"),
  );
}
