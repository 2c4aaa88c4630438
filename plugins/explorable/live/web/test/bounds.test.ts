// What of a result's HTML a browser lays out in time.
import { expect, test } from "vitest";
import { idsIn, Rules, tooHeavy } from "../src/snippet/bounds";

function body(html: string): HTMLElement {
  const made = document.implementation.createHTMLDocument("").body;
  made.innerHTML = html;
  return made;
}

test.each([
  ["items of a list", "<ol>" + "<li>x</li>".repeat(2000) + "</ol>"],
  ["parts that open", "<details>x</details>".repeat(600)],
  ["cells over many rows and columns", `<table>${'<tr><td rowspan="65534" colspan="1000">x</td></tr>'.repeat(5)}</table>`],
  ["rows that cells go down to the end of", `<table>${'<tr><td rowspan="0">x</td></tr>'.repeat(2000)}</table>`],
  ["columns that an element stands for", `<table><colgroup>${'<col span="1000">'.repeat(200)}</colgroup></table>`],
  ["elements in each other", "<div>".repeat(150) + "</div>".repeat(150)],
])("too many %s are too heavy", (_, html) => {
  expect(tooHeavy(body(html))).toBe(true);
});

test("a table whose first cells stand over the others is not", () => {
  const group = '<tr><th rowspan="60" colspan="2">x</th><td>1</td></tr>' + "<tr><td>1</td></tr>".repeat(59);
  expect(tooHeavy(body(`<table><col span="3">${group.repeat(50)}</table>`))).toBe(false);
});

test("a large table and a list are not", () => {
  expect(tooHeavy(body(`<table>${"<tr><td>1</td><td>2</td></tr>".repeat(3000)}</table><ul>${"<li>x</li>".repeat(1000)}</ul>`))).toBe(false);
});

test.each(["div:has(div)", "a ~ b", "a + b", "tr:nth-child(2n)", "p:not(.a)", ":is(a b) c", "& p", '[title*="x"]', "a\\62 ", "a<b", ".a, b ~ c"])("a rule for %s is left out", (selectors) => {
  expect(new Rules(10, new Map()).take(selectors)).toBe(false);
});

test.each([".dataframe tbody tr th:only-of-type", "#T_1 td, #T_1 th", "tr:hover > td", ".il__row:first-child", '[data-a="b"]', "*", "p::first-line"])("a rule for %s is kept", (selectors) => {
  expect(new Rules(12_000, new Map()).take(selectors)).toBe(true);
});

test("rules that are held against all elements have a bound; those for one name, as pandas gives each cell, have not", () => {
  const kept = (selector: (at: number) => string, ids = new Map<string, number>()): number => {
    const rules = new Rules(10_000, ids);
    return Array.from({ length: 1500 }, (_, at) => rules.take(selector(at))).filter(Boolean).length;
  };
  expect(kept((at) => `.a${at} td`)).toBe(200);
  expect(kept((at) => `#T_1_row${at}_col0, #T_1_row${at}_col1`)).toBe(1500);
  expect(kept(() => "#same", idsIn(body('<i id="same"></i>'.repeat(10_000))))).toBe(199);
});
