// When a move of the instruments is written down: once its answer is on the page, so that the answer does not wait for the storage.
// Without an answer it is written soon, and a page that goes writes it before.

/** A change that no answer has followed. */
const SOON_MS = 300;

export class Saving {
  readonly #write: () => void;
  #timer = 0;

  constructor(write: () => void, gone: AbortSignal) {
    this.#write = write;
    addEventListener("pagehide", () => this.flush(), { signal: gone });
    document.addEventListener("visibilitychange", () => document.hidden && this.flush(), { signal: gone });
  }

  get waiting(): boolean {
    return this.#timer !== 0;
  }

  soon(): void {
    this.#timer ||= window.setTimeout(() => this.now(), SOON_MS);
  }

  now(): void {
    this.drop();
    this.#write();
  }

  /** Writes what waits. */
  flush(): void {
    if (this.waiting) this.now();
  }

  /** What waits is not to be written any more. */
  drop(): void {
    clearTimeout(this.#timer);
    this.#timer = 0;
  }
}
