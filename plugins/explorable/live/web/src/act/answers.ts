// What Python says of an act's state: asked for while the page is behind, drawn as it comes, kept for the next reload.
import type { Chart } from "../chart/chart";
import { handsOf } from "../chart/specs";
import { equal } from "../equal";
import { withHint, withMark, type Account, type Memory } from "../ledger/entry";
import { ActProblem } from "../python/client";
import { documentPython } from "../python/interpreter";
import type { State, Tell, View } from "../python/protocol";
import type { Status } from "../python/status";
import { perhapsTooOld } from "../release";
import { Amounts } from "./amounts";
import { Judge } from "./judge";
import type { Paint } from "./paint";
import { formsOf } from "./reflections";
import { lastShown, NO_RESULTS, rememberShown, type Basis, type Results, type Wanted } from "./results";

/** The act of which Python is asked. */
export interface Asking {
  readonly host: HTMLElement;
  readonly name: string;
  /** Where the act's program lies. */
  readonly url: string;
  /** The state that the reader's hands have set. */
  state(): State;
  memory(): Memory;
  /** Keeps what Python has found; the page is told by `apply` or `moved`. */
  learn(change: Partial<Memory>): void;
  /** Shows what the act remembers. */
  apply(): void;
  /** Shows the moves that it remembers. */
  moved(): void;
  /** The act in words, with these results. */
  account(results: Results): Account;
  /** Another view is asked for: what stands around the act is of the one before. */
  asked(): void;
  /** The page shows the whole of the reader's state. */
  told(): void;
}

export class Answers {
  /** Whether the reader can see the act: nobody computes for an act that is out of sight. */
  visible = false;
  readonly judge: Judge;
  readonly #act: Asking;
  readonly #charts: readonly Chart[];
  readonly #paint: Paint;
  readonly #gone: AbortSignal;
  readonly #python = documentPython();
  readonly #amounts: Amounts;
  /** What the baked page shows; null where the page shows something else by now. */
  readonly #baked: Wanted | null;
  /** Whether the page's address holds a state that nobody has read yet. */
  #unread = false;
  /** The state whose frame is on the page: number, verdict and picture are of it, and what stands beside them is not. */
  #framed: State | null = null;
  /** Whether a whole view has taken the place of what is baked. Of an act with nothing around it a frame is enough. */
  #whole: boolean;
  /** How many times Python hears texts now that may change the reader's state. */
  #hearing = 0;
  /** Is a moving hand followed, and does it rest by now? */
  #following = false;
  #rests = false;
  /** What Python said of the state on the page. */
  #results: Results = NO_RESULTS;
  /** What is on the page now, as `#wanted` puts it; at first the baked default. */
  #shown: Wanted | null;
  /** The state whose whole view was painted last; null after a frame. It shows whether a newer view has replaced this one during an await. */
  #painted: Wanted | null = null;
  #computing = 0;
  /** Whether the hint that is asked for now is counted. */
  #counted = false;

  /** To be made while the act stands in its default state. */
  constructor(act: Asking, charts: readonly Chart[], paint: Paint, gone: AbortSignal) {
    this.#act = act;
    this.#charts = charts;
    this.#paint = paint;
    this.#gone = gone;
    this.judge = new Judge(act, charts, paint, gone);
    this.#amounts = new Amounts(act, async (state) => this.#living(await this.#python.compute(act.name, act.url, state)));
    // Instant navigation may bring back an element that does not show the baked state any more. And an act with grips
    // needs a live picture from the start, because a baked one has no scales. What stands around an act waits for a view too.
    const around = act.host.querySelector("[data-desk]") !== null;
    const needed = handsOf(act.host).length || around;
    this.#whole = act.host.dataset.live === "true" || !around;
    this.#baked = act.host.dataset.live === "true" ? null : this.#wanted();
    this.#shown = needed ? null : this.#baked;
  }

  /** Follows how Python is. Returns the way to stop that. */
  subscribe(): () => void {
    return this.#python.subscribe((status) => this.#showStatus(status));
  }

  get ready(): boolean {
    return this.#python.status.phase === "ready";
  }

  /** What Python said of the reader's state; nothing while it has not answered. */
  get results(): Results {
    return equal(this.#wanted(), this.#shown) ? this.#results : NO_RESULTS;
  }

  /** The reader has come to the act. */
  start(): void {
    this.visible = true;
    this.#python.start();
    // If the remembered view cannot be shown, the computation that follows fails too, and says why.
    void this.#recall()
      .catch(() => undefined)
      .then(() => this.refreshIfNeeded());
  }

  /**
   * Follows a moving hand: one computation at a time, each of the state as it is then, each shown before the next begins.
   * So frames are dropped while Python computes, and those that are shown come in order.
   */
  async follow(): Promise<void> {
    this.#rests = false;
    const late = !this.ready;
    if (late || !this.#whole) this.#markStale();
    if (this.#following) return;
    this.#following = true;
    try {
      let drawn: State | null = null;
      for (let state = this.#act.state(); !this.#rests && !equal(state, drawn); state = this.#act.state()) {
        const view = this.#living(await this.#python.compute(this.#act.name, this.#act.url, state, true));
        if (!view) return;
        drawn = state;
        // A frame leaves out tables and ledger, so after it the page shows no state completely.
        this.#shown = this.#painted = null;
        this.#paint.frame(view, state.hint);
        this.#framed = state;
        if (this.#act.host.dataset.stale) this.#markStale();
        await this.#draw(view);
      }
    } catch (error) {
      // A lasting failure is reported by the computation that follows when the hand lets go.
      if (!(error instanceof Error)) throw error;
    } finally {
      this.#following = false;
      // A hand that is back where it was asks for nothing more.
      if (late || !this.#whole) this.refreshIfNeeded();
    }
  }

  /** What the act's Python says besides its views. Before its first answer, what is shown is not of the texts that it is to hear. */
  async tell(what: Tell, texts: readonly string[], state: State): Promise<object | null> {
    const asked = (): Promise<object | null> => this.#python.tell(this.#act.name, this.#act.url, what, texts, state);
    if (what !== "hear") return asked();
    this.#hearing += 1;
    if (!(this.ready && this.#whole)) this.#markStale();
    try {
      return await asked();
    } finally {
      this.#hearing -= 1;
      this.#settle();
    }
  }

  refreshIfNeeded(): void {
    if (equal(this.#wanted(), this.#shown)) this.#settle();
    else this.again();
  }

  /** Where nothing is awaited and the page shows the reader's state, it is not out of date, whatever was asked for meanwhile:
   * texts that changed nothing, or a state from which the reader has come back. */
  #settle(): void {
    if (!this.#computing && !this.#hearing && !this.#unread && equal(this.#wanted(), this.#shown)) this.#paint.current();
  }

  /** Asks anew, also where the page may still show frames of another state. */
  again(): void {
    if (this.visible && !this.#unread) void this.#refresh();
  }

  /** The act has come: what is baked fades at once where it is not of the reader's state, or the address holds another. */
  opened(unread: boolean): void {
    this.#unread = unread;
    if (!this.#unchanged && !equal(this.#wanted(), this.#shown)) this.#markStale();
  }

  /** The state in the address is read: the controls stand there, or where they stood. */
  read(): void {
    this.#unread = false;
    if (!this.#computing) this.#markStale();
    if (this.visible) this.start();
  }

  retry(): void {
    this.#python.start();
    void this.#refresh();
  }

  stopLoading(): void {
    this.#python.stopLoading();
    this.#paint.halted(this.#unchanged);
    this.#settle();
    this.#paint.trouble("You stopped Python while it loaded. What you see stays as it was computed.");
  }

  /** Everything Python's answers depend on: while this differs from `#shown`, the page is behind. */
  #wanted(): Wanted {
    const { checked, answers } = this.#act.memory();
    return { state: this.#act.state(), checked: checked.map((name) => [name, answers[name] ?? {}]) };
  }

  /** Shows what this tab showed last, where the reader's state is still that one: no need to wait for Python. */
  async #recall(): Promise<void> {
    const wanted = this.#wanted();
    const last = this.#unread || equal(this.#shown, wanted) ? null : lastShown(this.#act.name, this.#dependsOn(wanted));
    if (!last?.view || this.#computing) return;
    for (const form of formsOf(this.#act.host)) this.#paint.feedback(form, last, this.#act.memory().right);
    this.#paint.verdict(last);
    await this.#showView(last.view, wanted);
    if (!this.#stands(wanted) || this.#computing) return;
    this.#shown = wanted;
    this.#results = last;
    this.#settle();
    if (this.#act.host.querySelector("[data-desk]")) this.#act.told();
  }

  /** What the results for a state depend on besides it: the act's source and the Python that runs it. */
  #dependsOn(wanted: Wanted): Basis {
    return { ...wanted, program: this.#act.url, python: this.#act.host.dataset.python ?? "" };
  }

  /** What Python answered, or null once the act is gone. */
  #living(view: View | null): View | null {
    return this.#gone.aborted ? null : view;
  }

  async #refresh(): Promise<void> {
    // A late frame must not take the place of the whole view that is asked for now.
    this.#rests = true;
    const wanted = this.#wanted();
    const state = this.#act.state();
    this.#counted &&= state.hint === true;
    this.#computing += 1;
    this.#act.asked();
    this.#markStale();
    try {
      const view = this.#living(await this.#python.compute(this.#act.name, this.#act.url, state));
      if (!view || !equal(wanted, this.#wanted())) return;
      const results: Results = { view, verdict: null, feedback: new Map(), engine: this.#python.engine };
      await this.#showView(view, wanted);
      this.#amounts.note(state, view);
      this.#markReached(view);
      this.#countHint(state, view);
      if (this.#act.memory().revealed) await this.judge.verdict(state, results);
      for (const form of formsOf(this.#act.host)) if (this.#stands(wanted)) await this.judge.feedback(form, state, results);
      if (!this.#stands(wanted)) return;
      this.#shown = wanted;
      this.#results = results;
      rememberShown(this.#act.name, this.#dependsOn(wanted), results);
      this.#paint.current();
      this.#paint.trouble(null);
      await this.#amounts.complete();
      this.#act.told();
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      this.judge.unveil();
      void perhapsTooOld();
      this.#paint.trouble(error instanceof ActProblem ? error.message : `The page could not show the result: ${error.message.replace(/\.$/, "")}.`);
    } finally {
      this.#computing -= 1;
      this.#settle();
    }
  }

  /** A hint counts once it is shown. */
  #countHint({ hint }: State, { failure }: View): void {
    if (!hint || !failure?.remedy || this.#counted) return;
    this.#counted = true;
    this.#act.learn(withHint(this.#act.memory()));
  }

  /** Remembers the first state with a score, and the best. */
  #markReached({ score, share, headline, ledger }: View): void {
    if (score === null || !this.#act.memory().revealed) return;
    const { controls } = this.#act.account(NO_RESULTS);
    this.#act.learn(withMark(this.#act.memory(), { at: Date.now(), score, ...(share === null ? {} : { share }), headline, controls, fields: ledger }));
  }

  /** Whether the page shows the view of this state, and the reader is still there. */
  #stands(wanted: Wanted): boolean {
    return wanted === this.#painted && equal(wanted, this.#wanted());
  }

  /** Shows a view. The state counts as shown only when the verdict and the feedback have followed. */
  async #showView(view: View, wanted: Wanted): Promise<void> {
    this.#shown = this.#framed = null;
    this.#painted = wanted;
    this.#whole = true;
    const { plays } = this.judge;
    const first = this.#act.host.dataset.live !== "true";
    this.#paint.frame(view, wanted.state.hint);
    // The eye has the picture first; but tables do not wait while what draws it is still on its way.
    if (first) this.#paint.rest(view);
    try {
      await this.#draw(view);
    } finally {
      // Tables of a state that another has followed by now are not shown any more.
      if (!first && wanted === this.#painted) this.#paint.rest(view);
    }
    if (plays) this.judge.veil();
  }

  async #draw(view: View): Promise<void> {
    await Promise.all(this.#charts.map((chart) => chart.update(view.data, view.summary)));
  }

  /** Whether the page still shows what was baked, and that is of the reader's state: only grips are missing then. */
  get #unchanged(): boolean {
    return !this.#unread && !this.#hearing && this.#act.host.dataset.live !== "true" && equal(this.#wanted(), this.#baked);
  }

  #markStale(): void {
    this.#paint.stale(
      () => this.#unchanged || (!this.#unread && this.#whole && equal(this.#act.state(), this.#framed)),
      () => this.#tellWhoRuns(),
      !this.ready || !this.#whole || this.#act.host.dataset.stale !== undefined,
    );
  }

  #showStatus(status: Status): void {
    this.#paint.status(status);
    this.#tellWhoRuns();
    if (status.phase === "ready" && !this.#computing) this.refreshIfNeeded();
  }

  #tellWhoRuns(): void {
    this.#paint.whoRuns(this.#python.status, () => this.#python.stopRunning());
  }
}
