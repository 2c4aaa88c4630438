// Texts that a reader pastes, drops or opens: they go to the page's Python, which says what they set, and to nobody else.
import { find, h, setText } from "../dom";
import { equal } from "../equal";
import { bounded } from "../marks";
import type { Heard, State } from "../python/protocol";
import type { Desk } from "./desk";

/** Of a text that is longer, the end is read: a log's last lines count. */
const MOST_CHARACTERS = 1_000_000;
const MOST_TEXTS = 8;
/** Bytes at the beginning of a safetensors file that say how long its header is. */
const LENGTH_BYTES = 8;
/** Beside the verdict where nothing that was given was read; and where a part of it was. */
const AS_BEFORE = "This is still the plan as it stood before: what you gave was not read.";
const IN_PART = "This is not the last word: a text that you gave could not be read, and the answer is without it.";

interface Text {
  label: string;
  text: string;
}

/** What a reader gives: a file's name and text, or a pasted text without a name. */
interface Given {
  name: string;
  text: string;
}

/** Why something was not read, with the name of its file where it has one. */
const unread = ({ name }: Given, why: string): string => (name ? `${name}: ${why.replace(/[.]?$/, ".")}` : why);

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
  /** Beside the verdict while a text was not read: whose it is. */
  readonly #unread = h("p", { class: "il-reader__unread", hidden: true });
  /** Where the controls stood when nothing of what was given was read; null otherwise. */
  #asBefore: State["controls"] | null = null;
  readonly #since = h("p", { hidden: true }, "Before you moved the settings, when this was read:");
  #texts: Text[] = [];
  /** Where the controls stood when it was read. */
  #stood: State["controls"] | null = null;
  /** The same, with what the texts say of controls that stay where the reader has moved them. */
  #told: State["controls"] | null = null;
  /** What was given last, until it is read. */
  #reading: Promise<unknown> = Promise.resolve();
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
    this.#box.addEventListener("paste", (event) => this.#pasted(event), { signal });
    this.#box.addEventListener("keydown", (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && this.#readBox(), { signal });
    input.addEventListener("change", () => void this.#readFiles(input), { signal });
    this.#takeDrops(desk.host, signal);
  }

  /** Shows how the texts change with a state, and whether what was told of them is of another one. */
  follow(state: State): void {
    this.#since.hidden = !this.#stood || equal(this.#stood, state.controls);
    // With the next change it is a plan of the reader's own.
    if (this.#asBefore && !equal(this.#asBefore, state.controls)) this.#mark("");
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

  /** What a browser could not lay out in time goes into the box without its surplus of marks. */
  #pasted(event: ClipboardEvent): void {
    const text = event.clipboardData?.getData("text/plain") ?? "";
    const shown = bounded(text);
    if (shown !== text) {
      event.preventDefault();
      this.#box.setRangeText(shown, this.#box.selectionStart, this.#box.selectionEnd, "end");
    }
    queueMicrotask(() => setTimeout(() => this.#readBox()));
  }

  #readBox(): void {
    const text = this.#box.value;
    void this.#paste(text).then((read) => {
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

  /** Each file that can be read is taken; of each other one it is said why it cannot. */
  async #open(files: readonly File[]): Promise<void> {
    const given: Given[] = [];
    const empty: string[] = [];
    const refused: string[] = [];
    for (const file of files.slice(0, MOST_TEXTS)) {
      try {
        const text = await textOf(file);
        if (text.trim()) given.push({ name: file.name, text });
        else empty.push(file.name);
      } catch (error) {
        if (!(error instanceof RangeError || error instanceof DOMException)) throw error;
        refused.push(error instanceof RangeError ? error.message : `${file.name} could not be read.`);
      }
    }
    given.push(...files.slice(MOST_TEXTS).map(({ name }) => ({ name, text: "" })));
    if (empty.length) refused.push(`There is nothing to read in ${empty.join(", ")}.`);
    await this.#add(given, refused);
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
        void (files.length ? this.#open(files) : this.#paste(text));
      },
      { signal },
    );
  }

  /** Says why a text was not read, beside it and beside the answer, which then is none of all texts; nothing where all were. */
  #refuse(why: string, inPart = false): void {
    setText(this.#problem, why);
    this.#mark(why && (inPart ? IN_PART : AS_BEFORE));
  }

  /** Says beside the answer whose it is. */
  #mark(said: string): void {
    setText(this.#unread, said);
    this.#unread.hidden = !said;
    this.#asBefore = said === AS_BEFORE ? this.#desk.state().controls : null;
    this.#desk.host.toggleAttribute("data-unread", Boolean(said));
  }

  #paste(text: string): Promise<boolean> {
    const given = text.slice(-MOST_CHARACTERS);
    return this.#add(given.trim() ? [{ name: "", text: given }] : []);
  }

  /** Reads these texts together with those that are there, those that were given first before the others, and says of each text that cannot be read
   * why, behind what was `refused` before. Whether all were read. */
  #add(given: readonly Given[], refused: readonly string[] = []): Promise<boolean> {
    const cleared = this.#cleared;
    const read = this.#reading.then(() => cleared !== this.#cleared || this.#readAll(given, refused, cleared));
    this.#reading = read.catch(() => false);
    return read;
  }

  async #readAll(given: readonly Given[], refused: readonly string[], cleared: number): Promise<boolean> {
    this.#refuse("");
    const room = MOST_TEXTS - this.#texts.length;
    const why = [...refused, ...given.slice(room).map((one) => unread(one, `At most ${MOST_TEXTS} texts are read together: take one away first.`))];
    const offered = given.slice(0, room);
    let kept = this.#texts.map(({ text }) => text);
    let heard: Heard | null = null;
    /** Whether an answer came: an error, or these texts beside those that are kept. */
    const hear = async (more: readonly Given[], failed: (message: string) => void): Promise<boolean> => {
      const texts = [...kept, ...more.map(({ text }) => text)];
      try {
        const state = { ...this.#desk.state(), ...(this.#told && { stood: this.#told }) };
        const answer = (await this.#desk.tell("hear", texts, state)) as Heard | null;
        if (!answer) return false;
        [kept, heard] = [texts, answer];
      } catch (error) {
        if (!(error instanceof Error)) throw error;
        failed(error.message);
      }
      return true;
    };
    let together = offered.length > 1;
    let ended = together && !(await hear(offered, () => (together = false)));
    // What cannot be read, or not beside the others, takes none of them with it.
    if (!together) for (const one of offered) ended ||= !(await hear([one], (message) => why.push(unread(one, message))));
    if (cleared !== this.#cleared) return true;
    if (ended) why.push("Python ended before all was read: give it again.");
    if (heard) this.#take(kept, heard);
    this.#refuse(why.join(" "), heard !== null);
    return heard !== null && !why.length;
  }

  #take(texts: readonly string[], heard: Heard): void {
    // A text without a label counts no more beside the others.
    this.#texts = texts.map((text, index) => ({ text, label: heard.labels[index] ?? "" })).filter(({ label }) => label);
    const [told, before] = [this.#told ?? {}, this.#desk.state().controls];
    this.#show(heard.said);
    this.#desk.set(heard.controls);
    const stood = this.#desk.state().controls;
    const moved = Object.entries(told).filter(([name, value]) => value !== before[name] && before[name] === stood[name]);
    this.#stood = stood;
    this.#told = { ...stood, ...Object.fromEntries(moved) };
  }

  #show(said: readonly string[]): void {
    this.#list.replaceChildren(
      ...this.#texts.map((text) => {
        const away = h("button", { type: "button", class: "il-button il-button--quiet", "aria-label": `Take ${text.label} away` }, "×");
        away.addEventListener("click", () => this.#drop(text), { signal: this.#desk.signal });
        return h("li", {}, text.label, " ", away);
      }),
    );
    this.#stood = this.#told = null;
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
