// <live-ceilings>: measures the card of this machine in the browser, and shows it beside the book's figures and beside files of others.
import { containKeys, h, setText } from "../dom";
import type { Part } from "../element";
import { siteVersion } from "../release";
import type { Card } from "./cards";
import { ceilingsIn, FileProblem, isContributor, keep, kept, LONGEST, MOST_BYTES, MOST_KEPT, nameOf, textOf, type Ceilings } from "./file";
import { described, emulated, measure, MeasureProblem } from "./measure";
import { legend, roofline, SOLID } from "./roofline";
import { tableOf, type Row } from "./table";

/** Files that are shown at once. */
const MOST_OPENED = 4;
const WIDTHS = { least: 280, most: 680 };
/** The last entry of the list: a card that the book does not know. */
const OTHER = "";

export const mount = (host: HTMLElement): Part => new CeilingsPart(host);

class CeilingsPart implements Part {
  readonly #gone = new AbortController();
  readonly #host: HTMLElement;
  readonly #cards: Card[];
  readonly #card = h("select", { id: "il-ceilings-card" });
  readonly #start = h("button", { type: "button", class: "il-button il-button--primary", "data-action": "measure", hidden: true }, "Measure this machine");
  readonly #stop = h("button", { type: "button", class: "il-button", "data-action": "stop", hidden: true }, "Stop");
  readonly #file = h("input", { type: "file", accept: "application/json,.json", class: "il-vh", id: "il-ceilings-file" });
  readonly #save = h("a", { class: "il-button", "data-action": "save", hidden: true }, "Download the file");
  readonly #name = h("input", { type: "text", maxlength: String(LONGEST.name), autocomplete: "off" });
  readonly #link = h("input", { type: "url", maxlength: String(LONGEST.link), placeholder: "https://", autocomplete: "off" });
  readonly #give = h(
    "details",
    { class: "il-ceilings__give", hidden: true },
    h("summary", {}, "Give the file away"),
    h("p", { class: "il-help" }, "Both go into the file that you download, and nowhere else."),
    h("label", {}, "Your name ", this.#name),
    h("label", {}, "A page of yours ", this.#link),
  );
  readonly #forget = h("button", { type: "button", class: "il-button il-button--quiet", "data-action": "forget", hidden: true }, "Forget all");
  readonly #bar = h("progress", { max: "1", value: "0", "aria-label": "Share of the measurement that is done", hidden: true });
  readonly #offer = h("p", { class: "il-help", "data-slot": "offer" });
  readonly #status = h("p", { class: "il-ledger__status", role: "status", "data-slot": "status" });
  readonly #trouble = h("div", { class: "il-trouble", role: "alert" });
  readonly #table = h("div", { "data-slot": "table" });
  readonly #picture = h("div", { "data-slot": "picture" });
  readonly #legend = h("ul", { class: "il-ceilings__legend", "aria-label": "Lines of the picture" });
  readonly #width = new ResizeObserver(() => this.#draw());
  #adapter: GPUAdapter | null | undefined;
  #running: AbortController | null = null;
  #own: Ceilings[] = kept();
  #opened: Omit<Row, "shape">[] = [];

  constructor(host: HTMLElement) {
    this.#host = host;
    this.#cards = JSON.parse(host.dataset.cards ?? "[]") as Card[];
    const { signal } = this.#gone;
    containKeys(host, signal);
    this.#card.append(h("option", { value: OTHER }, "Another card, or I do not know"), ...this.#cards.map(({ name, title }) => h("option", { value: name }, title)));
    this.#card.value = this.#own[0]?.card ?? OTHER;
    if (this.#card.selectedIndex < 0) this.#card.value = OTHER;
    const on = (button: HTMLElement, act: () => void): void => button.addEventListener("click", act, { signal });
    on(this.#start, () => void this.#measure());
    on(this.#stop, () => this.#running?.abort());
    on(this.#forget, () => this.#forgetAll());
    this.#card.addEventListener("change", () => this.#draw(), { signal });
    this.#file.addEventListener("change", () => void this.#open(), { signal });
    for (const field of [this.#name, this.#link]) field.addEventListener("input", () => this.#write(), { signal });
    const choose = h("label", { class: "il-button", for: this.#file.id }, "Open a file");
    host.replaceChildren(
      h("p", { class: "il-ceilings__card" }, h("label", { for: this.#card.id }, "The card of this machine "), this.#card),
      this.#offer,
      h("div", { class: "il-ledger__bar" }, this.#start, this.#stop, h("span", { class: "il-ledger__file" }, this.#file, choose), this.#save, this.#forget),
      this.#give,
      this.#bar,
      this.#trouble,
      this.#status,
      this.#picture,
      this.#legend,
      this.#table,
    );
    this.#width.observe(this.#picture);
    this.#show();
  }

  onscreen(): void {
    if (this.#adapter === undefined) void this.#look();
  }

  offscreen(): void {
    // A measurement that was begun goes on.
  }

  gone(): void {
    this.#gone.abort();
    this.#running?.abort();
    this.#width.disconnect();
    URL.revokeObjectURL(this.#save.href);
  }

  /** Which card the browser offers, and in a sentence what that means. */
  async #look(): Promise<void> {
    this.#adapter = null;
    // TypeScript's library takes it for granted; browsers do not.
    const gpu = navigator.gpu as GPU | undefined;
    this.#adapter = (await gpu?.requestAdapter({ powerPreference: "high-performance" }).catch(() => null)) ?? null;
    if (this.#gone.signal.aborted) return;
    const { shell = "", seconds = "" } = this.#host.dataset;
    const elsewhere: (Node | string)[] = shell ? [" ", h("code", {}, shell), " measures the same in a shell, and its file can be opened here."] : [];
    if (!this.#adapter) {
      this.#offer.replaceChildren("This browser offers no card to web pages (WebGPU), so nothing can be measured here.", ...elsewhere);
    } else if (emulated(this.#adapter)) {
      this.#offer.replaceChildren("This browser offers no card, only an emulation of one by the processor, whose speed says nothing of a card.", ...elsewhere);
      setText(this.#start, "Measure the emulation all the same");
      this.#start.classList.remove("il-button--primary");
    } else {
      this.#offer.replaceChildren(`It takes about ${seconds} seconds, and nothing leaves this browser.`);
    }
    this.#start.hidden = !this.#adapter;
  }

  async #measure(): Promise<void> {
    const adapter = this.#adapter;
    if (!adapter || this.#running) return;
    const running = (this.#running = new AbortController());
    this.#fail("");
    this.#busy(true);
    this.#stop.focus();
    try {
      const seconds = Number(this.#host.dataset.seconds);
      const told = (share: number, doing: string): void => {
        this.#bar.value = share;
        this.#say(`Measuring ${doing}.`);
      };
      this.#say("Measuring.");
      const found = await measure(adapter, { seconds, signal: running.signal, told });
      const made: Ceilings = { ...this.#about(adapter), ...found };
      // Another tab may have measured since.
      this.#own = [made, ...kept()].slice(0, MOST_KEPT);
      const lasting = keep(this.#own);
      this.#say(`Measured${lasting ? "" : ". This browser keeps nothing: download the file"}.`);
    } catch (error) {
      this.#say("");
      if (running.signal.aborted) this.#say("Stopped. Nothing is kept of a measurement that did not end.");
      else this.#fail(`Nothing was measured: ${error instanceof MeasureProblem ? error.message : `the browser says: ${String(error).slice(0, 120)}`}.`);
    } finally {
      this.#running = null;
      // An adapter gives one device: the next measurement takes another.
      this.#adapter = undefined;
      if (!this.#gone.signal.aborted) {
        const hadFocus = this.#stop === document.activeElement;
        this.#busy(false);
        await this.#look();
        if (hadFocus && !this.#start.hidden) this.#start.focus();
        this.#show();
      }
    }
  }

  #about(adapter: GPUAdapter): Omit<Ceilings, "products" | "copies"> {
    return {
      kind: "ceilings",
      schema_version: 1,
      card: this.#card.value,
      measured: new Date().toISOString().replace(/\.\d+Z$/, "Z"),
      place: "browser",
      program: `WebGPU, site ${siteVersion()}`.slice(0, LONGEST.program),
      system: navigator.userAgent.slice(0, LONGEST.system),
      device: described(adapter).slice(0, LONGEST.device),
      emulated: emulated(adapter),
      tensor_cores: false,
      statistic: "best",
    };
  }

  #busy(busy: boolean): void {
    if (busy) this.#bar.value = 0;
    this.#bar.hidden = this.#stop.hidden = !busy;
    this.#start.hidden = busy;
    this.#card.disabled = busy;
  }

  async #open(): Promise<void> {
    const file = this.#file.files?.[0];
    if (!file) return;
    // The same file can be chosen again.
    this.#file.value = "";
    const name = file.name.slice(0, 60);
    this.#fail("");
    try {
      if (file.size > MOST_BYTES) throw new FileProblem(`it has more than ${MOST_BYTES / 1024} KiB`);
      const made = ceilingsIn(await file.text());
      this.#opened = [{ made, file: name }, ...this.#opened.filter((one) => one.file !== name)].slice(0, MOST_OPENED);
      if (this.#cards.some((card) => card.name === made.card) && !this.#running) this.#card.value = made.card;
      this.#say(`${name} is shown below. It is not kept.`);
      this.#show();
    } catch (error) {
      this.#fail(`${name} was not opened: ${error instanceof FileProblem ? error.message : "it cannot be read"}.`);
    }
  }

  #forgetAll(): void {
    this.#own = [];
    this.#opened = [];
    keep([]);
    this.#show();
    this.#say("Forgotten.");
  }

  #show(): void {
    this.#forget.hidden = !this.#rows().length;
    this.#write();
    this.#draw();
  }

  /** The newest measurement as a file to download, with who gives it away where both fields say it. */
  #write(): void {
    const [newest] = this.#own;
    URL.revokeObjectURL(this.#save.href);
    this.#save.hidden = this.#give.hidden = !newest;
    if (!newest) return;
    const contributor = { name: this.#name.value.trim(), link: this.#link.value.trim() };
    const made = isContributor(contributor) ? { ...newest, contributor } : newest;
    this.#save.href = URL.createObjectURL(new Blob([textOf(made)], { type: "application/json" }));
    this.#save.download = nameOf(made);
  }

  #rows(): Row[] {
    const own = this.#own.map((made, shape) => ({ made, file: "", shape }));
    return [...own, ...this.#opened.map((one, at) => ({ ...one, shape: SOLID + at }))];
  }

  #chosen(): Card | null {
    return this.#cards.find(({ name }) => name === this.#card.value) ?? null;
  }

  #draw(): void {
    const card = this.#chosen();
    const rows = this.#rows();
    const width = Math.round(Math.min(WIDTHS.most, Math.max(WIDTHS.least, this.#picture.clientWidth)));
    const svg = roofline(card, rows, width);
    this.#legend.replaceChildren(...legend(card, rows));
    this.#legend.hidden = !this.#legend.childElementCount;
    this.#picture.replaceChildren(...(svg ? [svg] : []));
    this.#table.replaceChildren(...(rows.length ? [tableOf(rows, this.#cards)] : []));
  }

  #say(text: string): void {
    setText(this.#status, text);
  }

  #fail(text: string): void {
    this.#trouble.replaceChildren(text);
    if (text) this.#say("");
  }
}
