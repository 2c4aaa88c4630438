// The sentences with gaps at the end of an act: what stands in them, and which can be checked.
import { all, h, slot } from "../dom";
import type { Memory } from "../ledger/entry";
import type { Value } from "../python/protocol";
import { tidy, valueOf } from "./controls";

export class Reflections {
  readonly #forms: readonly HTMLFormElement[];

  constructor(host: HTMLElement) {
    this.#forms = formsOf(host);
  }

  get names(): string[] {
    return this.#forms.map(nameOf);
  }

  /** Calls `changed` at every answer, and `check` when the reader submits a complete sentence. */
  listen(changed: (form: HTMLFormElement) => void, check: (form: HTMLFormElement) => void, signal: AbortSignal): void {
    for (const form of this.#forms) {
      form.addEventListener("change", () => changed(form), { signal });
      form.addEventListener(
        "submit",
        (event) => {
          event.preventDefault();
          if (isComplete(form)) return check(form);
          slot(form, "feedback").replaceChildren(h("li", {}, "Choose an answer for every blank first."));
          blanks(form)
            .find((select) => !select.value)
            ?.focus();
        },
        { signal },
      );
    }
  }

  /** Sets the sentences from the memory. Returns those of its checked names that are still complete. */
  show({ revealed, answers, checked }: Memory): string[] {
    for (const form of this.#forms) {
      (slot(form, "blanks") as HTMLFieldSetElement).disabled = !revealed;
      writeBlanks(form, answers[nameOf(form)] ?? {});
      if (!checked.includes(nameOf(form))) slot(form, "feedback").replaceChildren();
    }
    return checked.filter((name) => this.#forms.some((one) => nameOf(one) === name && isComplete(one)));
  }
}

export function formsOf(host: HTMLElement): HTMLFormElement[] {
  return all<HTMLFormElement>(host, "form[data-reflection]");
}

export function nameOf(form: HTMLFormElement): string {
  return form.dataset.reflection ?? "";
}

/** The changes of the memory after an answer was given: what was judged before no longer counts. */
export function answered(form: HTMLFormElement, memory: Memory): Pick<Memory, "answers" | "checked"> & { right: Record<string, number> } {
  const name = nameOf(form);
  const answers: Record<string, Record<string, Value>> = { ...memory.answers, [name]: readBlanks(form) };
  const right = Object.fromEntries(Object.entries(memory.right ?? {}).filter(([one]) => one !== name));
  const complete = isComplete(form);
  if (!complete) slot(form, "feedback").replaceChildren();
  return { answers, right, checked: memory.checked.filter((one) => one !== name || complete) };
}

function isComplete(form: HTMLFormElement): boolean {
  return blanks(form).every((select) => select.value !== "");
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
