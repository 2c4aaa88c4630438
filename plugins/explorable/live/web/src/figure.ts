// <live-figure>: a figure that moves. Every state was drawn while the site was built; this shows the one that is asked for.
import { all, containKeys, find, h, putChildren, setText, slot, unlessScrolled } from "./dom";
import type { Part } from "./element";

/** A state: the picture inside its `svg`, what it shows in words, and label, value and unit of each reading. */
type Frame = [picture: string, words: string, readings: [string, string, string][]];

/** The words wait until the reader's hand rests. */
const SAID_MS = 500;

export const mount = (host: HTMLElement): Part => new Figure(host);

class Figure implements Part {
  readonly #host: HTMLElement;
  readonly #picture: SVGSVGElement;
  readonly #controls: HTMLElement[];
  readonly #gone = new AbortController();
  #frames: Promise<Frame[]> | null = null;
  #timer = 0;

  constructor(host: HTMLElement) {
    this.#host = host;
    this.#picture = find<SVGSVGElement>(host, "[data-slot=picture] > svg");
    this.#controls = all(host, "[data-control]");
    const { signal } = this.#gone;
    containKeys(host, signal);
    slot(host, "controls").addEventListener("input", () => void this.#show(), { signal });
    for (const slider of this.#controls) if (slider instanceof HTMLInputElement) unlessScrolled(slider, () => slider.value, (before) => moveTo(slider, before));
    this.#dragged(signal);
    // A browser that comes back to a page may have kept the controls and not the picture.
    if (this.#controls.some((control) => placeOf(control) !== defaultOf(control))) void this.#show();
  }

  onscreen(): void {
    void this.#load().catch(() => undefined);
  }

  offscreen(): void {
    // Nothing runs.
  }

  gone(): void {
    this.#gone.abort();
    clearTimeout(this.#timer);
  }

  #load(): Promise<Frame[]> {
    this.#frames ??= fetch(new URL(this.#host.dataset.states ?? "", document.baseURI))
      .then((answer) => (answer.ok ? (answer.json() as Promise<Frame[]>) : Promise.reject(new Error(String(answer.status)))))
      .catch((reason: unknown) => {
        this.#frames = null;
        throw reason;
      });
    return this.#frames;
  }

  async #show(): Promise<void> {
    for (const control of this.#controls) nameValue(control);
    const frames = await this.#load().catch(() => null);
    if (this.#gone.signal.aborted) return;
    const frame = frames?.[this.#place()];
    if (!frame) {
      setText(slot(this.#host, "said"), "The other states of this figure did not arrive. Try again.");
      slot(this.#host, "said").className = "il-trouble";
      return;
    }
    slot(this.#host, "said").className = "il-vh";
    const [picture, words, readings] = frame;
    this.#picture.innerHTML = picture;
    this.#picture.setAttribute("aria-label", words);
    const place = this.#host.querySelector("[data-slot=readings]");
    if (place) {
      const parts = ["label", "value", "unit"];
      const made = readings.map((one) =>
        h("p", {}, ...one.flatMap((text, at) => [h("span", { class: `il-moving__${parts[at] ?? ""}` }, text), " "])),
      );
      putChildren(place, made);
    }
    clearTimeout(this.#timer);
    const said = [...readings.map((one) => `${one.join(" ")}.`), words].join(" ");
    this.#timer = window.setTimeout(() => setText(slot(this.#host, "said"), said), SAID_MS);
  }

  /** The state's place in the list: the last control changes fastest. */
  #place(): number {
    return this.#controls.reduce((place, control) => place * countOf(control) + placeOf(control), 0);
  }

  /** A hand that moves over the picture moves the slider that the figure names. */
  #dragged(signal: AbortSignal): void {
    if (!this.#host.dataset.drag) return;
    const { control, left, right } = JSON.parse(this.#host.dataset.drag) as { control: string; left: number; right: number };
    const slider = this.#controls.find((one) => one.dataset.control === control);
    if (!(slider instanceof HTMLInputElement)) return;
    const follow = ({ clientX }: PointerEvent): void => {
      const box = this.#picture.getBoundingClientRect();
      const x = ((clientX - box.left) / box.width) * this.#picture.viewBox.baseVal.width;
      const share = Math.min(1, Math.max(0, (x - left) / (right - left)));
      const value = String(Math.round(share * Number(slider.max)));
      if (value !== slider.value) moveTo(slider, value);
    };
    const picture = slot(this.#host, "picture");
    picture.addEventListener(
      "pointerdown",
      (event) => {
        if (event.button !== 0) return;
        picture.setPointerCapture(event.pointerId);
        follow(event);
      },
      { signal },
    );
    picture.addEventListener("pointermove", (event) => picture.hasPointerCapture(event.pointerId) && follow(event), { signal });
  }
}

function moveTo(slider: HTMLInputElement, value: string): void {
  slider.value = value;
  slider.dispatchEvent(new Event("input", { bubbles: true }));
}

const radiosOf = (control: HTMLElement): HTMLInputElement[] => all<HTMLInputElement>(control, "input");

function countOf(control: HTMLElement): number {
  return control instanceof HTMLInputElement ? Number(control.max) + 1 : radiosOf(control).length;
}

function placeOf(control: HTMLElement): number {
  return control instanceof HTMLInputElement ? Number(control.value) : radiosOf(control).findIndex((one) => one.checked);
}

function defaultOf(control: HTMLElement): number {
  return control instanceof HTMLInputElement
    ? Number(control.defaultValue)
    : radiosOf(control).findIndex((one) => one.defaultChecked);
}

/** Says beside a slider, and to a screen reader, what its place means. */
function nameValue(control: HTMLElement): void {
  if (!(control instanceof HTMLInputElement)) return;
  const words = (JSON.parse(control.dataset.words ?? "[]") as string[])[placeOf(control)] ?? "";
  control.setAttribute("aria-valuetext", words);
  const output = control.closest(".il-control")?.querySelector("output");
  if (output) setText(output, words);
}
