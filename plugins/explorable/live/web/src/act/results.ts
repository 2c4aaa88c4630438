// What Python said of an act's state. The last results stay in session storage, so that a reload shows them while Python starts.
import { bookId } from "../release";
import type { Column, Failure, Feedback, Figure, State, Success, Table, Verdict, View } from "../python/protocol";
import { equal } from "../equal";
import type { Values } from "../ledger/types";
import { faultOf, type Rule } from "../ledger/schema";
import { openStorage } from "../storage";

/** What Python said of the present state; nothing while it has not answered. */
export interface Results {
  view: View | null;
  verdict: Verdict | null;
  feedback: Map<string, Feedback>;
  engine: string;
}

export const NO_RESULTS: Results = { view: null, verdict: null, feedback: new Map(), engine: "" };

const storage = openStorage(() => sessionStorage);
const place = (act: string): string => `${bookId()}/shown/${act}`;

/** Everything that Python's answers depend on besides the program: a state, and the reflections that are to be judged. */
export interface Wanted {
  state: State;
  checked: [reflection: string, answers: Values][];
}

/** Everything that they depend on: also the act's program and the Python that runs it, by their addresses. */
export interface Basis extends Wanted {
  program: string;
  python: string;
}

/** What is stored. */
interface Shown extends Omit<Results, "feedback"> {
  of: Basis;
  feedback: Record<string, Feedback>;
}

const TEXT: Rule = { type: "string", maxLength: 20_000 };
const FLAG: Rule = { type: "boolean" };
const VALUE: Rule = { ...TEXT, type: ["string", "number", "boolean", "null"] };
const listOf = (items: Rule): Rule => ({ type: "array", items, maxItems: 20_000 });
const mapOf = (members: Rule): Rule => ({ type: "object", propertyNames: { maxLength: 200 }, additionalProperties: members, maxProperties: 200 });
/** An object with exactly the members of a type. */
const like = <T>(properties: Record<keyof T, Rule>): Rule => ({
  type: "object",
  required: Object.keys(properties),
  properties,
  additionalProperties: false,
});
const orNull = (rule: Rule): Rule => ({ ...rule, type: [...[rule.type ?? []].flat(), "null"] });

const TABLES = mapOf(
  like<Table>({
    caption: TEXT,
    columns: listOf(like<Column>({ key: TEXT, label: TEXT, unit: TEXT, numeric: FLAG })),
    rows: listOf(mapOf(TEXT)),
    links: mapOf(TEXT),
  }),
);
const VIEW = like<View>({
  data: mapOf(listOf(mapOf(VALUE))),
  headline: like<Figure>({ label: TEXT, value: TEXT, unit: TEXT }),
  summary: TEXT,
  tables: TABLES,
  failure: orNull(like<Failure>({ title: TEXT, what: TEXT, excess: TEXT, remedy: TEXT })),
  success: orNull(like<Success>({ title: TEXT, what: TEXT, marked: FLAG })),
  command: TEXT,
  readings: mapOf(TEXT),
  ledger: { $ref: "#/$defs/decisions", unevaluatedProperties: false },
  score: { type: ["number", "null"] },
  share: { type: ["number", "null"] },
});
const VERDICT = like<Verdict>({
  correct: FLAG,
  headline: TEXT,
  paragraphs: listOf(TEXT),
  tables: TABLES,
  gap: { $ref: "#/$defs/gap" },
});
const FEEDBACK = mapOf(mapOf(like<Feedback[string]>({ correct: FLAG, why: TEXT })));
/** The storage may hold anything, because other projects on the same host write to it too. */
const SHOWN = like<Shown>({ of: { type: "object" }, view: orNull(VIEW), verdict: orNull(VERDICT), feedback: FEEDBACK, engine: TEXT });

export function rememberShown(act: string, of: Basis, results: Results): void {
  storage.write(place(act), { ...results, of, feedback: Object.fromEntries(results.feedback) } satisfies Shown);
}

/** The results that were shown for exactly this, or null. */
export function lastShown(act: string, of: Basis): Results | null {
  const stored = storage.read(place(act));
  if (faultOf(stored, SHOWN)) return null;
  const { of: shown, feedback, ...rest } = stored as Shown;
  return equal(shown, of) ? { ...rest, feedback: new Map(Object.entries(feedback)) } : null;
}
