// What Python says of the reader: the verdict on the prediction, played or only shown, and the feedback on the reflections.
import type { Chart } from "../chart/chart";
import { stagingOf } from "../chart/specs";
import { Staging } from "../chart/staging";
import { find, slot } from "../dom";
import { equal } from "../equal";
import { documentPython } from "../python/interpreter";
import type { State } from "../python/protocol";
import type { Asking } from "./answers";
import { bringIntoView, showBelow } from "./focus";
import type { Paint } from "./paint";
import { nameOf, readBlanks } from "./reflections";
import type { Results } from "./results";

export class Judge {
  readonly #act: Asking;
  readonly #paint: Paint;
  readonly #python = documentPython();
  /** How the reveal is played; null where it only appears. */
  readonly #staging: Staging | null;
  /** Whether the next view is that of a reveal, which is played. */
  #toPlay = false;
  /** Whether the next verdict is one that was asked for just now. */
  #asked = false;

  constructor(act: Asking, charts: readonly Chart[], paint: Paint, gone: AbortSignal) {
    this.#act = act;
    this.#paint = paint;
    const staging = stagingOf(act.host);
    const staged = charts.find(({ name }) => name === staging?.chart);
    this.#staging = staging && staged ? new Staging(staging, staged, gone) : null;
  }

  /** Has the reader asked for the answer just now? Then it is played, in an act that stages it. */
  asked(revealed: boolean): void {
    this.#asked = revealed;
    this.#toPlay = revealed && this.#staging !== null;
  }

  /** Whether the view that comes is that of a reveal that is played. */
  get plays(): boolean {
    return this.#toPlay && this.#act.memory().revealed;
  }

  /** The view of a reveal that is played has come: what enters later is not shown yet. */
  veil(): void {
    this.#act.host.dataset.playing = "true";
    this.#staging?.prepare();
  }

  unveil(): void {
    delete this.#act.host.dataset.playing;
    this.#staging?.show();
  }

  async verdict(state: State, results: Results): Promise<void> {
    const verdict = await this.#python.reveal(this.#act.name, this.#act.url, state);
    if (!verdict || !equal(state, this.#act.state())) return;
    results.verdict = verdict;
    if (this.#toPlay) {
      this.#toPlay = false;
      this.#paint.current();
      await this.#staging?.play(!this.#revealsFirst);
      this.unveil();
      // A reader who moved something while it played sees the verdict on the new state.
      if (!equal(state, this.#act.state())) return;
    }
    this.#paint.verdict(results);
    // The sentence may have appeared out of sight: above the picture, or below what else stands under it.
    if (this.#asked && this.#revealsFirst) bringIntoView(find(this.#act.host, '[data-part="reveal"]'));
    else if (this.#asked) showBelow(slot(this.#act.host, "verdict"), this.#act.host);
    this.#asked = false;
  }

  /** Whether the sentence stands above the picture. */
  get #revealsFirst(): boolean {
    return this.#act.host.dataset.revealFirst !== undefined;
  }

  async feedback(form: HTMLFormElement, state: State, results: Results): Promise<void> {
    const name = nameOf(form);
    const checked = (): boolean => this.#act.memory().checked.includes(name);
    if (!checked()) return;
    const answers = readBlanks(form);
    const feedback = await this.#python.check(this.#act.name, this.#act.url, name, answers, state);
    if (!feedback || !checked()) return;
    // Other answers have been chosen meanwhile: this judgement is not theirs.
    if (!equal(readBlanks(form), answers)) return;
    results.feedback.set(name, feedback);
    // Answers that were once right count as right, wherever the instruments stand now.
    const { right } = this.#act.memory();
    if (Object.values(feedback).every((blank) => blank.correct) && !Object.hasOwn(right ?? {}, name)) {
      this.#act.learn({ right: { ...right, [name]: Date.now() } });
      this.#act.apply();
    }
    this.#paint.feedback(form, results, right);
  }
}
