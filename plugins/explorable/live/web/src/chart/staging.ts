// Plays a reveal in a chart: what enters waits unseen, then comes beat by beat. Any key, a click or Skip ends it at once.
import type { Chart } from "./chart";
import { h } from "../dom";
import type { StagingSpec } from "./specs";

/** From beat to beat: time to see what came. */
const BEAT_MS = 750;

export class Staging {
  readonly #spec: StagingSpec;
  readonly #chart: Chart;
  readonly #skip: HTMLButtonElement;
  #end: (() => void) | null = null;

  constructor(spec: StagingSpec, chart: Chart, signal: AbortSignal) {
    this.#spec = spec;
    this.#chart = chart;
    chart.figure.dataset.staged = "";
    this.#skip = h("button", { type: "button", class: "il-button il-skip", hidden: true }, "Skip");
    chart.overlay.append(this.#skip);
    const finish = (): void => this.#end?.();
    this.#skip.addEventListener("click", finish, { signal });
    for (const kind of ["keydown", "click"]) document.addEventListener(kind, finish, { signal, capture: true });
    chart.plot.addEventListener("pointerdown", finish, { signal });
    signal.addEventListener("abort", () => {
      finish();
      this.#skip.remove();
    });
  }

  /** Hides what is to enter. Call it as soon as the chart is drawn, before the page is painted. */
  prepare(): void {
    for (const beat of this.#beats()) for (const element of beat) element.setAttribute("data-waits", "");
  }

  /**
   * Brings it in. Resolves when all is there.
   *
   * `seek` scrolls to the chart. Without it the page stays where it is, and nobody waits for a chart that is out of sight.
   */
  async play(seek: boolean): Promise<void> {
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (seek) this.#chart.figure.scrollIntoView({ block: "nearest", behavior: still ? "instant" : "smooth" });
    if (!still && (seek || this.#inSight)) await this.#beatByBeat();
    this.show();
  }

  get #inSight(): boolean {
    const { top, bottom } = this.#chart.plot.getBoundingClientRect();
    return top >= 0 && bottom <= window.innerHeight;
  }

  /** All is there at once, also when what was to be played never came. */
  show(): void {
    for (const { element } of this.#chart.elements()) element.removeAttribute("data-waits");
  }

  async #beatByBeat(): Promise<void> {
    let over = false;
    const ended = new Promise<void>((done) => {
      this.#end = () => {
        over = true;
        done();
      };
    });
    this.#skip.hidden = false;
    for (const beat of this.#beats()) {
      await Promise.race([ended, new Promise((done) => setTimeout(done, BEAT_MS))]);
      if (over) break;
      for (const element of beat) {
        element.removeAttribute("data-waits");
        element.setAttribute("data-enters", "");
      }
    }
    this.#skip.hidden = true;
    this.#end = null;
  }

  #beats(): Element[][] {
    return this.#spec.beats.map(({ marks, rows }) =>
      marks.flatMap((mark) =>
        this.#chart
          .elements(mark)
          .filter(({ row }) => Object.entries(rows).every(([name, value]) => row[name] === value))
          .map(({ element }) => element),
      ),
    );
  }
}
