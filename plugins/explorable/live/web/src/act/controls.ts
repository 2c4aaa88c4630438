// The controls of an act as data: sliders, segmented radio groups and check boxes, read and set, and how each is called.
import { all, setText, unlessScrolled } from "../dom";
import type { Value } from "../python/protocol";

export interface RangeSpec {
  minimum: number;
  maximum: number;
  scale: "linear" | "log";
  /** 0: none. */
  step: number;
  integer: boolean;
}

/** Positions of a range without steps: more than a hand can tell apart on a screen. */
const PLACES = 400;
/** Digits that a free value keeps. */
const DIGITS = 3;

/** The numbers that a hand can set: between two ends, evenly or by factors, in steps or as fine as a hand is. */
export class NumberRange {
  readonly spec: RangeSpec;
  /** The last place; the first is 0. */
  readonly last: number;

  constructor(spec: RangeSpec) {
    this.spec = spec;
    const { minimum, maximum, step, integer, scale } = spec;
    const wide = maximum - minimum;
    if (step) this.last = Math.floor(wide / step + 1e-9);
    else if (integer && scale === "linear") this.last = Math.min(PLACES, wide);
    else this.last = PLACES;
  }

  /** The value at a place. */
  at(place: number): number {
    const { minimum, maximum, scale, step } = this.spec;
    const share = Math.min(1, Math.max(0, place / this.last));
    if (step) return this.#tidy(minimum + Math.round(share * this.last) * step);
    if (share === 0) return minimum;
    if (share === 1) return maximum;
    return this.#tidy(scale === "log" ? minimum * (maximum / minimum) ** share : minimum + share * (maximum - minimum));
  }

  /** The place nearest to a value. */
  placeOf(value: number): number {
    const { minimum, maximum, scale, step } = this.spec;
    const inside = Math.min(maximum, Math.max(minimum, value));
    if (step) return Math.round((inside - minimum) / step);
    const share =
      scale === "log" ? Math.log(inside / minimum) / Math.log(maximum / minimum) : (inside - minimum) / (maximum - minimum);
    return Math.round(share * this.last);
  }

  /** The value that a hand gets which points at `value`. */
  snap(value: number): number {
    return this.at(this.placeOf(value));
  }

  /** The next place in a direction whose value differs: on a logarithmic scale several places share a whole number. */
  next(place: number, direction: 1 | -1): number {
    const from = this.at(place);
    let to = place;
    while (to + direction >= 0 && to + direction <= this.last && this.at(to) === from) to += direction;
    return this.at(to) === from ? place : to;
  }

  offers(value: number): boolean {
    const { minimum, maximum, integer } = this.spec;
    return value >= minimum && value <= maximum && (!integer || Number.isInteger(value));
  }

  /** Rounds away the error of binary fractions, and digits finer than a hand can set. */
  #tidy(value: number): number {
    const { minimum, maximum, integer, step, scale } = this.spec;
    if (integer) return Math.round(value);
    if (step) return Number(value.toPrecision(12));
    if (scale === "log") return Math.min(maximum, Math.max(minimum, Number(value.toPrecision(DIGITS))));
    const digits = Math.max(0, Math.ceil(-Math.log10((maximum - minimum) / PLACES)));
    return Number(value.toFixed(digits));
  }
}

/** A number as the page writes it. */
export function numberWords(value: number, unit: string): string {
  return `${value.toLocaleString("en-US", { maximumSignificantDigits: 6 })} ${unit}`.trim();
}

/** What to say of a typed number that is not taken; empty where it is. */
function typedProblem(text: string, { spec }: NumberRange, standing: string): string {
  const number = text.trim() === "" ? NaN : Number(text);
  if (number >= spec.minimum && number <= spec.maximum && (!spec.integer || Number.isInteger(number))) return "";
  const ends = `${numberWords(spec.minimum, "")} to ${numberWords(spec.maximum, "")}`;
  return `${spec.integer ? "A whole number" : "A number"} from ${ends}, please: ${standing} stands.`;
}

/** Whether no further digit makes a typed number one that is taken: it is told before the hand leaves the box. */
function isBeyond(text: string, { spec }: NumberRange): boolean {
  const number = Number(text);
  if (text.trim() === "") return false;
  return number > spec.maximum || (spec.integer && !Number.isInteger(number)) || (number <= 0 && spec.minimum > 0);
}

/** A control that takes any number between two ends: a native range input whose places are spread by the author's scale.
 * Where the author asks for it, a box beside it takes the numbers that no place has. */
class Slider {
  readonly input: HTMLInputElement;
  readonly range: NumberRange;
  readonly #box: HTMLInputElement | null;
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
    this.#box = input.closest(".il-control")?.querySelector<HTMLInputElement>("input[data-typed]") ?? null;
    this.set(spec.default);
    this.#box?.addEventListener("input", ({ target }) => this.#typed((target as HTMLInputElement).value));
    // What is not taken is said when the hand leaves the box, and the number that stands is put back.
    this.#box?.addEventListener("change", ({ target }) => {
      const problem = typedProblem((target as HTMLInputElement).value, this.range, this.#standing);
      this.#show();
      this.#say(problem);
    });
    input.addEventListener("input", () => this.#take(Number(input.value)));
    input.addEventListener("keydown", (event) => this.#key(event));
    unlessScrolled(input, () => this.#value, (before) => {
      this.set(before);
      input.dispatchEvent(new Event("change", { bubbles: true }));
    });
  }

  get name(): string {
    return this.input.dataset.slider ?? "";
  }

  get value(): number {
    return this.#value;
  }

  /** Sets the value without an event; what is not offered becomes the default. */
  set(value: unknown): void {
    const before = this.#value;
    this.#value = typeof value === "number" && this.range.offers(value) ? value : this.#default;
    if (this.#value !== before) this.#say("");
    this.input.value = String(this.range.placeOf(this.#value));
    this.#show();
  }

  words(value: number): string {
    return numberWords(value, this.#unit);
  }

  /** The number that stands, with all digits that somebody has typed. */
  get #standing(): string {
    return `${this.#value.toLocaleString("en-US", { maximumFractionDigits: 6 })} ${this.#unit}`.trim();
  }

  /** A typed number is taken as it is; the slider's hand stands at the nearest place. */
  #typed(text: string): void {
    const problem = typedProblem(text, this.range, this.#standing);
    this.#say(problem && isBeyond(text, this.range) ? problem : "");
    if (problem) return;
    this.#value = Number(text);
    this.input.value = String(this.range.placeOf(this.#value));
    this.input.setAttribute("aria-valuetext", this.words(this.#value));
  }

  #say(problem: string): void {
    const place = this.input.closest(".il-control")?.querySelector<HTMLElement>('[data-slot="typed-problem"]');
    if (place) setText(place, problem);
  }

  #take(place: number): void {
    this.#say("");
    this.#value = this.range.at(place);
    this.#show();
  }

  #show(): void {
    const words = this.words(this.#value);
    this.input.setAttribute("aria-valuetext", words);
    const output = this.input.closest(".il-control")?.querySelector("output");
    if (output) setText(output, words);
    if (this.#box) this.#box.value = String(this.#value);
  }

  /** An arrow key always changes the value, also where several places share one. */
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

/** Where the controls stand. */
export interface Instruments {
  context: string;
  controls: Record<string, Value>;
}

/** All controls of an act: radio groups (`data-choice`, `data-context`), lists, check boxes (`data-toggle`), sliders, notes. */
export class Controls {
  readonly root: HTMLElement;
  /** The context of an act without a switch for it. */
  readonly #onlyContext: string;

  constructor(root: HTMLElement, onlyContext: string) {
    this.root = root;
    this.#onlyContext = onlyContext;
  }

  /** Where the reader's hands have put them. */
  read(): Instruments {
    const controls: Record<string, Value> = {};
    for (const group of all(this.root, "[data-choice]")) {
      const chosen = radios(group).find((radio) => radio.checked);
      if (chosen) controls[group.dataset.choice ?? ""] = valueOf(chosen);
    }
    for (const box of toggles(this.root)) controls[box.dataset.toggle ?? ""] = box.checked;
    for (const slider of sliders(this.root)) controls[slider.name] = slider.value;
    for (const menu of menus(this.root)) controls[menu.dataset.menu ?? ""] = valueOf(menu.options[menu.selectedIndex] ?? menu);
    for (const note of notes(this.root)) controls[note.dataset.note ?? ""] = note.value;
    const chosen = contextRadios(this.root).find((radio) => radio.checked);
    return { context: chosen ? String(valueOf(chosen)) : this.#onlyContext, controls };
  }

  /** Puts them there. Returns where they stand then: a value that is not offered (any more) leaves its control at the baked default. */
  write({ context, controls }: Instruments): Instruments {
    const stand: Record<string, Value> = {};
    for (const group of all(this.root, "[data-choice]")) {
      const name = group.dataset.choice ?? "";
      const chosen = choose(radios(group), controls[name]);
      if (chosen) stand[name] = valueOf(chosen);
    }
    for (const box of toggles(this.root)) {
      const name = box.dataset.toggle ?? "";
      const value = controls[name];
      stand[name] = box.checked = typeof value === "boolean" ? value : box.defaultChecked;
    }
    for (const slider of sliders(this.root)) {
      slider.set(controls[slider.name]);
      stand[slider.name] = slider.value;
    }
    for (const menu of menus(this.root)) {
      const name = menu.dataset.menu ?? "";
      const options = [...menu.options];
      const wanted = options.find((option) => valueOf(option) === controls[name]) ?? options.find((option) => option.defaultSelected);
      if (!wanted) continue;
      wanted.selected = true;
      stand[name] = valueOf(wanted);
    }
    for (const note of notes(this.root)) {
      const value = controls[note.dataset.note ?? ""];
      note.value = typeof value === "string" && value.length <= note.maxLength ? value : "";
      stand[note.dataset.note ?? ""] = note.value;
    }
    const chosen = choose(contextRadios(this.root), context);
    return { context: chosen ? String(valueOf(chosen)) : this.#onlyContext, controls: stand };
  }

  /** Puts them where they were baked. */
  reset(): Instruments {
    return this.write({ context: "", controls: {} });
  }
}

/** How a control and one of its positions are called on the page; null for what it does not offer. */
export function controlWords(root: ParentNode, control: string, value: Value): { label: string; value: string } | null {
  for (const group of all(root, "[data-choice]")) {
    if (group.dataset.choice !== control) continue;
    const radio = radios(group).find((one) => valueOf(one) === value);
    return radio ? { label: words(group.querySelector("legend")), value: labelOf(radio) } : null;
  }
  const menu = menus(root).find((one) => one.dataset.menu === control);
  const option = menu && [...menu.options].find((one) => valueOf(one) === value);
  if (menu) return option ? { label: labelOf(menu), value: words(option) } : null;
  const slider = sliders(root).find((one) => one.name === control);
  if (slider) return typeof value === "number" ? { label: labelOf(slider.input), value: slider.words(value) } : null;
  const box = toggles(root).find((one) => one.dataset.toggle === control);
  if (!box || typeof value !== "boolean") return null;
  return { label: labelOf(box), value: value ? "on" : "off" };
}

/** The controls that change what is shown and nothing else. */
export function displayOnly(root: ParentNode): Set<string> {
  return new Set(all(root, "input[data-display-only]").map((box) => box.dataset.toggle ?? ""));
}

/** The controls that still wait for the reveal. */
export function waiting(root: ParentNode): Set<string> {
  const late = all(root, "[data-after-reveal][hidden]");
  const boxes = late.flatMap((place) => toggles(place).map((box) => box.dataset.toggle ?? ""));
  const ranges = late.flatMap((place) => sliders(place).map((slider) => slider.name));
  return new Set([...late.map((place) => place.dataset.choice ?? ""), ...boxes, ...ranges]);
}

/** How the chosen context is called; "" for an act with one context. */
export function contextWords(root: ParentNode): string {
  const chosen = contextRadios(root).find((radio) => radio.checked);
  return chosen ? labelOf(chosen) : "";
}

export function valueOf(element: HTMLElement): Value {
  return JSON.parse(element.dataset.value ?? "null") as Value;
}

export function radios(root: ParentNode): HTMLInputElement[] {
  return all<HTMLInputElement>(root, 'input[type="radio"]');
}

/** The words of a control's label, also in a page that has been left: there `labels` is empty. */
function labelOf(control: HTMLElement): string {
  const root = control.getRootNode() as Document | Element;
  return words(control.closest("label") ?? root.querySelector(`label[for="${CSS.escape(control.id)}"]`));
}

export function words(element: Element | null | undefined): string {
  return tidy(element?.textContent ?? "");
}

export const tidy = (text: string): string => text.replace(/\s+/g, " ").trim();

function contextRadios(root: ParentNode): HTMLInputElement[] {
  return all<HTMLInputElement>(root, '[data-context] input[type="radio"]');
}

function toggles(root: ParentNode): HTMLInputElement[] {
  return all<HTMLInputElement>(root, "input[data-toggle]");
}

/** Lists of positions. */
function menus(root: ParentNode): HTMLSelectElement[] {
  return all<HTMLSelectElement>(root, "select[data-menu]");
}

/** Texts that no hand sets. */
function notes(root: ParentNode): HTMLInputElement[] {
  return all<HTMLInputElement>(root, "input[data-note]");
}

/** Checks the radio of a value, or the baked one. Returns it. */
function choose(group: HTMLInputElement[], value: Value | undefined): HTMLInputElement | undefined {
  const wanted = group.find((radio) => value !== undefined && valueOf(radio) === value) ?? group.find((radio) => radio.defaultChecked);
  for (const radio of group) radio.checked = radio === wanted;
  return wanted;
}
