// What an act's Python may answer, in rules of a schema: what the page shows, and what its storage gives back, is held against them.
import { faultOf, type Rule } from "../ledger/schema";
import type { Asked, Column, Failure, Feedback, Figure, Heard, Success, Suggestion, Table, Tell, Verdict, View } from "./protocol";

/** Rows of all data sets of a view together, and of its tables: some fifty times those of the largest act here. */
const MOST_ROWS = 10_000;
const MOST_TABLE_ROWS = 2000;

const TEXT: Rule = { type: "string", maxLength: 20_000 };
const FLAG: Rule = { type: "boolean" };
const NUMBER: Rule = { type: "number" };
const VALUE: Rule = { ...TEXT, type: ["string", "number", "boolean", "null"] };
const listOf = (items: Rule, maxItems = 1000): Rule => ({ type: "array", items, maxItems });
export const mapOf = (members: Rule): Rule => ({ type: "object", propertyNames: { maxLength: 200 }, additionalProperties: members, maxProperties: 200 });
/** An object with exactly the members of a type. */
export const like = <T>(properties: Record<keyof T, Rule>): Rule => ({
  type: "object",
  required: Object.keys(properties),
  properties,
  additionalProperties: false,
});
export const orNull = (rule: Rule): Rule => ({ ...rule, type: [...[rule.type ?? []].flat(), "null"] });

const TABLES = mapOf(
  like<Table>({
    caption: TEXT,
    columns: listOf(like<Column>({ key: TEXT, label: TEXT, unit: TEXT, numeric: FLAG })),
    rows: listOf(mapOf(TEXT), MOST_TABLE_ROWS),
    links: mapOf(TEXT),
  }),
);
export const VIEW = like<View>({
  data: mapOf(listOf(mapOf(VALUE), MOST_ROWS)),
  headline: like<Figure>({ label: TEXT, value: TEXT, unit: TEXT }),
  summary: TEXT,
  tables: TABLES,
  failure: orNull(like<Failure>({ title: TEXT, what: TEXT, excess: TEXT, remedy: TEXT })),
  success: orNull(like<Success>({ title: TEXT, what: TEXT, marked: FLAG })),
  command: TEXT,
  readings: mapOf(TEXT),
  ledger: { $ref: "#/$defs/decisions", unevaluatedProperties: false },
  score: orNull(NUMBER),
  share: orNull(NUMBER),
});
export const VERDICT = like<Verdict>({
  correct: FLAG,
  headline: TEXT,
  paragraphs: listOf(TEXT),
  tables: TABLES,
  gap: { $ref: "#/$defs/gap" },
});
/** On the blanks of one reflection. */
export const FEEDBACK = mapOf(like<Feedback[string]>({ correct: FLAG, why: TEXT }));

const CONTROLS = mapOf({ ...TEXT, type: ["string", "number", "boolean"] });
const SUGGESTED = like<{ next: Suggestion | null }>({ next: orNull(like<Suggestion>({ title: TEXT, text: TEXT, controls: CONTROLS, worth: NUMBER, group: TEXT })) });
/** A reader's own files, changed, and what takes the plan elsewhere. */
const FILES = mapOf({ type: "string", maxLength: 200_000 });
const TOLD: Record<Tell, Rule> = {
  hear: like<Heard>({ labels: listOf(TEXT), controls: CONTROLS, said: listOf(TEXT) }),
  rewrite: FILES,
  suggest: SUGGESTED,
  more: SUGGESTED,
  exports: FILES,
};

/** What is wrong with an answer to a request: it is none, or is more than a page can show. */
export function wrongWith(answer: object, asked: Asked | Omit<Asked, "id"> | null): "odd" | "much" | null {
  switch (asked?.kind) {
    case "compute":
      return counted(answer) ?? (faultOf(answer, VIEW) && "odd");
    case "reveal":
      return counted(answer) ?? (faultOf(answer, VERDICT) && "odd");
    case "check":
      return faultOf(answer, FEEDBACK) && "odd";
    case "tell":
      return faultOf(answer, TOLD[(asked as Extract<Asked, { kind: "tell" }>).what]) && "odd";
    default:
      return "odd";
  }
}

/** Rows are counted first: what has too many of them is not looked at. */
function counted({ data, tables }: { data?: unknown; tables?: unknown }): "much" | null {
  const length = (rows: unknown): number => (Array.isArray(rows) ? rows.length : 0);
  const sum = (all: unknown, rowsOf: (one: unknown) => unknown): number => (typeof all === "object" ? Object.values(all ?? {}).reduce((rows: number, one) => rows + length(rowsOf(one)), 0) : 0);
  const much = sum(data, (rows) => rows) > MOST_ROWS || sum(tables, (table) => (table as Partial<Table> | null)?.rows) > MOST_TABLE_ROWS;
  return much ? "much" : null;
}
