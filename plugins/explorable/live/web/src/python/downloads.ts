// Downloads that end: bytes are counted against the sizes that the build named, and whatever stops half-way is an error.

/** Taken before the worker gives it up. */
const { DecompressionStream } = globalThis;

export class ByteProgress {
  readonly total: number;
  readonly #sizes: ReadonlyMap<string, number>;
  readonly #loaded = new Map<string, number>();

  /** `sizes`: file name -> bytes, as in the runtime manifest. */
  constructor(sizes: Record<string, number>) {
    this.#sizes = new Map(Object.entries(sizes).map(([name, bytes]) => [fileName(name), bytes]));
    this.total = [...this.#sizes.values()].reduce((sum, bytes) => sum + bytes, 0);
  }

  /** The file's size, or undefined for a file that a start does not expect. */
  size(url: string): number | undefined {
    return this.#sizes.get(fileName(url));
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

/** A download that did not give the file: the message is half a sentence, for the reader. */
export class DownloadError extends Error {}

type Fetch = typeof globalThis.fetch;

interface Guard {
  /** The sizes of expected files; their bytes are added as they arrive. */
  progress: ByteProgress;
  /** Called whenever bytes of any file have arrived. */
  moved(): void;
  /** Called when a file did not arrive, with its address. The browser's own error does not name the file. */
  failed(error: DownloadError, url: string): void;
  /** The longest silence, in seconds, before a download is given up. */
  patience: number;
}

/** A `fetch` whose every download ends: whole, or with a `DownloadError` that says what happened. */
export function guardedFetch(fetch: Fetch, guard: Guard): Fetch {
  const { progress, moved, patience } = guard;
  return async (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    const size = progress.size(url);
    const failed = (error: unknown): DownloadError => {
      const told = error instanceof DownloadError ? error : new DownloadError(`the connection was lost while ${fileName(url)} was on its way`);
      guard.failed(told, url);
      return told;
    };
    const silence = new AbortController();
    const heard = <T>(next: Promise<T>): Promise<T> => withinSilence(next, url, patience, silence);
    let response: Response;
    try {
      response = await heard(fetch(input, { ...init, signal: silence.signal }));
      if (size !== undefined) expectFile(url, response);
    } catch (error) {
      throw failed(error);
    }
    if (!response.ok || !response.body) return response;

    const reader = response.body.getReader();
    let received = 0;
    const checked = new ReadableStream<Uint8Array>({
      async pull(controller) {
        try {
          const { done, value } = await heard(reader.read());
          if (!done) {
            received += value.byteLength;
            progress.add(url, value.byteLength);
            moved();
            controller.enqueue(value);
            return;
          }
          if (size !== undefined && received !== size) {
            throw new DownloadError(`of ${fileName(url)} ${received} bytes arrived instead of ${size}`);
          }
          controller.close();
        } catch (error) {
          controller.error(failed(error));
        }
      },
      cancel: (why) => reader.cancel(why),
    });
    return new Response(checked, { status: response.status, headers: trueHeaders(url, response.headers) });
  };
}

/** Checks the hash, as `integrity` does; but progress and silence of the download can be observed meanwhile. */
export async function checkedBytes(response: Response, integrity: string, url: string): Promise<Response> {
  if (!response.ok) return response;
  const bytes = await response.arrayBuffer();
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  if (integrity !== `sha256-${btoa(String.fromCharCode(...digest))}`) {
    throw otherFile(url);
  }
  return new Response(bytes, { status: response.status, headers: response.headers });
}

/**
 * The response once all of it is there. Firefox 140 compiles WebAssembly while it arrives on a thread that waits for
 * more of it even when the worker is gone: after a broken or stopped start no other could compile anything.
 */
export async function wholeBytes(response: Response): Promise<Response> {
  if (!response.ok) return response;
  return new Response(await response.arrayBuffer(), { status: response.status, headers: response.headers });
}

function otherFile(url: string): DownloadError {
  return new DownloadError(`${fileName(url)} is not the file that this release was built with`);
}

/** The name of an archive where it is compressed as a whole. */
export function packed(name: string): string {
  return `${name}.packed`;
}

/** The archive itself, once all of it is there. */
export async function unpacked(response: Response, url: string): Promise<Response> {
  if (!response.ok) return response;
  const { status, headers } = response;
  const sent = await response.blob();
  try {
    const bytes = await new Response(sent.stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
    return new Response(bytes, { status, headers });
  } catch {
    throw otherFile(url);
  }
}

/** Throws for an answer that cannot be the file: an HTTP error, or a network's sign-in page. */
function expectFile(url: string, response: Response): void {
  if (!response.ok) throw new DownloadError(`${fileName(url)} could not be downloaded (HTTP ${response.status})`);
  if (/^text\/html\b/i.test(response.headers.get("content-type") ?? "")) {
    throw new DownloadError(`a web page came instead of ${fileName(url)}; does this network want you to sign in?`);
  }
}

/** Browsers compile WebAssembly while it arrives only if it has its own content type, which some servers do not send. */
function trueHeaders(url: string, headers: Headers): Headers {
  const changed = new Headers(headers);
  if (fileName(url).endsWith(".wasm")) changed.set("content-type", "application/wasm");
  return changed;
}

async function withinSilence<T>(next: Promise<T>, url: string, patience: number, silence: AbortController): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new DownloadError(`nothing more of ${fileName(url)} arrived for ${patience} seconds`));
      silence.abort();
    }, 1000 * patience);
  });
  try {
    return await Promise.race([next, late]);
  } finally {
    clearTimeout(timer);
  }
}
