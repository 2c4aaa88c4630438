// The service worker of a reader who keeps the book: every file comes from a complete release, and the network is asked for what none has.
import { CONTENTS, keptBooks, type Book } from "./offline/book";
import { bookIs } from "./offline/names";

/** The build writes the book's id here. */
bookIs("__EXPLORABLE_BOOK__");

interface Scope {
  registration: { scope: string };
  skipWaiting(): Promise<void>;
  clients: { claim(): Promise<void> };
  addEventListener(type: "install" | "activate" | "fetch", listener: (event: Happening) => void): void;
}
interface Happening {
  request: Request;
  respondWith(answer: Promise<Response>): void;
  waitUntil(done: Promise<unknown>): void;
}

/** Lists that were read, by their book and when it was kept: every request asks for one. */
const lists = new Map<string, ReturnType<Book["contents"]>>();

const scope = globalThis as unknown as Scope;
const OUT_OF_REACH = 504;
const NOT_FOUND = 404;
/** What says how the site is now, and is worth nothing from a copy. */
const NOW = [CONTENTS, "sw.js"];

scope.addEventListener("install", (event) => event.waitUntil(scope.skipWaiting()));
scope.addEventListener("activate", (event) => event.waitUntil(scope.clients.claim()));
scope.addEventListener("fetch", (event) => {
  const root = scope.registration.scope;
  const url = event.request.url.replace(/[?#].*$/, "");
  // A request that wants no copy gets none: an update looks at the site itself.
  if (event.request.method !== "GET" || event.request.cache === "no-store" || !url.startsWith(root) || NOW.includes(url.slice(root.length))) return;
  event.respondWith(answer(root, url, event.request));
});

async function answer(root: string, url: string, request: Request): Promise<Response> {
  // A book that is forgotten meanwhile cannot be read any more: then the site itself is asked.
  const kept = await answerFromBooks(root, url).catch(() => null);
  return kept ?? fetch(request).catch(async () => (await missing(root, request)) ?? new Response("", { status: OUT_OF_REACH }));
}

/** Without a network, a page that the book does not have is the page that says so. */
async function missing(root: string, { mode }: Request): Promise<Response | null> {
  const page = mode === "navigate" ? await answerFromBooks(root, `${root}404.html`).catch(() => null) : null;
  return page && new Response(page.body, { status: NOT_FOUND, headers: page.headers });
}

async function answerFromBooks(root: string, url: string): Promise<Response | null> {
  // The newest first. A tab of the release before finds there what only that one has: such files have hashes in their names.
  for (const { name, at, cache: book, contents } of await keptBooks(root)) {
    const file = url.endsWith("/") ? `${url}index.html` : url;
    const kept = await book.match(file);
    if (kept) {
      const body = await kept.blob();
      const key = `${name} ${at}`;
      const list = lists.get(key) ?? contents();
      lists.set(key, list);
      const [bytes = body.size] = (await list)?.files[file.slice(root.length)] ?? [];
      if (body.size === bytes) return new Response(body, { headers: kept.headers });
      // One that was cut is no part of the book any more: the network has it, and the page says that it is missing.
      await book.delete(file);
    }
    if (await book.match(`${url}/index.html`)) return Response.redirect(`${url}/`);
  }
  return null;
}
