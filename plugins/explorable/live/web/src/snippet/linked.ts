// What stands above a snippet whose code came with a link or a ledger, and the button that makes such a link.
import { h, setText, slot } from "../dom";
import { FRAGMENT, linkedCode, linkTo, MOST_CODE } from "./link";

/** Milliseconds for which a button says that it has copied. */
const COPIED_MS = 2500;

/** "Copy link"; on a narrow screen the second word stands for both. */
const COPY = (): (Node | string)[] => [h("span", { class: "il-snippet__wide", "aria-hidden": "true" }, "Copy "), h("span", { "aria-hidden": "true" }, "link"), h("span", { class: "il-vh" }, "Copy link")];

/** The snippet whose code a link may replace. */
export interface Linkable {
  readonly host: HTMLElement;
  readonly name: string;
  /** The code in the editor. */
  text(): string;
  /** Shows another code, of which nothing is kept, and says whether it could. */
  show(code: string): Promise<boolean>;
  /** Keeps the code in the editor as the reader's own. */
  keep(): void;
}

export class LinkedCode {
  readonly #snippet: Linkable;
  readonly #gone: AbortSignal;
  readonly #place = h("div", { class: "il-snippet__link", hidden: true });
  readonly #address = h("input", { type: "text", readonly: true, class: "il-ledger__link", "aria-label": "Link to this code", hidden: true });
  /** The reader's own code while another's is shown. */
  #own: string | null = null;
  #agreed = false;

  constructor(snippet: Linkable, gone: AbortSignal) {
    this.#snippet = snippet;
    this.#gone = gone;
    slot(snippet.host, "code").before(this.#place, this.#address);
    const copy = h("button", { type: "button", class: "il-button il-button--quiet", "data-action": "copy" }, ...COPY());
    copy.addEventListener("click", () => void this.#copy(copy), { signal: gone });
    snippet.host.querySelector(".il-snippet__buttons")?.append(" ", copy);
    gone.addEventListener("abort", () => [this.#place, this.#address, copy].forEach((one) => one.remove()));
    addEventListener("hashchange", () => void this.open(), { signal: gone });
    void this.open();
  }

  /** Is the code in the editor somebody else's? */
  get shown(): boolean {
    return this.#own !== null;
  }

  /** What runs without the reader's word: never the code of a link. */
  get own(): string {
    return this.#own !== null && !this.#agreed ? this.#own : this.#snippet.text();
  }

  /** Whether what runs is somebody else's: the reader has agreed to it, and not made it their own. */
  get strange(): boolean {
    return this.#own !== null && this.#agreed;
  }

  /** Whether the code may run as part of something else that the reader has asked for. */
  get free(): boolean {
    return this.#own === null || this.#agreed;
  }

  /** The reader runs what is shown. */
  agree(): void {
    this.#agreed = true;
  }

  /** Opens the code that the page's address carries for this snippet. */
  async open(): Promise<void> {
    const fragment = location.hash;
    const linked = await linkedCode(fragment, this.#snippet.name);
    if (!linked || this.#gone.aborted || location.hash !== fragment) return;
    if ("problem" in linked) {
      this.#say(`${linked.problem} What you see is your own.`);
    } else if (linked.code !== this.#snippet.text()) {
      await this.offer(linked.code, "a link");
    }
    this.#snippet.host.scrollIntoView({ block: "center", behavior: "instant" });
  }

  /** Shows code that came with something and may be anybody's, in place of the reader's own, which stays. */
  async offer(code: string, source: string): Promise<void> {
    this.#own ??= this.#snippet.text();
    this.#agreed = false;
    if (!(await this.#snippet.show(code))) {
      this.#own = null;
      return this.#say(`The code that came with ${source} needs the editor, which did not load.`);
    }
    const back = this.#button("back", "Back to my code", () => this.back());
    const keep = this.#button("keep", "Keep it as mine", () => this.#keep());
    this.#say(`This code came with ${source}. The authors of this page have not seen it. It runs only when you press Run, and is gone when you leave.`, back, keep);
  }

  /** Shows the reader's own code again. */
  back(): void {
    if (this.#own !== null) void this.#snippet.show(this.#own);
    this.#close();
  }

  #keep(): void {
    this.#snippet.keep();
    this.#close();
  }

  #close(): void {
    this.#own = null;
    this.#place.hidden = true;
    this.#place.replaceChildren();
    if (location.hash.startsWith(FRAGMENT)) history.replaceState(history.state, "", location.pathname + location.search);
    slot(this.#snippet.host, "code").querySelector<HTMLElement>(".cm-content")?.focus();
  }

  async #copy(button: HTMLButtonElement): Promise<void> {
    const link = await linkTo(location.href, this.#snippet.name, this.#snippet.text());
    if (link === null) {
      return this.#say(`This code does not fit into a link, which holds ${MOST_CODE.toLocaleString("en-US")} characters that an editor shows.`);
    }
    try {
      await navigator.clipboard.writeText(link);
      slot(this.#snippet.host, "announce").textContent = "The link is copied. Whoever opens it sees this code.";
      setText(button, "Copied");
      window.setTimeout(() => button.replaceChildren(...COPY()), COPIED_MS);
    } catch {
      this.#address.value = link;
      this.#address.hidden = false;
      this.#address.focus();
      this.#address.select();
    }
  }

  #say(text: string, ...buttons: HTMLElement[]): void {
    const row = buttons.length ? [h("p", {}, ...buttons.flatMap((button) => [button, " "]))] : [];
    this.#place.replaceChildren(h("p", { role: "alert" }, text), ...row);
    this.#place.hidden = false;
  }

  #button(action: string, label: string, act: () => void): HTMLButtonElement {
    const button = h("button", { type: "button", class: "il-button", "data-action": action }, label);
    button.addEventListener("click", act, { signal: this.#gone });
    return button;
  }
}
