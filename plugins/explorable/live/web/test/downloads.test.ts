// Downloads of a cold start: counted, and ended whatever the network does.
import { afterEach, describe, expect, test, vi } from "vitest";
import { ByteProgress, checkedBytes, DownloadError, guardedFetch, unpacked } from "../src/python/downloads";

const base = "https://example.org/pyodide/314.0.7/";
const wasm = `${base}pyodide.asm.wasm`;
const sizes = { "pyodide.asm.wasm": 900, "python_start.zip": 100 };

afterEach(() => void vi.useRealTimers());

/** A fetch through the guard, with what it reported. */
function guarded(fetch: typeof globalThis.fetch) {
  const progress = new ByteProgress(sizes);
  const failures: string[] = [];
  let moves = 0;
  const failed = (error: Error): void => void failures.push(error.message);
  const guard = { progress, moved: () => void (moves += 1), failed, patience: 20 };
  return { fetch: guardedFetch(fetch, guard), progress, failures, moves: () => moves };
}

const serving =
  (bytes: number, init: ResponseInit = {}): typeof fetch =>
  () =>
    Promise.resolve(new Response(new Uint8Array(bytes), init));

/** A body that sends so many bytes and then goes on as it is told. */
function body(bytes: number, then: (stream: ReadableStreamDefaultController<Uint8Array>) => void): typeof fetch {
  return () => {
    let sent = false;
    const pull = (stream: ReadableStreamDefaultController<Uint8Array>): void => {
      if (sent) return then(stream);
      sent = true;
      stream.enqueue(new Uint8Array(bytes));
    };
    return Promise.resolve(new Response(new ReadableStream({ pull }, { highWaterMark: 0 })));
  };
}

describe("byte progress", () => {
  test("a file never counts for more than its size", () => {
    const progress = new ByteProgress(sizes);
    progress.add(wasm, 5000);
    expect([progress.loaded, progress.total]).toEqual([900, 1000]);
  });

  test("files are known by their name, whatever folder or query they come with", () => {
    const progress = new ByteProgress(sizes);
    expect(progress.size(`${base}python_start.zip?v=1`)).toBe(100);
    expect(progress.size(`${base}numpy.whl`)).toBeUndefined();
  });
});

describe("guarded fetch", () => {
  test("counts what streams by and hands on every byte, as WebAssembly whatever the server calls it", async () => {
    const { fetch, progress, failures, moves } = guarded(serving(900, { headers: { "content-type": "application/octet-stream" } }));
    const response = await fetch(wasm);
    expect(response.headers.get("content-type")).toBe("application/wasm");
    expect((await response.arrayBuffer()).byteLength).toBe(900);
    expect([progress.loaded, moves() > 0, failures]).toEqual([900, true, []]);
  });

  test.each([
    ["an error", serving(0, { status: 503 }), "pyodide.asm.wasm could not be downloaded (HTTP 503)"],
    [
      "the page of a network's sign-in",
      serving(900, { headers: { "content-type": "text/html; charset=utf-8" } }),
      "a web page came instead of pyodide.asm.wasm; does this network want you to sign in?",
    ],
    ["no network", () => Promise.reject(new TypeError("x")), "the connection was lost while pyodide.asm.wasm was on its way"],
  ] as [string, typeof globalThis.fetch, string][])("%s is told at once", async (_, server, message) => {
    const { fetch, failures } = guarded(server);
    await expect(fetch(wasm)).rejects.toThrow(message);
    expect(failures).toEqual([message]);
  });

  test.each([
    ["is cut", (stream: ReadableStreamDefaultController) => stream.error(new TypeError("x")), "the connection was lost while pyodide.asm.wasm was on its way"],
    ["ends too soon", (stream: ReadableStreamDefaultController) => stream.close(), "of pyodide.asm.wasm 500 bytes arrived instead of 900"],
  ])("a download that %s is told, and its reader gets no half file", async (_, then, message) => {
    const { fetch, failures } = guarded(body(500, then));
    await expect((await fetch(wasm)).arrayBuffer()).rejects.toThrow(message);
    expect(failures).toEqual([message]);
  });

  test("a download that falls silent ends after the patience, not before", async () => {
    vi.useFakeTimers();
    const { fetch, failures } = guarded(body(500, () => undefined));
    const response = await fetch(wasm);
    const bytes = expect(response.arrayBuffer()).rejects.toThrow("nothing more of pyodide.asm.wasm arrived for 20 seconds");
    await vi.advanceTimersByTimeAsync(19_000);
    expect(failures).toEqual([]);
    await vi.advanceTimersByTimeAsync(2000);
    await bytes;
  });

  test("a server that never answers is given up too, and its request is ended", async () => {
    vi.useFakeTimers();
    let signal: AbortSignal | null | undefined;
    const { fetch } = guarded((_, init) => {
      signal = init?.signal;
      return new Promise(() => undefined);
    });
    const response = expect(fetch(wasm)).rejects.toThrow("nothing more of pyodide.asm.wasm arrived");
    await vi.advanceTimersByTimeAsync(21_000);
    await response;
    expect(signal?.aborted).toBe(true);
  });

  test("of a file that nobody expects, an error is its caller's, and nothing is counted", async () => {
    const { fetch, progress, failures } = guarded(serving(50, { status: 404 }));
    expect((await fetch("https://example.org/act.py")).status).toBe(404);
    expect([progress.loaded, failures]).toEqual([0, []]);
  });
});

test("a wheel that is not the one of the lock is refused", async () => {
  const bytes = new TextEncoder().encode("wheel");
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  const own = `sha256-${btoa(String.fromCharCode(...digest))}`;
  expect(await (await checkedBytes(new Response(bytes), own, "x.whl")).text()).toBe("wheel");
  await expect(checkedBytes(new Response("other"), own, "x.whl")).rejects.toThrow("x.whl is not the file");
});

test("an archive that is compressed as a whole is unpacked; another one, and one that is cut, is refused", async () => {
  const packed = new Response(new Blob(["wheel"]).stream().pipeThrough(new CompressionStream("gzip")));
  const bytes = await packed.arrayBuffer();
  expect(await (await unpacked(new Response(bytes), "x.whl.packed")).text()).toBe("wheel");
  for (const other of ["wheel", bytes.slice(0, -1)]) {
    await expect(unpacked(new Response(other), "x.whl.packed")).rejects.toThrow("x.whl.packed is not the file");
  }
  expect((await unpacked(new Response("gone", { status: 404 }), "x.whl.packed")).status).toBe(404);
  const lost = new ReadableStream({ start: (controller) => controller.error(new DownloadError("the connection was lost")) });
  await expect(unpacked(new Response(lost), "x.whl.packed")).rejects.toThrow("the connection was lost");
});
