// What an act keeps of attempts that were reset: whoever has seen the answer does not predict it any more.
import { describe, expect, it } from "vitest";
import { askedAnew, earlierOf, lostByReset } from "../src/ledger/earlier";
import { parseMemory, type Memory } from "../src/ledger/entry";

const memory = (change: Partial<Memory> = {}): Memory => ({
  prediction: null, context: "node", controls: {}, explored: false, revealed: false, answers: {}, checked: [], moves: [], ...change,
});
const words = (prediction: unknown): string => `${String(prediction)} GB`;

describe("earlier attempts", () => {
  it("are none while nothing was locked in", () => {
    expect(earlierOf(memory({ revealed: false }), words)).toBeUndefined();
  });

  it("keep the first prediction, their number and whether an answer was seen", () => {
    const first = earlierOf(memory({ prediction: 3, revealed: true }), words);
    expect(first).toEqual({ attempts: 1, first: "3 GB", revealed: true });
    const second = earlierOf(memory({ prediction: 12.5, earlier: first as never }), words);
    expect(second).toEqual({ attempts: 2, first: "3 GB", revealed: true });
    expect(earlierOf(memory({ earlier: second as never }), words)).toEqual(second);
  });

  it("hold the answer to a question that is not asked any more, and what was reached stays", () => {
    const best = { at: 1, score: 2, headline: { label: "", value: "", unit: "" }, controls: [], fields: {} };
    const before = memory({ prediction: 350, revealed: true, checked: ["serving"], hints: 2, argument: "Small.", best: best as never });
    const fresh = memory({ controls: { batch: 1 } });
    const earlier = { attempts: 1, first: "350 MB", revealed: true };
    expect(askedAnew(before, fresh, () => "350 MB")).toEqual({ ...fresh, hints: 2, argument: "Small.", best, earlier });
  });

  it("can be written and read again, with the hints", () => {
    const kept = memory({ hints: 3, earlier: { attempts: 1000, first: "3 GB", revealed: false } });
    expect(parseMemory(JSON.parse(JSON.stringify(kept)))).toEqual(kept);
    const more = earlierOf({ ...kept, prediction: 4 }, words);
    expect(more?.attempts).toBe(1000);
  });

  it("the question before a reset says what goes, and what the ledger keeps", () => {
    expect(lostByReset(memory({}))).toBe("Your answers and settings here will be gone.");
    const all = "Your prediction, answers and settings here will be gone. The ledger keeps your first prediction as an earlier attempt";
    expect(lostByReset(memory({ prediction: 3 }))).toBe(`${all}.`);
    expect(lostByReset(memory({ prediction: 3, revealed: true, hints: 2 }))).toBe(`${all}, and that you saw the answer, and how many hints you asked for.`);
    const mark = { at: 1, score: 1, headline: { label: "Rate", value: "3", unit: "" }, controls: [], fields: {} };
    expect(lostByReset(memory({ prediction: 3, best: mark, argument: "Small." }))).toBe(`${all}, and the best that you reached, and what you wrote in its defense.`);
    expect(lostByReset(memory({ earlier: { attempts: 1, first: "3 GB", revealed: false } }))).toMatch(/^Your answers and .* The ledger keeps your first/);
  });
});
