// What an act remembers of its reader, and how it is read back from storage that may hold anything.
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
}

export const memoryKey = (act: string): string => `iron-law/act/${act}/1`;

/** A stored memory with every field of the right type, or null. Values an act no longer offers are the caller's to drop. */
export function parseMemory(stored: unknown): Memory | null {
  if (!isObject(stored)) return null;
  const { prediction, context, controls, explored, revealed, answers, checked } = stored;
  if (prediction !== null && !isValue(prediction)) return null;
  if (typeof context !== "string" || typeof explored !== "boolean" || typeof revealed !== "boolean") return null;
  if (!isValues(controls) || !isObject(answers) || !Object.values(answers).every(isValues)) return null;
  if (!Array.isArray(checked) || !checked.every((name) => typeof name === "string")) return null;
  return {
    prediction,
    context,
    controls,
    explored,
    // An answer is never shown before the commitment, whatever the storage says.
    revealed: revealed && prediction !== null,
    answers: answers as Memory["answers"],
    checked,
  };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isValue(value: unknown): value is Value {
  return typeof value === "string" || typeof value === "boolean" || (typeof value === "number" && Number.isFinite(value));
}

function isValues(value: unknown): value is Record<string, Value> {
  return isObject(value) && Object.values(value).every(isValue);
}
