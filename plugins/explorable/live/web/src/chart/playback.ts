// A chart seen as it came about: a button plays its steps, a slider goes through them. At rest it stands whole.
import { equal } from "../equal";
import type { Chart, Filter } from "./chart";
import { h, setText } from "../dom";
import type { PlaybackSpec } from "./specs";
import type { Row } from "../python/protocol";

/** How long a whole playback takes, and the shortest and longest time for a step of it. */
const WHOLE_MS = 5000;
const STEP_MS = [40, 400] as const;

export class Playback implements Filter {
  readonly #spec: PlaybackSpec;
  readonly #chart: Chart;
  readonly #bar: HTMLElement;
  readonly #button: HTMLButtonElement;
  readonly #slider: HTMLInputElement;
  readonly #words: HTMLElement;
  #steps: Row[] = [];
  #timer = 0;

  constructor(spec: PlaybackSpec, chart: Chart, signal: AbortSignal) {
    this.#spec = spec;
    this.#chart = chart;
    this.#button = h("button", { type: "button", class: "il-button il-button--quiet" }, "Play");
    this.#slider = h("input", { type: "range", min: "0", step: "1", "aria-label": `${chart.title}: step` });
    this.#words = h("span", { "aria-hidden": "true" });
    this.#bar = h("div", { class: "il-playback", hidden: true }, this.#button, this.#slider, this.#words);
    chart.frame.after(this.#bar);
    chart.filter = this;
    this.#button.addEventListener("click", () => this.#toggle(), { signal });
    this.#slider.addEventListener("input", () => this.#moved(), { signal });
    signal.addEventListener("abort", () => {
      this.#pause();
      this.#bar.remove();
    });
  }

  take(data: Record<string, Row[]>): void {
    const steps = data[this.#spec.data] ?? [];
    // Other steps begin whole. Vega may write into the rows that it is given, so these are copies.
    if (equal(steps, this.#steps)) return;
    this.#pause();
    this.#steps = steps.map((step) => ({ ...step }));
    this.#bar.hidden = steps.length < 2;
    this.#slider.max = String(Math.max(0, steps.length - 1));
    this.#slider.value = this.#slider.max;
    this.#tell();
  }

  keep(row: Row): boolean {
    const at = row[this.#spec.field];
    return this.#place >= this.#steps.length - 1 || typeof at !== "number" || at <= Number(this.#step?.[this.#spec.field]);
  }

  get #place(): number {
    return Number(this.#slider.value);
  }

  get #step(): Row | undefined {
    return this.#steps[this.#place];
  }

  #toggle(): void {
    if (this.#timer) return this.#pause();
    if (this.#place >= this.#steps.length - 1) void this.#show(0);
    setText(this.#button, "Pause");
    this.#wait();
  }

  #wait(): void {
    const [shortest, longest] = STEP_MS;
    const pace = Math.min(longest, Math.max(shortest, WHOLE_MS / this.#steps.length));
    this.#timer = window.setTimeout(() => void this.#next(), pace);
  }

  async #next(): Promise<void> {
    const timer = this.#timer;
    await this.#show(this.#place + 1);
    if (timer !== this.#timer) return;
    if (this.#place >= this.#steps.length - 1) this.#pause();
    else this.#wait();
  }

  #pause(): void {
    clearTimeout(this.#timer);
    this.#timer = 0;
    setText(this.#button, "Play");
  }

  /** A hand on the slider takes over from what plays. */
  #moved(): void {
    this.#pause();
    void this.#show(this.#place);
  }

  async #show(place: number): Promise<void> {
    this.#slider.value = String(place);
    this.#tell();
    // A picture that cannot be drawn is told where its rows come in.
    await this.#chart.redraw().catch(() => undefined);
  }

  #tell(): void {
    const words = String(this.#step?.[this.#spec.label] ?? "");
    setText(this.#words, words);
    this.#slider.setAttribute("aria-valuetext", words);
  }
}
