// <live-act>: prediction, instruments, reveal and reflection on the baked markup. Python computes, this shows.
import { accountOf, NO_RESULTS, type Results } from "./account";
import { Chart } from "./chart";
import { ActProblem, type Status } from "./client";
import { all, containKeys, find, h, putChildren, setText, slot } from "./dom";
import type { Part } from "./element";
import { lastShown, rememberShown } from "./last";
import { bringIntoView, keepAtHand, keepFocusVisible } from "./focus";
import { blanks, readBlanks, readInstruments, resetInstruments, waiting, words, writeBlanks, writeInstruments } from "./form";
import { MoveHistory } from "./history";
import { MOST_MOVES, stageOf, withMark, type Memory } from "./memory";
import { changes, missing, undo, withAmount, withMove, type Amount } from "./moves";
import { Question } from "./question";
import { renderFailure, renderFeedback, renderSuccess, renderTable, renderVerdict } from "./render";
import { confirmInline } from "./confirm";
import type { Grip } from "./grip";
import { handsOf, PREDICTION, stagingOf } from "./hands";
import type { State, Value, View } from "./protocol";
import { perhapsTooOld } from "./release";
import { documentLedger, documentPython } from "./shared";
import { showChip, showTrouble } from "./status";
import { Staging } from "./staging";
import { showSteps, stepsOf } from "./steps";
import { sliders } from "./slider";
import { takeInHand } from "./take";

/** A computation that takes longer than this dims what it will replace. */
const STALE_MS = 250;
/** The spoken summary waits until the reader's hand rests. */
const SUMMARY_MS = 500;

export const mount = (host: HTMLElement): Part => new ActPart(host);

class ActPart implements Part {
  readonly #host: HTMLElement;
  readonly #name: string;
  readonly #url: string;
  /** The page to which the act belongs, relative to the site's root; it may stand on others too. */
  readonly #home: string;
  readonly #python = documentPython();
  readonly #ledger = documentLedger();
  readonly #gone = new AbortController();
  /** Null for an instrument, which asks nothing and is open from the start. */
  readonly #question: Question | null;
  /** Null for an act that does not list its moves. */
  readonly #history: MoveHistory | null;
  readonly #controls: HTMLFieldSetElement;
  readonly #charts: Chart[];
  readonly #grips: Grip[];
  /** How the reveal is played; null where it only appears. */
  readonly #staging: Staging | null;
  readonly #unsubscribe: (() => void)[];
  /** State -> the number that matters there, as far as it was computed on this page. */
  readonly #amounts = new Map<string, Amount>();
  #memory: Memory;
  /** What Python said of the state on the page. */
  #results: Results = NO_RESULTS;
  #failing: boolean;
  #winning = false;
  /** What is on the page now, as `#wanted` puts it; at first the baked default. */
  #shown: string;
  #computing = 0;
  /** What the reader has typed or dragged and not locked in. */
  #held: number | null = null;
  /** Controls under a moving hand, which the memory gets when it lets go. */
  #moving: Record<string, Value> = {};
  #following = false;
  /** Whether the next view is that of a reveal, which is played. */
  #toPlay = false;
  #visible = false;
  #staleTimer = 0;
  #summaryTimer = 0;

  constructor(host: HTMLElement) {
    this.#host = host;
    this.#name = host.dataset.name ?? "";
    this.#url = new URL(host.dataset.actUrl ?? "", document.baseURI).href;
    this.#home = host.dataset.home ?? "";
    this.#controls = slot(host, "controls") as HTMLFieldSetElement;
    const form = host.querySelector<HTMLFormElement>('[data-part="predict"]');
    this.#question = form && new Question(form);
    const moves = host.querySelector<HTMLElement>('[data-slot="moves"]');
    this.#history = moves && new MoveHistory(host, moves, () => this.#undo(), this.#gone.signal);
    this.#charts = all(host, "[data-chart]").map((figure) => new Chart(figure));
    const hand = {
      open: (sets: string) => this.#open(sets),
      hold: (sets: string, value: Value) => this.#hold(sets, value),
      drop: (sets: string, value: Value) => this.#drop(sets, value),
    };
    this.#grips = takeInHand({
      host,
      controls: this.#controls,
      question: this.#question,
      charts: this.#charts,
      hand,
      signal: this.#gone.signal,
    });
    const staging = stagingOf(host);
    const staged = this.#charts.find(({ name }) => name === staging?.chart);
    this.#staging = staging && staged ? new Staging(staging, staged, this.#gone.signal) : null;
    this.#failing = slot(host, "headline").dataset.failed === "true";

    resetInstruments(this.#controls);
    this.#memory = this.#fresh();
    // An element that is shown again may still stand in a later state than the baked one. A baked picture has no scales:
    // what can be taken in hand needs a live one.
    this.#shown = host.dataset.live === "true" || handsOf(host).length ? "" : this.#wanted();
    this.#memory = this.#kept() ?? this.#memory;
    this.#apply();

    this.#listen(this.#gone.signal);
    this.#unsubscribe = [
      this.#python.subscribe((status) => this.#showStatus(status)),
      this.#ledger.subscribe((acts, elsewhere) => this.#ledgerChanged(acts.has(this.#name) && elsewhere)),
    ];
    this.#ledgerChanged(false);
  }

  onscreen(): void {
    this.#visible = true;
    this.#python.start();
    for (const chart of this.#charts) chart.prepare();
    // What goes wrong with a remembered view is told, if it lasts, by the computation that follows.
    void this.#recall()
      .catch(() => undefined)
      .then(() => this.#refreshIfNeeded());
  }

  offscreen(): void {
    this.#visible = false;
  }

  gone(): void {
    this.#gone.abort();
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    clearTimeout(this.#staleTimer);
    clearTimeout(this.#summaryTimer);
    for (const chart of this.#charts) chart.gone();
  }

  #listen(signal: AbortSignal): void {
    containKeys(this.#host, signal);
    keepAtHand(this.#host, signal);
    keepFocusVisible(find(this.#host, '[data-part="explore"]'), slot(this.#host, "stage"), signal);
    this.#question?.onLock((prediction) => this.#lock(prediction), signal);
    this.#question?.onHeld(() => this.#typed(), signal);
    this.#controls.addEventListener("change", () => this.#instrumentsMoved(), { signal });
    this.#controls.addEventListener("input", (event) => this.#slid(event), { signal });
    this.#host.querySelector('[data-action="reveal"]')?.addEventListener("click", () => this.#reveal(), { signal });
    const warning = this.#question
      ? "Your prediction and answers here will be gone."
      : "The instruments go back to where they started.";
    confirmInline(slot(this.#host, "reset"), warning, () => this.#reset(), signal);
    this.#action("stop").addEventListener("click", () => this.#stopLoading(), { signal });
    for (const form of this.#reflections) {
      form.addEventListener("submit", (event) => this.#check(event, form), { signal });
      form.addEventListener("change", () => this.#answered(form), { signal });
    }
  }

  // What the reader does

  #lock(prediction: Memory["prediction"]): void {
    this.#held = null;
    // Where the answer is what the instruments show, it comes with the lock.
    const revealed = this.#host.dataset.revealFirst !== undefined;
    this.#toPlay = revealed && this.#staging !== null;
    this.#remember({ prediction, revealed });
    this.#announce("Locked in. The instruments are open.");
    const opened = find(this.#host, '[data-part="explore"]');
    const heading = find(opened, ".il-act__label");
    heading.tabIndex = -1;
    heading.focus({ preventScroll: true });
    bringIntoView(opened);
  }

  /** Whether a hand may move this control, or the prediction, now. */
  #open(sets: string): boolean {
    if (sets === PREDICTION) return this.#question !== null && this.#memory.prediction === null;
    return !this.#controls.disabled && !waiting(this.#controls).has(sets);
  }

  #hold(sets: string, value: Value): void {
    if (sets === PREDICTION) {
      this.#question?.hold(Number(value));
      this.#held = this.#question?.held ?? null;
      this.#showHeld();
    } else {
      this.#moving = { ...this.#moving, [sets]: value };
      writeInstruments(this.#controls, { context: this.#memory.context, controls: { ...this.#memory.controls, ...this.#moving } });
    }
    void this.#follow();
  }

  #drop(sets: string, value: Value): void {
    this.#hold(sets, value);
    if (sets === PREDICTION) return this.#refreshIfNeeded();
    this.#instrumentsMoved();
  }

  #typed(): void {
    this.#held = this.#question?.held ?? null;
    this.#showHeld();
    // Who operates the act has it in view.
    this.#visible = true;
    this.#refreshIfNeeded();
  }

  #slid({ target }: Event): void {
    if (target instanceof HTMLInputElement && target.dataset.slider) {
      this.#moving = this.#instruments().controls;
      void this.#follow();
    }
  }

  /** Follows a moving hand. Frames are dropped while Python computes, and those that are shown come in order. */
  async #follow(): Promise<void> {
    if (this.#following) return;
    this.#following = true;
    try {
      let drawn = "";
      for (let state = this.#state(); JSON.stringify(state) !== drawn; state = this.#state()) {
        const view = await this.#python.compute(this.#name, this.#url, state);
        if (!view || this.#gone.signal.aborted) return;
        drawn = JSON.stringify(state);
        await this.#showFrame(view);
      }
    } catch (error) {
      // What lasts is told by the computation that follows when the hand lets go.
      if (!(error instanceof Error)) throw error;
    } finally {
      this.#following = false;
    }
  }

  #instrumentsMoved(): void {
    const instruments = this.#instruments();
    this.#moving = {};
    const slide = new Set(sliders(this.#controls).map(({ name }) => name));
    const made = this.#history ? changes(this.#memory.controls, instruments.controls) : [];
    const moves = made.reduce((all, move) => withMove(all, move, slide.has(move.control)), this.#memory.moves);
    this.#remember({ ...instruments, explored: true, moves: moves.slice(-MOST_MOVES) });
  }

  #undo(): void {
    const last = this.#memory.moves.at(-1);
    if (!last) return;
    this.#announce(`Undone: ${this.#history?.text(last) ?? ""}`);
    this.#remember(undo(this.#memory.controls, this.#memory.moves));
  }

  #reveal(): void {
    if (this.#memory.prediction === null) return this.#question?.insist();
    this.#toPlay = this.#staging !== null;
    const controls = { ...this.#memory.controls, ...(stagingOf(this.#host)?.setting ?? {}) };
    this.#remember({ revealed: true, controls });
    const late = this.#late.map((control) => words(control.querySelector("legend, label")));
    if (late.length) this.#announce(`New among the instruments: ${late.join(", ")}.`);
    const verdict = slot(this.#host, "verdict");
    if (this.#python.status.phase !== "ready") verdict.replaceChildren(h("p", {}, "The answer follows when Python is ready."));
    verdict.tabIndex = -1;
    verdict.focus({ preventScroll: true });
  }

  #answered(form: HTMLFormElement): void {
    const name = form.dataset.reflection ?? "";
    const answers = { ...this.#memory.answers, [name]: readBlanks(form) };
    const complete = isComplete(form);
    const right = Object.fromEntries(Object.entries(this.#memory.right ?? {}).filter(([one]) => one !== name));
    this.#remember({ answers, right, checked: this.#memory.checked.filter((one) => one !== name || complete) });
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
    this.#ledger.reset(this.#name);
    this.#startAgain();
    this.#announce("The act starts again.");
    if (this.#question) this.#question.focus();
    else this.#controls.querySelector<HTMLElement>("input:checked, input")?.focus();
  }

  #startAgain(): void {
    this.#held = null;
    this.#moving = {};
    resetInstruments(this.#controls);
    this.#memory = this.#fresh();
    this.#question?.clear();
    this.#apply();
    this.#refreshIfNeeded();
  }

  // What the act remembers, and the page in agreement with it

  #fresh(): Memory {
    const { context, controls } = this.#instruments();
    return { prediction: null, context, controls, explored: false, revealed: false, answers: {}, checked: [], moves: [] };
  }

  /** What the ledger holds of this act, if its prediction is still one of the answers. */
  #kept(): Memory | null {
    const memory = this.#ledger.entry(this.#name)?.memory ?? null;
    const fits = !memory || memory.prediction === null || this.#question?.offers(memory.prediction);
    return memory && fits ? structuredClone(memory) : null;
  }

  /** `mine`: this act was played or reset elsewhere, in another tab or by an import. */
  #ledgerChanged(mine: boolean): void {
    slot(this.#host, "unsaved").hidden = this.#ledger.lasting;
    if (!mine) return;
    const kept = this.#kept();
    if (JSON.stringify(kept ?? this.#fresh()) === JSON.stringify(this.#memory)) return;
    this.#announce("This act changed in another tab.");
    if (!kept) return this.#startAgain();
    this.#memory = kept;
    this.#apply();
    this.#refreshIfNeeded();
  }

  #remember(change: Partial<Memory>): void {
    this.#memory = { ...this.#memory, ...change };
    // Who operates the act has it in view, even where the observer has not come round to say so.
    this.#visible = true;
    this.#apply();
    this.#ledger.write(this.#name, this.#stage, structuredClone(this.#memory), this.#account());
    this.#refreshIfNeeded();
  }

  /** Adds to the ledger what Python has said since. */
  #annotate(): void {
    if (this.#ledger.entry(this.#name)?.memory) this.#ledger.annotate(this.#name, this.#stage, structuredClone(this.#memory), this.#account());
  }

  #account(): ReturnType<typeof accountOf> {
    const results = this.#wanted() === this.#shown ? this.#results : NO_RESULTS;
    return accountOf(this.#host, this.#home, this.#question, this.#memory, results);
  }

  get #stage(): ReturnType<typeof stageOf> {
    const reflections = this.#reflections.map((form) => form.dataset.reflection ?? "");
    return stageOf(this.#memory, this.#question !== null, reflections);
  }

  /** Sets every control of the page from the memory. */
  #apply(): void {
    const { prediction, revealed, answers, checked } = this.#memory;
    const locked = this.#question !== null && prediction === null;
    writeInstruments(this.#controls, this.#memory);
    // A remembered value that is offered no more has become the default: the memory follows the page.
    Object.assign(this.#memory, this.#instruments());
    // Moves that the act could not name any more would not lead back to where they began.
    if (this.#memory.moves.some((move) => !this.#history?.text(move))) this.#memory.moves = [];
    this.#history?.show(this.#memory.moves);
    this.#controls.disabled = locked;
    this.#host.dataset.locked = String(locked);
    if (this.#question) {
      this.#question.show(prediction);
      const note = locked ? "The instruments unlock when you lock in a prediction." : "The instruments are open: move them.";
      setText(slot(this.#host, "locked-note"), note);
      // A button that says what it waits for is better than a dead one.
      this.#action("reveal").disabled = false;
      this.#action("reveal").setAttribute("aria-disabled", String(locked));
      slot(this.#host, "reveal-ask").hidden = revealed;
      if (!revealed) slot(this.#host, "verdict").replaceChildren();
      this.#showHeld();
    }
    for (const grip of this.#grips) grip.place();
    for (const control of this.#late) control.hidden = !revealed;
    for (const detail of all(this.#host, "[data-detail]")) detail.hidden = detail.dataset.detail !== this.#memory.context;
    for (const note of all(this.#host, '[data-slot="reflect-note"]')) note.hidden = revealed;
    for (const form of this.#reflections) {
      (slot(form, "blanks") as HTMLFieldSetElement).disabled = !revealed;
      writeBlanks(form, answers[form.dataset.reflection ?? ""] ?? {});
      if (!checked.includes(form.dataset.reflection ?? "")) slot(form, "feedback").replaceChildren();
    }
    this.#memory.checked = checked.filter((name) => this.#reflections.some((one) => one.dataset.reflection === name && isComplete(one)));
    const names = this.#reflections.map((form) => form.dataset.reflection ?? "");
    showSteps(this.#host, stepsOf(this.#memory, names));
  }

  #instruments(): Pick<Memory, "context" | "controls"> {
    return readInstruments(this.#controls, this.#host.dataset.onlyContext ?? "");
  }

  #state(): State {
    const { context, controls, prediction, revealed, moves } = this.#memory;
    return { context, controls: { ...controls, ...this.#moving }, prediction, revealed, held: this.#held, moves: moves.length };
  }

  /** The prediction in the reader's hand, beside the chart in which it is dragged. */
  #showHeld(): void {
    const place = this.#host.querySelector<HTMLElement>('[data-slot="held"]');
    if (!place || !this.#question) return;
    const open = this.#memory.prediction === null;
    place.hidden = !open;
    const words = this.#held === null ? "Drag the hatched mark, or type the number above." : `Your prediction: ${this.#question.words(this.#held)}`;
    setText(find(place, "span"), words);
    find<HTMLButtonElement>(place, "button").hidden = this.#held === null;
  }

  /** Everything Python's answers depend on: while this differs from `#shown`, the page is behind. */
  #wanted(): string {
    const { checked, answers } = this.#memory;
    return JSON.stringify([this.#state(), checked.map((name) => [name, answers[name]])]);
  }

  // What Python computes

  /** Shows what this tab showed last, where the reader's state is still that one: no need to wait for Python. */
  async #recall(): Promise<void> {
    const wanted = this.#wanted();
    const last = this.#shown === wanted ? null : lastShown(this.#name, this.#dependsOn(wanted));
    if (!last?.view || this.#computing) return;
    for (const form of this.#reflections) this.#putFeedback(form, last);
    this.#putVerdict(last);
    await this.#showView(last.view);
    if (wanted !== this.#wanted() || this.#computing) return;
    this.#shown = wanted;
    this.#results = last;
  }

  /** What the results for a state depend on besides it: the act's source and the Python that runs it. */
  #dependsOn(wanted: string): string {
    return JSON.stringify([this.#url, this.#host.dataset.python, wanted]);
  }

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
      const results: Results = { view, verdict: null, feedback: new Map(), engine: this.#python.engine };
      await this.#showView(view);
      this.#amounts.set(JSON.stringify(state), amountOf(view));
      this.#markReached(view);
      if (this.#memory.revealed) await this.#showVerdict(state, results);
      for (const form of this.#reflections) await this.#showFeedback(form, state, results);
      if (wanted !== this.#wanted()) return;
      this.#shown = wanted;
      this.#results = results;
      rememberShown(this.#name, this.#dependsOn(wanted), results);
      this.#markCurrent();
      this.#trouble(null);
      await this.#completeMoves();
      this.#annotate();
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      void perhapsTooOld();
      this.#trouble(error instanceof ActProblem ? error.message : `The page could not show the result: ${error.message.replace(/\.$/, "")}.`);
    } finally {
      this.#computing -= 1;
    }
  }

  /** Keeps the first state that counts and the best: what comes after does not take them away. */
  #markReached({ score, headline, ledger }: View): void {
    if (score === null || !this.#memory.revealed) return;
    const { controls } = accountOf(this.#host, this.#home, this.#question, this.#memory, NO_RESULTS);
    this.#memory = withMark(this.#memory, { at: Date.now(), score, headline, controls, fields: ledger });
  }

  /** A frame of a moving hand: what the eye follows. Tables and the spoken summary wait until it rests. */
  async #showFrame(view: View): Promise<void> {
    this.#showHeadline(view);
    await Promise.all(this.#charts.map((chart) => chart.update(view.data, view.summary)));
  }

  #showHeadline(view: View): void {
    this.#host.dataset.live = "true";
    const { label, value, unit } = view.headline;
    setText(slot(this.#host, "headline-label"), label);
    setText(slot(this.#host, "headline-value"), value);
    setText(slot(this.#host, "headline-unit"), unit);
    setText(slot(this.#host, "headline-flag"), view.failure?.title ?? view.success?.title ?? "");
    slot(this.#host, "headline").dataset.failed = String(view.failure !== null);
    slot(this.#host, "headline").dataset.reached = String(view.success !== null);
    const judged = view.failure ? [renderFailure(view.failure, !this.#failing)] : view.success ? [renderSuccess(view.success, !this.#winning)] : [];
    putChildren(slot(this.#host, "failure"), judged);
    this.#failing = view.failure !== null;
    this.#winning = view.success !== null;
  }

  async #showView(view: View): Promise<void> {
    this.#showHeadline(view);
    for (const place of all(this.#host, "[data-table]")) {
      const table = view.tables[place.dataset.table ?? ""];
      putChildren(place, table ? [renderTable(table)] : []);
    }
    clearTimeout(this.#summaryTimer);
    this.#summaryTimer = window.setTimeout(() => setText(slot(this.#host, "summary"), view.summary), SUMMARY_MS);
    const toPlay = this.#toPlay && this.#memory.revealed;
    const drawn = this.#charts.map((chart) => chart.update(view.data, view.summary));
    await Promise.all(drawn);
    if (toPlay) this.#staging?.prepare();
  }

  async #showVerdict(state: State, results: Results): Promise<void> {
    const verdict = await this.#python.reveal(this.#name, this.#url, state);
    if (!verdict || !this.#memory.revealed) return;
    results.verdict = verdict;
    if (this.#toPlay) {
      this.#toPlay = false;
      await this.#staging?.play();
    }
    this.#putVerdict(results);
  }

  #putVerdict({ verdict }: Results): void {
    if (verdict) putChildren(slot(this.#host, "verdict"), renderVerdict(verdict));
  }

  async #showFeedback(form: HTMLFormElement, state: State, results: Results): Promise<void> {
    const name = form.dataset.reflection ?? "";
    if (!this.#memory.checked.includes(name)) return;
    const answers = readBlanks(form);
    const feedback = await this.#python.check(this.#name, this.#url, name, answers, state);
    if (!feedback || !this.#memory.checked.includes(name)) return;
    results.feedback.set(name, feedback);
    // Found right once, these answers stay right when the bench moves on.
    if (Object.values(feedback).every((blank) => blank.correct) && !Object.hasOwn(this.#memory.right ?? {}, name)) {
      this.#memory.right = { ...this.#memory.right, [name]: Date.now() };
      this.#apply();
    }
    this.#putFeedback(form, results);
  }

  #putFeedback(form: HTMLFormElement, results: Results): void {
    const feedback = results.feedback.get(form.dataset.reflection ?? "");
    if (!feedback) return;
    const chosen = new Map(blanks(form).map((one) => [one.dataset.blank ?? "", one.selectedOptions[0]?.text ?? ""]));
    putChildren(slot(form, "feedback"), renderFeedback(feedback, chosen));
  }

  /** Computes what the states between moves came to, for a reader who moved faster than Python. */
  async #completeMoves(): Promise<void> {
    for (let next = this.#missing(); next; next = this.#missing()) {
      const { index, side, controls } = next;
      const state: State = { ...this.#state(), controls, moves: side === "after" ? index + 1 : index };
      let amount = this.#amounts.get(JSON.stringify(state));
      if (!amount) {
        const view = await this.#python.compute(this.#name, this.#url, state);
        // Newer moves are completed after their own view.
        if (!view || this.#gone.signal.aborted) return;
        amount = amountOf(view);
        this.#amounts.set(JSON.stringify(state), amount);
        if (JSON.stringify(this.#missing()) !== JSON.stringify(next)) continue;
      }
      this.#memory.moves = withAmount(this.#memory.moves, index, side, amount);
    }
    this.#history?.show(this.#memory.moves);
  }

  #missing(): ReturnType<typeof missing> {
    return missing(this.#memory.controls, this.#memory.moves);
  }

  #announce(text: string): void {
    slot(this.#host, "announce").textContent = text;
  }

  #markStale(): void {
    this.#staleTimer ||= window.setTimeout(() => {
      // A baked picture that nobody has touched shows what it should; it only waits for its grips.
      const baked = this.#host.dataset.live !== "true" && this.#memory.prediction === null && this.#held === null;
      this.#host.dataset.stale = baked ? "baked" : "true";
      this.#tellWhoRuns();
    }, STALE_MS);
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
    this.#action("stop").hidden = status.phase !== "loading";
    if (status.phase === "error") this.#trouble(`${status.label} What you see stays as it was computed.`);
    else if (changed) this.#trouble(null);
    this.#tellWhoRuns();
    if (status.phase === "ready" && !this.#computing) this.#refreshIfNeeded();
  }

  #stopLoading(): void {
    this.#python.stopLoading();
    this.#markCurrent();
    this.#trouble("You stopped Python while it loaded. What you see stays as it was computed.");
  }

  /** Python does one thing at a time: an act that waits for a reader's own program says so, and can stop it. */
  #tellWhoRuns(): void {
    const { phase, snippet } = this.#python.status;
    if (phase !== "running" || !this.#host.dataset.stale) return;
    const message = `This act waits: the program “${snippet}” on this page is still running.`;
    showTrouble(slot(this.#host, "trouble"), message, () => this.#python.stopRunning(), "Stop the program");
  }

  #trouble(message: string | null): void {
    showTrouble(slot(this.#host, "trouble"), message, () => {
      this.#python.start();
      void this.#refresh();
    });
  }

  /** The controls that appear with the reveal. */
  get #late(): HTMLElement[] {
    return all(this.#host, "[data-after-reveal]");
  }

  get #reflections(): HTMLFormElement[] {
    return all<HTMLFormElement>(this.#host, "form[data-reflection]");
  }

  #action(name: string): HTMLButtonElement {
    return find<HTMLButtonElement>(this.#host, `[data-action="${name}"]`);
  }
}

function amountOf(view: View): Amount {
  return { value: view.headline.value, unit: view.headline.unit };
}

function isComplete(form: HTMLFormElement): boolean {
  return blanks(form).every((select) => select.value !== "");
}
