// Byte progress of a cold start: which files are expected, how much of each has arrived.

export class ByteProgress {
  readonly total: number;
  readonly #sizes: ReadonlyMap<string, number>;
  readonly #loaded = new Map<string, number>();

  /** `sizes`: file name -> bytes, as in the runtime manifest. */
  constructor(sizes: Record<string, number>) {
    this.#sizes = new Map(Object.entries(sizes).map(([name, bytes]) => [fileName(name), bytes]));
    this.total = [...this.#sizes.values()].reduce((sum, bytes) => sum + bytes, 0);
  }

  expects(url: string): boolean {
    return this.#sizes.has(fileName(url));
  }

  /** Never more than the file's size, so that one file cannot hide that another is missing. */
  add(url: string, bytes: number): void {
    const name = fileName(url);
    const size = this.#sizes.get(name) ?? 0;
    this.#loaded.set(name, Math.min(size, (this.#loaded.get(name) ?? 0) + bytes));
  }

  finish(url: string): void {
    this.add(url, Number.POSITIVE_INFINITY);
  }

  get loaded(): number {
    return [...this.#loaded.values()].reduce((sum, bytes) => sum + bytes, 0);
  }
}

export function fileName(url: string): string {
  return url.replace(/[?#].*$/, "").replace(/^.*\//, "");
}

type Fetch = typeof globalThis.fetch;

/** A `fetch` that counts the bytes of expected files as they stream by, and says which request failed. */
export function countingFetch(
  fetch: Fetch,
  progress: ByteProgress,
  moved: () => void,
  failed: (url: string, reason: string) => void,
): Fetch {
  return async (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    if (!progress.expects(url)) return fetch(input, init);
    let response: Response;
    try {
      response = await fetch(input, init);
    } catch (error) {
      failed(url, error instanceof Error ? error.message : String(error));
      throw error;
    }
    if (!response.ok) failed(url, `HTTP ${response.status}`);
    if (!response.ok || !response.body) return response;
    const counted = response.body.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          progress.add(url, chunk.byteLength);
          moved();
          controller.enqueue(chunk);
        },
        flush() {
          progress.finish(url);
          moved();
        },
      }),
    );
    // Status and headers stay, so that WebAssembly.instantiateStreaming still accepts it.
    return new Response(counted, { status: response.status, headers: response.headers });
  };
}
