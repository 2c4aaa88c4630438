// The list of moves under an act's instruments, and the button that takes the last one back.
import { find, h, slot } from "../dom";
import { equal } from "../equal";
import { holdInPlace } from "./focus";
import { controlWords } from "./controls";
import { moveText, type Move } from "./moves";

export class MoveHistory {
  readonly #host: HTMLElement;
  readonly #place: HTMLElement;

  constructor(host: HTMLElement, place: HTMLElement, undo: (said: string) => void, signal: AbortSignal) {
    this.#host = host;
    this.#place = place;
    const button = find<HTMLButtonElement>(place, '[data-action="undo"]');
    const list = slot(place, "move-list");
    button.addEventListener(
      "click",
      () => {
        holdInPlace(button, host);
        undo(list.lastElementChild?.textContent ?? "");
      },
      { signal },
    );
  }

  show(moves: readonly Move[]): void {
    const list = slot(this.#place, "move-list");
    const texts = moves.map((move) => this.text(move) ?? "");
    if (!equal(texts, [...list.children].map((item) => item.textContent))) {
      list.replaceChildren(...texts.map((text) => h("li", {}, text)));
      list.scrollTop = list.scrollHeight;
    }
    // Once shown, the list stays: its button may have the focus, which would be lost.
    if (moves.length) this.#place.hidden = false;
    const button = find<HTMLButtonElement>(this.#place, '[data-action="undo"]');
    if (moves.length) button.removeAttribute("aria-disabled");
    else button.setAttribute("aria-disabled", "true");
  }

  /** The move in the words of the page; null for a control or a position that the act does not offer (any more). */
  text(move: Move): string | null {
    return moveText(move, (control, value) => controlWords(this.#host, control, value));
  }
}
