// What the ledger keeps of an exercise: it survives a file, an old ledger without it stays valid, and it never breaks a limit.
import { describe, expect, test } from "vitest";
import { accountOf, attemptsOf, entryName, memoryWith, outcomeWords, stageOfExercise, type Attempts } from "../src/exercise/attempts";
import { parseEntry, type Entry } from "../src/ledger/entry";
import { entriesIn, fileOf, textOf } from "../src/ledger/file";
import { summaryOf } from "../src/ledger/summary";
import { runs } from "../src/release";
import type { Release } from "../src/python/protocol";
import { entry } from "./ledger-kit";

runs({ version: "1", build: "b" } as Release);

const none = attemptsOf(null);
const tried: Attempts = { ...none, tries: 2, hints: 1, code: "def f():\n    return 1", passed: 3, of: 5 };

function host(title: string, task: string): HTMLElement {
  const element = document.createElement("live-exercise");
  for (const [name, text] of Object.entries({ title, task })) {
    const place = document.createElement("div");
    place.dataset.slot = name;
    place.textContent = text;
    element.append(place);
  }
  return element;
}

function entryOf(attempts: Attempts, element = host("Bytes", "Complete f.")): Entry {
  const account = accountOf(element, attempts, "chapter/optimizers/", "1.0");
  return { act: entryName("bytes"), updated: 1000, stage: stageOfExercise(attempts), memory: memoryWith(attempts), account };
}

describe("an exercise in the ledger", () => {
  test("comes back from a file with its tries, hints, code and moments, beside acts that have none", () => {
    const solved = { ...tried, opened: 10, solved: 20 };
    const read = entriesIn(textOf(fileOf([entry(), entryOf(solved)])));
    expect(read.map(({ act }) => act)).toEqual(["mfu-gap", "exercise-bytes"]);
    expect(attemptsOf(read[1] ?? null)).toEqual({ ...solved, passed: null, of: null });
    expect(read[0]?.memory?.exercise).toBeUndefined();
    expect(read[1]?.stage).toBe("done");
  });

  test("stays within the ledger's limits, however long the code and the task are", () => {
    const long = { ...tried, code: "𝛼\n".repeat(15_000) };
    const kept = parseEntry(entryOf(long, host("T".repeat(900), "word ".repeat(5000))));
    expect(kept?.account).not.toBeNull();
    expect([...attemptsOf(kept).code].length).toBe(10_000);
  });

  test("is as far as the reader is", () => {
    expect(stageOfExercise(none)).toBe("none");
    expect(stageOfExercise({ ...none, hints: 2 })).toBe("none");
    expect(stageOfExercise(tried)).toBe("predicted");
    expect(stageOfExercise({ ...tried, opened: 1 })).toBe("revealed");
    expect(stageOfExercise({ ...tried, opened: 1, solved: 2 })).toBe("done");
  });

  test("is told in words: tries, whether the solution came first, the code as it was written", () => {
    const said = (attempts: Attempts): string => {
      const one = entryOf(attempts);
      return summaryOf(fileOf([one]), [one], () => null).map(({ textContent }) => textContent ?? "").join("\n");
    };
    expect(said(tried)).toContain("Tried, ");
    expect(said(tried)).toContain("Tries2");
    expect(said(tried)).toContain("def f():\n    return 1");
    expect(said({ ...tried, opened: 1, solved: 2 })).toContain("2, solution seen before it was solved");
    expect(said({ ...tried, opened: 2, solved: 1 })).not.toContain("solution seen before");
  });

  test("says how many tests pass", () => {
    const check = (passed: boolean) => ({ label: "f() == 1", hidden: false, passed, said: "", line: null });
    expect(outcomeWords([])).toMatch(/fails before it can be tested/);
    expect(outcomeWords([check(true), check(false)])).toBe("1 of 2 tests pass.");
    expect(outcomeWords([check(true), check(true)])).toBe("All 2 tests pass. Solved.");
  });
});
