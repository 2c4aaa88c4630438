// What the ledger keeps of an exercise in code: tries, hints, the code that was tested last, when it was solved.
import { slot } from "../dom";
import type { Entry } from "../ledger/entry";
import type { Account, Memory } from "../ledger/types";
import type { Check } from "../python/protocol";
import { DEFINITIONS } from "../ledger/schema";

export interface Attempts {
  tries: number;
  hints: number;
  /** What was tested last. */
  code: string;
  /** Tests passed in the last try, and how many there were; not known of a try in another browser. */
  passed: number | null;
  of: number | null;
  /** When it was solved, and when the solution was opened first. */
  solved?: number;
  opened?: number;
}

const LONGEST = DEFINITIONS.memory.properties.exercise.properties.code.maxLength;
const MOST_QUESTION = DEFINITIONS.text.maxLength;
const MOST_LINE = DEFINITIONS.line.maxLength;

/** Under which name the ledger keeps it, beside the acts. */
export const entryName = (exercise: string): string => `exercise-${exercise}`;

export function attemptsOf(entry: Entry | null): Attempts {
  const memory = entry?.memory;
  const { tries = 0, code = "", ...moments } = memory?.exercise ?? {};
  return { tries, code, hints: memory?.hints ?? 0, passed: null, of: null, ...moments };
}

export function memoryWith({ tries, code, hints, solved, opened }: Attempts): Memory {
  return {
    prediction: null,
    context: "",
    controls: {},
    explored: false,
    revealed: false,
    answers: {},
    checked: [],
    moves: [],
    hints,
    exercise: { tries, code: [...code].slice(0, LONGEST).join(""), ...(solved === undefined ? {} : { solved }), ...(opened === undefined ? {} : { opened }) },
  };
}

/** In the words of the ledger's stages: tried, solution seen, solved. */
export function stageOfExercise({ tries, solved, opened }: Attempts): Entry["stage"] {
  if (solved !== undefined) return "done";
  if (opened !== undefined) return "revealed";
  return tries ? "predicted" : "none";
}

/** The same in words, for the ledger's page. */
export function accountOf(host: HTMLElement, { passed, of }: Attempts, page: string, engine: string): Account {
  const title = `Exercise: ${slot(host, "title").textContent ?? ""}`;
  const question = (slot(host, "task").textContent ?? "").replace(/\s+/g, " ").trim();
  return {
    title: title.slice(0, MOST_LINE),
    page,
    engine,
    question: question.slice(0, MOST_QUESTION),
    prediction: null,
    context: "",
    controls: [],
    headline: passed === null || of === null ? null : { label: "Tests passed", value: `${passed} of ${of}`, unit: "" },
    failure: null,
    verdict: null,
    moves: [],
    reflections: [],
    fields: {},
  };
}

/** How far the code is. */
export function outcomeWords(checks: readonly Check[]): string {
  if (!checks.length) return "The code fails before it can be tested; see the error above.";
  const passed = checks.filter((check) => check.passed).length;
  if (passed === checks.length) return `All ${checks.length} tests pass. Solved.`;
  return `${passed} of ${checks.length} tests pass.`;
}
