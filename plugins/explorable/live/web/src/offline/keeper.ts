// What becomes of the kept book, told at the foot of every page. Nothing is downloaded or stored before the reader has seen the size and agreed.
import { forgetBook, heldBook, keepBook, servedContents, type Contents } from "./book";
import { bookIs } from "./names";
import { h, setText } from "../dom";
import { bookId } from "../release";

export { keptBooks } from "./book";

type Action = [label: string, act: () => void];

const MEGABYTE = 1e6;
const COULD_NOT = "The book could not be kept";
const root = new URL("../../", import.meta.url).href;
bookIs(bookId());

const SIGN_IN = "something else came instead of its program; does this network want you to sign in?";
const KEPT = "This book is kept in this browser.";

async function register(): Promise<void> {
  // What a browser says of another file in its place is no sentence for a reader.
  await navigator.serviceWorker.register(`${root}sw.js`, { scope: root }).catch((error: unknown) => {
    throw error instanceof DOMException ? new Error(SIGN_IN) : error;
  });
}

const aborted = (signal: AbortSignal): Promise<never> => new Promise((_, refuse) => signal.addEventListener("abort", () => refuse(signal.reason), { once: true }));

/** One for the document: instant navigation replaces the foot of the page while a download goes on. */
class Keeper {
  readonly #text = h("span", { role: "status" });
  readonly #buttons = h("span", { class: "il-keep__buttons" });
  #busy = false;
  /** Does the text say how things stand, so that it has to be looked at again? */
  #rests = false;
  /** Counts the looks at what is there: what an older look finds is not shown. */
  #looks = 0;
  /** The releases that came without the reader's asking: each once, whatever came of it. */
  readonly #fetched = new Set<string>();

  constructor() {
    // Another tab, or the browser when it is short of room, may have thrown the book away meanwhile.
    addEventListener("focus", () => void (this.#rests && this.#begin()));
  }

  show(host: HTMLElement): void {
    host.replaceChildren(this.#text, " ", this.#buttons);
    if (!this.#busy) void this.#begin();
  }

  /** Answers the reader who has asked for the book where nothing of it is kept. */
  async ask(host: HTMLElement): Promise<void> {
    host.replaceChildren(this.#text, " ", ...host.querySelectorAll(".il-keep__buttons"));
    await this.#ask();
    host.querySelector(".il-keep__buttons")?.replaceWith(this.#buttons);
  }

  async #begin(): Promise<void> {
    const look = (this.#looks += 1);
    const late = (): boolean => this.#busy || look !== this.#looks;
    const { whole, part } = await heldBook(root).catch(() => ({ whole: null, part: new Set<string>() }));
    if (late()) return;
    // Another book of the same origin may have taken the service worker away, without which nothing that is kept is found.
    const governed = !whole || (await navigator.serviceWorker.getRegistration(root));
    const lost = governed ? null : await register().then(() => null, (error: unknown) => error);
    if (late()) return;
    if (lost) return this.#fail("The book is in this browser, but it cannot be opened without a network", lost);
    const forget: Action = ["Forget it", () => void this.#forget()];
    if (!whole && !part.size) this.#show("", ["Keep this book", () => void this.#ask()]);
    else this.#show(whole ? KEPT : "A part of this book is in this browser.", forget);
    // From here on a change elsewhere begins another look, which this one does not outlive.
    this.#rests = true;
    const served = whole || part.size ? await servedContents(root).catch(() => null) : null;
    if (late()) return;
    if (!whole && part.size) {
      const there = served ? `${megabytes(total(served, part))} of ${megabytes(total(served))} MB` : "A part";
      this.#show(`${there} of this book ${served ? "are" : "is"} in this browser, which is not enough to read without a network.`, ["Go on", () => void (served ? this.#keep(served) : this.#ask())], forget);
    }
    this.#rests = true;
    if (!whole || !served || served.release === whole.release || this.#fetched.has(served.release)) return;
    this.#fetched.add(served.release);
    await this.#download(served, "A newer release arrives", "The newer release did not arrive, and the book of before stays");
  }

  async #ask(): Promise<void> {
    this.#looks += 1;
    this.#show("Asking for the list of the book.");
    try {
      const contents = await servedContents(root);
      const size = `${megabytes(total(contents))} MB`;
      const { quota = Number.POSITIVE_INFINITY, usage = 0 } = (await navigator.storage?.estimate?.()) ?? {};
      const room = quota - usage < total(contents) ? ` This browser offers the site only ${Math.floor((quota - usage) / MEGABYTE)} MB.` : "";
      this.#show(
        `The whole book, with its acts and Python, takes ${size} in this browser.${room}`,
        ["Keep it", () => void this.#keep(contents)],
        ["Not now", () => void this.#begin()],
      );
    } catch (error) {
      this.#fail(COULD_NOT, error);
    }
  }

  async #keep(contents: Contents): Promise<void> {
    // Without permission for persistent storage a browser short of room may delete the book. Some ask the reader, so nothing waits for it.
    void navigator.storage?.persist?.().catch(() => false);
    await this.#download(contents, "The book arrives", COULD_NOT);
  }

  async #download(contents: Contents, doing: string, failed: string): Promise<void> {
    const stop = new AbortController();
    let stopped = false;
    this.#busy = true;
    const whole = total(contents);
    let [there, at] = [0, performance.now()];
    const tell = (): void => {
      const silent = 10 * Math.floor((performance.now() - at) / 10_000);
      const waits = silent ? `; nothing has come for ${silent} seconds` : "";
      this.#show(`${doing}: ${Math.floor((100 * there) / whole)} %${waits}`, ["Stop", () => ((stopped = true), stop.abort())]);
    };
    const moved = (bytes: number): void => {
      [there, at] = [bytes, performance.now()];
      tell();
    };
    const clock = setInterval(tell, 1000);
    const settled = (): void => {
      clearInterval(clock);
      this.#busy = false;
    };
    try {
      moved(0);
      await Promise.race([register(), aborted(stop.signal)]);
      await keepBook(root, contents, moved, stop);
      settled();
      await this.#begin();
    } catch (error) {
      settled();
      // What has arrived stays, and another try goes on from there.
      if (stopped) await this.#begin();
      else this.#fail(failed, error);
    }
  }

  async #forget(): Promise<void> {
    await forgetBook(root);
    await (await navigator.serviceWorker.getRegistration(root))?.unregister();
    await this.#begin();
  }

  #fail(what: string, error: unknown): void {
    const why = error instanceof Error ? error.message : String(error);
    this.#show(`${what}: ${why.replace(/\.$/, "")}.`, ["Retry", () => void this.#ask()], ["Forget it", () => void this.#forget()]);
  }

  #show(text: string, ...actions: Action[]): void {
    this.#rests = false;
    setText(this.#text, text);
    const labels = actions.map(([label]) => label).join("|");
    // The buttons stay, with the focus: what they do is the same.
    if (this.#buttons.dataset.labels === labels && (labels === "Stop" || text === KEPT)) return;
    this.#buttons.dataset.labels = labels;
    this.#buttons.replaceChildren(
      ...actions.flatMap(([label, act]) => {
        const button = h("button", { type: "button", class: "il-button il-button--quiet" }, label);
        button.addEventListener("click", act);
        return [button, " "];
      }),
    );
  }
}

/** Bytes of a release, or of those of its files that are there. */
function total({ files }: Contents, there?: ReadonlySet<string>): number {
  return Object.entries(files).reduce((sum, [path, [bytes]]) => (!there || there.has(new URL(root + path).href) ? sum + bytes : sum), 0);
}

const megabytes = (bytes: number): number => Math.ceil(bytes / MEGABYTE);

export const keeper = new Keeper();
