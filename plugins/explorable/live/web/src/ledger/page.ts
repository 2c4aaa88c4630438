// <live-ledger>: everything the reader did in the acts, readable and printable, and the ways to take it along.
import { confirmInline } from "../confirm";
import type { Entry } from "./entry";
import { entriesIn, fileName, fileOf, fitting, reasonOf, textIn, textOf } from "./file";
import { documentLedger, type Merged } from "./ledger";
import { copyLink, forgetLink, openLink } from "./link";
import { keepPlayer, LONGEST_NAME, player } from "./player";
import { bookId } from "../release";
import { siteUrl } from "../site";
import { h, setText } from "../dom";
import type { Part } from "../element";
import { summaryOf, type Href } from "./summary";
import { undirected } from "../marks";
import { homesOfActs } from "../trail";

/** So many acts of a link are named. */
const MOST_NAMES = 10;

export const mount = (host: HTMLElement): Part => new LedgerPart(host);

class LedgerPart implements Part {
  readonly #ledger = documentLedger();
  readonly #gone = new AbortController();
  readonly #unsubscribe: () => void;
  readonly #trouble = h("p", { class: "il-trouble", role: "alert" });
  readonly #status = h("p", { class: "il-ledger__status", role: "status" });
  readonly #offer = h("div", { class: "il-ledger__offer" });
  readonly #storage = h("p", { class: "il-help il-ledger__storage" });
  readonly #download = h("a", { class: "il-button il-button--primary", download: "" }, "Download");
  readonly #link = h("input", { type: "text", readonly: true, class: "il-ledger__link", "aria-label": "Link with your ledger", hidden: true });
  readonly #file = h("input", { type: "file", accept: "application/json,.json", class: "il-vh", id: "il-ledger-file" });
  readonly #bar = h("div", { class: "il-ledger__bar" });
  readonly #name = h("input", { type: "text", class: "il-ledger__name", maxlength: String(LONGEST_NAME), autocomplete: "off" });
  readonly #named = h("label", { class: "il-ledger__named" }, "Name in files that you download (optional) ", this.#name);
  readonly #acts = h("div", { class: "il-ledger__acts" });
  readonly #reset = h("span", { "data-slot": "reset" }, h("button", { type: "button", class: "il-button il-button--quiet", "data-action": "reset" }, "Reset"));

  /** An act may have moved since the entry was written. */
  #homes: ReadonlyMap<string, string> = new Map();
  readonly #href: Href = (page, act) => siteUrl(this.#homes.get(act) ?? page);
  readonly #ordered = (entries: readonly Entry[]): Entry[] => inOrder(entries, [...this.#homes.keys()]);

  constructor(host: HTMLElement) {
    const { signal } = this.#gone;
    const copy = h("button", { type: "button", class: "il-button", "data-action": "copy" }, "Copy link");
    copy.addEventListener("click", () => void this.#copy(), { signal });
    const print = h("button", { type: "button", class: "il-button", "data-action": "print" }, "Print");
    print.addEventListener("click", () => window.print(), { signal });
    this.#file.addEventListener("change", () => void this.#import(), { signal });
    this.#name.value = player();
    this.#name.addEventListener("input", () => this.#call(), { signal });
    const choose = h("label", { class: "il-button il-ledger__import", for: this.#file.id }, "Import");
    confirmInline(this.#reset, () => "Every prediction, answer and move in every act will be gone.", () => this.#resetAll(), signal);
    this.#bar.append(this.#download, h("span", { class: "il-ledger__file" }, this.#file, choose), copy, print, this.#reset);
    host.replaceChildren(
      this.#offer,
      this.#bar,
      this.#named,
      this.#link,
      this.#trouble,
      this.#status,
      this.#storage,
      this.#acts,
    );
    this.#unsubscribe = this.#ledger.subscribe(() => this.#show());
    window.addEventListener("hashchange", () => void this.#openLink(), { signal });
    this.#show();
    void this.#openLink();
    void homesOfActs().then((homes) => {
      this.#homes = homes;
      if (!this.#gone.signal.aborted) this.#show();
    });
  }

  onscreen(): void {
    void this.#ledger.reread();
  }

  offscreen(): void {}

  gone(): void {
    this.#gone.abort();
    this.#unsubscribe();
    URL.revokeObjectURL(this.#download.href);
  }

  #call(): void {
    keepPlayer(this.#name.value);
    this.#show();
  }

  #show(): void {
    const entries = this.#ledger.entries();
    this.#acts.replaceChildren(...summaryOf(fileOf(entries), this.#ordered(entries), this.#href));
    const written = fitting(entries);
    URL.revokeObjectURL(this.#download.href);
    const file = { ...fileOf(written), ...(player() && { player: player() }) };
    // The files of a class meet in one folder.
    this.#download.download = fileName(`${bookId()}-ledger`, player(), "json");
    this.#download.href = URL.createObjectURL(new Blob([textOf(file)], { type: "application/json" }));
    const notes = [
      this.#ledger.lasting ? "" : "This browser does not keep all that you do now: it is gone when you leave. Download it, or copy the link.",
      this.#ledger.damaged ? `A part of what this browser had kept was damaged and is left out (${this.#ledger.damaged}).` : "",
      written.length < entries.length ? `A file and a link hold the newest ${written.length} of these ${entries.length} acts.` : "",
    ];
    setText(this.#storage, notes.filter(Boolean).join(" "));
  }

  async #copy(): Promise<void> {
    this.#say("");
    this.#say(await copyLink(this.#link, this.#ledger.entries()));
  }

  async #import(): Promise<void> {
    const file = this.#file.files?.[0];
    if (!file) return;
    // The same file can be chosen again, and another while this one is read.
    this.#file.value = "";
    try {
      this.#merge(entriesIn(await textIn(file)), file.name);
    } catch (error) {
      this.#fail(`${file.name} was not imported. ${reasonOf(error)} Nothing was changed.`);
    }
  }

  /** A link that carries a ledger opens for reading, in place of the reader's own, which stays as it is. */
  async #openLink(): Promise<void> {
    const opened = await openLink(this.#gone.signal);
    if (!opened) return;
    if ("problem" in opened) {
      // It stays in the address: the theme may show the page anew, and then says the same again.
      this.#fail(opened.problem);
      return this.#closeLink();
    }
    const found = opened.entries;
    const close = h("button", { type: "button", class: "il-button il-button--primary", "data-action": "close" }, "Back to mine");
    const merge = h("button", { type: "button", class: "il-button", "data-action": "merge" }, "Merge into mine");
    merge.addEventListener("click", () => {
      this.#forgetLink();
      this.#merge(found, "The link");
      this.#land();
    });
    close.addEventListener("click", () => {
      this.#forgetLink();
      this.#say("This is your own ledger again. Nothing was changed.");
      this.#land();
    });
    const names = namesOf(found) || "no acts";
    this.#offer.replaceChildren(
      h("p", { role: "alert" }, `You are reading a ledger that came with a link: ${undirected(names)}. Yours is untouched.`),
      h("p", {}, close, " ", merge),
      h("p", { class: "il-help" }, "To merge takes its acts into yours. Where you played an act yourself, the newer version of the two stays."),
      h("div", { class: "il-ledger__acts" }, ...summaryOf(fileOf(found), this.#ordered(found), this.#href)),
    );
    this.#reads(true);
  }

  /** While somebody else's ledger is read, the reader's own and the ways to change it are put aside. */
  #reads(another: boolean): void {
    for (const own of [this.#bar, this.#named, this.#link, this.#acts]) own.hidden = another || (own === this.#link && !this.#link.value);
  }

  #forgetLink(): void {
    forgetLink();
    this.#closeLink();
  }

  #closeLink(): void {
    this.#offer.replaceChildren();
    this.#reads(false);
  }

  #merge(entries: readonly Entry[], what: string): void {
    const both = [...this.#ledger.entries().filter((mine) => !entries.some(({ act }) => act === mine.act)), ...entries];
    if (fitting(both).length < both.length) return this.#fail(`${what} was not imported. It does not fit beside what is here. Nothing was changed.`);
    const merged = this.#ledger.merge(entries);
    this.#trouble.replaceChildren();
    this.#say(said(merged, what));
  }

  #resetAll(): void {
    this.#ledger.resetAll();
    this.#link.hidden = true;
    this.#say("Every act starts again.");
    this.#land();
  }

  /** What was pressed is gone: the focus is where what it did is told. */
  #land(): void {
    this.#status.tabIndex = -1;
    this.#status.focus();
  }

  #say(text: string): void {
    setText(this.#status, undirected(text));
    if (text) this.#trouble.replaceChildren();
  }

  #fail(text: string): void {
    this.#status.replaceChildren();
    this.#trouble.replaceChildren(undirected(text));
  }
}

/** Acts as the site orders them; what it does not have comes last. */
export function inOrder(entries: readonly Entry[], order: readonly string[]): Entry[] {
  const place = ({ act }: Entry): number => (order.includes(act) ? order.indexOf(act) : order.length);
  return [...entries].sort((one, other) => place(one) - place(other));
}

function namesOf(entries: readonly Entry[]): string {
  const names = entries.map((entry) => entry.account?.title ?? entry.act);
  const more = names.length - MOST_NAMES;
  return [...names.slice(0, MOST_NAMES), ...(more > 0 ? [`${more} more`] : [])].join(", ");
}

function said({ taken, kept }: Merged, what: string): string {
  const acts = (count: number): string => `${count} ${count === 1 ? "act" : "acts"}`;
  const [newer, again] = kept.length === 1 ? ["yours is", "it to take the other"] : ["yours are", "them to take the others"];
  if (!taken.length && !kept.length) return `${what}: the ledger in it is empty.`;
  const stayed = kept.length ? ` ${acts(kept.length)} stayed as here, because ${newer} as new or newer; reset ${again}.` : "";
  return `${what}: ${acts(taken.length)} taken.${stayed}`;
}
