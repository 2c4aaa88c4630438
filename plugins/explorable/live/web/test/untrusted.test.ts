// What comes into the ledger from outside, a file, a link or storage: refused in a short line, or as good as our own.
import { getHeapStatistics } from "node:v8";
import { Validator, type Schema } from "@cfworker/json-schema";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { keptEntry, MOST_MOVES, parseEntry } from "../src/ledger/entry";
import { entriesIn, fileOf, fitting, MOST_CHARACTERS, textOf } from "../src/ledger/file";
import { chosen } from "../src/ledger/defense";
import { entriesInLink, FRAGMENT, linkTo } from "../src/ledger/link";
import { faultOf, LEDGER } from "../src/ledger/schema";
import { schema } from "./ledger-kit";
import { summaryOf } from "../src/ledger/summary";
import { account, defended, entry, memory } from "./ledger-kit";
import { changed, mutantsOf, type Json } from "./mutants";

const BASE = fileOf([entry(), entry({ act: "laptop-challenge", updated: 2000, memory: defended })]) as unknown as Json;
const ACT = (BASE as { acts: Record<string, Json> }).acts["mfu-gap"] as { [name: string]: Json };
const whole = new Validator(schema as unknown as Schema, "2020-12");

/** A busy machine is no defect. */
const LIMIT_MS = 60_000;

/** A full run tries other mutations each day, for so long. */
const FULL = Boolean(process.env["FULL"]);
const SECONDS = 15;
const SEED = Number(process.env["FUZZ_SEED"] ?? Math.floor(Date.now() / 86_400_000));
const settings = (runs: number) => (FULL ? { seed: SEED, numRuns: 1_000_000, interruptAfterTimeLimit: 1000 * SECONDS } : { numRuns: runs });

const mutated = mutantsOf(BASE);

/** Reads a document, shows it, writes it and reads it again. */
function through(text: string): void {
  const entries = entriesIn(text);
  const page = window.document.createElement("div");
  page.append(...summaryOf(fileOf(entries), entries, (address) => `/${address}`), ...entries.flatMap(chosen).flat());
  expect(page.textContent).not.toMatch(/Invalid Date|function|\[object|undefined|NaN/);
  expect(entriesIn(textOf(fileOf(entries)))).toEqual(entries);
  expect(entries.map(parseEntry)).toEqual(entries);
}

function refusal(text: string): string | null {
  try {
    through(text);
    return null;
  } catch (error) {
    if ((error as Error).name !== "LedgerProblem") throw error;
    return (error as Error).message;
  }
}

test("what is made up at random has no more than its memory", () => {
  expect(getHeapStatistics().heap_size_limit).toBeLessThan(1.5 * 2 ** 30);
});

describe("a ledger from outside", () => {
  test("a mutated one is refused in a short line, or can be shown, written and read again", () => {
    let [accepted, refused] = [0, 0];
    fc.assert(
      fc.property(mutated, (document) => {
        const why = refusal(JSON.stringify(document));
        if (why === null) return void (accepted += 1);
        refused += 1;
        expect(why.length).toBeLessThan(400);
        expect(why).not.toContain("\n");
      }),
      settings(400),
    );
    if (FULL) console.log(`ledger: ${accepted + refused} tries from seed ${SEED}`);
    expect([accepted > 5, refused > 100]).toEqual([true, true]);
  }, LIMIT_MS);

  test("a mutated link is refused in a short line, or carries entries", async () => {
    const link = (await linkTo("https://book.example/", fileOf([entry()]))).replace(/^[^#]*/, "");
    const cut = fc.tuple(fc.nat(link.length), fc.nat(40), fc.string({ maxLength: 40 }));
    const pieces = fc.array(cut, { minLength: 1, maxLength: 3 });
    let tries = 0;
    await fc.assert(
      fc.asyncProperty(pieces, async (changes) => {
        let text = link;
        for (const [at, length, instead] of changes) text = text.slice(0, at) + instead + text.slice(at + length);
        tries += 1;
        let why = "";
        try {
          await entriesInLink(FRAGMENT + text.slice(FRAGMENT.length));
        } catch (error) {
          if ((error as Error).name !== "LedgerProblem") throw error;
          why = (error as Error).message;
        }
        expect([why.length < 400, why.includes("\n")]).toEqual([true, false]);
      }),
      settings(100),
    );
    if (FULL) console.log(`link: ${tries} tries from seed ${SEED}`);
  }, LIMIT_MS);

  test("our reading of the schema is a whole validator's", () => {
    fc.assert(
      fc.property(mutated, (mutant) => {
        // As it is after it was written and read: a hole that a mutation left in a list is null then.
        const document = JSON.parse(JSON.stringify(mutant)) as Json;
        expect(faultOf(document, LEDGER) === null).toBe(whole.validate(document).valid);
      }),
      { numRuns: 100 },
    );
  }, LIMIT_MS);

  test("the schema uses only words that are read", () => {
    const words = new Set([
      "$ref", "type", "const", "enum", "maxLength", "pattern", "minimum", "maximum", "required", "properties", "propertyNames",
      "additionalProperties", "unevaluatedProperties", "maxProperties", "items", "maxItems", "allOf",
      // These only explain, or say how a page shows a field.
      "description", "title", "unit", "names",
    ]);
    const unread = (rule: object): string[] =>
      Object.entries(rule).flatMap(([word, value]) => {
        if (word === "properties") return Object.values(value as object).flatMap(unread);
        if (["items", "propertyNames", "additionalProperties"].includes(word) && typeof value === "object") return unread(value as object);
        return words.has(word) ? [] : [word];
      });
    const { $schema: _, $defs, ...top } = schema;
    expect([top, ...Object.values($defs)].flatMap(unread)).toEqual([]);
  });

  // Found by mutating ledgers: each was accepted once and spoiled the page or the reader's own export.
  test.each<[string, string[], Json, RegExp]>([
    ["an unknown optimizer", ["account", "fields", "optimizer_chosen"], "lion", /must be one of/],
    ["a text for a number", ["account", "fields", "final_mfu_pct"], "31", /must be a number or null/],
    ["a decision that is none", ["account", "fields", "constructor"], 1, /is unknown/],
    ["a number beyond bounds", ["account", "verdict", "gap", "answer"], 1e300, /at most/],
    ["a time after the last date", ["updated"], 8.64e15 + 1, /at most 4102444800000/],
    ["a control that is no name", ["memory", "controls", "__proto__"], 1, /no name/],
    ["too many moves", ["memory", "moves"], Array.from({ length: MOST_MOVES + 1 }, () => structuredClone(memory.moves[0]) as unknown as Json), /at most 500/],
    ["an argument beyond its room", ["memory", "argument"], "x".repeat(1201), /at most 1200 characters/],
    ["an argument that is no text", ["memory", "argument"], { html: "<b>" }, /must be a string/],
    ["a long title", ["account", "title"], "x".repeat(50_000), /at most 300 characters/],
  ])("is refused with %s", (_, path, to, why) => {
    expect(refusal(JSON.stringify(changed(BASE, ["acts", "mfu-gap", ...path], to)))).toMatch(why);
  });

  test("is refused with too many acts, or a name that every object knows by heart", () => {
    const acts = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`act-${index}`, ACT]));
    expect(refusal(JSON.stringify(changed(BASE, ["acts"], acts as Json)))).toMatch(/acts: it must have at most 100 members/);
    expect(refusal(JSON.stringify(changed(BASE, ["acts", "__proto__"], ACT)))).toMatch(/acts › __proto__: it is no name/);
  });

  test("a refusal repeats little of what it refuses", () => {
    for (const document of [
      changed(BASE, ["schema_version"], "9".repeat(50_000)),
      changed(BASE, ["acts", "x".repeat(50_000)], ACT),
      changed(BASE, ["x".repeat(50_000)], 1),
    ]) {
      expect(refusal(JSON.stringify(document))?.length).toBeLessThan(200);
    }
    expect(refusal(`{"schema_version": ${"[".repeat(20_000)}${"]".repeat(20_000)}}`)).toMatch(/is no number/);
  });
});

describe("a text for which a browser takes a time by the square of its length", () => {
  const rows = (sign: string): Json => {
    const text = (most: number): string => sign.repeat(most / [...sign].length);
    const asked = { ...account, question: text(3000), reflections: [{ text: text(3000), correct: null }] };
    const played = { ...memory, prediction: text(300), earlier: { attempts: 1, first: text(3000), revealed: false }, argument: text(1200) };
    return entry({ account: asked, memory: { ...played, exercise: { tries: 1, code: text(10_000) } } }) as unknown as Json;
  };

  test.each(["\u0e33", "\u0301", "\u0628", "\u1000\u103c", "\u{1f3fb}"])("is cut wherever it came from, with %j", (sign) => {
    const { act: _, ...one } = rows(sign) as { act: string; [name: string]: Json };
    const [read] = entriesIn(JSON.stringify(changed(BASE, ["acts"], { "mfu-gap": one })));
    expect(read).toEqual(parseEntry(rows(sign)));
    const longest = Math.max(...(JSON.stringify(read).match(/[^\s"]+/gu) ?? []).map(({ length }) => length));
    expect(longest).toBeLessThan(1002);
    expect(parseEntry(read)).toEqual(read);
  });

  test("what a reader wrote stays as it is in the own browser, and what was brought does not", () => {
    const argument = "ก".repeat(1178);
    const own = entry({ memory: { ...memory, argument, exercise: { tries: 1, code: `# ${"ข".repeat(1200)}\u200e` } } });
    expect(keptEntry(own)).toEqual(own);
    expect(keptEntry({ ...own, brought: true })?.memory?.argument?.length).toBeLessThan(1002);
  });

  test("code loses what turns it around or cannot be seen, and nothing else", () => {
    const code = "def f():\n\treturn '👩‍🔬 é'\n";
    const read = (text: string) => parseEntry(entry({ memory: { ...memory, exercise: { tries: 1, code: text } } }))?.memory?.exercise?.code;
    expect(read(code)).toBe(code);
    expect(read("\u202e\u2066#\u0000\u200f\u061c\u2028\r\u0085 x")).toBe("# x");
  });
});

describe("an entry from storage", () => {
  test.each<[string, string[], Json]>([
    ["a script in place of a page", ["account", "page"], "javascript:alert(1)"],
    ["another host's page", ["account", "page"], "//example.org/"],
    ["an unknown decision", ["account", "fields", "optimizer_chosen"], "lion"],
  ])("loses an account with %s", (_, path, to) => {
    expect(parseEntry(changed(entry() as unknown as Json, path, to))).toEqual(entry({ account: null }));
  });

  test("keeps a memory to which a newer version of the site added something", () => {
    expect(parseEntry(changed(entry() as unknown as Json, ["memory", "mood"], "good"))).toEqual(entry());
  });
});

test("whatever storage holds, the file that is written of it can be read", () => {
  const line = "x".repeat(300);
  const moves = Array.from({ length: MOST_MOVES }, () => ({ control: "a", from: line, to: line, before: null, after: null }));
  const large = (index: number) => entry({ act: `act-${index}`, memory: { ...memory, moves }, account: { ...account, moves: moves.map(() => line) } });
  const entries = [...Array.from({ length: 200 }, (_, index) => large(index)), entry()];
  const text = textOf(fileOf(fitting(entries)));
  expect(text.length).toBeLessThanOrEqual(MOST_CHARACTERS);
  expect(entriesIn(text)).toContainEqual(entry());
});
