// Python's state in a word and a dot, the same on every widget.
import { h, setText } from "../dom";

export type Phase = "static" | "loading" | "ready" | "running" | "error" | "stopped";

/** What a reader may know of Python at this moment. `percent` is null while it is unknown. */
export interface Status {
  readonly phase: Phase;
  readonly label: string;
  readonly percent: number | null;
  /** The name of the snippet that runs; "" when none does. */
  readonly snippet: string;
}

/** Empty until the reader wants Python: others should not have to read of it. */
export function describe(status: Status): string {
  if (status.phase === "static") return "";
  if (status.phase === "error") return "Python is not running";
  return status.percent === null ? status.label : `${status.label} ${status.percent} %`;
}

/** Shows the phase on a chip. `text` replaces the usual words. */
export function showChip(chip: HTMLElement, status: Status, text = describe(status)): void {
  chip.dataset.phase = status.phase;
  chip.style.setProperty("--il-progress", String(status.percent ?? 0));
  setText(chip, text);
}

/** Says what keeps Python from answering, beside a button that helps; null takes it back. */
export function showTrouble(place: HTMLElement, message: string | null, help: () => void, label = "Retry"): void {
  if (message === null) {
    place.replaceChildren();
    return;
  }
  const button = h("button", { type: "button", class: "il-button" }, label);
  button.addEventListener("click", help);
  place.replaceChildren(h("p", {}, message), button);
}
