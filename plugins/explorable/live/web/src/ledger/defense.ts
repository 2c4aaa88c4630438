// <live-defense>: what the reader chose in each part, how far that is from the best, and why, in the reader's own words.
//
// The page lists the parts, a group in each item, with links that name an act and the question it asks: so this knows none of them.
import { MOST_WORDS, type Entry } from "./entry";
import { documentLedger } from "./ledger";
import { copyLink, forgetLink, openLink } from "./link";
import { figureWords } from "./numbers";
import { all, find, h, setText } from "../dom";
import type { Part } from "../element";
import { shareWords } from "./summary";

/** After so long without a key what was typed is kept. */
const PAUSE_MS = 400;

/** One part as the page lists it. */
interface Listed {
  act: string;
  title: string;
  href: string;
  asks: string;
}
interface Group {
  title: string;
  parts: Listed[];
}

export const mount = (host: HTMLElement): Part => new DefensePart(host);

class DefensePart implements Part {
  readonly #ledger = documentLedger();
  readonly #gone = new AbortController();
  readonly #groups: Group[];
  readonly #unsubscribe: () => void;
  readonly #offer = h("div", { class: "il-ledger__offer" });
  readonly #bar = h("div", { class: "il-ledger__bar" });
  readonly #link = h("input", { type: "text", readonly: true, class: "il-ledger__link", "aria-label": "Link with your defense", hidden: true });
  readonly #trouble = h("p", { class: "il-trouble", role: "alert" });
  readonly #status = h("p", { class: "il-ledger__status", role: "status" });
  readonly #shown = h("div", { class: "il-defense" });
  /** Entries that came with a link, in place of the reader's own. */
  #theirs: Entry[] | null = null;
  /** What was typed and is not kept yet. */
  readonly #typed = new Map<string, string>();
  /** Act -> shows an argument in its box and on paper. */
  readonly #shows = new Map<string, (argument: string) => void>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(host: HTMLElement) {
    const { signal } = this.#gone;
    const list = find(document, "[data-parts]");
    this.#groups = groupsIn(list);
    list.hidden = true;
    const copy = h("button", { type: "button", class: "il-button il-button--primary", "data-action": "copy" }, "Copy link");
    copy.addEventListener("click", () => void this.#copy(), { signal });
    const print = h("button", { type: "button", class: "il-button", "data-action": "print" }, "Print");
    print.addEventListener("click", () => window.print(), { signal });
    this.#bar.append(copy, print);
    host.replaceChildren(this.#offer, this.#bar, this.#link, this.#trouble, this.#status, this.#shown);
    this.#unsubscribe = this.#ledger.subscribe((_, elsewhere) => {
      if (elsewhere) this.#show();
    });
    window.addEventListener("hashchange", () => void this.#openLink(), { signal });
    window.addEventListener("pagehide", () => this.#keep(), { signal });
    this.#show();
    void this.#openLink();
  }

  onscreen(): void {
    void this.#ledger.reread();
  }

  offscreen(): void {
    this.#keep();
  }

  gone(): void {
    this.#keep();
    this.#gone.abort();
    this.#unsubscribe();
  }

  #show(): void {
    const played = new Map(this.#entries().map((entry) => [entry.act, entry]));
    if (this.#shown.contains(document.activeElement) && document.activeElement instanceof HTMLTextAreaElement) return this.#follow(played);
    this.#shows.clear();
    const groups = this.#groups.filter(({ parts }) => parts.some(({ act }) => played.has(act)));
    const mine = this.#theirs === null;
    this.#bar.hidden = !mine || !groups.length;
    this.#link.hidden = !mine || !this.#link.value;
    if (groups.length) return this.#shown.replaceChildren(...groups.map((group) => this.#group(group, played)));
    const links = this.#groups.flatMap(({ title, parts }) => parts.slice(0, 1).map(({ href }) => h("li", {}, h("a", { href }, title))));
    this.#shown.replaceChildren(h("p", {}, "There is nothing to defend yet. Begin a mission:"), h("ul", {}, ...links));
  }

  /** While the reader writes, the boxes stay where they are, and show what another tab wrote. */
  #follow(played: ReadonlyMap<string, Entry>): void {
    for (const [act, show] of this.#shows) if (!this.#typed.has(act)) show(played.get(act)?.memory?.argument ?? "");
  }

  #entries(): Entry[] {
    const listed = new Set(this.#groups.flatMap(({ parts }) => parts.map(({ act }) => act)));
    return (this.#theirs ?? this.#ledger.entries()).filter(({ act, memory }) => memory !== null && listed.has(act));
  }

  #group({ title, parts }: Group, played: ReadonlyMap<string, Entry>): HTMLElement {
    return h("section", {}, h("h2", {}, title), ...parts.map((part) => this.#part(part, played.get(part.act))));
  }

  #part(part: Listed, entry: Entry | undefined): HTMLElement {
    const head = h("h3", {}, h("a", { href: part.href }, part.title));
    if (!entry?.memory) return h("div", { class: "il-defense__part" }, head, h("p", { class: "il-help" }, "Not played yet."));
    const facts = h("dl", { class: "il-ledger__facts" }, ...chosen(entry).flatMap(([term, text]) => [h("dt", {}, term), h("dd", {}, text)]));
    const argument = this.#typed.get(part.act) ?? entry.memory.argument ?? "";
    const said = h("p", { class: "il-defense__said" }, argument || "No argument yet.");
    if (this.#theirs) return h("div", { class: "il-defense__part" }, head, facts, h("p", { class: "il-help" }, part.asks), said);
    return h("div", { class: "il-defense__part" }, head, facts, ...this.#box(part, argument, said));
  }

  /** A box to write in, and on paper what is written there. */
  #box({ act, asks }: Listed, argument: string, said: HTMLElement): HTMLElement[] {
    const id = `il-defense-${act}`;
    const box = h("textarea", { id, class: "il-defense__box", rows: "4", maxlength: String(MOST_WORDS), spellcheck: "true" });
    const write = (text: string): void => setText(said, text || "No argument yet.");
    box.value = argument;
    this.#shows.set(act, (text) => {
      // To set the same text would move the caret.
      if (box.value !== text) box.value = text;
      write(text);
    });
    box.addEventListener("input", () => {
      this.#typed.set(act, box.value);
      write(box.value);
      setText(this.#status, box.value.length >= MOST_WORDS ? `That is all the room there is: ${MOST_WORDS.toLocaleString("en-US")} characters.` : "");
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#keep(), PAUSE_MS);
    });
    box.addEventListener("blur", () => this.#keep());
    said.classList.add("il-defense__paper");
    return [h("label", { for: id }, asks), box, said];
  }

  #keep(): void {
    clearTimeout(this.#timer);
    const typed = [...this.#typed];
    this.#typed.clear();
    for (const [act, text] of typed) this.#ledger.argue(act, text);
  }

  async #copy(): Promise<void> {
    this.#keep();
    this.#trouble.replaceChildren();
    setText(this.#status, await copyLink(this.#link, this.#entries()));
  }

  /** A defense that came with a link is read in place of the reader's own, which stays as it is. */
  async #openLink(): Promise<void> {
    const opened = await openLink(this.#gone.signal);
    if (!opened) return;
    if ("problem" in opened) {
      this.#trouble.replaceChildren(opened.problem);
      return this.#closeLink();
    }
    this.#theirs = opened.entries;
    this.#keep();
    const close = h("button", { type: "button", class: "il-button il-button--primary", "data-action": "close" }, "Back to mine");
    close.addEventListener("click", () => {
      forgetLink();
      this.#closeLink();
      // The button is gone: the focus is where it is told what it did.
      const own = h("p", { tabindex: "-1" }, "This is your own defense again. Nothing was changed.");
      this.#offer.replaceChildren(own);
      own.focus();
    });
    this.#trouble.replaceChildren();
    this.#offer.replaceChildren(h("p", { role: "alert" }, "You are reading a defense that came with a link. Yours is untouched."), h("p", {}, close));
    this.#show();
  }

  #closeLink(): void {
    this.#theirs = null;
    this.#offer.replaceChildren();
    this.#show();
  }
}

/** The groups and parts that a list on the page names. */
export function groupsIn(list: ParentNode): Group[] {
  return all(list, "li").map((item) => ({
    title: item.querySelector("strong")?.textContent ?? "",
    parts: all<HTMLAnchorElement>(item, "a[data-act]").map(({ dataset, href, textContent }) => ({
      act: dataset.act ?? "",
      title: textContent,
      href,
      asks: dataset.asks ?? "",
    })),
  }));
}

/** Term -> words: what was chosen, what it reached, how far that is from the best; or what is still in the way. */
export function chosen({ memory, account }: Entry): [string, string][] {
  const best = memory?.best;
  if (!best) return [["Chosen", "Nothing yet that keeps every limit."], ...(account?.failure ? [["Last", account.failure] as [string, string]] : [])];
  const { headline, controls } = best;
  return [
    ["Chosen", controls.map(({ label, value }) => `${label} ${value}`).join(", ")],
    ["Reached", figureWords(headline)],
    ["Of the best found", shareWords(best)],
  ];
}
