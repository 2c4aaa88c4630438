// <live-act>: prediction, instruments, reveal and reflection on the baked markup. Python computes, this shows.
import { Chart } from "./chart";
import { ActProblem, type Status } from "./client";
import { all, containKeys, find, h, setText, slot } from "./dom";
import type { Part } from "./element";
import { keepFocusVisible } from "./focus";
import { blanks, readBlanks, readInstruments, resetInstruments, writeBlanks, writeInstruments } from "./form";
import { memoryKey, parseMemory, type Memory } from "./memory";
import { Question } from "./question";
import { renderFailure, renderFeedback, renderTable, renderVerdict } from "./render";
import { confirmInline } from "./confirm";
import type { Feedback, State, View } from "./protocol";
import { documentPython } from "./shared";
import { showChip } from "./status";
import { openKeep } from "./storage";

/** A computation that takes longer than this dims what it will replace. */
const STALE_MS = 250;
/** The spoken summary waits until the reader's hand rests. */
const SUMMARY_MS = 500;

export const mount = (host: HTMLElement): Part => new ActPart(host);

class ActPart implements Part {
  readonly #host: HTMLElement;
  readonly #name: string;
  readonly #url: string;
  readonly #python = documentPython();
  readonly #keep = openKeep(() => localStorage);
  readonly #gone = new AbortController();
  readonly #question: Question;
  readonly #controls: HTMLFieldSetElement;
  readonly #charts: Chart[];
  readonly #unsubscribe: () => void;
  #memory: Memory;
  #failing: boolean;
  /** What is on the page now, as `#wanted` puts it; at first the baked default. */
  #shown: string;
  #computing = 0;
  #visible = false;
  #staleTimer = 0;
  #summaryTimer = 0;

  constructor(host: HTMLElement) {
    this.#host = host;
    this.#name = host.dataset.name ?? "";
    this.#url = new URL(host.dataset.actUrl ?? "", document.baseURI).href;
    this.#controls = slot(host, "controls") as HTMLFieldSetElement;
    this.#question = new Question(find<HTMLFormElement>(host, '[data-part="predict"]'));
    this.#charts = all(host, "[data-chart]").map((figure) => new Chart(figure));
    this.#failing = slot(host, "headline").dataset.failed === "true";

    resetInstruments(this.#controls);
    this.#memory = this.#fresh();
    // An element that is shown again may still stand in a later state than the baked one.
    this.#shown = host.dataset.live === "true" ? "" : this.#wanted();
    const kept = parseMemory(this.#keep.read(memoryKey(this.#name)));
    if (kept && (kept.prediction === null || this.#question.offers(kept.prediction))) this.#memory = kept;
    this.#apply();

    this.#listen(this.#gone.signal);
    this.#unsubscribe = this.#python.subscribe((status) => this.#showStatus(status));
    slot(host, "unsaved").hidden = this.#keep.lasting;
  }

  onscreen(): void {
    this.#visible = true;
    this.#python.start();
    for (const chart of this.#charts) chart.prepare();
    this.#refreshIfNeeded();
  }

  offscreen(): void {
    this.#visible = false;
  }

  gone(): void {
    this.#gone.abort();
    this.#unsubscribe();
    clearTimeout(this.#staleTimer);
    clearTimeout(this.#summaryTimer);
    for (const chart of this.#charts) chart.gone();
  }

  #listen(signal: AbortSignal): void {
    containKeys(this.#host, signal);
    keepFocusVisible(find(this.#host, '[data-part="explore"]'), slot(this.#host, "stage"), signal);
    this.#question.onLock((prediction) => this.#lock(prediction), signal);
    this.#controls.addEventListener("change", () => this.#instrumentsMoved(), { signal });
    this.#action("reveal").addEventListener("click", () => this.#reveal(), { signal });
    confirmInline(slot(this.#host, "reset"), "Your prediction and answers here will be gone.", () => this.#reset(), signal);
    for (const form of this.#reflections) {
      form.addEventListener("submit", (event) => this.#check(event, form), { signal });
      form.addEventListener("change", () => this.#answered(form), { signal });
    }
  }

  // What the reader does

  #lock(prediction: Memory["prediction"]): void {
    this.#remember({ prediction });
    slot(this.#host, "announce").textContent = "Locked in. The instruments are open.";
    const heading = find(this.#host, '[data-part="explore"] .il-act__label');
    heading.tabIndex = -1;
    heading.focus({ preventScroll: true });
  }

  #instrumentsMoved(): void {
    this.#remember({ ...this.#instruments(), explored: true });
  }

  #reveal(): void {
    this.#remember({ revealed: true });
    const verdict = slot(this.#host, "verdict");
    if (this.#python.status.phase !== "ready") verdict.replaceChildren(h("p", {}, "The answer follows when Python is ready."));
    verdict.tabIndex = -1;
    verdict.focus({ preventScroll: true });
  }

  #answered(form: HTMLFormElement): void {
    const name = form.dataset.reflection ?? "";
    const answers = { ...this.#memory.answers, [name]: readBlanks(form) };
    const complete = isComplete(form);
    this.#remember({ answers, checked: this.#memory.checked.filter((one) => one !== name || complete) });
    if (!complete) slot(form, "feedback").replaceChildren();
  }

  #check(event: SubmitEvent, form: HTMLFormElement): void {
    event.preventDefault();
    const name = form.dataset.reflection ?? "";
    if (!isComplete(form)) {
      slot(form, "feedback").replaceChildren(h("li", {}, "Choose an answer for every blank first."));
      blanks(form).find((select) => !select.value)?.focus();
      return;
    }
    const checked = [...new Set([...this.#memory.checked, name])];
    this.#remember({ checked, answers: { ...this.#memory.answers, [name]: readBlanks(form) } });
  }

  #reset(): void {
    this.#keep.remove(memoryKey(this.#name));
    resetInstruments(this.#controls);
    this.#memory = this.#fresh();
    this.#question.clear();
    for (const form of this.#reflections) slot(form, "feedback").replaceChildren();
    slot(this.#host, "verdict").replaceChildren();
    slot(this.#host, "announce").textContent = "The act starts again.";
    this.#apply();
    this.#refreshIfNeeded();
    this.#question.focus();
  }

  // What the act remembers, and the page in agreement with it

  #fresh(): Memory {
    const { context, controls } = this.#instruments();
    return { prediction: null, context, controls, explored: false, revealed: false, answers: {}, checked: [] };
  }

  #remember(change: Partial<Memory>): void {
    this.#memory = { ...this.#memory, ...change };
    // Who operates the act has it in view, even where the observer has not come round to say so.
    this.#visible = true;
    this.#keep.write(memoryKey(this.#name), this.#memory);
    this.#apply();
    this.#refreshIfNeeded();
  }

  /** Sets every control of the page from the memory. */
  #apply(): void {
    const { prediction, revealed, answers, checked } = this.#memory;
    const locked = prediction !== null;
    writeInstruments(this.#controls, this.#memory);
    // A remembered value that is offered no more has become the default: the memory follows the page.
    Object.assign(this.#memory, this.#instruments());
    this.#controls.disabled = !locked;
    this.#question.show(prediction);
    setText(
      slot(this.#host, "locked-note"),
      locked ? "The instruments are open: move them." : "The instruments unlock when you lock in a prediction.",
    );
    for (const detail of all(this.#host, "[data-detail]")) detail.hidden = detail.dataset.detail !== this.#memory.context;
    this.#action("reveal").disabled = !locked;
    slot(this.#host, "reveal-ask").hidden = revealed;
    for (const note of all(this.#host, '[data-slot="reflect-note"]')) note.hidden = revealed;
    for (const form of this.#reflections) {
      (slot(form, "blanks") as HTMLFieldSetElement).disabled = !revealed;
      writeBlanks(form, answers[form.dataset.reflection ?? ""] ?? {});
    }
    this.#memory.checked = checked.filter((name) => this.#reflections.some((one) => one.dataset.reflection === name && isComplete(one)));
    this.#showSteps();
  }

  #showSteps(): void {
    const { prediction, explored, revealed, checked } = this.#memory;
    const done: Record<string, boolean> = {
      predict: prediction !== null,
      explore: explored,
      reveal: revealed,
      reflect: revealed && this.#reflections.every((form) => checked.includes(form.dataset.reflection ?? "")),
    };
    let current = true;
    for (const step of all(this.#host, "[data-step]")) {
      const isDone = done[step.dataset.step ?? ""] ?? false;
      step.dataset.done = String(isDone);
      setText(slot(step, "done"), isDone ? " done" : "");
      if (!isDone && current) step.setAttribute("aria-current", "step");
      else step.removeAttribute("aria-current");
      current &&= isDone;
    }
  }

  #instruments(): Pick<Memory, "context" | "controls"> {
    return readInstruments(this.#controls, this.#host.dataset.onlyContext ?? "");
  }

  #state(): State {
    const { context, controls, prediction } = this.#memory;
    return { context, controls, prediction };
  }

  /** Everything Python's answers depend on: while this differs from `#shown`, the page is behind. */
  #wanted(): string {
    const { revealed, checked, answers } = this.#memory;
    return JSON.stringify([this.#state(), revealed, checked.map((name) => [name, answers[name]])]);
  }

  // What Python computes

  #refreshIfNeeded(): void {
    if (this.#visible && this.#wanted() !== this.#shown) void this.#refresh();
  }

  async #refresh(): Promise<void> {
    const wanted = this.#wanted();
    const state = this.#state();
    this.#computing += 1;
    this.#markStale();
    try {
      const view = await this.#python.compute(this.#name, this.#url, state);
      if (!view || this.#gone.signal.aborted || wanted !== this.#wanted()) return;
      await this.#showView(view);
      if (this.#memory.revealed) await this.#showVerdict(state);
      for (const form of this.#reflections) await this.#showFeedback(form, state);
      if (wanted !== this.#wanted()) return;
      this.#shown = wanted;
      this.#markCurrent();
      this.#trouble(null);
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      this.#trouble(error instanceof ActProblem ? error.message : `The page could not show the result: ${error.message}`);
    } finally {
      this.#computing -= 1;
    }
  }

  async #showView(view: View): Promise<void> {
    this.#host.dataset.live = "true";
    const { label, value, unit } = view.headline;
    setText(slot(this.#host, "headline-label"), label);
    setText(slot(this.#host, "headline-value"), value);
    setText(slot(this.#host, "headline-unit"), unit);
    setText(slot(this.#host, "headline-flag"), view.failure?.title ?? "");
    slot(this.#host, "headline").dataset.failed = String(view.failure !== null);
    const failure = view.failure ? [renderFailure(view.failure, !this.#failing)] : [];
    slot(this.#host, "failure").replaceChildren(...failure);
    this.#failing = view.failure !== null;
    for (const place of all(this.#host, "[data-table]")) {
      const table = view.tables[place.dataset.table ?? ""];
      place.replaceChildren(...(table ? [renderTable(table)] : []));
    }
    clearTimeout(this.#summaryTimer);
    this.#summaryTimer = window.setTimeout(() => setText(slot(this.#host, "summary"), view.summary), SUMMARY_MS);
    await Promise.all(this.#charts.map((chart) => chart.update(view.data, view.summary)));
  }

  async #showVerdict(state: State): Promise<void> {
    const verdict = await this.#python.reveal(this.#name, this.#url, state);
    if (verdict && this.#memory.revealed) slot(this.#host, "verdict").replaceChildren(...renderVerdict(verdict));
  }

  async #showFeedback(form: HTMLFormElement, state: State): Promise<void> {
    const name = form.dataset.reflection ?? "";
    if (!this.#memory.checked.includes(name)) return;
    const answers = readBlanks(form);
    const feedback: Feedback | null = await this.#python.check(this.#name, this.#url, name, answers, state);
    if (!feedback || !this.#memory.checked.includes(name)) return;
    const words = new Map(blanks(form).map((one) => [one.dataset.blank ?? "", one.selectedOptions[0]?.text ?? ""]));
    slot(form, "feedback").replaceChildren(...renderFeedback(feedback, words));
  }

  #markStale(): void {
    this.#staleTimer ||= window.setTimeout(() => (this.#host.dataset.stale = "true"), STALE_MS);
  }

  #markCurrent(): void {
    clearTimeout(this.#staleTimer);
    this.#staleTimer = 0;
    delete this.#host.dataset.stale;
  }

  // How Python is

  #showStatus(status: Status): void {
    const chip = slot(this.#host, "state");
    const changed = chip.dataset.phase !== status.phase;
    showChip(chip, status);
    if (status.phase === "error") this.#trouble(`${status.label} What you see stays as it was computed.`);
    else if (changed) this.#trouble(null);
    if (status.phase === "ready" && !this.#computing) this.#refreshIfNeeded();
  }

  #trouble(message: string | null): void {
    const place = slot(this.#host, "trouble");
    if (message === null) {
      place.replaceChildren();
      return;
    }
    const retry = h("button", { type: "button", class: "il-button" }, "Retry");
    retry.addEventListener("click", () => {
      this.#python.start();
      void this.#refresh();
    });
    place.replaceChildren(h("p", {}, message), retry);
  }

  get #reflections(): HTMLFormElement[] {
    return all<HTMLFormElement>(this.#host, "form[data-reflection]");
  }

  #action(name: string): HTMLButtonElement {
    return find<HTMLButtonElement>(this.#host, `[data-action="${name}"]`);
  }
}

function isComplete(form: HTMLFormElement): boolean {
  return blanks(form).every((select) => select.value !== "");
}
