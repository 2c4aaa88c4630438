// Values from Python as nodes: tables, the failure banner, the verdict, feedback. Tables mirror templates/parts.html.j2.
import { h } from "../dom";
import { siteUrl } from "../site";
import type { Column, Failure, Feedback, Success, Table, Verdict } from "../python/protocol";

/** The text with a number and its unit on one line. */
export const unbroken = (text: string): string => text.replace(/(\d) (?=(?:%|[kKMGT]i?B|[mk]?W|ms|s|h)(?![\w-]))/g, "$1\u00a0");

/** What a numeric cell lacks behind its decimal point compared with the widest of its column; shown by the stylesheet. Words
 * in such a column, and numbers with a sign of percent, end at its edge. */
export function padding(cells: readonly string[]): string[] {
  const fractions = cells.map((text) => /\.\d+$/.exec(text)?.[0] ?? "");
  const widest = fractions.reduce((one, other) => (other.length > one.length ? other : one), "");
  return fractions.map((fraction, index) => (/[a-z%]/i.test(cells[index] ?? "") ? "" : widest.slice(fraction.length)));
}

export function renderTable(table: Table): HTMLElement {
  const padded = new Map(
    table.columns.filter((column) => column.numeric).map((column) => [column.key, padding(cellsOf(table, column))]),
  );
  const head = table.columns.map((column) =>
    h(
      "th",
      { scope: "col", ...(column.numeric && { class: "il-num" }) },
      column.label,
      ...(column.unit ? [" ", h("span", { class: "il-unit" }, column.unit)] : []),
    ),
  );
  const rows = table.rows.map((row, index) =>
    h(
      "tr",
      {},
      ...table.columns.map((column, position) => {
        const text = cellOf(row, column);
        const pad = padded.get(column.key);
        if (pad) return h("td", { class: "il-num", "data-pad": pad[index] ?? "" }, text);
        const shown = linked(text, table.links);
        return position === 0 ? h("th", { scope: "row" }, shown) : h("td", {}, shown);
      }),
    ),
  );
  return h(
    "div",
    { class: "il-table-scroll", role: "region", "aria-label": table.caption.split(". ", 1)[0] ?? "", tabindex: "0" },
    h(
      "table",
      { class: "il-table" },
      h("caption", {}, unbroken(table.caption)),
      h("thead", {}, h("tr", {}, ...head)),
      h("tbody", {}, ...rows),
    ),
  );
}

/** A cell's text, as a link where its table has a page of this site for it. */
function linked(text: string, links: Table["links"] | undefined): string | HTMLElement {
  const href = links && Object.hasOwn(links, text) ? siteUrl(links[text] ?? "") : null;
  return href ? h("a", { href }, text) : text;
}

function cellsOf(table: Table, column: Column): string[] {
  return table.rows.map((row) => cellOf(row, column));
}

function cellOf(row: Table["rows"][number], { key }: Column): string {
  return Object.hasOwn(row, key) ? (row[key] ?? "") : "";
}

/** The failure banner. It interrupts a screen reader only when the failure is new, not when its numbers change. */
export function renderFailure(failure: Failure, isNew: boolean): HTMLElement {
  return h(
    "div",
    { class: "il-failure", ...(isNew && { role: "alert" }) },
    h("p", { class: "il-failure__title" }, failure.title),
    h("p", {}, unbroken([failure.what, failure.excess, failure.remedy].filter(Boolean).join(" "))),
  );
}

/** The goal that is reached, told where a failure would be; without a tick, why nothing is judged yet. */
export function renderSuccess(success: Success, isNew: boolean): HTMLElement {
  return h(
    "div",
    { class: "il-success", ...(!success.marked && { "data-unmarked": "" }), ...(isNew && { role: "status" }) },
    h("p", { class: "il-success__title" }, ...(success.marked ? [h("span", { class: "il-mark", "aria-hidden": "true" }, "✓"), " "] : []), success.title),
    h("p", {}, unbroken(success.what)),
  );
}

/** The one sentence of a reveal, and behind "Why" everything else. */
export function renderVerdict(verdict: Verdict): Node[] {
  const more = [...verdict.paragraphs.map((text) => h("p", {}, unbroken(text))), ...Object.values(verdict.tables).map(renderTable)];
  return [
    h(
      "p",
      { class: "il-reveal__headline", "data-correct": String(verdict.correct) },
      h("span", { class: "il-mark", "aria-hidden": "true" }, verdict.correct ? "✓" : "≠"),
      " ",
      unbroken(verdict.headline),
    ),
    ...(more.length ? [h("details", { class: "il-details il-why" }, h("summary", {}, "Why"), ...more)] : []),
  ];
}

/** One line per blank, in the order of the sentence. `chosen` gives the words of the reader's answer. Answers that were right
 * before and are not any more were not changed: the instruments were. */
export function renderFeedback(feedback: Feedback, chosen: ReadonlyMap<string, string>, wereRight = false): HTMLElement[] {
  const moved = wereRight && Object.values(feedback).some((blank) => !blank.correct);
  const lines = [...chosen].flatMap(([blank, answer]) => {
    const verdict = feedback[blank];
    if (!verdict) return [];
    return h(
      "li",
      { "data-blank": blank, "data-correct": String(verdict.correct) },
      h("span", { class: "il-mark", "aria-hidden": "true" }, verdict.correct ? "✓" : "≠"),
      " ",
      h("q", {}, answer),
      " ",
      h("strong", {}, verdict.correct ? "Right." : "Not so."),
      verdict.why ? ` ${verdict.why}` : "",
    );
  });
  return moved ? [h("li", { "data-again": "" }, "You had it right. The instruments moved since, and this is judged again for where they stand now:"), ...lines] : lines;
}
