// <live-class>: the ledgers of many readers side by side, with a picture of what they predicted in each act. Nothing is kept.
import { bookId } from "../release";
import { h, setText } from "../dom";
import type { Part } from "../element";
import type { Account, Entry } from "./entry";
import { fileName, ledgerIn, textIn } from "./file";
import { answerWords, round } from "./numbers";
import { earlierWords, shareWords } from "./summary";
import type { Value } from "./types";

/** One reader: what they are called, and the acts in their file. */
interface Hand {
  name: string;
  entries: Entry[];
}

/** A file that was read: what it is called, and the name of its reader, who may have given none. */
interface Read {
  file: string;
  player: string;
  entries: Entry[];
}

/** Readers by name. Where it is missing the file's name stands, and beside it where two have the same. */
export function named(files: readonly Read[]): Hand[] {
  return files.map(({ file, player, entries }) => {
    const alone = files.filter((one) => one.player === player).length === 1;
    return { name: !player ? file : alone ? player : `${player} (${file})`, entries };
  });
}

/** An act that somebody has played, with everybody's predictions: numbers in one unit, or how many chose which words. */
interface Played {
  act: string;
  title: string;
  question: string;
  answer: number | null;
  /** The answer as the act showed it, with its unit. */
  answered: string;
  unit: string;
  predictions: number[];
  chosen: Map<string, number>;
}

/** Predictions that lie in one of so many slices of the axis are stacked. */
const SLICES = 36;
const WIDTH = 360;
const DOT = 8;
const SVG = "http://www.w3.org/2000/svg";

export const mount = (host: HTMLElement): Part => new ClassPart(host);

class ClassPart implements Part {
  readonly #gone = new AbortController();
  readonly #files: Read[] = [];
  readonly #file = h("input", { type: "file", accept: "application/json,.json", multiple: true, class: "il-vh", id: "il-class-files" });
  readonly #trouble = h("div", { class: "il-trouble", role: "alert" });
  readonly #status = h("p", { class: "il-ledger__status", role: "status" });
  readonly #shown = h("div");
  /** Where nothing is read there is nothing to save or to clear. */
  readonly #clears = h("button", { type: "button", class: "il-button il-button--quiet", hidden: true }, "Clear");
  readonly #saves = h("button", { type: "button", class: "il-button il-button--quiet", hidden: true }, "Download CSV");
  /** The acts in the order of the lab. */
  readonly #order: readonly string[];

  constructor(host: HTMLElement) {
    const { signal } = this.#gone;
    this.#order = (host.dataset.acts ?? "").split(" ");
    this.#file.addEventListener("change", () => void this.#read(), { signal });
    this.#clears.addEventListener("click", () => this.#clear(), { signal });
    this.#saves.addEventListener("click", () => this.#save(), { signal });
    const choose = h("label", { class: "il-button il-ledger__import", for: this.#file.id }, "Choose files");
    const bar = h("div", { class: "il-ledger__bar" }, h("span", { class: "il-ledger__file" }, this.#file, choose), this.#saves, this.#clears);
    host.replaceChildren(bar, this.#trouble, this.#status, this.#shown);
  }

  onscreen(): void {}
  offscreen(): void {}

  gone(): void {
    this.#gone.abort();
  }

  async #read(): Promise<void> {
    const files = [...(this.#file.files ?? [])];
    // The same files can be chosen again, and others while these are read.
    this.#file.value = "";
    const refused: string[] = [];
    const taken = new Set<string>();
    for (const file of files) {
      const name = file.name.replace(/\.json$/i, "");
      if (taken.has(name)) refused.push(`${file.name} was chosen twice: the one chosen last is shown. Give each file its reader's name.`);
      taken.add(name);
      try {
        const read = { file: name, ...ledgerIn(await textIn(file)) };
        const present = this.#files.findIndex((one) => one.file === name);
        this.#files.splice(present < 0 ? this.#files.length : present, present < 0 ? 0 : 1, read);
      } catch (error) {
        refused.push(`${file.name}: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
    this.#trouble.replaceChildren(...refused.map((line) => h("p", {}, line)));
    this.#show();
  }

  #save(): void {
    const hands = named(this.#files);
    const address = URL.createObjectURL(new Blob([csvOf(hands, playedBy(hands, this.#order))], { type: "text/csv" }));
    h("a", { href: address, download: fileName(`${bookId()}-class`, "", "csv") }).click();
    // The download begins after this; a minute is long enough for it to have begun.
    window.setTimeout(() => URL.revokeObjectURL(address), 60_000);
  }

  #clear(): void {
    this.#files.length = 0;
    this.#trouble.replaceChildren();
    this.#show();
    // Its button goes with what it cleared.
    this.#file.focus();
  }

  #show(): void {
    const hands = named(this.#files);
    const acts = playedBy(hands, this.#order);
    for (const button of [this.#saves, this.#clears]) button.hidden = !hands.length;
    setText(this.#status, hands.length ? `${count(hands.length, "ledger")}, ${count(acts.length, "act")}.` : "");
    this.#shown.replaceChildren(...(hands.length ? [...acts.map(picture), table(hands, acts), ...acts.flatMap((act) => defended(hands, act))] : []));
  }
}

/** The acts of all ledgers in this order; those that it does not have come last, as they come first in the ledgers. */
export function playedBy(hands: readonly Hand[], order: readonly string[] = []): Played[] {
  const place = ({ act }: Played): number => (order.includes(act) ? order.indexOf(act) : order.length);
  return collected(hands).sort((one, other) => place(one) - place(other));
}

function collected(hands: readonly Hand[]): Played[] {
  const found = new Map<string, Played>();
  for (const { act, memory, account } of hands.flatMap((hand) => hand.entries)) {
    if (memory?.prediction === null || memory === null) continue;
    const none: Played = { act, title: account?.title ?? act, question: account?.question ?? "", answer: null, answered: "", unit: "", predictions: [], chosen: new Map() };
    const played = found.get(act) ?? none;
    const said = account?.prediction ?? String(memory.prediction);
    add(played, memory.prediction, said, account?.verdict ?? null);
    found.set(act, played);
  }
  return [...found.values()];
}

/** A choice may stand for a number; what was chosen are its words. So it is with a number in another unit than that of those
 * before: it answers an earlier question of the act. */
function add(played: Played, prediction: Value, said: string, verdict: Account["verdict"]): void {
  const number = typeof prediction === "number" && said.startsWith(String(prediction)) ? prediction : null;
  const unit = number === null ? played.unit : said.slice(String(number).length);
  const same = !played.predictions.length || unit === played.unit;
  if (number !== null && same) {
    played.predictions.push(number);
    played.unit = unit;
  } else {
    played.chosen.set(said, (played.chosen.get(said) ?? 0) + 1);
  }
  if (!same || !verdict || played.answer !== null) return;
  const { gap, headline } = verdict;
  played.answer = gap.answer;
  // Ledgers of earlier versions have the unit in the prediction alone.
  played.answered = `${answerWords(gap, headline)}${gap.unit === undefined ? unit : ""}`;
}

/** What everybody predicted and found, a line for each reader and act. */
export function csvOf(hands: readonly Hand[], acts: readonly Played[]): string {
  const head = ["ledger", "act", "prediction", "answer", "right", "earlier attempts", "first prediction", "hints", "share of the best in %"];
  const lines = acts.flatMap(({ act, title, answered, unit }) =>
    hands.flatMap(({ name, entries }) => {
      const entry = entries.find((one) => one.act === act);
      if (!entry?.memory || entry.memory.prediction === null) return [];
      const { memory, account } = entry;
      const said = account?.prediction ?? String(memory.prediction);
      const { attempts = 0, first = said } = memory.earlier ?? {};
      const share = memory.best?.share === undefined ? "" : Math.round(100 * memory.best.share);
      const found = said.endsWith(unit) ? answered : "";
      return [[name, title, said, found, account?.verdict?.correct ?? "", attempts, first, memory.hints ?? 0, share]];
    }),
  );
  return [head, ...lines].map((line) => `${line.map(csvCell).join(",")}\r\n`).join("");
}

/**
 * A cell in quotes. A text that a spreadsheet would take for a formula begins with an apostrophe. A spreadsheet whose language
 * divides lines at semicolons or tabs misreads the quotes, so that what stands after one of them, or in a new line, would be a cell.
 */
function csvCell(value: string | number | boolean): string {
  const text = typeof value === "string" && /^[\t\r\n]|^\s*[=+\-@＝＋－＠]/.test(value) ? `'${value}` : String(value);
  return `"${text.replaceAll('"', '""').replaceAll(";", ",").replace(/[\t\r\n]+/g, " ")}"`;
}

/** The value with as many below it as above; of two in the middle their mean. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((one, other) => one - other);
  const [low = 0, high = 0] = [sorted[Math.floor((sorted.length - 1) / 2)], sorted[Math.floor(sorted.length / 2)]];
  return (low + high) / 2;
}

function picture(played: Played): HTMLElement {
  const { title, question, predictions, chosen, unit } = played;
  const middle = predictions.length ? ` Median ${round(median(predictions))}${unit}.` : "";
  const shown = [...(predictions.length ? [axis(played)] : []), ...(chosen.size ? [tally(chosen)] : [])];
  return h("figure", { class: "il-class__act" }, h("figcaption", {}, h("strong", {}, title), ` ${question}${middle}`), ...shown);
}

/** Which words were chosen how often, a dot for each reader. */
function tally(chosen: Played["chosen"]): HTMLElement {
  const most = [...chosen].sort(([, one], [, other]) => other - one);
  const dots = (number: number): HTMLElement => h("span", { class: "il-class__dots", "aria-hidden": "true" }, "●".repeat(number));
  return h("ul", { class: "il-class__tally" }, ...most.map(([words, number]) => h("li", {}, `${words} ${number} `, dots(number))));
}

/** A dot for each prediction over one axis, the answer as a line. */
function axis({ title, answer, answered, unit, predictions }: Played): SVGElement {
  const all = [...predictions, ...(answer === null ? [] : [answer])];
  const [low, high] = [Math.min(0, ...all), Math.max(...all, 1)];
  const x = (value: number): number => 12 + ((WIDTH - 24) * (value - low)) / (high - low);
  const stacks = new Map<number, number>();
  const dots = predictions.map((value) => {
    const slice = Math.round((SLICES * (value - low)) / (high - low));
    const height = (stacks.get(slice) ?? 0) + 1;
    stacks.set(slice, height);
    return { x: 12 + ((WIDTH - 24) * slice) / SLICES, height };
  });
  // The answer's words have a line above the dots.
  const tall = 36 + (DOT + 1) * Math.max(2, ...stacks.values());
  const base = tall - 18;
  const said = `${title}: ${count(predictions.length, "prediction")}, ${numbers(predictions)}${answer === null ? "" : `; the answer is ${answered}`}.`;
  const svg = mark("svg", { viewBox: `0 0 ${WIDTH} ${tall}`, role: "img", "aria-label": said, class: "il-class__picture" });
  svg.append(
    mark("line", { x1: "12", x2: String(WIDTH - 12), y1: String(base), y2: String(base), stroke: "var(--il-control)" }),
    ...dots.map((dot) =>
      mark("circle", { cx: String(dot.x), cy: String(base - dot.height * (DOT + 1) + DOT / 2), r: String(DOT / 2), fill: "var(--il-muted)" }),
    ),
    ...[low, high].map((value) => words(x(value), tall - 4, value === answer ? answered : `${round(value)}${unit}`, value === low ? "start" : "end")),
  );
  if (answer !== null) {
    svg.append(mark("line", { x1: String(x(answer)), x2: String(x(answer)), y1: "14", y2: String(base), stroke: "var(--il-good)", "stroke-width": "2" }));
    svg.append(words(x(answer), 11, `answer ${answered}`, x(answer) > WIDTH / 2 ? "end" : "start"));
  }
  return svg;
}

function table(hands: readonly Hand[], acts: readonly Played[]): HTMLElement {
  const cell = (hand: Hand, { act }: Played): HTMLElement => {
    const entry = hand.entries.find((one) => one.act === act);
    const account = entry?.account;
    const earlier = entry?.memory?.earlier;
    const gap = account?.verdict ? `${account.verdict.correct ? "✓" : "≠"} ` : "";
    const before = earlier ? ` (${earlierWords(earlier)})` : "";
    return h("td", {}, account?.prediction ? `${gap}${account.prediction}${before}` : "–");
  };
  const head = ["Ledger", ...acts.map(({ title }) => title)];
  return h(
    "div",
    { class: "il-table-scroll", role: "region", "aria-label": "All ledgers", tabindex: "0" },
    h(
      "table",
      { class: "il-table" },
      h("caption", {}, "Everybody's predictions. ✓ right, ≠ not so, no mark before the reveal."),
      h("thead", {}, h("tr", {}, ...head.map((title) => h("th", { scope: "col" }, title)))),
      h("tbody", {}, ...hands.map((hand) => h("tr", {}, h("th", { scope: "row" }, hand.name), ...acts.map((act) => cell(hand, act))))),
    ),
  );
}

/** What each reader chose in an act that keeps a score, how far from the best, and why; nothing where nobody got so far. */
function defended(hands: readonly Hand[], { act, title }: Played): HTMLElement[] {
  const rows = hands.flatMap(({ name, entries }) => {
    const memory = entries.find((entry) => entry.act === act)?.memory;
    const best = memory?.best;
    if (!memory || !(best || memory.argument)) return [];
    const controls = best ? best.controls.map(({ label, value }) => `${label} ${value}`).join(", ") : "nothing that counts";
    const reached = best ? `: ${best.headline.value} ${best.headline.unit}`.trimEnd() : "";
    const said = memory.argument ? [h("p", { class: "il-class__why" }, memory.argument)] : [];
    return [h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, best ? shareWords(best) : "–"), h("td", {}, `${controls}${reached}`, ...said))];
  });
  if (!rows.length) return [];
  const head = ["Ledger", "Of the best found", "Chosen, and why"];
  return [
    h(
      "div",
      { class: "il-table-scroll", role: "region", "aria-label": `Chosen in ${title}`, tabindex: "0" },
      h(
        "table",
        { class: "il-table il-class__chosen" },
        h("caption", {}, `${title}: what everybody chose, and why.`),
        h("thead", {}, h("tr", {}, ...head.map((text) => h("th", { scope: "col" }, text)))),
        h("tbody", {}, ...rows),
      ),
    ),
  ];
}

function mark(tag: string, attributes: Record<string, string>): SVGElement {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

function words(x: number, y: number, text: string, anchor: string): SVGElement {
  const element = mark("text", { x: String(x), y: String(y), "text-anchor": anchor, "font-size": "11", fill: "var(--il-fg)" });
  element.textContent = text;
  return element;
}

const count = (number: number, what: string): string => `${number} ${what}${number === 1 ? "" : "s"}`;

/** The middle of the predictions and their ends, in words. */
function numbers(values: readonly number[]): string {
  if (!values.length) return "none of them a number";
  const sorted = [...values].sort((one, other) => one - other);
  return `from ${round(sorted[0] ?? 0)} to ${round(sorted.at(-1) ?? 0)}, the median ${round(median(values))}`;
}
