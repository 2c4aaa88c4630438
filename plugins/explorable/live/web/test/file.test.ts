// The ledger as a document: what it says, that its schema holds, and that a bad one is refused in one line.
import { describe, expect, test } from "vitest";
import { entriesIn, fileOf, ledgerIn, SCHEMA_VERSION } from "../src/ledger/file";
import { entriesInLink, FRAGMENT, linkTo } from "../src/ledger/link";
import { account, entry, memory, schema } from "./ledger-kit";

const challenge = entry({
  act: "laptop-challenge",
  updated: 2000,
  account: { ...account, moves: [], verdict: null, fields: { optimizer_chosen: "sgd", final_mfu_pct: 12 } },
});
const text = (change: object = {}): string => JSON.stringify({ ...fileOf([entry()]), ...change });
const problem = (run: () => unknown): string => {
  try {
    run();
  } catch (error) {
    return (error as Error).message;
  }
  return "";
};

describe("the ledger's document", () => {
  test("has the fields of the plan, and predictions, gaps and moves by act", () => {
    const made = fileOf([entry(), challenge]);
    expect(made).toMatchObject({
      schema_version: SCHEMA_VERSION,
      engine_version: "0.1.0+abc",
      site_version: "1.0.0+now",
      chapter: 8,
      optimizer_chosen: "sgd",
      precision_chosen: null,
      gradient_checkpointing: null,
      final_mfu_pct: 12,
      baseline_mfu_estimate_pct: 75,
      laptop_fit_achieved: null,
      laptop_minimum_memory_gb: null,
      predictions: { "mfu-gap": 75, "laptop-challenge": 75 },
      gaps: { "mfu-gap": { answer: 35, difference: -40 } },
      moves: { "mfu-gap": ["Prefetching off → on"] },
    });
    expect(schema.required.every((field) => field in made)).toBe(true);
  });

  test("its constants are those of the schema", () => {
    const { schema_version, chapter } = schema.properties;
    expect([schema_version.const, chapter.const]).toEqual([fileOf([]).schema_version, fileOf([]).chapter]);
  });

  test("is read back to the very entries, by file and by link", async () => {
    const entries = [entry(), challenge, entry({ act: "old", account: null })];
    const made = fileOf(entries);
    expect(entriesIn(JSON.stringify(made))).toEqual(entries);
    const link = await linkTo("https://example.org/lab/ledger/?a=1#top", made);
    expect(link).toMatch(/^https:\/\/example\.org\/lab\/ledger\/\?a=1#ledger=[\w-]+$/);
    expect(await entriesInLink(new URL(link).hash)).toEqual(entries);
  });

  test("may have the reader's name, of a length that a page can show", () => {
    expect(ledgerIn(text()).player).toBe("");
    expect(ledgerIn(text({ player: " Ada " })).player).toBe("Ada");
    expect(problem(() => ledgerIn(text({ player: "a".repeat(61) })))).toMatch(/^The ledger is damaged at player/);
    expect(problem(() => ledgerIn(text({ player: { toString: 1 } })))).toMatch(/^The ledger is damaged at player/);
  });

  test("an act that was reset is in no document", () => {
    expect(fileOf([entry({ memory: null })]).acts).toEqual({});
  });

  test.each<[string, string, RegExp]>([
    ["no JSON", "<html>", /^This is not JSON/],
    ["another file", "[1]", /no "schema_version"/],
    ["the bare plan", JSON.stringify({ chapter: 8 }), /no "schema_version"/],
    ["a newer version", text({ schema_version: 3 }), /is 3; this site reads 2\. Reload/],
    ["a foreign version", text({ schema_version: "2" }), /is "2"; this site reads 2\.$/],
    ["a wrong choice", text({ optimizer_chosen: "lion" }), /optimizer_chosen/],
    ["a broken act", text({ acts: { a: { ...entry(), memory: { ...memory, controls: { x: [1] } } } } }), /damaged at .*acts/],
    ["a link in place of a page", text({ acts: { a: { updated: 1, stage: "done", memory, account: { ...account, page: "javascript:1" } } } }), /page/],
    ["another host's page", text({ acts: { a: { updated: 1, stage: "done", memory, account: { ...account, page: "//evil.example" } } } }), /page/],
  ])("refuses %s in one line", (_, document, why) => {
    const said = problem(() => entriesIn(document));
    expect(said).toMatch(why);
    expect(said).not.toContain("\n");
  });

  test("a shortened link is refused in one line", async () => {
    const link = await linkTo("https://example.org/", fileOf([entry()]));
    const cut = new URL(link).hash.slice(0, FRAGMENT.length + 40);
    await expect(entriesInLink(cut)).rejects.toThrow("The link is damaged");
    await expect(entriesInLink(`${FRAGMENT}%%%`)).rejects.toThrow("The link is damaged");
  });
});
