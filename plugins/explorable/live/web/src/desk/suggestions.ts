// Changes that help, looked for one by one while the reader waits: the best first, each a button.
import { h, setText } from "../dom";
import { equal } from "../equal";
import type { State, Suggestion } from "../python/protocol";
import type { Desk } from "./desk";

/** How many of a group are shown. */
const MOST = 6;
/** Milliseconds for which a hand rests before a search begins: Python does one thing at a time. */
const REST_MS = 300;

/** A change that was made, and where the controls stood before it and after. */
interface Made {
  title: string;
  before: State["controls"];
  after: State["controls"];
  /** It has been taken back, and can be made again. */
  undone: boolean;
}

export class Suggestions {
  readonly #desk: Desk;
  readonly #lists = h("div");
  readonly #status = h("span", { role: "status" });
  /** Beside the status: a screen reader would tell every number. */
  readonly #tried = h("span");
  readonly #stop = h("button", { type: "button", class: "il-button il-button--quiet", hidden: true }, "Stop");
  /** What was made last, until the controls move otherwise. */
  #made: Made | null = null;
  readonly #back = h("button", { type: "button", class: "il-button il-button--quiet", hidden: true });
  #look = 0;
  #timer = 0;

  constructor(place: HTMLElement, desk: Desk) {
    this.#desk = desk;
    this.#back.addEventListener("click", () => this.#takeBack(), { signal: desk.signal });
    place.append(this.#lists, this.#back, h("p", { class: "il-help" }, this.#status, " ", this.#tried, " ", this.#stop));
    this.#stop.addEventListener("click", () => this.#end("You stopped the search."), { signal: desk.signal });
    desk.signal.addEventListener("abort", () => this.#end(""));
  }

  /** A hand moves: nothing is searched until it rests, and what was found is of where it was. */
  pause(): void {
    this.#end("");
    this.#mark(true);
  }

  /** Looks for changes of a state, which reaches its goal or not, once the hand rests; a later look ends this one. */
  look(state: State, reached: boolean): void {
    this.pause();
    if (this.#made && !equal(state.controls, this.#made.after)) this.#remember(null);
    const begin = (): void =>
      void this.#search(state, reached).catch((error: unknown) => {
        if (!(error instanceof Error)) throw error;
        this.#end(`The search ended: ${error.message}`);
      });
    setText(this.#status, "Looking for changes that help.");
    this.#timer = window.setTimeout(begin, REST_MS);
  }

  #end(text: string): void {
    this.#look += 1;
    clearTimeout(this.#timer);
    this.#stop.hidden = true;
    setText(this.#tried, "");
    setText(this.#status, text);
  }

  async #search(state: State, reached: boolean): Promise<void> {
    const look = (this.#look += 1);
    const found: Suggestion[] = [];
    this.#stop.hidden = false;
    for (let tried = 0; ; tried += 1) {
      setText(this.#tried, `${tried} tried.`);
      const answer = await this.#ask(tried ? "more" : "suggest", state);
      if (look !== this.#look || !answer) return;
      if (!answer.next) break;
      if (!answer.next.title && answer.next.worth < 0) break;
      if (!answer.next.title) continue;
      found.push(answer.next);
      found.sort((one, other) => other.worth - one.worth);
      this.#show(found);
    }
    this.#show(found);
    this.#stop.hidden = true;
    setText(this.#tried, "");
    setText(this.#status, found.length ? "" : reached ? "No single change that can be counted here makes it faster." : "No single change that can be counted here helps.");
    // What a hand may ask for next is made ready while it rests.
    while (look === this.#look && (await this.#ask("more", state))?.next);
  }

  #ask(what: "suggest" | "more", state: State): Promise<{ next: Suggestion | null } | null> {
    return this.#desk.tell(what, [], state) as Promise<{ next: Suggestion | null } | null>;
  }

  /** Changes of another answer than the one that is shown are dim and do nothing; whoever stands on one keeps the place. */
  #mark(past: boolean): void {
    this.#lists.toggleAttribute("data-past", past);
    for (const button of this.#lists.querySelectorAll("button")) button.setAttribute("aria-disabled", String(past));
  }

  /** Each group under its name, where there are several. */
  #show(suggestions: readonly Suggestion[]): void {
    const focused = this.#lists.contains(document.activeElement) ? document.activeElement?.textContent : null;
    this.#mark(false);
    const groups = [...new Set(suggestions.map(({ group }) => group))];
    this.#lists.replaceChildren(
      ...groups.flatMap((group) => {
        const items = suggestions.filter((one) => one.group === group).slice(0, MOST);
        const list = h("ol", { class: "il-suggestions__list" }, ...items.map((one) => this.#item(one)));
        return groups.length > 1 ? [h("p", { class: "il-suggestions__group" }, group), list] : [list];
      }),
    );
    if (focused === null) return;
    // Whoever stands on a change keeps it while others arrive; the one that was made is gone, and can be taken back.
    const buttons = [...this.#lists.querySelectorAll("button")];
    const next = buttons.find((button) => button.textContent === focused) ?? (this.#back.hidden ? buttons[0] : this.#back);
    next?.focus({ preventScroll: true });
  }

  #item({ title, text, controls }: Suggestion): HTMLElement {
    const button = h("button", { type: "button", class: "il-button" }, title);
    const make = (): void => {
      if (this.#lists.hasAttribute("data-past")) return;
      const before = { ...this.#desk.state().controls };
      this.#desk.announce(`Changed: ${title}.`);
      this.#desk.set(controls);
      this.#remember({ title, before, after: { ...this.#desk.state().controls }, undone: false });
    };
    button.addEventListener("click", make, { signal: this.#desk.signal });
    return h("li", {}, button, " ", h("span", {}, text));
  }

  #remember(made: Made | null): void {
    this.#made = made;
    this.#back.hidden = made === null;
    if (made) setText(this.#back, made.undone ? `Redo: ${made.title}` : `Undo: ${made.title}`);
  }

  /** Puts the controls where they stood before the last change, or, after that, where it put them. */
  #takeBack(): void {
    if (!this.#made) return;
    const { title, before, after, undone } = this.#made;
    this.#desk.announce(undone ? `Changed: ${title}.` : `Taken back: ${title}.`);
    this.#desk.set(before);
    this.#remember({ title, before: after, after: { ...this.#desk.state().controls }, undone: !undone });
  }
}
