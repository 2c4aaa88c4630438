// What of a result's HTML a browser lays out in a time that the page can wait for.
import limits from "../python/limits.json";

/** Elements in each other: twice what tables in tables need. */
const DEEPEST = 100;
/** Elements for which a browser takes a time by the square of their number. */
const MOST: Record<string, number> = { li: 1500, details: 500 };
/** Places in tables that cells over several rows and columns take: browsers write down each of them. */
const MOST_SPANNED = 100_000;
/** Characters that are read at once: a paragraph can repeat all elements that stand open before it. */
const PIECE = 200;
/** Selectors times the elements that they are held against. */
const ROOM = 2_000_000;
/** A selector that asks for more than names, places in each other and states: what is around, how many there are, a part of a value. */
const LOOKS_AROUND = /[~+(&<\\]|\*=/;

/** What was read, in a document that is shown nowhere and loads nothing. */
export interface Whole {
  body: HTMLElement;
  elements: number;
}

/** Reads HTML. Null as soon as there are more elements than a page can show: a parser makes ten million of some texts. */
export function parsed(html: string): Whole | null {
  const page = document.implementation.createHTMLDocument("");
  const all = page.getElementsByTagName("*");
  const templates = page.getElementsByTagName("template");
  page.open();
  // What stands first belongs into the body, also a style.
  page.write("<!doctype html><html><head></head><body>");
  for (let at = 0; at < html.length; at += PIECE) {
    page.write(html.slice(at, at + PIECE));
    if (all.length + sum(templates, inTemplate) > limits.elements) return null;
  }
  page.close();
  return { body: page.body, elements: all.length };
}

const sum = <T>(all: Iterable<T>, of: (one: T) => number): number => [...all].reduce((total, one) => total + of(one), 0);
const inTemplate = ({ content }: HTMLTemplateElement): number => content.querySelectorAll("*").length + sum(content.querySelectorAll("template"), inTemplate);

/** Whether a browser would take long to lay this out, however few elements it has. */
export function tooHeavy(body: Element): boolean {
  const depths = new Map([[body, 0]]);
  for (const element of body.querySelectorAll("*")) {
    const depth = 1 + (depths.get(element.parentElement ?? body) ?? 0);
    if (depth > DEEPEST) return true;
    depths.set(element, depth);
  }
  return spanned(body) > MOST_SPANNED || Object.entries(MOST).some(([name, most]) => body.querySelectorAll(name).length > most);
}

/** Places that cells over several rows or columns take, and columns that one element stands for. */
function spanned(body: Element): number {
  const rows = body.querySelectorAll("tr").length;
  // A cell over no rows goes down to the last one.
  const places = sum(body.querySelectorAll("[rowspan], [colspan]"), (cell) => (span(cell, "rowspan") || rows || 1) * (span(cell, "colspan") || 1));
  return places + sum(body.querySelectorAll("[span]"), (columns) => span(columns, "span"));
}

/** How many rows or columns an attribute says; 1 where it says none. Browsers cut it off at 65,534 rows and 1,000 columns. */
function span(element: Element, name: string): number {
  const said = Number.parseInt(element.getAttribute(name) ?? "", 10);
  return said >= 0 ? Math.min(said, name === "rowspan" ? 65_534 : 1000) : 1;
}

/** Name -> how many elements have it. */
export function idsIn(body: Element): Map<string, number> {
  const ids = new Map<string, number>();
  for (const { id } of body.querySelectorAll("[id]")) ids.set(id, 1 + (ids.get(id) ?? 0));
  return ids;
}

/** The rules of all style sheets of a document: so many of them that a browser holds them against its elements in time. */
export class Rules {
  #room = ROOM;
  readonly #elements: number;
  readonly #ids: ReadonlyMap<string, number>;

  constructor(elements: number, ids: ReadonlyMap<string, number>) {
    this.#elements = elements;
    this.#ids = ids;
  }

  /** Whether a rule is kept, which then takes its room. */
  take(selectors: string): boolean {
    if (LOOKS_AROUND.test(selectors)) return false;
    const room = sum(selectors.split(","), (one) => this.#heldAgainst(one.trim()));
    if (room > this.#room) return false;
    this.#room -= room;
    return true;
  }

  /** A browser finds a single name at once. */
  #heldAgainst(selector: string): number {
    return /^#[\w-]+$/.test(selector) ? 1 + (this.#ids.get(selector.slice(1)) ?? 0) : this.#elements;
  }
}
