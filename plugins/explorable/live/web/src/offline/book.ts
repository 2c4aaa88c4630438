// The kept book: one complete release of the site in the browser's cache, for reading without a network.
//
// The page downloads; the service worker (sw.ts) only serves what is complete. Every file is held against the hash that the
// list of its release names, so that a deploy during the download cannot mix two releases.
import { bookNames, cacheName } from "./names";
import { release } from "../release";

/** `offline.json`, written by the build: the release, and address below the site's root -> bytes and the start of the file's SHA-256. */
export interface Contents {
  release: string;
  files: Record<string, [bytes: number, hash: string]>;
}

export const CONTENTS = "offline.json";
const HASH_BYTES = 8;
const HASH = /^[0-9a-f]{16}$/;
const AT_ONCE = 6;
/** The present release, and the one before. */
const BOOKS = 2;

export interface Book {
  name: string;
  cache: Cache;
  /** Reads its list; null for a list that is none. */
  contents: () => Promise<Contents | null>;
  /** When the last of its files had arrived; later than every book that was there then, whatever the clock said. */
  at: number;
}

/** The complete releases of the site at `root`, the newest first. A cache gets its list last. */
export async function keptBooks(root: string): Promise<Book[]> {
  const found = await Promise.all(
    (await bookNames(root)).map(async (name) => {
      const cache = await caches.open(name);
      const list = await cache.match(root + CONTENTS);
      const contents = async (): Promise<Contents | null> => contentsIn(root, (await list?.json().catch(() => null)) as unknown);
      return { name, cache, contents, at: Number(list?.headers.get("x-kept") ?? Number.NaN) };
    }),
  );
  return found.filter(({ at }) => Number.isSafeInteger(at)).sort((one, other) => other.at - one.at);
}

export async function keptContents(root: string): Promise<Contents | null> {
  const [newest] = await keptBooks(root);
  return newest ? newest.contents() : null;
}

export async function servedContents(root: string): Promise<Contents> {
  const answer = await fetch(root + CONTENTS, { cache: "no-store", signal: AbortSignal.timeout(1000 * release().patience) }).catch((error: unknown) => {
    throw error instanceof DOMException && error.name === "TimeoutError" ? new Error("the list of the book does not come") : error;
  });
  if (!answer.ok) throw new Error(`the list of the book could not be downloaded (HTTP ${answer.status})`);
  const contents = contentsIn(root, (await answer.json().catch(() => null)) as unknown);
  if (!contents) throw new Error("something else came instead of the list of the book; does this network want you to sign in?");
  return contents;
}

/** What of the book is in the browser, which may throw files away without a word: all of a release, or the addresses of a part. */
export async function heldBook(root: string): Promise<{ whole: Contents | null; part: ReadonlySet<string> }> {
  const part = new Set<string>();
  for (const name of await bookNames(root)) {
    for (const { url } of await (await caches.open(name)).keys()) part.add(url);
  }
  const contents = await keptContents(root);
  const missing = contents && Object.keys(contents.files).some((path) => !part.has(new URL(root + path).href));
  return { whole: missing ? null : contents, part };
}

/** The list, if it is one, and names files of the site only. */
function contentsIn(root: string, stored: unknown): Contents | null {
  if (typeof stored !== "object" || stored === null) return null;
  const { release, files } = stored as Partial<Contents>;
  if (typeof release !== "string" || typeof files !== "object" || files === null) return null;
  const fits = Object.entries(files).every(
    ([path, file]) => isInside(root, path) && Array.isArray(file) && Number.isSafeInteger(file[0]) && HASH.test(file[1]),
  );
  return fits ? { release, files } : null;
}

/** Whether an address is of a file of the site, and of no other than it says. */
function isInside(root: string, path: string): boolean {
  const { href, search, hash } = new URL(root + path);
  return path !== "" && !/\\|(^|\/)(\/|$)/.test(path) && !search && !hash && href.startsWith(root) && href.split("/").length === (root + path).split("/").length;
}

/** Copies a release into the browser, what an earlier one has already from there. Rejects when a file is of another release. */
export async function keepBook(root: string, contents: Contents, moved: (bytes: number) => void, stop: AbortController): Promise<void> {
  const own = cacheName(root, contents.release);
  const cache = await caches.open(own);
  // A part of a release that was never whole may have what this one needs, too.
  const earlier = await Promise.all((await bookNames(root)).map((name) => caches.open(name)));
  let bytes = 0;
  const left = Object.entries(contents.files);
  const worker = async (): Promise<void> => {
    for (let next = left.pop(); next; next = left.pop()) {
      stop.signal.throwIfAborted();
      const [path, [size, hash]] = next;
      const url = root + path;
      const there = await firstRight([() => cache.match(url)], hash);
      const right = there ?? (await firstRight(earlier.map((one) => () => one.match(url)), hash));
      const fresh = right ?? (await firstRight([() => fetch(url, { cache: "no-store", signal: stop.signal })], hash));
      if (!fresh) throw new Error(`${path} is of another release now; try again in some minutes`);
      if (!there) await cache.put(url, fresh);
      // Another tab may forget the book, or the browser may throw it away: what is put into such a cache is nowhere.
      if (!(await bookNames(root)).includes(own)) throw new Error("it was thrown away while it arrived");
      bytes += size;
      if (!stop.signal.aborted) moved(bytes);
    }
  };
  try {
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
  } catch (error) {
    // One file that is missing ends the others too.
    stop.abort();
    throw error;
  }
  // A clock may have run ahead when a book before was kept: this one is the newest all the same.
  const at = Math.max(Date.now(), ...(await keptBooks(root)).map((book) => book.at + 1));
  const list = { "content-type": "application/json", "x-kept": String(at) };
  await cache.put(root + CONTENTS, new Response(JSON.stringify(contents), { headers: list }));
  // The release before stays for tabs that are still of it.
  const stay = (await keptBooks(root)).slice(0, BOOKS).map(({ name }) => name);
  for (const name of await bookNames(root)) if (!stay.includes(name)) await caches.delete(name);
}

export async function forgetBook(root: string): Promise<void> {
  for (const name of await bookNames(root)) await caches.delete(name);
}

/** The first of these answers whose content has the hash, without headers that belong to its journey. */
async function firstRight(answers: (() => Promise<Response | undefined>)[], hash: string): Promise<Response | null> {
  for (const answer of answers) {
    const response = await answer();
    if (!response?.ok) continue;
    const content = await response.arrayBuffer();
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", content)).slice(0, HASH_BYTES);
    const hex = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
    if (hex === hash) return new Response(content, { headers: { "content-type": response.headers.get("content-type") ?? "" } });
  }
  return null;
}
