// <live-class>: the ledgers of many readers side by side, with a picture of what they predicted in each act. Nothing is kept.
//
// Whoever wrote a file is unknown. So what an act is called, what it asks and in which unit stands here as the build says it, and an
// answer where all files that have one agree. What else a file says is told as its words, and changes the direction of no other text.
import { bookId } from "../release";
import { all, h, setText } from "../dom";
import type { Part } from "../element";
import type { Account, Entry, Memory } from "./entry";
import { fileName, ledgerIn, textIn } from "./file";
import { undirected } from "../marks";
import { answerWords, figureWords, typedWords } from "./numbers";
import { earlierWords, shareWords } from "./summary";
import type { Value } from "./types";

/** One reader: what they are called, and the acts in their file. */
interface Hand {
  name: string;
  /** What its file is called. */
  file?: string;
  entries: Entry[];
}

/** A file that was read: what it is called, with a number behind it where another one is called so, and the name of its reader, who may have given none. */
interface Read {
  file: string;
  name: string;
  number: number;
  /** What the file holds, as it is. */
  text: string;
  player: string;
  entries: Entry[];
}

const COLLATOR = new Intl.Collator(undefined, { numeric: true });

/** Readers in the order of their names. Where one is missing the file's name stands, and beside it where two have the same. */
export function named(files: readonly Pick<Read, "file" | "player" | "entries">[]): Hand[] {
  const hands = files.map(({ file, player, entries }) => {
    const alone = files.filter((one) => one.player === player).length === 1;
    return { name: !player ? file : alone ? player : `${player} (${file})`, file, entries };
  });
  return hands.sort((one, other) => COLLATOR.compare(one.name, other.name));
}

/** What the build says of an act: `title`, `question` and `unit`. */
export interface Asked {
  title: string;
  question: string;
  unit: string;
}

/** An act that somebody has played, with everybody's first predictions: numbers in one unit, or how many chose which words. */
interface Played {
  act: string;
  title: string;
  question: string;
  /** What a file says of an act that the build does not know. */
  quoted: { name: string; title: string; question: string } | null;
  /** The answer, where all ledgers that have one agree. */
  answer: number | null;
  /** The answer as the act showed it, with its unit. */
  answered: string;
  /** All answers, as `answered`, with the number and how many ledgers have it. */
  answers: Map<string, { answer: number; ledgers: number }>;
  /** Behind a number, with the space between. */
  unit: string;
  predictions: number[];
  chosen: Map<string, Chosen>;
}

/** How many chose the same words, and what the act said of them: nothing before a reveal, and more where files differ. */
interface Chosen {
  readers: number;
  correct: Set<boolean>;
}

/** Predictions that lie in one of so many slices of the axis are stacked. */
const SLICES = 36;
const WIDTH = 360;
const DOT = 8;
/** A unit of an act that the build does not know: short, without numbers and without marks that nobody sees. */
const UNIT = /^[^\d\p{Cf}]{0,20}$/u;
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
  readonly #asked: Readonly<Record<string, Asked>>;

  constructor(host: HTMLElement) {
    const { signal } = this.#gone;
    this.#order = (host.dataset.acts ?? "").split(" ");
    this.#asked = JSON.parse(host.dataset.asked ?? "{}") as Record<string, Asked>;
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
      try {
        const text = await textIn(file);
        const alike = this.#files.filter((one) => one.name === name);
        // The same file, chosen again.
        if (alike.some((one) => one.text === text)) continue;
        const number = 1 + Math.max(0, ...alike.map((one) => one.number));
        const called = number > 1 ? `${name} (${number})` : name;
        this.#files.push({ file: called, name, number, text, ...ledgerIn(text) });
        taken.add(called);
      } catch (error) {
        refused.push(`${file.name}: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
    for (const [place, one] of this.#files.entries()) {
      const twin = this.#files.slice(0, place).find((other) => other.text === one.text && (taken.has(one.file) || taken.has(other.file)));
      if (twin) refused.push(`${one.file}.json holds the same as ${twin.file}.json: both are counted.`);
    }
    this.#tell(refused);
    this.#show();
  }

  /** Says what was refused, and which files of one name there are. */
  #tell(refused: readonly string[]): void {
    const alike = [...new Set(this.#files.map(({ name }) => name))].flatMap((name) => {
      const files = this.#files.filter((one) => one.name === name).length;
      return files > 1 ? [`${name}.json is the name of ${files} files: all are counted. Remove one that a later one of the same reader replaces.`] : [];
    });
    this.#trouble.replaceChildren(...[...refused, ...alike].map((line) => h("p", {}, undirected(line))));
  }

  #save(): void {
    const hands = named(this.#files);
    const address = URL.createObjectURL(new Blob([csvOf(hands, this.#acts(hands).acts)], { type: "text/csv" }));
    h("a", { href: address, download: fileName(`${bookId()}-class`, "", "csv") }).click();
    // The download begins after this; a minute is long enough for it to have begun.
    window.setTimeout(() => URL.revokeObjectURL(address), 60_000);
  }

  #remove(file: string): void {
    const place = this.#files.findIndex((one) => one.file === file);
    const rows = (): HTMLButtonElement[] => all<HTMLButtonElement>(this.#shown, ".il-class__remove");
    const row = rows().findIndex((button) => button.value === file);
    this.#files.splice(place, 1);
    this.#tell([]);
    this.#show();
    // Its button goes with what it removed.
    (rows()[row] ?? rows()[row - 1] ?? this.#file).focus();
  }

  #clear(): void {
    this.#files.length = 0;
    this.#trouble.replaceChildren();
    this.#show();
    // Its button goes with what it cleared.
    this.#file.focus();
  }

  #acts(hands: readonly Hand[]): { acts: Played[]; left: number } {
    const found = playedBy(hands, this.#order, this.#asked);
    const left = new Set(found.filter(({ quoted }) => quoted).slice(MOST_FOREIGN));
    return { acts: found.filter((act) => !left.has(act)), left: left.size };
  }

  #show(): void {
    const hands = named(this.#files);
    const { acts, left } = this.#acts(hands);
    for (const button of [this.#saves, this.#clears]) button.hidden = !hands.length;
    setText(this.#status, hands.length ? `${count(hands.length, "ledger")}, ${count(acts.length, "act")}.${left ? ` ${count(left, "more act")} of other books: left out.` : ""}` : "");
    const remove = (file: string): void => this.#remove(file);
    this.#shown.replaceChildren(...(hands.length ? [...acts.map(picture), table(hands, acts, remove), ...acts.flatMap((act) => defended(hands, act))] : []));
  }
}

/** Acts that the build does not know are shown up to so many: a file may name a hundred, and each is a column for every reader. */
const MOST_FOREIGN = 20;

/** The acts of all ledgers in this order; those that it does not have come last, as they come first in the ledgers. */
export function playedBy(hands: readonly Hand[], order: readonly string[] = [], asked: Readonly<Record<string, Asked>> = {}): Played[] {
  const place = ({ act }: Played): number => (order.includes(act) ? order.indexOf(act) : order.length);
  return collected(hands, asked).sort((one, other) => place(one) - place(other));
}

function collected(hands: readonly Hand[], asked: Readonly<Record<string, Asked>>): Played[] {
  const found = new Map<string, Played>();
  for (const { name, entries } of hands) {
    for (const { act, memory, account } of entries) {
      if (memory === null || (memory.prediction === null && !memory.earlier)) continue;
      const known = Object.hasOwn(asked, act) ? asked[act] : undefined;
      const played = found.get(act) ?? fresh(act, known, { name, title: account?.title ?? "", question: account?.question ?? "" });
      add(played, memory, account);
      found.set(act, played);
    }
  }
  return [...found.values()].map(agreed);
}

function fresh(act: string, known: Asked | undefined, quoted: NonNullable<Played["quoted"]>): Played {
  const { title, question, unit } = known ?? { title: act, question: "", unit: "" };
  const none = { answer: null, answered: "", answers: new Map(), predictions: [], chosen: new Map() };
  return { act, title, question, quoted: known ? null : quoted, unit: unit && ` ${unit}`, ...none };
}

interface Said {
  /** The prediction in the reader's words. */
  said: string;
  /** The number, where it is one in the act's unit, and the unit behind it. */
  number: number | null;
  unit: string;
  /** Whether it is a prediction of what the act asks now, as far as one can know. */
  same: boolean;
  /** The answer, and how the act showed it. */
  answer: [words: string, answer: number] | null;
}

/** Nothing is locked in: the act was reset. */
const NOTHING: Said = { said: "", number: null, unit: "", same: false, answer: null };

/** What stands behind the number that is predicted; null where the words do not begin with it. */
const behindNumber = (prediction: Value, said: string): string | null =>
  typeof prediction === "number" && said.startsWith(String(prediction)) ? said.slice(String(prediction).length) : null;

/** What a ledger says of a prediction. A choice may stand for a number; what was chosen are its words. So it is with a number in
 * another unit than that of the act, or of those before: it answers an earlier question of the act. */
function saidIn(played: Played, prediction: Value, account: Account | null): Said {
  const said = account?.prediction ?? String(prediction);
  const behind = behindNumber(prediction, said);
  const first = played.quoted !== null && !played.predictions.length;
  const fits = behind !== null && (first ? UNIT.test(behind) : behind === played.unit);
  const same = behind === null || fits;
  const unit = fits ? behind : played.unit;
  const { gap, headline } = account?.verdict ?? {};
  // Ledgers of earlier versions have the unit in the prediction alone.
  const found = gap?.unit ?? unit.trim();
  const taken = same && (played.quoted && !fits ? UNIT.test(found) : found === unit.trim());
  return { said, number: fits ? (prediction as number) : null, unit, same, answer: gap && taken ? [answerWords({ ...gap, unit: found }, headline ?? ""), gap.answer] : null };
}

/** The largest number that a ledger's schema allows; a text beyond it is words. */
const LARGEST = 1e15;

/** What a reader said before they saw any answer, as a prediction in the words that the ledger keeps of it. */
function firstIn(played: Played, { prediction, earlier }: Memory, account: Account | null): Said {
  if (!earlier) return saidIn(played, prediction ?? "", account);
  const number = /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?/.exec(earlier.first)?.[0];
  const value = number !== undefined && String(Number(number)) === number && Math.abs(Number(number)) <= LARGEST ? Number(number) : earlier.first;
  const { same, ...first } = saidIn(played, value, account && { ...account, prediction: earlier.first });
  // The verdict is about the present prediction.
  return { ...first, same: same && prediction !== null && account?.prediction === earlier.first };
}

function add(played: Played, memory: Memory, account: Account | null): void {
  const answer = memory.prediction === null ? null : saidIn(played, memory.prediction, account).answer;
  const { said, unit, number, same } = firstIn(played, memory, account);
  if (number === null) {
    const { readers, correct } = played.chosen.get(said) ?? { readers: 0, correct: [] };
    played.chosen.set(said, { readers: readers + 1, correct: new Set([...correct, ...(same && account?.verdict ? [account.verdict.correct] : [])]) });
  } else {
    played.predictions.push(number);
    played.unit = unit;
  }
  if (!answer) return;
  const [words, value] = answer;
  const ledgers = (played.answers.get(words)?.ledgers ?? 0) + 1;
  played.answers.set(words, { answer: value, ledgers });
}

/** With the answer, if there is one and no other. */
function agreed(played: Played): Played {
  const [first, ...others] = played.answers;
  return first && !others.length ? { ...played, answered: first[0], answer: first[1].answer } : played;
}

/** What everybody predicted and found, a line for each reader and act. It begins with the mark by which spreadsheets know UTF-8. */
export function csvOf(hands: readonly Hand[], acts: readonly Played[]): string {
  const head = ["ledger", "act", "prediction", "answer", "right", "earlier attempts", "first prediction", "answer seen before", "hints", "share of the best in %", "first number", "answer number", "unit"];
  const lines = acts.flatMap((played) =>
    hands.flatMap(({ name, entries }) => {
      const { memory = null, account = null } = entries.find((one) => one.act === played.act) ?? {};
      return memory === null || (memory.prediction === null && !memory.earlier) ? [] : [[name, ...cellsOf(played, memory, account)]];
    }),
  );
  return `\ufeff${[head, ...lines].map((line) => `${line.map(csvCell).join(",")}\r\n`).join("")}`;
}

/** What stands in a line of the CSV behind the reader's name. */
function cellsOf(played: Played, memory: Memory, account: Account | null): (string | number | boolean)[] {
  const { said, same, answer } = memory.prediction === null ? NOTHING : saidIn(played, memory.prediction, account);
  const found = answer?.[0] ?? (same && !account?.verdict ? played.answered : "");
  const before = memory.earlier ?? { attempts: 0, first: said, revealed: false };
  const share = memory.best?.share === undefined ? "" : Math.round(100 * memory.best.share);
  // Once more as numbers that a spreadsheet can add up; words that were chosen are none.
  const { number, unit } = firstIn(played, memory, account);
  const bare = number === null ? ["", "", ""] : [number, answer?.[1] ?? played.answer ?? "", unit.trim()];
  return [played.title, said, found, account?.verdict?.correct ?? "", before.attempts, before.first, before.revealed, memory.hints ?? 0, share, ...bare];
}

/**
 * A cell in quotes. A text that a spreadsheet would take for a formula begins with an apostrophe. A spreadsheet whose language
 * divides lines at semicolons or tabs misreads the quotes, so that what stands after one of them, or in a new line, would be a cell.
 */
function csvCell(value: string | number | boolean): string {
  const text = typeof value === "string" && /^[\t\r\n]|^[\s\p{Cc}\p{Cf}]*[=+\-@＝＋－＠]/u.test(value) ? `'${value}` : String(value);
  return `"${text.replaceAll('"', '""').replaceAll(";", ",").replace(/[\t\r\n]+/g, " ")}"`;
}

/** The value with as many below it as above; of two in the middle their mean. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((one, other) => one - other);
  const [low = 0, high = 0] = [sorted[Math.floor((sorted.length - 1) / 2)], sorted[Math.floor(sorted.length / 2)]];
  return (low + high) / 2;
}

/** A file's words: whatever they hold, the text around them keeps its direction. */
const own = (text: string): HTMLElement => h("bdi", {}, text);

function picture(played: Played): HTMLElement {
  const { title, question, quoted, predictions, chosen, answers, unit } = played;
  const asks = quoted ? quotation(quoted) : [` ${question}`];
  const middle = predictions.length ? ` Median of the first predictions: ${typedWords(median(predictions))}${unit}.` : "";
  const differ = answers.size > 1 ? ` The files differ in the answer: ${[...answers].map(([words, { ledgers }]) => `${words} in ${ledgers}`).join(", ")}.` : "";
  const [opens, closes] = predictions.length ? (["", "."] as const) : (["“", "”"] as const);
  const told = played.answered && !chosen.has(played.answered) ? [` The answer: ${opens}`, own(played.answered), closes] : [];
  const shown = [...(predictions.length ? [axis(played)] : []), ...(chosen.size ? [tally(played)] : [])];
  return h("figure", { class: "il-class__act" }, h("figcaption", {}, h("strong", {}, title), ...asks, `${middle}${differ}`, ...told), ...shown);
}

/** An act that the build does not know has the words of the first file that has it, said to be its words. */
function quotation({ name, title, question }: NonNullable<Played["quoted"]>): (Node | string)[] {
  const said = [...(title ? [" calls it “", own(title), "”"] : []), ...(title && question ? [" and"] : []), ...(question ? [" asks “", own(question), "”"] : [])];
  return [" is no act of this site.", ...(said.length ? [" The file of ", own(name), ...said, "."] : [])];
}

/** Which words were chosen how often, a dot for each reader, and whether they are right, where the files agree. */
function tally({ chosen, answered }: Played): HTMLElement {
  const most = [...chosen].sort(([, one], [, other]) => other.readers - one.readers);
  const dots = (number: number): HTMLElement => h("span", { class: "il-class__dots", "aria-hidden": "true" }, "●".repeat(number));
  const judged = (words: string, [correct, ...others]: Set<boolean>): string =>
    words === answered || (correct && !others.length) ? " ✓ right" : correct === false && !others.length ? " ≠ not so" : "";
  return h(
    "ul",
    { class: "il-class__tally" },
    ...most.map(([words, { readers, correct }]) => h("li", {}, "“", own(words), `” ${readers} `, dots(readers), judged(words, correct))),
  );
}

/** A dot for each reader's first prediction over one axis, the answer as a line. */
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
  const said = `${title}: ${count(predictions.length, "first prediction")}, ${numbers(predictions)}${answer === null ? "" : `; the answer is ${answered}`}.`;
  const svg = mark("svg", { viewBox: `0 0 ${WIDTH} ${tall}`, role: "img", "aria-label": said, class: "il-class__picture" });
  svg.append(
    mark("line", { x1: "12", x2: String(WIDTH - 12), y1: String(base), y2: String(base), stroke: "var(--il-control)" }),
    ...dots.map((dot) =>
      mark("circle", { cx: String(dot.x), cy: String(base - dot.height * (DOT + 1) + DOT / 2), r: String(DOT / 2), fill: "var(--il-muted)" }),
    ),
    ...[low, high].map((value) => words(x(value), tall - 4, value === answer ? answered : `${typedWords(value)}${unit}`, value === low ? "start" : "end")),
  );
  if (answer !== null) {
    svg.append(mark("line", { x1: String(x(answer)), x2: String(x(answer)), y1: "14", y2: String(base), stroke: "var(--il-good)", "stroke-width": "2" }));
    svg.append(words(x(answer), 11, `answer ${answered}`, x(answer) > WIDTH / 2 ? "end" : "start"));
  }
  return svg;
}

function table(hands: readonly Hand[], acts: readonly Played[], remove: (file: string) => void): HTMLElement {
  const cell = (hand: Hand, { act }: Played): HTMLElement => {
    const entry = hand.entries.find((one) => one.act === act);
    const account = entry?.account;
    const earlier = entry?.memory?.earlier;
    const gap = account?.verdict ? `${account.verdict.correct ? "✓" : "≠"} ` : "";
    const before = earlier ? ` (${earlierWords(earlier)})` : "";
    return account?.prediction ? h("td", {}, gap, own(account.prediction), own(before)) : h("td", {}, "–", own(before));
  };
  const removes = ({ name, file = "" }: Hand): HTMLElement => {
    const button = h("button", { type: "button", class: "il-button il-button--quiet il-class__remove", value: file, "aria-label": `Remove ${undirected(name)}` }, "Remove");
    button.addEventListener("click", () => remove(file));
    return h("td", {}, button);
  };
  const head = [...["Ledger", ...acts.map(({ title }) => title)].map((title) => h("th", { scope: "col" }, title)), h("td", {})];
  return h(
    "div",
    { class: "il-table-scroll", role: "region", "aria-label": "All ledgers", tabindex: "0" },
    h(
      "table",
      { class: "il-table" },
      h("caption", {}, "Everybody's predictions. ✓ right, ≠ not so, no mark before the reveal, and for all attempts but the last."),
      h("thead", {}, h("tr", {}, ...head)),
      h("tbody", {}, ...hands.map((hand) => h("tr", {}, h("th", { scope: "row" }, own(hand.name)), ...acts.map((act) => cell(hand, act)), removes(hand)))),
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
    const reached = best ? `. ${figureWords(best.headline)}` : "";
    const said = memory.argument ? [h("p", { class: "il-class__why" }, own(memory.argument))] : [];
    return [h("tr", {}, h("th", { scope: "row" }, own(name)), h("td", {}, best ? shareWords(best) : "–"), h("td", {}, own(`${controls}${reached}`), ...said))];
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
  return `from ${typedWords(sorted[0] ?? 0)} to ${typedWords(sorted.at(-1) ?? 0)}, the median ${typedWords(median(values))}`;
}
