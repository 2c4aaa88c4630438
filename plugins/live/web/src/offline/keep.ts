// <live-keep>: "Keep this book", at the foot of every page. Nothing is downloaded or stored before the reader has seen the size and agreed.
import { forgetBook, keepBook, keptContents, servedContents, type Contents } from "./book";
import { h } from "../dom";
import type { Part } from "../element";

const MEGABYTE = 1e6;
const root = new URL("../../", import.meta.url).href;

export const mount = (host: HTMLElement): Part => {
  keeper.show(host);
  return { onscreen: () => undefined, offscreen: () => undefined, gone: () => undefined };
};

/** One for the document: instant navigation replaces the foot of the page while a download goes on. */
class Keeper {
  readonly #text = h("span", { role: "status" });
  readonly #buttons = h("span", { class: "il-keep__buttons" });
  #busy = false;

  show(host: HTMLElement): void {
    host.replaceChildren(this.#text, " ", this.#buttons);
    if (!this.#busy) void this.#begin();
  }

  async #begin(): Promise<void> {
    // Service workers exist only where the connection is safe, and some private windows have none.
    if (!("serviceWorker" in navigator) || !("caches" in globalThis)) return;
    const kept = await keptContents(root).catch(() => null);
    if (!kept) return this.#show("", ["Keep this book", () => void this.#ask()]);
    this.#show("This book is kept in this browser.", ["Forget it", () => void this.#forget()]);
    const served = await servedContents(root).catch(() => null);
    if (served && served.release !== kept.release) await this.#download(served, "A newer release arrives");
  }

  async #ask(): Promise<void> {
    try {
      const contents = await servedContents(root);
      const size = `${Math.ceil(total(contents) / MEGABYTE)} MB`;
      const { quota = Number.POSITIVE_INFINITY, usage = 0 } = (await navigator.storage?.estimate?.()) ?? {};
      const room = quota - usage < total(contents) ? ` This browser offers the site only ${Math.floor((quota - usage) / MEGABYTE)} MB.` : "";
      this.#show(
        `The whole book, with its acts and Python, takes ${size} in this browser.${room}`,
        ["Keep it", () => void this.#keep(contents)],
        ["Not now", () => void this.#begin()],
      );
    } catch (error) {
      this.#fail(error);
    }
  }

  async #keep(contents: Contents): Promise<void> {
    // Without permission for persistent storage a browser short of room may delete the book. Some ask the reader, so nothing waits for it.
    void navigator.storage?.persist?.().catch(() => false);
    await this.#download(contents, "The book arrives");
  }

  async #download(contents: Contents, doing: string): Promise<void> {
    const stop = new AbortController();
    let stopped = false;
    this.#busy = true;
    const whole = total(contents);
    const moved = (bytes: number): void => this.#show(`${doing}: ${Math.floor((100 * bytes) / whole)} %`, ["Stop", () => ((stopped = true), stop.abort())]);
    try {
      moved(0);
      await navigator.serviceWorker.register(`${root}sw.js`, { scope: root });
      await keepBook(root, contents, moved, stop);
      this.#show("This book is kept in this browser.", ["Forget it", () => void this.#forget()]);
    } catch (error) {
      this.#busy = false;
      if (stopped) return await this.#begin();
      // What has arrived stays, and another try goes on from there.
      this.#fail(error);
    } finally {
      this.#busy = false;
    }
  }

  async #forget(): Promise<void> {
    await forgetBook(root);
    await (await navigator.serviceWorker.getRegistration(root))?.unregister();
    await this.#begin();
  }

  #fail(error: unknown): void {
    const why = error instanceof Error ? error.message : String(error);
    this.#show(`The book could not be kept: ${why.replace(/\.$/, "")}.`, ["Retry", () => void this.#ask()]);
  }

  #show(text: string, ...actions: [label: string, act: () => void][]): void {
    this.#text.textContent = text;
    const labels = actions.map(([label]) => label).join("|");
    if (this.#buttons.dataset.labels === labels && labels === "Stop") return;
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

const total = ({ files }: Contents): number => Object.values(files).reduce((sum, [bytes]) => sum + bytes, 0);

const keeper = new Keeper();
