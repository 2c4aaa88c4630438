import { describe, expect, it } from "vitest";
import { addressOf, linkedState } from "../src/desk/address";
import { packed } from "../src/packed";

const PAGE = "https://book.example/plan/?q=1#old";
const DEFAULTS = { context: "one", controls: { model: "small", batch: 1, full: true, note: "" } };
const settings = (controls: Record<string, string | number | boolean>, context = "one") => ({ context, controls: { ...DEFAULTS.controls, ...controls } });
const hash = (address: string): string => new URL(address).hash;
const linkOf = async (value: unknown): Promise<string> => `#state=1.plan.${await packed(JSON.stringify(value))}`;

describe("the settings of an act in an address", () => {
  it("come back as they were, and what stands at its default is not in the link", async () => {
    const address = await addressOf(PAGE, "plan", settings({ batch: 8, note: '{"a": 1}' }), DEFAULTS);
    expect(address.startsWith("https://book.example/plan/?q=1#state=1.plan.")).toBe(true);
    expect(await linkedState(hash(address), "plan")).toEqual({ context: "", controls: { batch: 8, note: '{"a": 1}' } });
    const elsewhere = await addressOf(PAGE, "plan", settings({}, "two"), DEFAULTS);
    expect(await linkedState(hash(elsewhere), "plan")).toEqual({ context: "two", controls: {} });
  });

  it("are none where nothing was moved", async () => {
    expect(await addressOf(PAGE, "plan", settings({}), DEFAULTS)).toBe("https://book.example/plan/?q=1");
  });

  it("are in a link as a whole where no defaults are told: nothing stands for what this page has today", async () => {
    const address = await addressOf(PAGE, "plan", settings({}));
    expect(await linkedState(hash(address), "plan")).toEqual({ context: "one", controls: { model: "small", batch: 1, full: true } });
  });

  it("belong to one act, and an anchor is none", async () => {
    const address = await addressOf(PAGE, "plan", settings({ batch: 8 }), DEFAULTS);
    expect(await linkedState(hash(address), "other")).toBeNull();
    expect(await linkedState("#what-it-counts", "plan")).toBeNull();
  });

  it.each([
    ["a part is missing", "#state=1.plan.abc", "damaged"],
    ["nothing of its form", "#state=plan", "damaged"],
    ["another version", "#state=2.plan.abcd", "another version"],
  ])("are refused in a sentence: %s", async (_, fragment, word) => {
    expect(await linkedState(fragment, "plan")).toEqual({ problem: expect.stringContaining(word) as string });
  });

  it.each([
    ["a list", []],
    ["no controls", { context: "one" }],
    ["another field", { controls: {}, script: "x" }],
    ["a control that is a list", { controls: { batch: [1] } }],
    ["a number beyond all", { controls: { batch: 1e300 } }],
    ["a name of the language", { controls: { __proto__x: 1, constructor: { a: 1 } } }],
    ["text of no end", { controls: { note: "x".repeat(50_000) } }],
  ])("are refused where they are %s", async (_, value) => {
    expect(await linkedState(await linkOf(value), "plan")).toEqual({ problem: expect.stringContaining("damaged") as string });
  });
});
