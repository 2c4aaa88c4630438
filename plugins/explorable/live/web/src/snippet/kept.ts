// A reader's edit of a snippet, as this browser keeps it: with what another tab makes of it, and a word where it is not kept.
import { h, slot } from "../dom";
import { openStorage } from "../storage";

export class KeptCode {
  readonly #storage = openStorage(() => localStorage);
  readonly #key: string;
  readonly #source: string;
  readonly #note = h("p", { class: "il-help", role: "status", hidden: true }, "This browser does not keep this edit: copy the code before you leave the page.");

  /** `source` is the page's own code, of which nothing is kept. `changed` is told what stands here after another tab's edit. */
  constructor(host: HTMLElement, key: string, source: string, changed: (text: string) => void, gone: AbortSignal) {
    this.#key = key;
    this.#source = source;
    slot(host, "code").after(this.#note);
    gone.addEventListener("abort", () => this.#note.remove());
    const look = (): void => changed(this.text);
    addEventListener("storage", ({ key: written }) => (written === key || written === null) && look(), { signal: gone });
    // A tab that slept has not heard what another one wrote.
    for (const woken of ["focus", "pageshow"]) addEventListener(woken, look, { signal: gone });
  }

  get text(): string {
    const kept = this.#storage.read(this.#key);
    return typeof kept === "string" ? kept : this.#source;
  }

  keep(text: string): void {
    if (text === this.#source) this.#storage.remove(this.#key);
    this.#note.hidden = text === this.#source || this.#storage.write(this.#key, text);
  }
}
