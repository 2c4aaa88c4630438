// Changes that help, looked for one by one while the reader waits: the best first, each a button.
import { h, setText } from "../dom";
import type { State, Suggestion } from "../python/protocol";
import type { Desk } from "./desk";

/** How many of a group are shown. */
const MOST = 6;

export class Suggestions {
  readonly #desk: Desk;
  readonly #lists = h("div");
  readonly #status = h("span", { role: "status" });
  readonly #stop = h("button", { type: "button", class: "il-button il-button--quiet", hidden: true }, "Stop");
  #look = 0;

  constructor(place: HTMLElement, desk: Desk) {
    this.#desk = desk;
    place.append(this.#lists, h("p", { class: "il-help" }, this.#status, " ", this.#stop));
    this.#stop.addEventListener("click", () => this.#end("You stopped the search."), { signal: desk.signal });
    desk.signal.addEventListener("abort", () => (this.#look += 1));
  }

  /** Looks for changes of a state, which reaches its goal or not; a later look ends this one. */
  look(state: State, reached: boolean): void {
    void this.#search(state, reached).catch((error: unknown) => {
      if (!(error instanceof Error)) throw error;
      this.#end(`The search ended: ${error.message}`);
    });
  }

  #end(text: string): void {
    this.#look += 1;
    this.#stop.hidden = true;
    setText(this.#status, text);
  }

  async #search(state: State, reached: boolean): Promise<void> {
    const look = (this.#look += 1);
    const found: Suggestion[] = [];
    this.#stop.hidden = false;
    for (let tried = 0; ; tried += 1) {
      setText(this.#status, `Looking for changes that help: ${tried} tried.`);
      const answer = (await this.#desk.tell(tried ? "more" : "suggest", [], state)) as { next: Suggestion | null } | null;
      if (look !== this.#look || !answer) return;
      if (!answer.next) break;
      if (answer.next.title) found.push(answer.next);
      found.sort((one, other) => other.worth - one.worth);
      this.#show(found);
    }
    this.#show(found);
    this.#end(found.length ? "" : reached ? "No single change makes it faster." : "No single change helps here.");
  }

  /** Each group under its name, where there are several. */
  #show(suggestions: readonly Suggestion[]): void {
    const focused = this.#lists.contains(document.activeElement) ? document.activeElement?.textContent : null;
    const groups = [...new Set(suggestions.map(({ group }) => group))];
    this.#lists.replaceChildren(
      ...groups.flatMap((group) => {
        const items = suggestions.filter((one) => one.group === group).slice(0, MOST);
        const list = h("ol", { class: "il-suggestions__list" }, ...items.map((one) => this.#item(one)));
        return groups.length > 1 ? [h("p", { class: "il-suggestions__group" }, group), list] : [list];
      }),
    );
    // Whoever stands on a change keeps it while others arrive.
    if (focused) [...this.#lists.querySelectorAll("button")].find((button) => button.textContent === focused)?.focus();
  }

  #item({ title, text, controls }: Suggestion): HTMLElement {
    const button = h("button", { type: "button", class: "il-button" }, title);
    const make = (): void => {
      this.#desk.announce(`Changed: ${title}.`);
      this.#desk.set(controls);
    };
    button.addEventListener("click", make, { signal: this.#desk.signal });
    return h("li", {}, button, " ", h("span", {}, text));
  }
}
