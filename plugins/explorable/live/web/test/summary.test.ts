// The ledger for reading and for paper.
import { describe, expect, test } from "vitest";
import type { Account, Entry, Mark } from "../src/ledger/entry";
import { fileOf } from "../src/ledger/file";
import { summaryOf } from "../src/ledger/summary";
import { account, entry, memory } from "./ledger-kit";

const href = (page: string): string | null => (page.startsWith("lab/") ? `https://example.org/${page}` : null);

function page(...entries: Entry[]): HTMLElement {
  const place = document.createElement("div");
  place.append(...summaryOf(fileOf(entries), entries, href));
  return place;
}

/** Term -> text, of the table of decisions and of the facts of acts. */
function said(place: HTMLElement): Record<string, string> {
  const rows = [...place.querySelectorAll("tbody tr")].map((row) => [...row.children].map((cell) => cell.textContent ?? ""));
  const facts = [...place.querySelectorAll("dt")].map((term) => [term.textContent ?? "", term.nextElementSibling?.textContent ?? ""]);
  return Object.fromEntries([...rows, ...facts]);
}

describe("the summary of a ledger", () => {
  test("decisions are in words with units, and what no act has given is not yet there", () => {
    const fields: Account["fields"] = { ...account.fields, precision_chosen: "fp16", laptop_fit_achieved: false, laptop_minimum_memory_gb: 13.3607 };
    expect(said(page(entry({ account: { ...account, fields } })))).toMatchObject({
      "Optimizer chosen": "set by no act yet",
      "Precision chosen": "FP16",
      "Fits the laptop, and trains": "no",
      "Least memory that trains": "13.4 GB",
      "Final MFU": "31.5 %",
    });
  });

  test("the first state that counted and the best stand with their settings and times", () => {
    const mark = (value: string, at: number): Mark => ({
      at,
      score: 1,
      headline: { label: "MFU", value, unit: "%" },
      controls: [{ label: "Batch size", value: "64" }],
      fields: {},
    });
    const kept = entry();
    const reached = { ...kept, memory: { ...memory, first: mark("14", Date.UTC(2026, 4, 6)), best: mark("51", Date.UTC(2026, 4, 7, 12)) } };
    const { First, Best } = said(page(reached));
    expect(First).toMatch(/^MFU: 14 % with Batch size 64; May \d, 2026, /);
    expect(Best).toMatch(/^MFU: 51 % with Batch size 64; May 7, 2026, /);
    expect(said(page(kept))).not.toHaveProperty("Best");
  });

  test("an act that was reset has no final state", () => {
    expect(said(page(entry()))).toHaveProperty("Final state");
    const earlier = { attempts: 1, first: "75 %", revealed: true };
    const reset = entry({ stage: "none", memory: { ...memory, prediction: null, earlier }, account: { ...account, prediction: null, verdict: null } });
    const { Earlier, ...rest } = said(page(reset));
    expect(Earlier).toBe("one earlier attempt, first 75 %, answer seen");
    expect(rest).not.toHaveProperty("Final state");
    expect(rest).not.toHaveProperty("Result");
  });

  test("the gap is the act's sentence, and the numbers that every act gives", () => {
    expect(said(page(entry()))).toMatchObject({ Gap: "2.1 times less.", "In numbers": "answer 35, −40 from the prediction, factor 2.14" });
    const verdict = { correct: false, headline: "Off.", gap: { answer: 35, difference: 35, factor: null } };
    expect(said(page(entry({ account: { ...account, verdict } })))["In numbers"]).toBe("answer 35, +35 from the prediction");
  });

  test("a decision has the digits that its act showed", () => {
    const fields: Account["fields"] = { laptop_minimum_memory_gb: 13.3607 };
    const headline = { label: "Needed on the GPU (it fits, and it trains)", value: "13.36", unit: "GB" };
    expect(said(page(entry({ account: { ...account, fields, headline } })))).toMatchObject({
      "Least memory that trains": "13.36 GB",
      Result: "Needed on the GPU: 13.36 GB (it fits, and it trains)",
    });
  });

  test("an act leads back to its page; moves and reflections are listed with their judgement", () => {
    const place = page(entry());
    expect(place.querySelector("h2 a")?.getAttribute("href")).toBe("https://example.org/lab/act3/");
    expect([...place.querySelectorAll("li")].map((item) => item.textContent?.replaceAll("\u00a0", " "))).toEqual([
      "Prefetching off → on",
      "The best lever is “prefetching”. ✓ right",
    ]);
  });

  test("a word that every object knows is a word, and a page outside of the site is no link", () => {
    const fields = { ...account.fields, optimizer_chosen: "constructor" as "sgd" };
    const place = page(entry({ account: { ...account, page: "javascript:alert(1)", fields } }));
    expect(said(place)["Optimizer chosen"]).toBe("constructor");
    expect([place.querySelector("h2")?.textContent, place.querySelector("a")]).toEqual(["Decisions", null]);
  });

  test("an act of an older version is named, and an empty ledger says how it fills", () => {
    expect(page(entry({ account: null })).textContent).toContain("mfu-gap");
    expect(page().textContent).toContain("lock in a first prediction");
  });
});
