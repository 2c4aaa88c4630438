// What stands around the instruments of an act without a question: texts to read, changes that help, a comparison, exports, a link.
// It comes as a chunk of its own, for the acts that have one of them.
import { addressOf, linkedState } from "./address";
import { Comparison } from "./comparison";
import { Exports } from "./exports";
import { Reader } from "./reader";
import { Suggestions } from "./suggestions";
import { h, setText } from "../dom";
import { equal } from "../equal";
import { wrongNumber } from "../number";
import { controlWords, type Instruments } from "../act/controls";
import type { State, Tell, Value, View } from "../python/protocol";
import { undirected } from "../marks";

/** The act around which it stands. */
export interface Desk {
  readonly host: HTMLElement;
  readonly name: string;
  readonly signal: AbortSignal;
  state(): State;
  /** Where the controls stand by default. */
  defaults(): Instruments;
  /** Asks the act's Python. Null when the same was asked for again meanwhile. */
  tell(what: Tell, texts: readonly string[], state: State): Promise<unknown>;
  /** Moves controls as a hand does. */
  set(controls: Record<string, Value>): void;
  announce(text: string): void;
}

/** Milliseconds for which a hand rests before the address follows: browsers limit how often it changes. */
const REST_MS = 400;
const COPIED_MS = 2500;

/** Characters of a link's value that are said. */
const MOST_SAID = 40;

/** What a link asked for and the page does not offer, with what stands instead, a sentence each; whoever wrote the link is unknown. */
export function notOffered(root: ParentNode, asked: Record<string, Value>, standing: Record<string, Value>): string {
  const said = (value: Value): string => {
    const text = undirected(String(value));
    return text.length > MOST_SAID ? `${text.slice(0, MOST_SAID)}…` : text;
  };
  return Object.entries(asked)
    .filter(([name, value]) => standing[name] !== value)
    .map(([name, value]) => {
      const instead = standing[name];
      if (instead === undefined) return `The link sets ${said(name)}, which is not here.`;
      const words = controlWords(root, name, instead);
      if (!words) return `The link's ${said(name)} is not taken.`;
      return `${words.label}: ${said(value)} is not offered here; ${words.value} stands instead.`;
    })
    .join(" ");
}

export class Around {
  readonly #desk: Desk;
  readonly #linked: boolean;
  readonly #reader: Reader | null;
  readonly #suggestions: Suggestions | null;
  readonly #exports: Exports | null;
  readonly #comparison: Comparison | null;
  #timer = 0;
  readonly #wrong = h("a", { class: "il-link__wrong", hidden: true }, "Number wrong? Tell us");
  /** What the page itself wrote into the address. */
  #written = "";
  /** The link that was opened last, or could not be. */
  #taken = "";
  /** Where a link put the controls last, and where they stood before links that came later. */
  #opened: State["controls"] | null = null;
  #before: State["controls"] | null = null;
  readonly #changed = h("p", { class: "il-link__changed", hidden: true });

  constructor(desk: Desk) {
    const place = (name: string): HTMLElement | null => desk.host.querySelector(`[data-slot="${name}"]`);
    const made = <T>(name: string, make: (at: HTMLElement) => T): T | null => {
      const at = place(name);
      if (at) at.hidden = false;
      return at && make(at);
    };
    this.#desk = desk;
    this.#linked = desk.host.dataset.linked !== undefined;
    this.#reader = made("reader", (at) => new Reader(at, desk));
    this.#suggestions = made("suggestions", (at) => new Suggestions(at, desk));
    this.#exports = made("exports", (at) => new Exports(at, desk));
    this.#comparison = made("comparison", (at) => new Comparison(at, desk));
    if (!this.#linked) return;
    made("link", (at) => this.#offerLink(at));
    addEventListener("hashchange", () => void this.open(true), { signal: desk.signal });
    desk.signal.addEventListener("abort", () => clearTimeout(this.#timer));
  }

  /** Puts the controls where the page's address says. Whoever opened or frames the page can change the address `later` too: what
   * a reader had set by then does not go without a word. */
  async open(later = false): Promise<void> {
    const fragment = location.hash;
    if (!fragment || fragment === this.#written) return;
    const linked = await linkedState(fragment, this.#desk.name);
    if (location.hash === fragment) this.#taken = fragment;
    if (!linked || this.#desk.signal.aborted || location.hash !== fragment) return;
    const place = this.#desk.host.querySelector('[data-slot="link-problem"]');
    let problem = "problem" in linked ? linked.problem : "";
    if (!("problem" in linked)) {
      const before = this.#desk.state().controls;
      const { controls } = this.#desk.defaults();
      // Of several links the first has changed what the reader had.
      if (!this.#before || !equal(before, this.#opened)) this.#before = later && !equal(before, controls) ? before : null;
      this.#desk.set({ ...controls, ...linked.controls });
      this.#opened = this.#desk.state().controls;
      problem = notOffered(this.#desk.host, linked.controls, this.#opened);
      this.#tellChange(this.#before, this.#opened);
    }
    if (place) setText(place, problem);
    this.#desk.host.scrollIntoView({ block: "start", behavior: "instant" });
  }

  /** Says that a link changed what stood here, with a way back, and from there to the link's settings again. */
  #tellChange(before: State["controls"] | null, linked: State["controls"]): void {
    this.#changed.hidden = !before || equal(before, linked);
    if (!before || this.#changed.hidden) return;
    const said = h("span", { role: "status" }, "A link changed the settings.");
    const button = h("button", { type: "button", class: "il-button" }, "Put back what stood here");
    let back = false;
    button.addEventListener("click", () => {
      back = !back;
      this.#desk.set(back ? before : linked);
      setText(said, back ? "The settings stand as before the link." : "A link changed the settings.");
      setText(button, back ? "Take the link's" : "Put back what stood here");
    });
    this.#changed.replaceChildren(said, " ", button);
  }

  /** The act starts again: what a reader gave it goes. */
  clear(): void {
    this.#changed.hidden = true;
    this.#before = null;
    this.#reader?.clear();
  }

  /** A hand begins to move, or moves on. */
  moving(): void {
    this.#suggestions?.pause();
  }

  /** The page shows the whole view of a state. */
  told(state: State, view: View): void {
    // What has no number has no picture either.
    this.#desk.host.toggleAttribute("data-uncounted", view.headline.value === "–");
    this.#suggestions?.look(state, view.success?.marked ?? false);
    this.#exports?.follow(state);
    this.#reader?.follow(state);
    this.#comparison?.show(view);
    this.#offerForm(view);
    if (!this.#linked) return;
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => void this.#write(state), REST_MS);
  }

  /** The form for a wrong number, with the headline and the command that gives it; a link of the reader's is not in it. */
  #offerForm({ headline: { label, value, unit }, command }: View): void {
    const form = command && wrongNumber(`${label} ${value} ${unit}`, command);
    this.#wrong.hidden = !form;
    if (form) this.#wrong.href = form;
  }

  async #write(state: State): Promise<void> {
    const { context, controls } = state;
    const address = await addressOf(location.href, this.#desk.name, { context, controls }, this.#desk.defaults());
    if (this.#desk.signal.aborted) return;
    const before = location.hash;
    // A link that was followed meanwhile is still being read: the state that it gives is written then.
    if (before.startsWith("#state=") && before !== this.#written && before !== this.#taken) return;
    this.#written = new URL(address).hash;
    // A page that nobody has touched keeps its plain address, and the anchor to which somebody has come.
    if (this.#written === before || (!this.#written && !before.startsWith("#state="))) return;
    history.replaceState(history.state, "", address);
  }

  #offerLink(place: HTMLElement): void {
    const address = h("input", { type: "text", readonly: true, class: "il-ledger__link", "aria-label": "Link to these settings", hidden: true });
    const button = h("button", { type: "button", class: "il-button" }, "Copy the link");
    place.append(button, " ", this.#wrong, " ", address);
    // What is wrong with a link stands beside the answer that it was to change: that is where the page opens.
    this.#desk.host.querySelector('[data-slot="headline"]')?.before(this.#changed, h("p", { class: "il-problem", role: "alert", "data-slot": "link-problem" }));
    const copy = async (): Promise<void> => {
      const { context, controls } = this.#desk.state();
      // A link that goes elsewhere holds the whole: it opens the same when this page's defaults have moved on.
      address.value = await addressOf(location.href, this.#desk.name, { context, controls });
      try {
        await navigator.clipboard.writeText(address.value);
        this.#desk.announce("The link is copied. Whoever opens it sees these settings.");
        setText(button, "Copied");
        window.setTimeout(() => setText(button, "Copy the link"), COPIED_MS);
      } catch {
        address.hidden = false;
        address.focus();
        address.select();
      }
    };
    button.addEventListener("click", () => void copy(), { signal: this.#desk.signal });
  }
}
