// Texts that a reader pastes, drops or opens: they go to the page's Python, which says what they set, and to nobody else.
import { find, h, setText } from "../dom";
import { equal } from "../equal";
import type { Heard, State } from "../python/protocol";
import type { Desk } from "./desk";

/** Of a text that is longer, the end is read: a log's last lines count. */
const MOST_CHARACTERS = 1_000_000;
const MOST_TEXTS = 8;
/** Bytes at the beginning of a safetensors file that say how long its header is. */
const LENGTH_BYTES = 8;

interface Text {
  label: string;
  text: string;
}

/** The text of a file, of a long one its end; of a safetensors file the header alone, whose length its first eight bytes say. */
export async function textOf(file: File): Promise<string> {
  if (!file.name.endsWith(".safetensors")) return file.slice(Math.max(0, file.size - MOST_CHARACTERS)).text();
  const start = new DataView(await file.slice(0, LENGTH_BYTES).arrayBuffer());
  const length = start.byteLength === LENGTH_BYTES ? start.getBigUint64(0, true) : 0n;
  if (length < 2n || length > BigInt(Math.min(MOST_CHARACTERS, file.size - LENGTH_BYTES)))
    throw new RangeError(`${file.name} cannot be read: it does not begin with a safetensors header of at most ${MOST_CHARACTERS / 1e6} MB.`);
  return file.slice(LENGTH_BYTES, LENGTH_BYTES + Number(length)).text();
}

export class Reader {
  readonly #desk: Desk;
  readonly #box: HTMLTextAreaElement;
  readonly #list: HTMLElement;
  readonly #said: HTMLElement;
  readonly #problem: HTMLElement;
  readonly #changes: HTMLElement;
  /** Beside the verdict while a text was not read: what stands there is without it. */
  readonly #unread = h("p", { class: "il-reader__unread", hidden: true }, "This is not the last word: a text that you gave could not be read, and the answer is without it.");
  readonly #since = h("p", { hidden: true }, "The settings have changed since. This is of when it was read:");
  #texts: Text[] = [];
  /** Where the controls stood when it was read. */
  #stood: State["controls"] | null = null;
  /** Counts the times that all was taken away: what was being read then is not read any more. */
  #cleared = 0;

  /** What stands in the page already, closed until now. */
  constructor(place: HTMLElement, desk: Desk) {
    this.#desk = desk;
    const { signal } = desk;
    this.#box = find<HTMLTextAreaElement>(place, ".il-reader__box");
    this.#list = find(place, ".il-reader__texts");
    this.#said = find(place, ".il-reader__said");
    this.#problem = find(place, ".il-problem");
    this.#changes = find(place, ".il-reader__changes");
    desk.host.querySelector('[data-slot="failure"]')?.before(this.#unread);
    // Whoever takes the text out of the box gives it no more.
    this.#box.addEventListener("input", () => !this.#box.value && this.#refuse(""), { signal });
    const read = find<HTMLButtonElement>(place, '[data-action="read"]');
    const input = find<HTMLInputElement>(place, 'input[type="file"]');
    for (const part of [this.#box, read, input]) part.disabled = false;
    read.addEventListener("click", () => this.#readBox(), { signal });
    this.#box.addEventListener("paste", () => queueMicrotask(() => setTimeout(() => this.#readBox())), { signal });
    this.#box.addEventListener("keydown", (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && this.#readBox(), { signal });
    input.addEventListener("change", () => void this.#readFiles(input), { signal });
    this.#takeDrops(desk.host, signal);
  }

  /** Shows how the texts change with a state, and whether what was told of them is of another one. */
  follow(state: State): void {
    this.#since.hidden = !this.#stood || equal(this.#stood, state.controls);
    if (this.#texts.length) void this.#rewrite(state);
  }

  /** Takes every text away, as where the act starts again. */
  clear(): void {
    this.#texts = [];
    this.#cleared += 1;
    this.#box.value = "";
    this.#refuse("");
    this.#show([]);
    this.#changes.hidden = true;
  }

  #readBox(): void {
    const text = this.#box.value;
    void this.#add([text]).then((read) => {
      // What was pasted while Python read stays, and what could not be read comes back.
      if (read && this.#box.value === text) this.#box.value = "";
      if (!read && !this.#box.value) this.#box.value = text;
    });
  }

  async #readFiles(input: HTMLInputElement): Promise<void> {
    const files = [...(input.files ?? [])];
    input.value = "";
    await this.#open(files);
  }

  async #open(files: readonly File[]): Promise<void> {
    try {
      const taken = files.slice(0, MOST_TEXTS);
      const texts = await Promise.all(taken.map(textOf));
      const empty = taken.filter((_, index) => !texts[index]?.trim()).map(({ name }) => name);
      await this.#add(texts);
      if (empty.length && !this.#problem.textContent) setText(this.#problem, `There is nothing to read in ${empty.join(", ")}.`);
    } catch (error) {
      if (error instanceof RangeError) this.#refuse(error.message);
      else if (error instanceof DOMException) this.#refuse("A file could not be read.");
      else throw error;
    }
  }

  #takeDrops(host: HTMLElement, signal: AbortSignal): void {
    const carries = ({ dataTransfer }: DragEvent): boolean => ["Files", "text/plain"].some((kind) => dataTransfer?.types.includes(kind));
    const over = (event: DragEvent): void => {
      if (!carries(event)) return;
      event.preventDefault();
      host.dataset.dropping = "true";
    };
    host.addEventListener("dragenter", over, { signal });
    host.addEventListener("dragover", over, { signal });
    host.addEventListener("dragleave", (event) => host.contains(event.relatedTarget as Node | null) || delete host.dataset.dropping, { signal });
    host.addEventListener(
      "drop",
      (event) => {
        delete host.dataset.dropping;
        if (!carries(event)) return;
        event.preventDefault();
        const files = [...(event.dataTransfer?.files ?? [])];
        const text = event.dataTransfer?.getData("text/plain") ?? "";
        void (files.length ? this.#open(files) : this.#add([text]));
      },
      { signal },
    );
  }

  /** Says why a text was not read, beside it and beside the answer, which then is none of all texts; nothing where all were. */
  #refuse(why: string): void {
    setText(this.#problem, why);
    this.#unread.hidden = !why;
    this.#desk.host.toggleAttribute("data-unread", Boolean(why));
  }

  /** Reads these texts together with those that are there. What cannot be read leaves everything as it was. */
  async #add(texts: readonly string[]): Promise<boolean> {
    this.#refuse("");
    const given = texts.map((text) => text.slice(-MOST_CHARACTERS)).filter((text) => text.trim());
    if (!given.length) return false;
    if (this.#texts.length + given.length <= MOST_TEXTS) return this.#read([...this.#texts.map(({ text }) => text), ...given]);
    this.#refuse(`At most ${MOST_TEXTS} texts are read together: take one away first.`);
    return false;
  }

  async #read(texts: readonly string[]): Promise<boolean> {
    const cleared = this.#cleared;
    try {
      const heard = (await this.#desk.tell("hear", texts, this.#desk.state())) as Heard | null;
      if (cleared !== this.#cleared) return true;
      if (!heard) return false;
      // A text without a label counts no more beside the others.
      this.#texts = texts.map((text, index) => ({ text, label: heard.labels[index] ?? "" })).filter(({ label }) => label);
      this.#show(heard.said);
      this.#desk.set(heard.controls);
      this.#stood = this.#desk.state().controls;
      return true;
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      this.#refuse(error.message);
      return false;
    }
  }

  #show(said: readonly string[]): void {
    this.#list.replaceChildren(
      ...this.#texts.map((text) => {
        const away = h("button", { type: "button", class: "il-button il-button--quiet", "aria-label": `Take ${text.label} away` }, "×");
        away.addEventListener("click", () => this.#drop(text), { signal: this.#desk.signal });
        return h("li", {}, text.label, " ", away);
      }),
    );
    this.#stood = null;
    this.#since.hidden = true;
    this.#said.replaceChildren(...(said.length ? [this.#since, h("ul", {}, ...said.map((line) => h("li", {}, line)))] : []));
  }

  /** A text that goes leaves the controls where it has put them. */
  #drop(text: Text): void {
    this.#texts = this.#texts.filter((other) => other !== text);
    this.#show([]);
    this.#changes.hidden = true;
    this.#desk.announce(`${text.label} is taken away.`);
    this.#box.focus();
  }

  async #rewrite(state: State): Promise<void> {
    const changed = (await this.#desk.tell("rewrite", this.#texts.map(({ text }) => text), state).catch(() => null)) as Record<string, string> | null;
    if (!changed) return;
    const diffs = Object.entries(changed);
    this.#changes.hidden = diffs.length === 0;
    this.#changes.replaceChildren(h("summary", {}, "Your files, changed to match"), ...diffs.flatMap(([name, diff]) => [h("p", {}, name), h("pre", { class: "il-reader__diff", tabindex: "0" }, h("code", {}, diff))]));
  }
}
