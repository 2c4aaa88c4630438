// <live-keep>: "Keep this book", at the foot of every page. Until something of the book is kept, or a reader asks for it, a page loads no more than this.
import { bookIs, bookNames } from "./names";
import { h, setText } from "../dom";
import { bookId } from "../release";
import type { Part } from "../element";

bookIs(bookId());
const root = new URL("../../", import.meta.url).href;
/** The foot of the page that is shown. */
let foot: HTMLElement | null = null;
let loading: Promise<typeof import("./keeper")> | null = null;

export const mount = (host: HTMLElement): Part => {
  foot = host;
  void show(host).catch(() => undefined);
  return { onscreen: () => undefined, offscreen: () => undefined, gone: () => undefined };
};

const load = (): Promise<typeof import("./keeper")> =>
  (loading ??= import("./keeper").catch((error: unknown) => {
    loading = null;
    throw error;
  }));

async function show(host: HTMLElement): Promise<void> {
  // Service workers exist only where the connection is safe, and some private windows have none.
  if (!("serviceWorker" in navigator) || !("caches" in globalThis)) return;
  if (loading !== null || (await someKept())) return (await load()).keeper.show(host);
  const said = h("span", { role: "status" });
  const button = h("button", { type: "button", class: "il-button il-button--quiet" }, "Keep this book");
  const ask = (): Promise<void> =>
    load()
      .then(({ keeper }) => keeper.ask(host))
      .catch(() => setText(said, "The book could not be kept: what keeps it did not arrive. "));
  button.addEventListener("click", () => void ask());
  host.replaceChildren(said, h("span", { class: "il-keep__buttons", "data-labels": "Keep this book" }, button));
}

const someKept = async (): Promise<boolean> => (await bookNames(root).catch(() => [])).length > 0;

/** Another tab may have kept the book meanwhile; once there is a keeper, it looks itself. */
async function look(): Promise<void> {
  if (loading === null && foot && "caches" in globalThis && (await someKept())) await show(foot);
}
addEventListener("focus", () => void look().catch(() => undefined));
