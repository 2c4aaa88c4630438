// Values from Python as nodes.
import { describe, expect, test } from "vitest";
import { padding, renderFailure, renderFeedback, renderSuccess, renderTable, renderVerdict } from "../src/act/render";
import { siteUrl } from "../src/site";
import type { Table } from "../src/python/protocol";

const table: Table = {
  caption: "Memory",
  columns: [
    { key: "part", label: "Part", unit: "", numeric: false },
    { key: "gb", label: "Memory", unit: "GB", numeric: true },
  ],
  rows: [
    { part: "Adam m", gb: "6.23" },
    { part: "Total", gb: "31" },
  ],
  links: {},
};

describe("tables", () => {
  test("numbers line up on the decimal point without a change of their text", () => {
    const cells = [...renderTable(table).querySelectorAll<HTMLElement>("td")];
    expect(cells.map((cell) => [cell.textContent, cell.dataset.pad])).toEqual([
      ["6.23", ""],
      ["31", ".23"],
    ]);
  });

  test("what is no number gets the full padding", () => {
    expect(padding(["1.5", "–", "12.25"])).toEqual(["5", ".25", ""]);
  });

  test("words in a column of numbers end at its edge", () => {
    expect(padding(["12.25", "as it is"])).toEqual(["", ""]);
    expect(padding(["100 %", "0.009", "17 of 21"])).toEqual(["", "", ""]);
  });

  test("the unit stands in the header, and the first cell of a row names the row", () => {
    const node = renderTable(table);
    expect(node.querySelectorAll("thead th")[1]?.textContent).toBe("Memory GB");
    expect([...node.querySelectorAll("th[scope=row]")].map((cell) => cell.textContent)).toEqual(["Adam m", "Total"]);
  });

  test("text from Python is text, never markup", () => {
    const node = renderTable({ ...table, caption: "<img src=x onerror=alert(1)>" });
    expect(node.querySelector("img")).toBeNull();
  });

  test("a cell of words leads to its page of this site, and to no other place", () => {
    const linked = (page: string) => renderTable({ ...table, links: { "Adam m": page } }).querySelector("th a")?.getAttribute("href");
    expect(linked("chapter/run/#bills")).toBe(siteUrl("chapter/run/#bills"));
    expect(linked("https://example.org/")).toBeUndefined();
    expect(renderTable(table).querySelector("a")).toBeNull();
  });

  test("a table that scrolls can be reached with the keyboard and has a name", () => {
    const node = renderTable(table);
    expect([node.tabIndex, node.getAttribute("aria-label")]).toEqual([0, "Memory"]);
  });
});

describe("failure", () => {
  const failure = { title: "Out of memory", what: "30.2 GB.", excess: "22.2 GB too much.", remedy: "Use SGD." };

  test("says what failed, by how much, and what helps", () => {
    expect(renderFailure(failure, true).textContent).toBe("Out of memory30.2\u00a0GB. 22.2\u00a0GB too much. Use SGD.");
  });

  test("interrupts only when it is new", () => {
    expect(renderFailure(failure, true).getAttribute("role")).toBe("alert");
    expect(renderFailure(failure, false).hasAttribute("role")).toBe(false);
  });
});

describe("reveal and reflection", () => {
  const gap = { answer: 12.46, difference: 9.46, factor: 4.2 };
  test("a verdict is its headline; paragraphs and tables fold behind why", () => {
    const nodes = renderVerdict({ correct: false, headline: "Off by 4.2", paragraphs: ["Why."], tables: { memory: table }, gap });
    expect(nodes.map((node) => node.nodeName)).toEqual(["P", "DETAILS"]);
    expect([...(nodes[1] as HTMLElement).children].map((node) => node.nodeName)).toEqual(["SUMMARY", "P", "DIV"]);
    expect((nodes[1] as HTMLDetailsElement).open).toBe(false);
    expect((nodes[0] as HTMLElement).dataset.correct).toBe("false");
  });

  test("what stands where nothing is judged yet has no tick and none of a goal's colors", () => {
    const said = (marked: boolean): HTMLElement => renderSuccess({ title: "Fits", what: "It does.", marked }, false);
    expect([true, false].map((marked) => said(marked).textContent)).toEqual(["✓ FitsIt does.", "FitsIt does."]);
    expect([true, false].map((marked) => said(marked).hasAttribute("data-unmarked"))).toEqual([false, true]);
  });

  test("feedback follows the order of the sentence and names the chosen answer", () => {
    const items = renderFeedback(
      { because: { correct: false, why: "No." }, factor: { correct: true, why: "Yes." } },
      new Map([["factor", "2×"], ["because", "the GPU compresses"]]),
    );
    expect(items.map((item) => item.textContent)).toEqual(["✓ 2× Right. Yes.", "≠ the GPU compresses Not so. No."]);
  });

  test("answers that are not right any more say that the instruments moved", () => {
    const lines = (correct: boolean, wereRight: boolean) => renderFeedback({ factor: { correct, why: "" } }, new Map([["factor", "2×"]]), wereRight).map((item) => item.textContent);
    expect(lines(false, true)[0]).toMatch(/^You had it right. The instruments moved since/);
    expect([lines(false, true).length, lines(true, true).length, lines(false, false).length]).toEqual([2, 1, 1]);
  });
});
