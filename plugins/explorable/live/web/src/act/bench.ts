// The act's page in agreement with what the act remembers: question, moves and reflections, and which controls are open.
import type { Grip } from "../chart/grip";
import { all, find, setText, slot } from "../dom";
import type { Memory } from "../ledger/entry";
import type { Value } from "../python/protocol";
import { waiting, words } from "./controls";
import { MoveHistory } from "./history";
import { Question } from "./question";
import { Reflections } from "./reflections";
import { showSteps, stepsOf } from "./steps";

export class Bench {
  readonly #host: HTMLElement;
  /** The two sets of controls, which open at different times. */
  readonly controls: HTMLFieldSetElement;
  /** What adds up to the prediction; null where nothing does. */
  readonly adding: HTMLFieldSetElement | null;
  /** Null for an instrument, which asks nothing and is open from the start. */
  readonly question: Question | null;
  readonly reflections: Reflections;
  /** Null for an act that does not list its moves. */
  readonly history: MoveHistory | null;
  grips: readonly Grip[] = [];

  constructor(host: HTMLElement, undo: () => void, signal: AbortSignal) {
    this.#host = host;
    this.controls = slot(host, "controls") as HTMLFieldSetElement;
    this.adding = host.querySelector<HTMLFieldSetElement>('[data-slot="adding"]');
    const form = host.querySelector<HTMLFormElement>('[data-part="predict"]');
    this.question = form && new Question(form);
    const moves = host.querySelector<HTMLElement>('[data-slot="moves"]');
    this.history = moves && new MoveHistory(host, moves, undo, signal);
    this.reflections = new Reflections(host);
  }

  /** Whether a hand may move this control now. */
  open(control: string): boolean {
    return !this.controls.disabled && !waiting(this.#host).has(control);
  }

  /** How those controls are called that come with the reveal. */
  lateNames(): string[] {
    return this.#late.map((control) => words(control.querySelector("legend, label")));
  }

  /** Shows what the act remembers. Returns what of it the page still offers: the memory follows the page. */
  show(remembered: Memory, held: number | null): Memory {
    const memory = { ...remembered };
    const { prediction, revealed } = memory;
    const locked = this.question !== null && prediction === null;
    // A list with a move that the act does not offer any more could not be undone, so it is dropped.
    if (memory.moves.some((move) => !this.history?.text(move))) memory.moves = [];
    this.history?.show(memory.moves);
    this.controls.disabled = locked;
    if (this.adding) this.adding.disabled = !locked;
    this.#host.dataset.locked = String(locked);
    if (this.question) {
      this.question.show(prediction);
      this.#host.dataset.revealed = String(revealed);
      const closed = this.adding ? "Tap in the picture. The other instruments unlock when you lock in." : "The instruments open when you lock in.";
      const note = locked ? closed : "The instruments are open: move them.";
      setText(slot(this.#host, "locked-note"), note);
      // The button stays enabled while locked, because a press then says what is missing.
      const reveal = find<HTMLButtonElement>(this.#host, '[data-action="reveal"]');
      reveal.disabled = false;
      reveal.setAttribute("aria-disabled", String(locked));
      slot(this.#host, "reveal-ask").hidden = revealed;
      if (!revealed) slot(this.#host, "verdict").replaceChildren();
      this.showHeld(prediction, held);
    }
    for (const grip of this.grips) grip.place();
    for (const control of this.#late) control.hidden = !revealed;
    for (const detail of all(this.#host, "[data-detail]")) detail.hidden = detail.dataset.detail !== memory.context;
    for (const note of all(this.#host, '[data-slot="reflect-note"]')) note.hidden = revealed;
    memory.checked = this.reflections.show(memory);
    showSteps(this.#host, stepsOf(memory, this.reflections.names));
    return memory;
  }

  /** The prediction in the reader's hand, beside the chart in which it is dragged. */
  showHeld(prediction: Value | null, held: number | null): void {
    const place = this.#host.querySelector<HTMLElement>('[data-slot="held"]');
    if (!place || !this.question) return;
    place.hidden = prediction !== null;
    const said = held === null ? (place.dataset.ask ?? "") : `Your prediction: ${this.question.words(held)}`;
    setText(find(place, "span"), said);
    find<HTMLButtonElement>(place, "button").hidden = held === null;
  }

  /** The controls that appear with the reveal. */
  get #late(): HTMLElement[] {
    return all(this.#host, "[data-after-reveal]");
  }
}
