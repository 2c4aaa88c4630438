// The locked prediction: one choice or one number, dragged on the page's own scale or typed. No Python needed.
import { find, setText, slot, unlessScrolled } from "../dom";
import type { Value } from "../python/protocol";
import { numberWords, NumberRange, radios, valueOf, words } from "./controls";

export class Question {
  readonly #form: HTMLFormElement;
  readonly #fieldset: HTMLFieldSetElement;
  #complained = false;

  constructor(form: HTMLFormElement) {
    this.#form = form;
    this.#fieldset = slot(form, "question") as HTMLFieldSetElement;
    this.#scale?.addEventListener("input", () => this.hold(this.range?.snap(Number(this.#scale?.value)) ?? 0));
    this.#input?.addEventListener("input", () => this.#showOnScale());
    this.#input?.addEventListener("beforeinput", withPoint);
    if (this.#scale) unlessScrolled(this.#scale, () => this.#input?.value ?? "", (typed) => this.#putBack(typed));
    this.#showOnScale();
  }

  onLock(lock: (prediction: Value) => void, signal: AbortSignal): void {
    this.#form.addEventListener(
      "submit",
      (event) => {
        event.preventDefault();
        const answer = this.#read();
        this.#complain(answer.problem);
        if (answer.value !== null) lock(answer.value);
        else if (answer.problem) this.focus();
      },
      { signal },
    );
    // After a complaint the answer is checked at every keystroke, so that the complaint goes when it is mended.
    this.#fieldset.addEventListener(
      "input",
      () => {
        if (this.#complained) this.#complain(this.#read().problem);
      },
      { signal },
    );
  }

  /** Asks a reader for an answer who wanted to go on without one, and moves the focus here. */
  insist(): void {
    this.#complain(this.#read().problem || "Lock in your answer first.");
    this.focus();
  }

  /** The numbers that can be predicted; null for a choice. */
  get range(): NumberRange | null {
    const input = this.#input;
    if (!input) return null;
    const [minimum, maximum, step] = [Number(input.min), Number(input.max), Number(input.dataset.grain ?? 0)];
    return new NumberRange({ minimum, maximum, step, scale: "linear", integer: false });
  }

  /** What could be locked in now, or is; null for nothing. */
  get answer(): Value | null {
    return this.#read().value;
  }

  /** What the number's box holds, if it could be locked in. */
  get held(): number | null {
    return this.#input && (this.answer as number | null);
  }

  /** Puts a number into the box, and the scale's handle at it, or chooses one of the choices. */
  hold(value: Value): void {
    this.#put(value);
    this.#complain("");
  }

  #putBack(typed: string): void {
    if (!this.#input) return;
    this.#input.value = typed;
    this.#input.dispatchEvent(new Event("input", { bubbles: true }));
  }

  /** The number that switches come to, each of which adds its part. */
  sumOf(switches: readonly HTMLInputElement[]): number {
    const sum = switches.reduce((total, { dataset }) => total + Number(dataset.adds), Number(this.#input?.dataset.base ?? 0));
    return this.range?.snap(sum) ?? sum;
  }

  /** Calls `typed` when the reader types or lets the scale's handle go, and `dragged` while it moves. */
  onHeld(typed: () => void, dragged: () => void, signal: AbortSignal): void {
    this.#input?.addEventListener("input", typed, { signal });
    this.#scale?.addEventListener("input", dragged, { signal });
    this.#scale?.addEventListener("change", typed, { signal });
  }

  /** Whether a remembered prediction is still one of the answers. A number was `said` with its unit: one in another unit answers
   * another question, which the page asked before. */
  offers(prediction: Value, said: string = this.words(prediction)): boolean {
    const input = this.#input;
    if (input) return typeof prediction === "number" && inRange(input, prediction) && said === this.words(prediction);
    return radios(this.#fieldset).some((radio) => valueOf(radio) === prediction);
  }

  /** Shows the locked prediction, or, with null, the open question. */
  show(prediction: Value | null): void {
    const locked = prediction !== null;
    this.#fieldset.disabled = locked;
    this.#button.disabled = locked;
    this.#button.hidden = locked;
    this.#form.dataset.locked = String(locked);
    if (!locked) return;
    setText(slot(this.#form, "lock-note"), `Locked in: ${this.words(prediction)}`);
    this.#put(prediction);
  }

  #put(value: Value): void {
    if (this.#input) this.#input.value = String(value);
    this.#showOnScale();
    for (const radio of radios(this.#fieldset)) radio.checked = valueOf(radio) === value;
  }

  /** The prediction in the words of its option, or with its unit. */
  words(prediction: Value): string {
    const radio = radios(this.#fieldset).find((one) => valueOf(one) === prediction);
    return radio?.dataset.label ?? `${String(prediction)} ${this.unit}`.trim();
  }

  clear(): void {
    for (const radio of radios(this.#fieldset)) radio.checked = false;
    if (this.#input) this.#input.value = "";
    this.#showOnScale();
    this.#complain("");
  }

  /** The prompt as it is asked. */
  get prompt(): string {
    return words(this.#form.querySelector("legend"));
  }

  get unit(): string {
    return this.#fieldset.dataset.unit ?? "";
  }

  focus(): void {
    const choices = radios(this.#fieldset);
    (this.#input ?? choices.find((radio) => radio.checked) ?? choices[0])?.focus();
  }

  #read(): { value: Value | null; problem: string } {
    const input = this.#input;
    if (!input) {
      const chosen = radios(this.#fieldset).find((radio) => radio.checked);
      return chosen ? { value: valueOf(chosen), problem: "" } : { value: null, problem: "Choose an answer first." };
    }
    // A browser gives "" for what is no number; only its validity tells that from an empty field.
    const empty = input.value.trim() === "" && !input.validity?.badInput;
    const value = empty || input.validity?.badInput ? Number.NaN : Number(input.value);
    if (Number.isFinite(value) && inRange(input, value)) return { value, problem: "" };
    const range = `from ${Number(input.min).toLocaleString("en-US")} to ${Number(input.max).toLocaleString("en-US")}`;
    if (empty) return { value: null, problem: `Type a number ${range} first.` };
    if (!Number.isFinite(value)) return { value: null, problem: `That is not a number. Type one ${range}.` };
    return { value: null, problem: `${this.words(value)} is out of range. Type a number ${range}.` };
  }

  /** Says what is wrong, beside the number where there is one; "" takes it back. */
  #complain(problem: string): void {
    const input = this.#input;
    this.#complained = problem !== "";
    setText(slot(this.#form, input ? "problem" : "lock-note"), problem);
    if (input) setText(slot(this.#form, "lock-note"), "");
    if (input && problem) input.setAttribute("aria-invalid", "true");
    else input?.removeAttribute("aria-invalid");
  }

  /** The scale's handle stands at the number in the box, or where it began. */
  #showOnScale(): void {
    const [scale, { held, range }] = [this.#scale, this];
    if (!scale || !range) return;
    const { minimum, maximum } = range.spec;
    const at = held ?? minimum;
    scale.value = String(at);
    scale.style.setProperty("--il-share", ((at - minimum) / (maximum - minimum)).toFixed(4));
    scale.setAttribute("aria-valuetext", held === null ? "nothing yet" : numberWords(held, this.unit));
  }

  get #scale(): HTMLInputElement | null {
    return this.#fieldset.querySelector<HTMLInputElement>("input[data-scale]");
  }

  get #input(): HTMLInputElement | null {
    return this.#fieldset.querySelector<HTMLInputElement>("input[data-prediction]");
  }

  get #button(): HTMLButtonElement {
    return find<HTMLButtonElement>(this.#form, '[data-action="lock"]');
  }
}

/** A browser whose language writes a decimal point drops a typed comma without a word, and 12,5 would be 125. Where thousands can
 * be meant, the comma may stand between them. */
function withPoint(event: InputEvent): void {
  const box = event.target as HTMLInputElement;
  if (!event.data?.includes(",") || Number(box.max) >= 1000 || (0.5).toLocaleString().includes(",")) return;
  event.preventDefault();
  document.execCommand("insertText", false, event.data.replace(",", "."));
}

function inRange(input: HTMLInputElement, value: number): boolean {
  return value >= Number(input.min) && value <= Number(input.max);
}
