// The act's form controls as data: reads them, sets them, and knows their baked defaults.
import { all } from "../dom";
import type { Value } from "../python/protocol";
import { sliders } from "./slider";

/** The instruments: segmented radio groups (`data-choice`, `data-context`), check boxes (`data-toggle`), sliders. */
export interface Instruments {
  context: string;
  controls: Record<string, Value>;
}

export function valueOf(element: HTMLElement): Value {
  return JSON.parse(element.dataset.value ?? "null") as Value;
}

/** The state of every instrument under `root`. `onlyContext` is that of an act without a switch. */
export function readInstruments(root: ParentNode, onlyContext: string): Instruments {
  const controls: Record<string, Value> = {};
  for (const group of all(root, "[data-choice]")) {
    const chosen = radios(group).find((radio) => radio.checked);
    if (chosen) controls[group.dataset.choice ?? ""] = valueOf(chosen);
  }
  for (const box of toggles(root)) controls[box.dataset.toggle ?? ""] = box.checked;
  for (const slider of sliders(root)) controls[slider.name] = slider.value;
  const chosen = contextRadios(root).find((radio) => radio.checked);
  return { context: chosen ? String(valueOf(chosen)) : onlyContext, controls };
}

/** Sets the instruments. Returns where they stand then: a value that is not offered leaves its control at the baked default. */
export function writeInstruments(root: ParentNode, { context, controls }: Instruments, onlyContext: string): Instruments {
  const stand: Record<string, Value> = {};
  for (const group of all(root, "[data-choice]")) {
    const name = group.dataset.choice ?? "";
    const chosen = choose(radios(group), controls[name]);
    if (chosen) stand[name] = valueOf(chosen);
  }
  for (const box of toggles(root)) {
    const name = box.dataset.toggle ?? "";
    const value = controls[name];
    stand[name] = box.checked = typeof value === "boolean" ? value : box.defaultChecked;
  }
  for (const slider of sliders(root)) {
    slider.set(controls[slider.name]);
    stand[slider.name] = slider.value;
  }
  const chosen = choose(contextRadios(root), context);
  return { context: chosen ? String(valueOf(chosen)) : onlyContext, controls: stand };
}

/** How a control and one of its positions are called on the page; null for what it does not offer. */
export function controlWords(root: ParentNode, control: string, value: Value): { label: string; value: string } | null {
  for (const group of all(root, "[data-choice]")) {
    if (group.dataset.choice !== control) continue;
    const radio = radios(group).find((one) => valueOf(one) === value);
    return radio ? { label: words(group.querySelector("legend")), value: words(radio.labels?.[0]) } : null;
  }
  const slider = sliders(root).find((one) => one.name === control);
  if (slider) return typeof value === "number" ? { label: words(slider.input.labels?.[0]), value: slider.words(value) } : null;
  const box = toggles(root).find((one) => one.dataset.toggle === control);
  if (!box || typeof value !== "boolean") return null;
  return { label: words(box.labels?.[0]), value: value ? "on" : "off" };
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
  return words(contextRadios(root).find((radio) => radio.checked)?.labels?.[0]);
}

/** The sentence of a reflection with the chosen answers in it. */
export function sentence(form: ParentNode): string {
  const parts = [...(form.querySelector(".il-reflection__text")?.childNodes ?? [])].map((node) =>
    node instanceof HTMLSelectElement ? `“${node.value ? (node.selectedOptions[0]?.text ?? "") : "…"}”` : (node.textContent ?? ""),
  );
  return tidy(parts.join(""));
}

/** The chosen answers of a reflection's blanks; blanks without an answer are left out. */
export function readBlanks(form: ParentNode): Record<string, Value> {
  const answers: Record<string, Value> = {};
  for (const select of blanks(form)) {
    const option = select.selectedOptions[0];
    if (option?.value) answers[select.dataset.blank ?? ""] = valueOf(option);
  }
  return answers;
}

export function writeBlanks(form: ParentNode, answers: Record<string, Value>): void {
  for (const select of blanks(form)) {
    const wanted = answers[select.dataset.blank ?? ""];
    const option = [...select.options].find((one) => one.value && wanted !== undefined && valueOf(one) === wanted);
    select.value = option?.value ?? "";
  }
}

export function blanks(form: ParentNode): HTMLSelectElement[] {
  return all<HTMLSelectElement>(form, "select[data-blank]");
}

export function radios(root: ParentNode): HTMLInputElement[] {
  return all<HTMLInputElement>(root, 'input[type="radio"]');
}

export function words(element: Element | null | undefined): string {
  return tidy(element?.textContent ?? "");
}

const tidy = (text: string): string => text.replace(/\s+/g, " ").trim();

function contextRadios(root: ParentNode): HTMLInputElement[] {
  return all<HTMLInputElement>(root, '[data-context] input[type="radio"]');
}

function toggles(root: ParentNode): HTMLInputElement[] {
  return all<HTMLInputElement>(root, "input[data-toggle]");
}

/** Checks the radio of a value, or the baked one. Returns it. */
function choose(group: HTMLInputElement[], value: Value | undefined): HTMLInputElement | undefined {
  const wanted = group.find((radio) => value !== undefined && valueOf(radio) === value) ?? group.find((radio) => radio.defaultChecked);
  for (const radio of group) radio.checked = radio === wanted;
  return wanted;
}
