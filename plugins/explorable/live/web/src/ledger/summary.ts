// The design ledger for reading and for paper: the decisions in a table, then each act in the reader's own numbers.
import type { Earlier } from "./earlier";
import { playedAt, type Account, type Entry, type Mark } from "./entry";
import type { LedgerFile } from "./file";
import { h } from "../dom";
import type { Value } from "../python/protocol";
import { figureWords, gapWords, shownIn } from "./numbers";
import { fieldsOf, type Shown } from "./schema";

const OF_EXERCISE = { none: "Not tried", predicted: "Tried", revealed: "Solution seen", done: "Solved" };
const STAGES = { none: "Not started", predicted: "Predicted", revealed: "Revealed", done: "Done" };

/** The address of the page of the site on which an act is at home, as the entry says or as it is by now; null for what is none. */
export type Href = (page: string, act: string) => string | null;

export function summaryOf(file: LedgerFile, entries: readonly Entry[], href: Href): Node[] {
  if (!entries.length) return [h("p", {}, "Your ledger is empty. It fills as you play: lock in a first prediction.")];
  const engine = file.engine_version ? `, engine ${file.engine_version}` : "";
  return [
    h("h2", {}, "Decisions"),
    table(
      `As the instruments stand. Ledger version ${file.schema_version}${engine}, site ${file.site_version}`,
      ["Decision", "Value"],
      fieldsOf().map(([field, shown]) => [shown.title, words((file as unknown as Record<string, Value | null>)[field] ?? null, shown, said(entries))]),
    ),
    ...entries.flatMap((entry) => section(entry, href)),
  ];
}

function section(entry: Entry, href: Href): Node[] {
  const { account } = entry;
  const title = account?.title ?? entry.act;
  const address = account?.page ? href(account.page, entry.act) : null;
  const day = new Date(playedAt(entry)).toLocaleDateString("en-US", { year: "numeric", month: "long", day: "numeric" });
  const head = [
    h("h2", {}, address ? h("a", { href: address }, title) : title),
    h("p", { class: "il-help" }, `${(entry.memory?.exercise ? OF_EXERCISE : STAGES)[entry.stage]}, last changed ${day}`),
  ];
  if (!account) return [...head, h("p", {}, "Played in an earlier version of this site. Open the act to see it here in full.")];
  const facts = [...factsOf(account, entry.stage !== "none"), ...reached(entry)];
  return [
    ...head,
    ...(account.question ? [h("p", {}, account.question)] : []),
    h("dl", { class: "il-ledger__facts" }, ...facts.flatMap(([term, text]) => [h("dt", {}, term), h("dd", {}, text)])),
    ...(account.moves.length ? [h("h3", {}, "Moves"), h("ol", {}, ...account.moves.map((move) => h("li", {}, move)))] : []),
    ...(account.reflections.length
      ? [h("h3", {}, "Reflections, each judged where the instruments stood when it was checked"), h("ul", {}, ...account.reflections.map(({ text, correct }) => h("li", {}, text, judged(correct))))]
      : []),
  ];
}

/** `played`: an act that was reset stands where it begins, which is no final state. */
function factsOf(account: Account, played: boolean): [string, string][] {
  const { prediction, verdict, headline, failure, context, controls } = account;
  const state = [context, ...controls.map(({ label, value }) => `${label} ${value}`)].filter(Boolean).join(", ");
  const rows: [string, string | null | false][] = [
    ["Prediction", prediction],
    ["Gap", verdict && verdict.headline],
    ["In numbers", verdict && gapWords(verdict.gap, verdict.headline)],
    ["Final state", (played && state) || null],
    ["Result", played && headline && `${figureWords(headline)}${failure ? `. ${failure}` : ""}`],
  ];
  return rows.flatMap(([term, text]) => (text ? [[term, text] as [string, string]] : []));
}

/** The first state that counted and the best, with their times. */
function reached({ memory }: Entry): [string, string][] {
  const marks: [string, Mark | undefined][] = [["First", memory?.first], ["Best", memory?.best]];
  const argument = memory?.argument;
  return [
    ...marks.flatMap(([term, mark]) => (mark ? [[term, markWords(mark)] as [string, string]] : [])),
    ...(memory?.best?.share === undefined ? [] : [["Of the best found", shareWords(memory.best)] as [string, string]]),
    ...triedWords(memory),
    ...(memory?.hints ? [["Hints", String(memory.hints)] as [string, string]] : []),
    ...(memory?.earlier ? [["Earlier", earlierWords(memory.earlier)] as [string, string]] : []),
    ...(argument ? [["Defended", argument] as [string, string]] : []),
  ];
}

/** How often an exercise in code was tried, and the code of the last try. */
function triedWords(memory: Entry["memory"]): [string, string][] {
  if (!memory?.exercise) return [];
  const { tries, code, solved, opened } = memory.exercise;
  const seen = opened !== undefined && (solved === undefined || opened < solved) ? ", solution seen before it was solved" : "";
  return [["Tries", `${tries}${seen}`], ...(code ? [["Code", code] as [string, string]] : [])];
}

/** What was locked in before the present prediction. */
export function earlierWords({ attempts, first, revealed }: Earlier): string {
  return `${attempts === 1 ? "one earlier attempt" : `${attempts} earlier attempts`}, first ${first}${revealed ? ", answer seen" : ""}`;
}

/** How far a state is from the best that a search found, if one searched. */
export const shareWords = ({ share }: Mark): string => (share === undefined ? "not known" : `${Math.round(100 * share)} %`);

function markWords({ at, headline, controls }: Mark): string {
  const when = new Date(at).toLocaleString("en-US", { dateStyle: "medium", timeStyle: "short" });
  return `${figureWords(headline)} with ${controls.map(({ label, value }) => `${label} ${value}`).join(", ")}; ${when}`;
}

function judged(correct: boolean | null): string {
  if (correct === null) return " (not checked)";
  return correct ? " ✓\u00a0right" : " ≠\u00a0not\u00a0so";
}

/** Where acts have shown numbers that they also write into the ledger's own fields. */
const said = (entries: readonly Entry[]): string[] =>
  entries.flatMap(({ memory, account }) => [memory?.best?.headline.value, account?.headline?.value, account?.prediction].flatMap((text) => text ?? []));

function words(value: Value | null, { unit = "", names = {} }: Shown, texts: readonly string[]): string {
  if (value === null) return "set by no act yet";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") return `${shownIn(value, ...texts)} ${unit}`.trim();
  return Object.hasOwn(names, value) ? (names[value] as string) : value;
}

function table(caption: string, head: string[], rows: string[][]): HTMLElement {
  return h(
    "table",
    { class: "il-ledger__decisions" },
    h("caption", {}, caption),
    h("thead", {}, h("tr", {}, ...head.map((cell) => h("th", { scope: "col" }, cell)))),
    h("tbody", {}, ...rows.map(([first, ...rest]) => h("tr", {}, h("th", { scope: "row" }, first ?? ""), ...rest.map((cell) => h("td", {}, cell))))),
  );
}
