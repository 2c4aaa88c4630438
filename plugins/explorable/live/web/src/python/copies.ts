// The page's side of the copy of Python's memory: one for a release, beside the files of the kept book, so that it goes with them.
//
// Only a reader who keeps the book has one: nothing of its size is stored without that word. Any trouble means that there is none.
import type { WorkerLike } from "./client";
import type { LoadedActs } from "./copy";
import type { Release, Response as Reply } from "./protocol";
import type { keptBooks } from "../offline/book";

/** What the client asks of it. */
export interface Copies {
  /** The copy for a start; null at once where none can be. */
  find(): Promise<ArrayBuffer | null> | null;
  /** Makes one, once the page has rested, unless there is one. */
  make(acts: () => LoadedActs): void;
  /** A start from it failed: no other start of this document uses one, and this one goes. */
  forget(): void;
}

/** Milliseconds after a start before a copy is made: the reader has just begun. */
const REST_MS = 5000;
const FILE = "python-copy.gz";

export class KeptCopies implements Copies {
  readonly #spawn: () => WorkerLike;
  readonly #release: () => Release;
  readonly #base: string;
  readonly #root: string;
  #trusted = true;
  #asked = false;

  /** `root` is the address of the site, `base` that of its programs. */
  constructor(spawn: () => WorkerLike, release: () => Release, base: string, root: string) {
    this.#spawn = spawn;
    this.#release = release;
    this.#base = base;
    this.#root = root;
  }

  find(): Promise<ArrayBuffer | null> | null {
    return this.#possible() ? this.#read().catch(() => null) : null;
  }

  make(acts: () => LoadedActs): void {
    if (this.#asked || !this.#possible()) return;
    this.#asked = true;
    const rested = (): void => void this.#make(acts()).catch((error: unknown) => console.debug("No copy of Python was made:", error));
    setTimeout(() => ("requestIdleCallback" in globalThis ? requestIdleCallback(rested) : rested()), REST_MS);
  }

  forget(): void {
    this.#trusted = false;
    void this.#clear().catch(() => undefined);
  }

  /** A page that a service worker serves is one of a kept book. */
  #possible(): boolean {
    return this.#trusted && Boolean(navigator.serviceWorker?.controller);
  }

  /** What a copy is of: the version, and the hash of all programs. The service worker, which knows no queries, serves it to nobody. */
  #address(): string {
    const { version, build } = this.#release();
    return `${this.#root}${FILE}?${encodeURIComponent(`${version}+${build}`)}`;
  }

  /** By the program of the kept book, which a page loads where one is kept. */
  async #books(): ReturnType<typeof keptBooks> {
    return (await import("../offline/keeper")).keptBooks(this.#root);
  }

  async #read(): Promise<ArrayBuffer | null> {
    for (const { cache } of await this.#books()) {
      const kept = await cache.match(this.#address());
      if (kept) return kept.arrayBuffer();
    }
    return null;
  }

  async #make(acts: LoadedActs): Promise<void> {
    // The service worker is there before the whole book is.
    this.#asked = (await this.#books()).length > 0;
    if (!this.#asked || (await this.#read())) return;
    const bytes = await this.#made(acts);
    // A copy of another release is of no use any more.
    await this.#clear();
    // The book may have been forgotten meanwhile.
    const [book] = await this.#books();
    if (this.#trusted) await book?.cache.put(this.#address(), new Response(bytes));
  }

  /** A worker that runs no program of the reader's makes it, so what one says to its page is never taken for a copy. */
  async #made(acts: LoadedActs): Promise<ArrayBuffer> {
    const worker = this.#spawn();
    try {
      return await new Promise((done, fail) => {
        worker.onmessage = ({ data: said }) => {
          const data = (typeof said === "string" ? JSON.parse(said) : said) as Reply;
          if (data.kind === "copied") done(data.bytes);
          if (data.kind === "failed") fail(new Error(data.message));
        };
        worker.onerror = ({ message }) => fail(new Error(message));
        worker.postMessage({ kind: "copy", release: this.#release(), base: this.#base, acts });
      });
    } finally {
      worker.terminate();
    }
  }

  async #clear(): Promise<void> {
    for (const { cache } of await this.#books()) {
      for (const request of await cache.keys()) if (request.url.startsWith(`${this.#root}${FILE}?`)) await cache.delete(request);
    }
  }
}
