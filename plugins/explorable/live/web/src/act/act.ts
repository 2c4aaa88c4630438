// <live-act>: prediction, instruments, reveal and reflection on the baked markup. It holds the act's state, tells the reducer what
// happens, and does what follows: asks Python, draws the charts, writes into the ledger.
import { Chart } from "../chart/chart";
import { takeInHand } from "../chart/hands";
import { handsOf } from "../chart/specs";
import { all, find, slot } from "../dom";
import type { Around } from "../desk/desk";
import type { Part } from "../element";
import { equal } from "../equal";
import { askedAnew } from "../ledger/earlier";
import { MOST_MOVES, type Mark, type Memory } from "../ledger/entry";
import { ActProblem } from "../python/client";
import { documentPython } from "../python/interpreter";
import type { State, Tell, Value, View } from "../python/protocol";
import type { Status } from "../python/status";
import { perhapsTooOld } from "../release";
import { Amounts } from "./amounts";
import { Controls, type Instruments } from "./controls";
import { listen, takeUpDraft } from "./listen";
import { changes, withMove } from "./moves";
import { Page } from "./page";
import { keepPlace } from "./place";
import { ActRecord, freshMemory } from "./record";
import { formsOf, nameOf, readBlanks } from "./reflections";
import { lastShown, rememberShown, type Basis, type Wanted } from "./results";
import { Saving } from "./saving";
import { initial, isShown, leads, reduce, resultsOf, stands, type ActState, type Effect, type Event, type Stale, type Store } from "./state";

const isAsked = ({ kind }: Effect): boolean => kind === "frame" || kind === "ask";

export const mount = (host: HTMLElement): Part => new ActPart(host);

class ActPart implements Part, Store {
  readonly #host: HTMLElement;
  readonly #name: string;
  /** Where the act's program lies. */
  readonly #url: string;
  readonly #python = documentPython();
  readonly #gone = new AbortController();
  readonly #controls: Controls;
  readonly #page: Page;
  readonly #charts: Chart[];
  readonly #record: ActRecord;
  readonly #saving: Saving;
  readonly #amounts = new Amounts((state) => this.#compute(state));
  readonly #unsubscribe: (() => void)[];
  readonly #defaults: Instruments;
  /** What stands around the instruments; null for an act without, and until its code is there. */
  #around: Around | null = null;
  state: ActState;
  /** The state that is on the page. */
  #drawn: ActState | null = null;

  constructor(host: HTMLElement) {
    this.#host = host;
    this.#name = host.dataset.name ?? "";
    this.#url = new URL(host.dataset.actUrl ?? "", document.baseURI).href;
    const { signal } = this.#gone;
    const putBack = keepPlace(host, this.#name, signal);
    this.#controls = new Controls(find(host, ".il-bench__hand"), host.dataset.onlyContext ?? "");
    this.#charts = all(host, "[data-chart]").map((figure) => new Chart(figure));
    this.#page = new Page({ host, controls: this.#controls, charts: this.#charts, python: this.#python, store: this, signal });
    this.#page.grips = takeInHand({
      host,
      controls: this.#controls.root,
      charts: this.#charts,
      hand: {
        open: (sets) => this.#page.open(sets),
        hold: (sets, value) => this.#hold(sets, value),
        drop: (sets, value) => this.#drop(sets, value),
      },
      signal,
    });
    this.#record = new ActRecord(this.#name, this.#page);
    this.#defaults = this.#controls.reset();
    const around = host.querySelector("[data-desk]") !== null;
    const facts = {
      revealFirst: host.dataset.revealFirst !== undefined,
      staged: this.#page.staging !== null,
      needed: handsOf(host).length > 0 || around,
      around,
    };
    // Instant navigation may bring back an element that does not show the baked state any more.
    this.state = initial(facts, freshMemory(this.#defaults), host.dataset.live === "true", (host.dataset.stale as Stale | undefined) ?? null);
    this.#saving = new Saving(() => this.#record.save(this.state), signal);
    const kept = this.#kept();
    if (kept) this.dispatch({ kind: "kept", memory: this.#page.fit(kept) });
    else this.#render();
    takeUpDraft(this.#page);
    putBack();

    const { bench } = this.#page;
    bench.addEventListener("input", (event) => this.#slid(event), { signal });
    bench.addEventListener("change", () => this.#moved(), { signal });
    listen(this.#page, { reset: () => this.#reset(), stop: () => this.#stopLoading() });
    const { ledger } = this.#record;
    this.#unsubscribe = [
      this.#python.subscribe((status) => this.#showStatus(status)),
      ledger.subscribe((acts, elsewhere) => this.#ledgerChanged(acts.has(this.#name) && elsewhere)),
    ];
    this.#ledgerChanged(false);
    this.dispatch({ kind: "opened", unread: around && this.#record.linked && location.hash.startsWith("#state=") });
    if (around) void this.#standAround().finally(() => this.dispatch({ kind: "read" }));
  }

  onscreen(): void {
    this.dispatch({ kind: "sighted", visible: true });
    for (const chart of this.#charts) chart.prepare();
  }

  offscreen(): void {
    this.dispatch({ kind: "sighted", visible: false });
  }

  gone(): void {
    this.#saving.flush();
    this.#gone.abort();
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    for (const chart of this.#charts) chart.gone();
  }

  /** Everything that happens comes by here: the next state is shown, and what follows from it is done. */
  dispatch(event: Event): void {
    if (this.#gone.signal.aborted) return;
    const [state, effects] = reduce(this.state, event);
    this.state = state;
    // What Python is asked does not wait for the page.
    for (const effect of effects) if (isAsked(effect)) this.#run(effect);
    this.#render();
    for (const effect of effects) if (!isAsked(effect)) this.#run(effect);
  }

  #render(): void {
    const before = this.#drawn;
    this.#drawn = this.state;
    this.#page.render(before, this.state);
  }

  #run(effect: Effect): void {
    switch (effect.kind) {
      case "start": return this.#start();
      case "frame": return void this.#follow();
      case "ask": return void this.#ask(effect.rev, effect.of);
      case "save": return this.#saving.now();
      case "saveSoon": return this.#saving.soon();
      case "announce": return this.#page.paint.announce(effect.text);
      case "focus": return this.#page.focus(effect.where);
      case "seek": return this.#page.seekVerdict();
    }
  }

  /** Fetches and makes what stands around the instruments. */
  async #standAround(): Promise<void> {
    const { Around } = await import("../desk/desk");
    const { signal } = this.#gone;
    if (signal.aborted) return;
    const around = new Around({
      host: this.#host,
      name: this.#name,
      signal,
      state: () => this.state.at.state,
      defaults: () => this.#defaults,
      tell: (what, texts, state) => this.#tell(what, texts, state),
      set: (controls) => this.#put(controls),
      announce: (text) => this.#page.paint.announce(text),
    });
    await around.open();
    this.#around = around;
    this.#annotate();
  }

  // What the reader does

  /** Moves controls as the reader's hand does. */
  #put(controls: Record<string, Value>): void {
    this.#write(controls);
    this.#moved();
  }

  #hold(sets: string, value: Value): void {
    const controls = { ...this.state.moving, [sets]: value };
    this.#write(controls);
    this.dispatch({ kind: "slid", controls });
  }

  #write(controls: Record<string, Value>): void {
    const { memory } = this.state;
    this.#controls.write({ context: memory.context, controls: { ...memory.controls, ...controls } });
  }

  #drop(sets: string, value: Value): void {
    this.#hold(sets, value);
    this.#moved();
  }

  #slid({ target }: globalThis.Event): void {
    if (!(target instanceof HTMLInputElement) || !(target.dataset.slider ?? target.dataset.typed)) return;
    this.#around?.moving();
    this.dispatch({ kind: "slid", controls: this.#controls.read().controls });
  }

  #moved(): void {
    const instruments = this.#controls.read();
    const { controls, moves } = this.state.memory;
    const made = this.#page.history ? changes(controls, instruments.controls) : [];
    this.dispatch({ kind: "moved", instruments, moves: this.#page.offered(made.reduce(withMove, moves).slice(-MOST_MOVES)) });
  }

  #reset(): void {
    const before = this.state.memory;
    this.#saving.drop();
    this.#record.ledger.reset(this.#name);
    const fresh = this.#cleared();
    // What was locked in before stays known: whoever has seen the answer does not predict it any more. So does what was reached.
    const kept = askedAnew(before, fresh, (prediction) => this.#page.question?.words(prediction) ?? "");
    const keeps = Boolean(kept.earlier ?? kept.best ?? kept.argument);
    this.dispatch({ kind: "reset", memory: keeps ? kept : fresh, keeps });
  }

  /** The memory of an act that starts, with a page that holds nothing of the reader's. */
  #cleared(): Memory {
    const instruments = this.#controls.reset();
    this.#page.question?.clear();
    this.#around?.clear();
    return freshMemory(instruments);
  }

  #stopLoading(): void {
    this.#python.stopLoading();
    this.dispatch({ kind: "halted" });
    this.#page.paint.trouble("You stopped Python while it loaded. What you see stays as it was computed.");
  }

  // What the act remembers

  #kept(): Memory | null {
    return this.#record.kept(freshMemory(this.#defaults));
  }

  /** `mine`: this act was played or reset elsewhere, in another tab or by an import. */
  #ledgerChanged(mine: boolean): void {
    slot(this.#host, "unsaved").hidden = this.#record.ledger.lasting;
    if (!mine) return;
    // What the reader did here is the newer.
    if (this.#saving.waiting) return this.#saving.now();
    const kept = this.#kept();
    if (equal(kept ?? freshMemory(this.#controls.read()), this.state.memory)) return;
    this.dispatch({ kind: "elsewhere", memory: kept ? this.#page.fit(kept) : this.#cleared(), cleared: kept === null });
  }

  /** The page shows the whole of the reader's state: what stands around it and the ledger are told. */
  #annotate(): void {
    const { view } = resultsOf(this.state);
    if (view) this.#around?.told(this.state.at.state, view);
    if (this.#saving.waiting) this.#saving.now();
    else this.#record.annotate(this.state);
  }

  // What Python is asked

  /** The reader has come to the act. */
  #start(): void {
    this.#python.start();
    // If the remembered view cannot be shown, the computation that follows fails too, and says why.
    void this.#recall()
      .catch(() => undefined)
      .then(() => this.dispatch({ kind: "started" }));
  }

  #showStatus(status: Status): void {
    this.#page.status(status);
    this.dispatch({ kind: "python", ready: status.phase === "ready" });
  }

  /** Shows what this tab showed last, where the reader's state is still that one: no need to wait for Python. */
  async #recall(): Promise<void> {
    const { rev, at, unread, computing } = this.state;
    const last = unread || isShown(this.state) ? null : lastShown(this.#name, this.#dependsOn(at));
    if (!last?.view || computing) return;
    this.dispatch({ kind: "answered", rev, results: last });
    await this.#draw(last.view, rev);
    if (!stands(this.state, rev) || this.state.computing) return;
    this.dispatch({ kind: "told", rev });
    if (this.state.facts.around) this.#annotate();
  }

  /**
   * Follows a moving hand: one computation at a time, each of the state as it is then, each shown before the next begins.
   * So frames are dropped while Python computes, and those that are shown come in order.
   */
  async #follow(): Promise<void> {
    const late = !this.state.ready;
    try {
      do {
        const { rev, at } = this.state;
        const view = await this.#compute(at.state, true);
        if (!view) return;
        this.dispatch({ kind: "framed", rev, of: at, view });
        await this.#draw(view);
      } while (leads(this.state));
    } catch (error) {
      // A lasting failure is reported by the computation that follows when the hand lets go.
      if (!(error instanceof Error)) throw error;
    } finally {
      this.dispatch({ kind: "followed", late });
    }
  }

  /** Asks for the whole view of a revision, then for verdict and feedback; the reader may move on at any of these moments. */
  async #ask(rev: number, of: Wanted): Promise<void> {
    const { state } = of;
    this.#around?.moving();
    try {
      const view = await this.#compute(state);
      if (!view || rev !== this.state.rev) return;
      const plays = this.state.plays && this.state.memory.revealed;
      this.dispatch({ kind: "answered", rev, results: { view, verdict: null, feedback: new Map(), engine: this.#python.engine } });
      await this.#draw(view, rev);
      if (plays) this.#page.veil();
      this.#amounts.note(state, view);
      this.dispatch({ kind: "seen", state, view, mark: this.#markOf(view) });
      if (this.state.memory.revealed) await this.#judge(rev, state);
      for (const form of formsOf(this.#host)) if (stands(this.state, rev)) await this.#check(form, state);
      if (!stands(this.state, rev)) return;
      this.dispatch({ kind: "told", rev });
      rememberShown(this.#name, this.#dependsOn(of), resultsOf(this.state));
      this.#page.paint.trouble(null);
      const { controls, moves } = this.state.memory;
      this.dispatch({ kind: "completed", before: moves, moves: await this.#amounts.completed({ ...state, controls }, moves) });
      this.#annotate();
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      this.#page.unveil();
      void perhapsTooOld();
      this.#page.paint.trouble(error instanceof ActProblem ? error.message : `The page could not show the result: ${error.message.replace(/\.$/, "")}.`);
    } finally {
      this.dispatch({ kind: "ended" });
    }
  }

  async #judge(rev: number, state: State): Promise<void> {
    const verdict = await this.#python.reveal(this.#name, this.#url, state);
    if (!verdict || rev !== this.state.rev) return;
    if (this.state.plays) {
      this.dispatch({ kind: "staged" });
      await this.#page.play();
    }
    // A reader who moved something while it played sees the verdict on the new state.
    this.dispatch({ kind: "judged", rev, verdict });
  }

  async #check(form: HTMLFormElement, state: State): Promise<void> {
    const name = nameOf(form);
    const { checked, answers: { [name]: answers = {} } } = this.state.memory;
    if (!checked.includes(name)) return;
    const feedback = await this.#python.check(this.#name, this.#url, name, readBlanks(form), state);
    if (feedback) this.dispatch({ kind: "fedback", name, answers, feedback, at: Date.now() });
  }

  /** What the act's Python says besides its views. */
  async #tell(what: Tell, texts: readonly string[], state: State): Promise<object | null> {
    const asked = (): Promise<object | null> => this.#python.tell(this.#name, this.#url, what, texts, state);
    if (what !== "hear") return asked();
    this.dispatch({ kind: "hears" });
    try {
      return await asked();
    } finally {
      this.dispatch({ kind: "heard" });
    }
  }

  /** Draws a view; of a revision it is a whole one. */
  async #draw(view: View, rev?: number): Promise<void> {
    try {
      await Promise.all(this.#charts.map((chart) => chart.update(view.data, view.summary)));
    } finally {
      if (rev !== undefined) this.dispatch({ kind: "drawn", rev });
    }
  }

  /** The present state as one with a score; null where it has none, or does not count. */
  #markOf({ score, share, headline, ledger }: View): Mark | null {
    if (score === null || !this.state.memory.revealed) return null;
    return { at: Date.now(), score, ...(share === null ? {} : { share }), headline, controls: this.#record.controls(this.state), fields: ledger };
  }

  /** What the results for a state depend on besides it: the act's source and the Python that runs it. */
  #dependsOn(wanted: Wanted): Basis {
    return { ...wanted, program: this.#url, python: this.#host.dataset.python ?? "" };
  }

  /** The view of a state; null when another was asked for meanwhile, or once the act is gone. */
  async #compute(state: State, frame = false): Promise<View | null> {
    const view = await this.#python.compute(this.#name, this.#url, state, frame);
    return this.#gone.signal.aborted ? null : view;
  }
}
