// Ceilings of a card: the arithmetic of timing, the numbers that a product is checked by, and files from elsewhere.
import { Validator, type Schema } from "@cfworker/json-schema";
import fc from "fast-check";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { rate, roofOf, type Card } from "../src/ceilings/cards";
import { ceilingsIn, intensity, keep, kept, MOST_BYTES, MOST_KEPT, nameOf, textOf, type Ceilings } from "../src/ceilings/file";
import { mount } from "../src/ceilings/page";
import { decades, roofline } from "../src/ceilings/roofline";
import { best, grown, RUN_S, sideFor, timed, warmed, type Bench } from "../src/ceilings/timing";
import { entry, half, hash, places, tolerance, value } from "../src/ceilings/values";
import schema from "../../../measured/ceilings/schema.json";
import { mutantsOf, type Json } from "./mutants";

const made: Ceilings = {
  kind: "ceilings",
  schema_version: 1,
  card: "fast-1",
  measured: "2026-11-23T10:00:00Z",
  place: "shell",
  program: "PyTorch 2.13",
  system: "Linux",
  device: "FAST 1",
  emulated: false,
  tensor_cores: true,
  statistic: "median",
  products: [
    { format: "fp32", m: 1024, n: 1024, k: 1024, flops_per_s: 8e12 },
    { format: "fp16", m: 1024, n: 1024, k: 1024, flops_per_s: 60e12 },
  ],
  copies: [{ bytes: 2 ** 27, bytes_per_s: 4.5e11 }],
};
const card: Card = {
  name: "fast-1",
  title: "Fast 1",
  bandwidth: 5e11,
  roofs: [
    { label: "FP32", formats: ["fp32"], flops_per_s: 10e12, tensor_cores: false },
    { label: "16 bits", formats: ["fp16", "bf16"], flops_per_s: 80e12, tensor_cores: true },
  ],
};

/** A card on which a pass takes so many seconds, and the wait for the answer so many more; the clock is its own. */
function imagined(pass: number, wait = 0): Bench & { runs: number[] } {
  let clock = 100;
  const runs: number[] = [];
  return {
    runs,
    now: () => clock,
    after: () => undefined,
    run: (passes) => {
      runs.push(passes);
      clock += wait + passes * pass;
      return Promise.resolve();
    },
  };
}

describe("timing", () => {
  test("a run grows to the wanted length, at most tenfold at once", () => {
    expect(grown({ passes: 1, seconds: 0.1 }, 0.4)).toBe(4);
    expect(grown({ passes: 1, seconds: 0.0001 }, 0.4)).toBe(10);
    expect(grown({ passes: 8, seconds: 0 }, 0.4)).toBe(80);
    expect(grown({ passes: 8, seconds: 80 }, 0.4)).toBe(1);
  });

  test("the fastest run counts, by its passes", () => {
    expect(best([{ passes: 10, seconds: 2 }, { passes: 10, seconds: 1.5 }, { passes: 2, seconds: 0.4 }])).toBe(0.15);
  });

  test("the side is the largest whose product stays short", () => {
    const sides = [256, 512, 1024, 2048, 4096];
    expect(sideFor(30e12, sides)).toBe(4096);
    expect(sideFor(1e12, sides)).toBe(2048);
    expect(sideFor(1e6, sides)).toBe(256);
  });

  test.each([1e-5, 1e-3, 0.3, 3])("a pass of %f s is measured, whatever the wait for an answer", async (pass) => {
    const wait = 0.001;
    const bench = imagined(pass, wait);
    const found = await timed(bench, bench.now() + 6);
    // A run is so long that the wait hardly counts.
    expect(found).toBeGreaterThanOrEqual(pass);
    expect(found / pass - 1).toBeLessThan(pass < 1e-4 ? 0.03 : 0.006);
    expect(bench.runs.slice(-3)).toEqual(Array(3).fill(bench.runs.at(-1)));
  });

  test("it ends when its time is over, and after three runs at the earliest", async () => {
    const bench = imagined(0.001);
    const began = bench.now();
    await timed(bench, began + 5);
    expect(bench.now() - began).toBeLessThan(5 + 2 * RUN_S);
    const late = imagined(0.1);
    const run = await warmed(late);
    const before = late.runs.length;
    expect(run.seconds).toBeGreaterThan(0.19);
    await timed(late, 0);
    expect(late.runs.length - before).toBeGreaterThanOrEqual(3);
  });

  test("what `after` throws ends it", async () => {
    const bench = imagined(0.1);
    let runs = 0;
    const stopped = { ...bench, after: () => { if ((runs += 1) === 3) throw new Error("stopped"); } };
    await expect(timed(stopped, 1e9)).rejects.toThrow("stopped");
    expect(runs).toBe(3);
  });
});

describe("the numbers of a product", () => {
  test("lie between -1 and 1, in steps that 16 bits hold, and differ", () => {
    const all = Array.from({ length: 4096 }, (_, at) => value(at, 17));
    expect(all.every((one) => one >= -1 && one < 1 && Number.isInteger(one * 1024))).toBe(true);
    expect(Math.abs(all.reduce((sum, one) => sum + one) / all.length)).toBeLessThan(0.05);
    expect(new Set(all).size).toBeGreaterThan(1500);
    expect(hash(0)).toBe(129708002);
    expect(all.slice(0, 3)).not.toEqual([0, 1, 2].map((at) => value(at, 18)).slice(0, 3));
  });

  test("an entry is the row times the column, and a neighbor is not within what it may be off", () => {
    const [side, seeds] = [256, [17, 99]] as const;
    const [a, b] = seeds.map((seed) => Array.from({ length: side * side }, (_, at) => value(at, seed)));
    const direct = Array.from({ length: side }, (_, k) => (a?.[3 * side + k] ?? 0) * (b?.[k * side + 5] ?? 0)).reduce((sum, one) => sum + one);
    const { sum, norm } = entry(side, 3, 5, seeds);
    expect(sum).toBe(direct);
    expect(Math.abs(entry(side, 3, 6, seeds).sum - sum)).toBeGreaterThan(tolerance("fp16", side, norm));
    expect(tolerance("fp16", side, norm)).toBeGreaterThan(1000 * tolerance("fp32", side, norm));
  });

  test("FP32 sums in any order stay within what they may be off", () => {
    for (const [row, column] of places(512)) {
      let single = 0;
      for (let k = 511; k >= 0; k -= 1) single = Math.fround(single + Math.fround(value(row * 512 + k, 1) * value(k * 512 + column, 2)));
      const { sum, norm } = entry(512, row, column, [1, 2]);
      expect(Math.abs(single - sum)).toBeLessThanOrEqual(tolerance("fp32", 512, norm));
    }
  });

  test("halves are read as the format has them", () => {
    expect([0x3c00, 0xc000, 0x7bff, 0x0001, 0x0400, 0x7c00, 0x8000].map(half)).toEqual([1, -2, 65504, 2 ** -24, 2 ** -14, Infinity, -0]);
    expect(half(0x7e00)).toBeNaN();
  });
});

describe("a file", () => {
  const refusal = (text: string): string => {
    try {
      ceilingsIn(text);
      return "";
    } catch (error) {
      if ((error as Error).constructor.name !== "FileProblem") throw error;
      return (error as Error).message;
    }
  };

  test("is read back as it was written", () => {
    expect(ceilingsIn(textOf(made))).toEqual(made);
    expect(nameOf(made)).toBe("ceilings-fast-1-2026-11-23.json");
    expect(nameOf({ ...made, card: "" })).toBe("ceilings-another-card-2026-11-23.json");
  });

  test.each([
    ["{", "it is not JSON"],
    ["null", "no file of ceilings"],
    ['{"schema_version": 1, "acts": {}}', "no file of ceilings"],
    [textOf({ ...made, schema_version: 2 as 1 }), "schema_version: it must be 1"],
    [textOf({ ...made, card: "../up" }), "card: it must match"],
    [textOf({ ...made, products: [{ ...made.products[0], flops_per_s: "8" } as never] }), "products › 0 › flops_per_s: it must be a number"],
    [textOf({ ...made, copies: [{ bytes: 1, bytes_per_s: 1e300 }] }), "copies › 0 › bytes_per_s: it must be at most"],
    [textOf({ ...made, contributor: { name: "x", link: "javascript:alert(1)" } }), "contributor › link: it must match"],
    [textOf({ ...made, "a\nb": 1 } as never), "a b: it is unknown"],
    [textOf({ ...made, products: [], copies: [] }), "it holds no measurement"],
    [`${" ".repeat(MOST_BYTES)}{}`, "more than 64 KiB"],
  ])("%#: another is refused in one line", (text, words) => {
    expect(refusal(text)).toContain(words);
    expect(refusal(text)).not.toContain("\n");
  });

  test("mutated is refused in a line, or meets the schema by a whole validator and can be shown", () => {
    const whole = new Validator(schema as unknown as Schema, "2020-12");
    let accepted = 0;
    fc.assert(
      fc.property(mutantsOf(made as unknown as Json), (document) => {
        const why = refusal(JSON.stringify(document));
        expect(why.length).toBeLessThan(300);
        if (why) return;
        accepted += 1;
        const read = ceilingsIn(JSON.stringify(document));
        expect(whole.validate(read as never).valid).toBe(true);
        expect(roofline(card, [{ made: read, shape: 0 }], 400)?.outerHTML).not.toMatch(/NaN|Infinity|undefined/);
      }),
      { numRuns: 300 },
    );
    expect(accepted).toBeGreaterThan(0);
  });

  test("what this browser keeps is read again, and what somebody else left there is not", () => {
    keep(Array.from({ length: MOST_KEPT + 2 }, () => made));
    expect(kept()).toEqual(Array(MOST_KEPT).fill(made));
    const [name] = Object.keys(localStorage).filter((key) => key.endsWith("/ceilings"));
    localStorage.setItem(name ?? "", JSON.stringify([{ ...made, card: 7 }, made]));
    expect(kept()).toEqual([made]);
    localStorage.setItem(name ?? "", '{"length": 3}');
    expect(kept()).toEqual([]);
    keep([]);
    expect(localStorage.getItem(name ?? "")).toBeNull();
  });
});

describe("beside the card's figures", () => {
  test("a program without tensor cores is held against no peak of theirs", () => {
    expect(roofOf(card, "fp16", true)?.flops_per_s).toBe(80e12);
    expect(roofOf(card, "fp16", false)).toBeNull();
    expect(roofOf(card, "fp32", false)?.label).toBe("FP32");
    expect(roofOf(null, "fp32", true)).toBeNull();
  });

  test("rates have three digits and a prefix", () => {
    expect([82.58e12, 999.6e9, 1.008e12, 64e6, 512].map((one) => rate(one, "FLOP/s"))).toEqual(["82.6 TFLOP/s", "1 TFLOP/s", "1.01 TFLOP/s", "64 MFLOP/s", "512 FLOP/s"]);
  });

  test("an axis has the powers of ten around what it shows", () => {
    expect(decades(3e11, 8e13)).toEqual([1e11, 1e12, 1e13, 1e14]);
    expect(decades(1, 100)).toEqual([1, 10, 100]);
  });

  test("a product of squares has a third of its side in FLOP per byte for each half", () => {
    const [fp32, fp16] = made.products;
    expect(fp32 && intensity(fp32)).toBeCloseTo(1024 / 6);
    expect(fp16 && intensity(fp16)).toBeCloseTo(1024 / 3);
  });

  test("a measured point below its roof is drawn below it, and nothing is drawn of nothing", () => {
    const svg = roofline(card, [{ made, shape: 0 }], 600);
    const level = Number([...(svg?.querySelectorAll("line") ?? [])].find((line) => line.getAttribute("stroke") === "var(--il-good)")?.getAttribute("y1"));
    const heights = [...(svg?.querySelectorAll("path") ?? [])].map((path) => Number(/,([\d.]+)a/.exec(path.getAttribute("d") ?? "")?.[1]));
    // The copy, FP32, FP16: the second lies a little below the roof of FP32.
    expect(heights).toHaveLength(3);
    expect(heights[1]).toBeGreaterThan(level);
    expect(heights[2]).toBeLessThan(level);
    expect(svg?.getAttribute("aria-label")).toContain("Measured points: 3");
    expect(roofline(null, [], 600)).toBeNull();
  });
});

describe("the page", () => {
  beforeEach(() => localStorage.clear());

  function page(): HTMLElement {
    const host = document.createElement("div");
    host.dataset.cards = JSON.stringify([card]);
    host.dataset.seconds = "20";
    host.dataset.shell = "measure it";
    mount(host).onscreen();
    return host;
  }

  function open(host: HTMLElement, text: string, name: string): void {
    const input = host.querySelector("input[type=file]") as HTMLInputElement;
    Object.defineProperty(input, "files", { value: [new File([text], name)], configurable: true });
    input.dispatchEvent(new Event("change"));
  }

  test("without WebGPU one sentence says so and names the shell's command, and there is nothing to press", async () => {
    const host = page();
    await expect.poll(() => host.querySelector("[data-slot=offer]")?.textContent).toMatch(/^This browser offers no card .* measure it measures the same/);
    expect((host.querySelector("[data-action=measure]") as HTMLElement).hidden).toBe(true);
  });

  test("a file is shown beside the figures of its card and is not kept; a bad one is refused by name and changes nothing", async () => {
    const host = page();
    open(host, textOf(made), "theirs.json");
    await expect.poll(() => host.querySelectorAll("tbody tr").length).toBe(4);
    const cells = [...host.querySelectorAll("tbody tr")].map((row) => [...row.children].map((cell) => cell.textContent?.trim()));
    expect(cells[0]).toEqual(["Fast 1: theirs.json, measured by PyTorch 2.13, median of several runs, 2026-11-23"]);
    expect(cells[1]).toEqual(["FP32 product", "1,024³", "8 TFLOP/s", "80 %"]);
    expect(cells[3]).toEqual(["Copy", "128 MiB", "450 GB/s", "90 %"]);
    expect((host.querySelector("select") as HTMLSelectElement).value).toBe("fast-1");
    expect(kept()).toEqual([]);
    open(host, "{}", "odd.json");
    await expect.poll(() => host.querySelector("[role=alert]")?.textContent).toMatch(/^odd\.json was not opened: it is no file of ceilings/);
    expect(host.querySelectorAll("tbody tr").length).toBe(4);
  });

  test("what was measured here before stands there with its label, until it is forgotten; who gives it away is in the file", async () => {
    keep([{ ...made, place: "browser", tensor_cores: false, statistic: "best" }]);
    const host = page();
    expect(host.querySelector("tbody th")?.textContent).toContain("measured here, in a browser, without tensor cores");
    expect([...host.querySelectorAll("tbody tr")].map((row) => row.lastElementChild?.textContent)[2]).toBe("–");
    const address = vi.spyOn(URL, "createObjectURL");
    for (const [input, text] of [["input[type=text]", " Ada "], ["input[type=url]", "https://example.org/ada"]] as const) {
      (host.querySelector(input) as HTMLInputElement).value = text;
      host.querySelector(input)?.dispatchEvent(new Event("input"));
    }
    const texts = await Promise.all(address.mock.calls.map(([blob]) => (blob as Blob).text()));
    address.mockRestore();
    const givers = texts.map((text) => ceilingsIn(text).contributor);
    expect(givers).toEqual([undefined, { name: "Ada", link: "https://example.org/ada" }]);
    (host.querySelector("[data-action=forget]") as HTMLElement).click();
    expect(host.querySelector("tbody")).toBeNull();
    expect(kept()).toEqual([]);
  });
});
