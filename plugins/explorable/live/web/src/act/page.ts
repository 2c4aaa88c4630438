// The one renderer of an act: writes into the page what differs between two of its states. Only its charts are drawn elsewhere.
import type { Chart } from "../chart/chart";
import type { Grip } from "../chart/grip";
import { stagingOf } from "../chart/specs";
import { Staging } from "../chart/staging";
import { all, find, h, setText, slot } from "../dom";
import type { Memory } from "../ledger/entry";
import type { PythonClient } from "../python/client";
import type { Value } from "../python/protocol";
import type { Status } from "../python/status";
import { waiting, words, type Controls } from "./controls";
import { bringIntoView, showBelow } from "./focus";
import { MoveHistory } from "./history";
import { Paint } from "./paint";
import { Question } from "./question";
import { formsOf, nameOf, Reflections } from "./reflections";
import type { ActState, Effect, Standing, Store } from "./state";
import { showSteps, stepsOf } from "./steps";

/** A computation that takes longer than this dims what it will replace. */
const LATE_MS = 250;
/** What of the memory the page shows, besides the moves. */
const SEEN = ["prediction", "context", "controls", "explored", "revealed", "answers", "checked", "right"] as const;

interface Parts {
  readonly host: HTMLElement;
  readonly controls: Controls;
  readonly charts: readonly Chart[];
  readonly python: PythonClient;
  readonly store: Store;
  readonly signal: AbortSignal;
}

export class Page {
  readonly paint: Paint;
  /** The two sets of controls, which open at different times. The second adds up to the prediction; null where nothing does. */
  readonly bench: HTMLFieldSetElement;
  readonly adding: HTMLFieldSetElement | null;
  /** Null for an instrument, which asks nothing and is open from the start. */
  readonly question: Question | null;
  readonly reflections: Reflections;
  /** Null for an act that does not list its moves. */
  readonly history: MoveHistory | null;
  /** How the reveal is played; null where it only appears. */
  readonly staging: Staging | null;
  grips: readonly Grip[] = [];
  readonly parts: Parts;
  #timer = 0;

  constructor(parts: Parts) {
    const { host, charts, store, signal } = parts;
    this.parts = parts;
    this.paint = new Paint(host, () => store.dispatch({ kind: "retried" }));
    this.bench = slot(host, "controls") as HTMLFieldSetElement;
    this.adding = host.querySelector<HTMLFieldSetElement>('[data-slot="adding"]');
    const form = host.querySelector<HTMLFormElement>('[data-part="predict"]');
    this.question = form && new Question(form);
    const moves = host.querySelector<HTMLElement>('[data-slot="moves"]');
    this.history = moves && new MoveHistory(host, moves, (said) => store.dispatch({ kind: "undone", said }), signal);
    this.reflections = new Reflections(host);
    const staging = stagingOf(host);
    const staged = charts.find(({ name }) => name === staging?.chart);
    this.staging = staging && staged ? new Staging(staging, staged, signal) : null;
    signal.addEventListener("abort", () => {
      clearTimeout(this.#timer);
      this.paint.gone();
    });
  }

  /** Whether a hand may move this control now. */
  open(control: string): boolean {
    return !this.bench.disabled && !waiting(this.parts.host).has(control);
  }

  /** How those controls are called that come with the reveal. */
  lateNames(): string[] {
    return this.#late.map((control) => words(control.querySelector("legend, label")));
  }

  /** What of a memory the page still offers, with the controls and the sentences set to it: the memory follows the page. */
  fit(memory: Memory): Memory {
    return { ...memory, ...this.parts.controls.write(memory), moves: this.offered(memory.moves), checked: this.reflections.show(memory) };
  }

  /** A list with a move that the act does not offer any more could not be undone, so it is dropped. */
  offered(moves: Memory["moves"]): Memory["moves"] {
    return moves.some((move) => !this.history?.text(move)) ? [] : moves;
  }

  render(before: ActState | null, after: ActState): void {
    const { memory, held, page, stale } = after;
    const was = before?.memory;
    if (was !== memory && SEEN.some((part) => was?.[part] !== memory[part])) this.#show(memory, was);
    if (was?.moves !== memory.moves) this.history?.show(memory.moves);
    if (before?.held !== held || was?.prediction !== memory.prediction) this.#showHeld(memory.prediction, held);
    if (page && before?.page !== page) this.#say(page, before);
    if (before && before.stale !== stale) this.#fade(stale);
  }

  /** How Python is, which does one thing at a time: an act that waits for a reader's own program says so. */
  status(status: Status): void {
    this.paint.status(status);
    this.#tellWhoRuns();
  }

  focus(where: (Effect & { kind: "focus" })["where"]): void {
    const { host, python } = this.parts;
    if (where === "question") {
      if (this.question) this.question.focus();
      else this.bench.querySelector<HTMLElement>("input:checked, input")?.focus();
      return;
    }
    const verdict = where === "verdict";
    const part = verdict ? slot(host, "verdict") : find(host, `[data-part="${where}"]`);
    const target = verdict ? part : find(part, ".il-act__label");
    if (where !== "explore" && python.status.phase !== "ready") slot(host, "verdict").replaceChildren(h("p", {}, "The answer follows when Python is ready."));
    target.tabIndex = -1;
    target.focus({ preventScroll: true });
    if (!verdict) bringIntoView(part);
  }

  /** The sentence may have appeared out of sight: above the picture, or below what else stands under it. */
  seekVerdict(): void {
    const { host } = this.parts;
    if (this.#revealsFirst) bringIntoView(find(host, '[data-part="reveal"]'));
    else showBelow(slot(host, "verdict"), host);
  }

  /** The view of a reveal that is played has come: what enters later is not shown yet. */
  veil(): void {
    this.parts.host.dataset.playing = "true";
    this.staging?.prepare();
  }

  async play(): Promise<void> {
    await this.staging?.play(!this.#revealsFirst);
    this.unveil();
  }

  unveil(): void {
    delete this.parts.host.dataset.playing;
    this.staging?.show();
  }

  #show(memory: Memory, was?: Memory): void {
    const { host, controls } = this.parts;
    const { prediction, revealed, context } = memory;
    if (was?.controls !== memory.controls || was.context !== context) controls.write(memory);
    const locked = this.question !== null && prediction === null;
    this.bench.disabled = locked;
    if (this.adding) this.adding.disabled = !locked;
    host.dataset.locked = String(locked);
    if (this.question) {
      this.question.show(prediction);
      host.dataset.revealed = String(revealed);
      const closed = this.adding ? "Tap in the picture. The other instruments unlock when you lock in." : "The instruments open when you lock in.";
      setText(slot(host, "locked-note"), locked ? closed : "The instruments are open: move them.");
      // The button stays enabled while locked, because a press then says what is missing.
      const reveal = find<HTMLButtonElement>(host, '[data-action="reveal"]');
      reveal.disabled = false;
      reveal.setAttribute("aria-disabled", String(locked));
      slot(host, "reveal-ask").hidden = revealed;
      if (!revealed) slot(host, "verdict").replaceChildren();
    }
    for (const grip of this.grips) grip.place();
    for (const control of this.#late) control.hidden = !revealed;
    for (const detail of all(host, "[data-detail]")) detail.hidden = detail.dataset.detail !== context;
    for (const note of all(host, '[data-slot="reflect-note"]')) note.hidden = revealed;
    this.reflections.show(memory);
    showSteps(host, stepsOf(memory, this.reflections.names));
  }

  /** The prediction in the reader's hand, beside the chart in which it is dragged. */
  #showHeld(prediction: Value | null, held: number | null): void {
    const place = this.parts.host.querySelector<HTMLElement>('[data-slot="held"]');
    if (!place || !this.question) return;
    place.hidden = prediction !== null;
    const said = held === null ? (place.dataset.ask ?? "") : `Your prediction: ${this.question.words(held)}`;
    setText(find(place, "span"), said);
    find<HTMLButtonElement>(place, "button").hidden = held === null;
  }

  #say({ view, rest, verdict, feedback, of }: Standing, before: ActState | null): void {
    const was = before?.page;
    const other = was?.view !== view;
    if (view && other) this.paint.frame(view, of.state.hint);
    if (view && rest && (other || !was?.rest)) this.paint.rest(view);
    if (verdict && was?.verdict !== verdict) this.paint.verdict(verdict);
    if (was?.feedback === feedback) return;
    for (const form of formsOf(this.parts.host)) {
      const said = feedback.get(nameOf(form));
      if (said && was?.feedback.get(nameOf(form)) !== said) this.paint.feedback(form, said, before?.memory.right);
    }
  }

  #fade(stale: ActState["stale"]): void {
    clearTimeout(this.#timer);
    if (stale === "late") this.#timer = window.setTimeout(() => this.parts.store.dispatch({ kind: "late" }), LATE_MS);
    else this.paint.mark(stale);
    if (stale && stale !== "late") this.#tellWhoRuns();
  }

  #tellWhoRuns(): void {
    const { python } = this.parts;
    this.paint.whoRuns(python.status, () => python.stopRunning());
  }

  /** Whether the sentence stands above the picture. */
  get #revealsFirst(): boolean {
    return this.parts.store.state.facts.revealFirst;
  }

  /** The controls that appear with the reveal. */
  get #late(): HTMLElement[] {
    return all(this.parts.host, "[data-after-reveal]");
  }
}
