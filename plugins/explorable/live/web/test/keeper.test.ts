// A newer release of a kept book: it comes once, and is the newest whatever the clock said when the one before was kept.
import { webcrypto } from "node:crypto";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { CONTENTS, keepBook, keptContents, type Contents } from "../src/offline/book";
import { keeper } from "../src/offline/keeper";
import { bookIs, cacheName } from "../src/offline/names";

const ROOT = new URL("../", import.meta.url).href;
const DAY = 86_400_000;
/** Cache: address: answer. */
let stored: Map<string, Map<string, Response>>;
let served: Contents;
let asked: string[];

const contentsOf = async (release: string): Promise<Contents> => {
  const digest = new Uint8Array(await webcrypto.subtle.digest("SHA-256", new TextEncoder().encode(release))).slice(0, 8);
  return { release, files: { "index.html": [release.length, Buffer.from(digest).toString("hex")] } };
};

const keep = async (release: string): Promise<void> => keepBook(ROOT, (served = await contentsOf(release)), () => undefined, new AbortController());

function cacheOf(name: string) {
  const held = stored.get(name) ?? new Map<string, Response>();
  stored.set(name, held);
  return {
    match: async (url: string) => held.get(url)?.clone(),
    put: async (url: string, response: Response) => void held.set(url, response),
    keys: async () => [...held.keys()].map((url) => ({ url })),
  };
}

beforeEach(() => {
  bookIs("book");
  [stored, asked] = [new Map(), []];
  vi.stubGlobal("crypto", webcrypto);
  vi.stubGlobal("caches", {
    keys: async () => [...stored.keys()],
    open: async (name: string) => cacheOf(name),
    delete: async (name: string) => stored.delete(name),
  });
  vi.stubGlobal("fetch", async (url: string) => {
    asked.push(url.slice(ROOT.length));
    return new Response(url.endsWith(".json") ? JSON.stringify(served) : served.release);
  });
  Object.defineProperty(navigator, "serviceWorker", { value: { register: async () => undefined, getRegistration: async () => ({}) }, configurable: true });
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
  Reflect.deleteProperty(navigator, "serviceWorker");
});

/** Keeps a release while the clock runs ahead. */
async function keepAhead(release: string): Promise<void> {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 400 * DAY });
  await keep(release);
  vi.useRealTimers();
}

test("what is kept last is the newest, also after a clock that ran ahead", async () => {
  await keepAhead("first");
  for (const release of ["second", "third"]) {
    await keep(release);
    expect((await keptContents(ROOT))?.release).toBe(release);
  }
  expect([...stored.keys()], "the one before stays").toEqual([cacheName(ROOT, "second"), cacheName(ROOT, "third")]);
});

test("a newer release is downloaded once, and no more in this page where it does not become the book", async () => {
  await keep("first");
  served = await contentsOf("second");
  asked = [];
  const host = document.createElement("div");
  // Whatever is wrong with its list: nothing that is written makes it the newest.
  const { open } = caches;
  vi.stubGlobal("caches", {
    ...caches,
    open: async (name: string) => {
      const cache = await open(name);
      const put = async (url: string, answer: Response): Promise<void> => void (url.endsWith(CONTENTS) || (await cache.put(url, answer)));
      return name === cacheName(ROOT, "second") ? { ...cache, put } : cache;
    },
  });
  keeper.show(host);
  await vi.waitFor(() => expect(asked).toContain("index.html"));
  await new Promise((settle) => setTimeout(settle, 100));
  expect(host.textContent).toMatch(/This book is kept/);
  expect(asked).toEqual([CONTENTS, "index.html", CONTENTS]);
});
