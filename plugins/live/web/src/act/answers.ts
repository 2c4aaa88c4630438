// What Python says of an act's state: asked for while the page is behind, shown as it comes, kept for the next reload.
import type { Chart } from "../chart/chart";
import { handsOf, stagingOf } from "../chart/specs";
import { Staging } from "../chart/staging";
import { find } from "../dom";
import { withMark, type Account, type Memory } from "../ledger/entry";
import { ActProblem, type Status } from "../python/client";
import { documentPython } from "../python/interpreter";
import type { State, View } from "../python/protocol";
import { perhapsTooOld } from "../release";
import { bringIntoView } from "./focus";
import { Follower } from "./follow";
import { readBlanks } from "./form";
import { missing, withAmount, type Amount } from "./moves";
import type { Paint } from "./paint";
import { formsOf, nameOf } from "./reflections";
import { lastShown, NO_RESULTS, rememberShown, type Results } from "./results";

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
  /** The page shows the whole of the reader's state. */
  told(): void;
}

export class Answers {
  /** Whether the reader can see the act: nobody computes for an act that is out of sight. */
  visible = false;
  /** Whether the next view is that of a reveal, which is played. */
  toPlay = false;
  readonly #act: Asking;
  readonly #paint: Paint;
  readonly #gone: AbortSignal;
  readonly #python = documentPython();
  readonly #follower: Follower;
  /** How the reveal is played; null where it only appears. */
  readonly #staging: Staging | null;
  /** State -> the number that matters there, as far as it was computed on this page. */
  readonly #amounts = new Map<string, Amount>();
  /** What Python said of the state on the page. */
  #results: Results = NO_RESULTS;
  /** What is on the page now, as `#wanted` puts it; at first the baked default. */
  #shown: string;
  /** The state whose whole view was painted last; "" after a frame. It shows whether a newer view has replaced this one during an await. */
  #painted = "";
  #computing = 0;

  /** To be made while the act stands in its default state. */
  constructor(act: Asking, charts: readonly Chart[], paint: Paint, gone: AbortSignal) {
    this.#act = act;
    this.#paint = paint;
    this.#gone = gone;
    this.#follower = new Follower(
      () => act.state(),
      async (state) => this.#living(await this.#python.frame(act.name, act.url, state)),
      (view) => this.#showFrame(view),
    );
    const staging = stagingOf(act.host);
    const staged = charts.find(({ name }) => name === staging?.chart);
    this.#staging = staging && staged ? new Staging(staging, staged, gone) : null;
    // Instant navigation may bring back an element that does not show the baked state any more. And an act with grips
    // needs a live picture from the start, because a baked one has no scales.
    this.#shown = act.host.dataset.live === "true" || handsOf(act.host).length ? "" : this.#wanted();
  }

  /** Follows how Python is. Returns the way to stop that. */
  subscribe(): () => void {
    return this.#python.subscribe((status) => this.#showStatus(status));
  }

  get ready(): boolean {
    return this.#python.status.phase === "ready";
  }

  /** Whether a reveal is played, and does not only appear. */
  get staged(): boolean {
    return this.#staging !== null;
  }

  /** What Python said of the reader's state; nothing while it has not answered. */
  get results(): Results {
    return this.#wanted() === this.#shown ? this.#results : NO_RESULTS;
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

  /** A hand moves. */
  follow(): void {
    void this.#follower.follow();
  }

  refreshIfNeeded(): void {
    if (this.visible && this.#wanted() !== this.#shown) void this.#refresh();
  }

  retry(): void {
    this.#python.start();
    void this.#refresh();
  }

  stopLoading(): void {
    this.#python.stopLoading();
    this.#paint.current();
    this.#paint.trouble("You stopped Python while it loaded. What you see stays as it was computed.");
  }

  /** Everything Python's answers depend on: while this differs from `#shown`, the page is behind. */
  #wanted(): string {
    const { checked, answers } = this.#act.memory();
    return JSON.stringify([this.#act.state(), checked.map((name) => [name, answers[name]])]);
  }

  /** Shows what this tab showed last, where the reader's state is still that one: no need to wait for Python. */
  async #recall(): Promise<void> {
    const wanted = this.#wanted();
    const last = this.#shown === wanted ? null : lastShown(this.#act.name, this.#dependsOn(wanted));
    if (!last?.view || this.#computing) return;
    for (const form of formsOf(this.#act.host)) this.#paint.feedback(form, last);
    this.#paint.verdict(last);
    await this.#showView(last.view, wanted);
    if (!this.#stands(wanted) || this.#computing) return;
    this.#shown = wanted;
    this.#results = last;
  }

  /** What the results for a state depend on besides it: the act's source and the Python that runs it. */
  #dependsOn(wanted: string): string {
    return JSON.stringify([this.#act.url, this.#act.host.dataset.python, wanted]);
  }

  /** What Python answered, or null once the act is gone. */
  #living(view: View | null): View | null {
    return this.#gone.aborted ? null : view;
  }

  async #refresh(): Promise<void> {
    this.#follower.rest();
    const wanted = this.#wanted();
    const state = this.#act.state();
    this.#computing += 1;
    this.#markStale();
    try {
      const view = this.#living(await this.#python.compute(this.#act.name, this.#act.url, state));
      if (!view || wanted !== this.#wanted()) return;
      const results: Results = { view, verdict: null, feedback: new Map(), engine: this.#python.engine };
      await this.#showView(view, wanted);
      this.#amounts.set(JSON.stringify(state), amountOf(view));
      this.#markReached(view);
      if (this.#act.memory().revealed) await this.#showVerdict(state, results);
      for (const form of formsOf(this.#act.host)) if (this.#stands(wanted)) await this.#showFeedback(form, state, results);
      if (!this.#stands(wanted)) return;
      this.#shown = wanted;
      this.#results = results;
      rememberShown(this.#act.name, this.#dependsOn(wanted), results);
      this.#paint.current();
      this.#paint.trouble(null);
      await this.#completeMoves();
      this.#act.told();
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      this.#unveil();
      void perhapsTooOld();
      this.#paint.trouble(error instanceof ActProblem ? error.message : `The page could not show the result: ${error.message.replace(/\.$/, "")}.`);
    } finally {
      this.#computing -= 1;
    }
  }

  /** Remembers the first state with a score, and the best. */
  #markReached({ score, share, headline, ledger }: View): void {
    if (score === null || !this.#act.memory().revealed) return;
    const { controls } = this.#act.account(NO_RESULTS);
    this.#act.learn(withMark(this.#act.memory(), { at: Date.now(), score, ...(share === null ? {} : { share }), headline, controls, fields: ledger }));
  }

  /** Whether the page shows the view of this state, and the reader is still there. */
  #stands(wanted: string): boolean {
    return wanted === this.#wanted() && wanted === this.#painted;
  }

  /** A frame leaves out tables and ledger, so after it the page shows no state completely. */
  async #showFrame(view: View): Promise<void> {
    this.#shown = this.#painted = "";
    await this.#paint.frame(view);
  }

  /** Shows a view. The state counts as shown only when the verdict and the feedback have followed. */
  async #showView(view: View, wanted: string): Promise<void> {
    this.#shown = "";
    this.#painted = wanted;
    const toPlay = this.toPlay && this.#act.memory().revealed;
    await this.#paint.view(view);
    if (!toPlay) return;
    this.#act.host.dataset.playing = "true";
    this.#staging?.prepare();
  }

  #unveil(): void {
    delete this.#act.host.dataset.playing;
    this.#staging?.show();
  }

  async #showVerdict(state: State, results: Results): Promise<void> {
    const asked = JSON.stringify(state);
    const verdict = await this.#python.reveal(this.#act.name, this.#act.url, state);
    if (!verdict || asked !== JSON.stringify(this.#act.state())) return;
    results.verdict = verdict;
    const played = this.toPlay;
    if (played) {
      this.toPlay = false;
      this.#paint.current();
      await this.#staging?.play();
      this.#unveil();
      // A reader who moved something while it played sees the verdict on the new state.
      if (asked !== JSON.stringify(this.#act.state())) return;
    }
    this.#paint.verdict(results);
    // The sentence above the picture may have appeared out of sight.
    if (played && this.#act.host.dataset.revealFirst !== undefined) bringIntoView(find(this.#act.host, '[data-part="reveal"]'));
  }

  async #showFeedback(form: HTMLFormElement, state: State, results: Results): Promise<void> {
    const name = nameOf(form);
    const checked = (): boolean => this.#act.memory().checked.includes(name);
    if (!checked()) return;
    const answers = readBlanks(form);
    const feedback = await this.#python.check(this.#act.name, this.#act.url, name, answers, state);
    if (!feedback || !checked()) return;
    // Other answers have been chosen meanwhile: this judgement is not theirs.
    if (JSON.stringify(readBlanks(form)) !== JSON.stringify(answers)) return;
    results.feedback.set(name, feedback);
    // Answers that were once right count as right, wherever the instruments stand now.
    const { right } = this.#act.memory();
    if (Object.values(feedback).every((blank) => blank.correct) && !Object.hasOwn(right ?? {}, name)) {
      this.#act.learn({ right: { ...right, [name]: Date.now() } });
      this.#act.apply();
    }
    this.#paint.feedback(form, results);
  }

  /** Computes what the states between moves came to, for a reader who moved faster than Python. */
  async #completeMoves(): Promise<void> {
    for (let next = this.#missing(); next; next = this.#missing()) {
      const { index, side, controls } = next;
      const state: State = { ...this.#act.state(), controls, moves: side === "after" ? index + 1 : index };
      let amount = this.#amounts.get(JSON.stringify(state));
      if (!amount) {
        const view = this.#living(await this.#python.compute(this.#act.name, this.#act.url, state));
        // Newer moves are completed after their own view.
        if (!view) return;
        amount = amountOf(view);
        this.#amounts.set(JSON.stringify(state), amount);
        if (JSON.stringify(this.#missing()) !== JSON.stringify(next)) continue;
      }
      this.#act.learn({ moves: withAmount(this.#act.memory().moves, index, side, amount) });
    }
    this.#act.moved();
  }

  #missing(): ReturnType<typeof missing> {
    const { controls, moves } = this.#act.memory();
    return missing(controls, moves);
  }

  #markStale(): void {
    // A baked picture of an untouched act is not out of date; only its grips are still missing.
    const baked = (): boolean => {
      const { prediction, held } = this.#act.state();
      return this.#act.host.dataset.live !== "true" && prediction === null && held === null;
    };
    this.#paint.stale(baked, () => this.#tellWhoRuns());
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

function amountOf({ headline: { value, unit } }: View): Amount {
  return { value, unit };
}
