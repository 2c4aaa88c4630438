// A control that takes any number between two ends: a native range input whose places are spread by the author's scale.
import { all, setText } from "../dom";
import { NumberRange, numberWords, type RangeSpec } from "./range";

export class Slider {
  readonly input: HTMLInputElement;
  readonly range: NumberRange;
  readonly #unit: string;
  readonly #default: number;
  #value: number;

  constructor(input: HTMLInputElement) {
    this.input = input;
    const spec = JSON.parse(input.dataset.range ?? "{}") as RangeSpec & { default: number; unit: string };
    this.range = new NumberRange(spec);
    this.#unit = spec.unit;
    this.#default = spec.default;
    this.#value = spec.default;
    input.max = String(this.range.last);
    this.set(spec.default);
    input.addEventListener("input", () => this.#take(Number(input.value)));
    input.addEventListener("keydown", (event) => this.#key(event));
  }

  get name(): string {
    return this.input.dataset.slider ?? "";
  }

  get value(): number {
    return this.#value;
  }

  /** Sets the value without an event; what is not offered becomes the default. */
  set(value: unknown): void {
    this.#value = typeof value === "number" && this.range.offers(value) ? value : this.#default;
    this.input.value = String(this.range.placeOf(this.#value));
    this.#show();
  }

  words(value: number): string {
    return numberWords(value, this.#unit);
  }

  #take(place: number): void {
    this.#value = this.range.at(place);
    this.#show();
  }

  #show(): void {
    const words = this.words(this.#value);
    this.input.setAttribute("aria-valuetext", words);
    const output = this.input.closest(".il-control")?.querySelector("output");
    if (output) setText(output, words);
  }

  /** An arrow always reaches another value, also where places share one. */
  #key(event: KeyboardEvent): void {
    const up = event.key === "ArrowUp" || event.key === "ArrowRight";
    if (!up && event.key !== "ArrowDown" && event.key !== "ArrowLeft") return;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const place = Number(this.input.value);
    const next = this.range.next(place, up ? 1 : -1);
    if (next === place) return;
    this.input.value = String(next);
    this.input.dispatchEvent(new Event("input", { bubbles: true }));
    this.input.dispatchEvent(new Event("change", { bubbles: true }));
  }
}

const known = new WeakMap<HTMLInputElement, Slider>();

/** The sliders under `root`. An input keeps its one slider. */
export function sliders(root: ParentNode): Slider[] {
  return all<HTMLInputElement>(root, "input[data-slider]").map((input) => {
    const slider = known.get(input) ?? new Slider(input);
    known.set(input, slider);
    return slider;
  });
}
