// <live-act>: prediction, instruments, reveal and reflection on the baked markup. Python computes, this shows.
import { accountOf } from "./account";
import { Chart } from "../chart/chart";
import { ActProblem, type Status } from "../python/client";
import { all, containKeys, find, h, setText, slot } from "../dom";
import type { Part } from "../element";
import { lastShown, NO_RESULTS, rememberShown, type Results } from "./results";
import { bringIntoView, keepAtHand, keepFocusVisible } from "./focus";
import { Follower } from "./follow";
import { readBlanks, readInstruments, resetInstruments, waiting, words, writeInstruments } from "./form";
import { MoveHistory } from "./history";
import { MOST_MOVES, stageOf, withMark, type Memory } from "../ledger/entry";
import { documentLedger } from "../ledger/ledger";
import { changes, missing, undo, withAmount, withMove, type Amount } from "./moves";
import { Paint } from "./paint";
import { Question } from "./question";
import { answered, nameOf, Reflections } from "./reflections";
import { confirmInline } from "../confirm";
import type { Grip } from "../chart/grip";
import { handsOf, PREDICTION, stagingOf } from "../chart/specs";
import { documentPython } from "../python/interpreter";
import type { State, Value, View } from "../python/protocol";
import { perhapsTooOld } from "../release";
import { Staging } from "../chart/staging";
import { showSteps, stepsOf } from "./steps";
import { sliders } from "./slider";
import { takeInHand } from "../chart/hands";

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
  /** All controls, and of them the two sets that open at different times. */
  readonly #bench: HTMLElement;
  readonly #controls: HTMLFieldSetElement;
  /** What adds up to the prediction; null where nothing does. */
  readonly #adding: HTMLFieldSetElement | null;
  readonly #charts: Chart[];
  readonly #paint: Paint;
  readonly #reflections: Reflections;
  readonly #follower: Follower;
  readonly #grips: Grip[];
  /** How the reveal is played; null where it only appears. */
  readonly #staging: Staging | null;
  readonly #unsubscribe: (() => void)[];
  /** State -> the number that matters there, as far as it was computed on this page. */
  readonly #amounts = new Map<string, Amount>();
  #memory: Memory;
  /** What Python said of the state on the page. */
  #results: Results = NO_RESULTS;
  /** What is on the page now, as `#wanted` puts it; at first the baked default. */
  #shown: string;
  /** The state whose whole view was painted last; "" after a frame. A later view may take the place of one that is still being told. */
  #painted = "";
  #computing = 0;
  /** What the reader has typed or dragged and not locked in. */
  #held: number | null = null;
  /** Controls under a moving hand, which the memory gets when it lets go. */
  #moving: Record<string, Value> = {};
  /** Whether the next view is that of a reveal, which is played. */
  #toPlay = false;
  #visible = false;

  constructor(host: HTMLElement) {
    this.#host = host;
    this.#name = host.dataset.name ?? "";
    this.#url = new URL(host.dataset.actUrl ?? "", document.baseURI).href;
    this.#home = host.dataset.home ?? "";
    this.#bench = find(host, ".il-bench__hand");
    this.#controls = slot(host, "controls") as HTMLFieldSetElement;
    this.#adding = host.querySelector<HTMLFieldSetElement>('[data-slot="adding"]');
    const form = host.querySelector<HTMLFormElement>('[data-part="predict"]');
    this.#question = form && new Question(form);
    const moves = host.querySelector<HTMLElement>('[data-slot="moves"]');
    this.#history = moves && new MoveHistory(host, moves, () => this.#undo(), this.#gone.signal);
    this.#charts = all(host, "[data-chart]").map((figure) => new Chart(figure));
    this.#paint = new Paint(host, this.#charts, () => this.#retry());
    this.#reflections = new Reflections(host);
    this.#follower = new Follower(
      () => this.#state(),
      async (state) => this.#living(await this.#python.frame(this.#name, this.#url, state)),
      (view) => this.#showFrame(view),
    );
    const hand = {
      open: (sets: string) => this.#open(sets),
      hold: (sets: string, value: Value) => this.#hold(sets, value),
      drop: (sets: string, value: Value) => this.#drop(sets, value),
    };
    this.#grips = takeInHand({
      host,
      controls: this.#bench,
      question: this.#question,
      charts: this.#charts,
      hand,
      signal: this.#gone.signal,
    });
    const staging = stagingOf(host);
    const staged = this.#charts.find(({ name }) => name === staging?.chart);
    this.#staging = staging && staged ? new Staging(staging, staged, this.#gone.signal) : null;

    resetInstruments(this.#bench);
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
    this.#paint.gone();
    for (const chart of this.#charts) chart.gone();
  }

  #listen(signal: AbortSignal): void {
    containKeys(this.#host, signal);
    keepAtHand(this.#host, signal);
    keepFocusVisible(find(this.#host, '[data-part="explore"]'), slot(this.#host, "stage"), signal);
    this.#question?.onLock((prediction) => this.#lock(prediction), signal);
    this.#question?.onHeld(() => this.#typed(), signal);
    this.#controls.addEventListener("change", () => this.#instrumentsMoved(), { signal });
    this.#adding?.addEventListener("change", () => this.#addedUp(), { signal });
    this.#controls.addEventListener("input", (event) => this.#slid(event), { signal });
    this.#host.querySelector('[data-action="reveal"]')?.addEventListener("click", () => this.#reveal(), { signal });
    const warning = this.#question
      ? "Your prediction and answers here will be gone."
      : "The instruments go back to where they started.";
    confirmInline(slot(this.#host, "reset"), warning, () => this.#reset(), signal);
    this.#action("stop").addEventListener("click", () => this.#stopLoading(), { signal });
    this.#reflections.listen(
      (form) => this.#remember(answered(form, this.#memory)),
      (form) => this.#check(form),
      signal,
    );
  }

  // What the reader does

  #lock(prediction: Memory["prediction"]): void {
    this.#held = null;
    // Where the answer is what the instruments show, it comes with the lock.
    const revealed = this.#host.dataset.revealFirst !== undefined;
    this.#toPlay = revealed && this.#staging !== null;
    this.#remember({ prediction, revealed });
    this.#paint.announce("Locked in. The instruments are open.");
    const opened = find(this.#host, '[data-part="explore"]');
    const heading = find(opened, ".il-act__label");
    heading.tabIndex = -1;
    heading.focus({ preventScroll: true });
    bringIntoView(opened);
  }

  /** Whether a hand may move this control, or the prediction, now. */
  #open(sets: string): boolean {
    if (sets === PREDICTION) return this.#question !== null && this.#memory.prediction === null;
    return !this.#controls.disabled && !waiting(this.#bench).has(sets);
  }

  #hold(sets: string, value: Value): void {
    if (sets === PREDICTION) {
      this.#question?.hold(Number(value));
      this.#held = this.#question?.held ?? null;
      this.#showHeld();
    } else {
      this.#moving = { ...this.#moving, [sets]: value };
      writeInstruments(this.#bench, { context: this.#memory.context, controls: { ...this.#memory.controls, ...this.#moving } });
    }
    void this.#follower.follow();
  }

  #drop(sets: string, value: Value): void {
    this.#hold(sets, value);
    if (sets === PREDICTION) return this.#refreshIfNeeded();
    this.#instrumentsMoved();
  }

  /** What belongs to the prediction was switched: the number is what those that are on add up to. */
  #addedUp(): void {
    this.#memory = { ...this.#memory, ...this.#instruments() };
    this.#question?.hold(this.#question.sumOf(all<HTMLInputElement>(this.#bench, "input[data-adds]:checked")));
    this.#typed();
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
      void this.#follower.follow();
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
    this.#paint.announce(`Undone: ${this.#history?.text(last) ?? ""}`);
    this.#remember(undo(this.#memory.controls, this.#memory.moves));
  }

  #reveal(): void {
    if (this.#memory.prediction === null) return this.#question?.insist();
    this.#toPlay = this.#staging !== null;
    const controls = { ...this.#memory.controls, ...(stagingOf(this.#host)?.setting ?? {}) };
    this.#remember({ revealed: true, controls });
    const late = this.#late.map((control) => words(control.querySelector("legend, label")));
    if (late.length) this.#paint.announce(`New among the instruments: ${late.join(", ")}.`);
    const verdict = slot(this.#host, "verdict");
    if (this.#python.status.phase !== "ready") verdict.replaceChildren(h("p", {}, "The answer follows when Python is ready."));
    verdict.tabIndex = -1;
    verdict.focus({ preventScroll: true });
  }

  #check(form: HTMLFormElement): void {
    const name = nameOf(form);
    const checked = [...new Set([...this.#memory.checked, name])];
    this.#remember({ checked, answers: { ...this.#memory.answers, [name]: readBlanks(form) } });
  }

  #reset(): void {
    this.#ledger.reset(this.#name);
    this.#startAgain();
    this.#paint.announce("The act starts again.");
    if (this.#question) this.#question.focus();
    else this.#controls.querySelector<HTMLElement>("input:checked, input")?.focus();
  }

  #startAgain(): void {
    this.#held = null;
    this.#moving = {};
    resetInstruments(this.#bench);
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
    this.#paint.announce("This act changed in another tab.");
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
    // Python computes while the ledger is written.
    this.#refreshIfNeeded();
    this.#ledger.write(this.#name, this.#stage, structuredClone(this.#memory), this.#account());
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
    return stageOf(this.#memory, this.#question !== null, this.#reflections.names);
  }

  /** Sets every control of the page from the memory. */
  #apply(): void {
    const { prediction, revealed } = this.#memory;
    const locked = this.#question !== null && prediction === null;
    writeInstruments(this.#bench, this.#memory);
    // A remembered value that is offered no more has become the default: the memory follows the page.
    Object.assign(this.#memory, this.#instruments());
    // Moves that the act could not name any more would not lead back to where they began.
    if (this.#memory.moves.some((move) => !this.#history?.text(move))) this.#memory.moves = [];
    this.#history?.show(this.#memory.moves);
    this.#controls.disabled = locked;
    if (this.#adding) this.#adding.disabled = !locked;
    this.#host.dataset.locked = String(locked);
    if (this.#question) {
      this.#question.show(prediction);
      const closed = this.#adding ? "Tap in the picture. The other instruments unlock when you lock in." : "The instruments unlock when you lock in a prediction.";
      const note = locked ? closed : "The instruments are open: move them.";
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
    this.#memory.checked = this.#reflections.show(this.#memory);
    showSteps(this.#host, stepsOf(this.#memory, this.#reflections.names));
  }

  #instruments(): Pick<Memory, "context" | "controls"> {
    return readInstruments(this.#bench, this.#host.dataset.onlyContext ?? "");
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
    const words = this.#held === null ? (place.dataset.ask ?? "") : `Your prediction: ${this.#question.words(this.#held)}`;
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
    for (const form of this.#reflections.forms) this.#paint.feedback(form, last);
    this.#paint.verdict(last);
    await this.#showView(last.view, wanted);
    if (!this.#stands(wanted) || this.#computing) return;
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

  /** What Python answered, or null once the act is gone. */
  #living(view: View | null): View | null {
    return this.#gone.signal.aborted ? null : view;
  }

  async #refresh(): Promise<void> {
    this.#follower.rest();
    const wanted = this.#wanted();
    const state = this.#state();
    this.#computing += 1;
    this.#markStale();
    try {
      const view = this.#living(await this.#python.compute(this.#name, this.#url, state));
      if (!view || wanted !== this.#wanted()) return;
      const results: Results = { view, verdict: null, feedback: new Map(), engine: this.#python.engine };
      await this.#showView(view, wanted);
      this.#amounts.set(JSON.stringify(state), amountOf(view));
      this.#markReached(view);
      if (this.#memory.revealed) await this.#showVerdict(state, results);
      for (const form of this.#reflections.forms) if (this.#stands(wanted)) await this.#showFeedback(form, state, results);
      if (!this.#stands(wanted)) return;
      this.#shown = wanted;
      this.#results = results;
      rememberShown(this.#name, this.#dependsOn(wanted), results);
      this.#paint.current();
      this.#paint.trouble(null);
      await this.#completeMoves();
      this.#annotate();
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      this.#unveil();
      void perhapsTooOld();
      this.#paint.trouble(error instanceof ActProblem ? error.message : `The page could not show the result: ${error.message.replace(/\.$/, "")}.`);
    } finally {
      this.#computing -= 1;
    }
  }

  /** Keeps the first state that counts and the best: what comes after does not take them away. */
  #markReached({ score, share, headline, ledger }: View): void {
    if (score === null || !this.#memory.revealed) return;
    const { controls } = accountOf(this.#host, this.#home, this.#question, this.#memory, NO_RESULTS);
    this.#memory = withMark(this.#memory, { at: Date.now(), score, ...(share === null ? {} : { share }), headline, controls, fields: ledger });
  }

  /** Whether the page shows the view of this state, and the reader is still there. */
  #stands(wanted: string): boolean {
    return wanted === this.#wanted() && wanted === this.#painted;
  }

  /** After a frame the page shows the whole of no state. */
  async #showFrame(view: View): Promise<void> {
    this.#shown = this.#painted = "";
    await this.#paint.frame(view);
  }

  /** Until the verdict and the answers follow, the page shows the whole of no state either. */
  async #showView(view: View, wanted: string): Promise<void> {
    this.#shown = "";
    this.#painted = wanted;
    const toPlay = this.#toPlay && this.#memory.revealed;
    await this.#paint.view(view);
    if (!toPlay) return;
    this.#host.dataset.playing = "true";
    this.#staging?.prepare();
  }

  #unveil(): void {
    delete this.#host.dataset.playing;
    this.#staging?.show();
  }

  async #showVerdict(state: State, results: Results): Promise<void> {
    const asked = JSON.stringify(state);
    const verdict = await this.#python.reveal(this.#name, this.#url, state);
    if (!verdict || asked !== JSON.stringify(this.#state())) return;
    results.verdict = verdict;
    const played = this.#toPlay;
    if (played) {
      this.#toPlay = false;
      this.#paint.current();
      await this.#staging?.play();
      this.#unveil();
      // Who moved on while it played has the verdict on where they are now.
      if (asked !== JSON.stringify(this.#state())) return;
    }
    this.#paint.verdict(results);
    // Where the sentence stands above the picture, it may have come in out of sight.
    if (played && this.#host.dataset.revealFirst !== undefined) bringIntoView(find(this.#host, '[data-part="reveal"]'));
  }

  async #showFeedback(form: HTMLFormElement, state: State, results: Results): Promise<void> {
    const name = nameOf(form);
    if (!this.#memory.checked.includes(name)) return;
    const answers = readBlanks(form);
    const feedback = await this.#python.check(this.#name, this.#url, name, answers, state);
    if (!feedback || !this.#memory.checked.includes(name)) return;
    // Other answers have been chosen meanwhile: this judgement is not theirs.
    if (JSON.stringify(readBlanks(form)) !== JSON.stringify(answers)) return;
    results.feedback.set(name, feedback);
    // Found right once, these answers stay right when the bench moves on.
    if (Object.values(feedback).every((blank) => blank.correct) && !Object.hasOwn(this.#memory.right ?? {}, name)) {
      this.#memory.right = { ...this.#memory.right, [name]: Date.now() };
      this.#apply();
    }
    this.#paint.feedback(form, results);
  }

  /** Computes what the states between moves came to, for a reader who moved faster than Python. */
  async #completeMoves(): Promise<void> {
    for (let next = this.#missing(); next; next = this.#missing()) {
      const { index, side, controls } = next;
      const state: State = { ...this.#state(), controls, moves: side === "after" ? index + 1 : index };
      let amount = this.#amounts.get(JSON.stringify(state));
      if (!amount) {
        const view = this.#living(await this.#python.compute(this.#name, this.#url, state));
        // Newer moves are completed after their own view.
        if (!view) return;
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

  // How Python is

  #markStale(): void {
    // A baked picture that nobody has touched shows what it should; it only waits for its grips.
    const baked = (): boolean => this.#host.dataset.live !== "true" && this.#memory.prediction === null && this.#held === null;
    this.#paint.stale(baked, () => this.#tellWhoRuns());
  }

  #showStatus(status: Status): void {
    this.#paint.status(status);
    this.#tellWhoRuns();
    if (status.phase === "ready" && !this.#computing) this.#refreshIfNeeded();
  }

  #tellWhoRuns(): void {
    this.#paint.whoRuns(this.#python.status, () => this.#python.stopRunning());
  }

  #stopLoading(): void {
    this.#python.stopLoading();
    this.#paint.current();
    this.#paint.trouble("You stopped Python while it loaded. What you see stays as it was computed.");
  }

  #retry(): void {
    this.#python.start();
    void this.#refresh();
  }

  /** The controls that appear with the reveal. */
  get #late(): HTMLElement[] {
    return all(this.#host, "[data-after-reveal]");
  }

  #action(name: string): HTMLButtonElement {
    return find<HTMLButtonElement>(this.#host, `[data-action="${name}"]`);
  }
}

function amountOf(view: View): Amount {
  return { value: view.headline.value, unit: view.headline.unit };
}
