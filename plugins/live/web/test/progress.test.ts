// Bytes of a cold start.
import { describe, expect, test } from "vitest";
import { ByteProgress, countingFetch } from "../src/progress";

const base = "https://example.org/pyodide/314.0.7/";
const sizes = { "pyodide.asm.wasm": 900, "python_stdlib.zip": 100 };

function serving(bytes: number, init: ResponseInit = {}): typeof fetch {
  return () => Promise.resolve(new Response(new Uint8Array(bytes), init));
}
const nothing = (): void => undefined;

describe("byte progress", () => {
  test("a file never counts for more than its size", () => {
    const progress = new ByteProgress(sizes);
    progress.add(`${base}pyodide.asm.wasm`, 5000);
    expect([progress.loaded, progress.total]).toEqual([900, 1000]);
  });

  test("files are known by their name, whatever folder or query they come with", () => {
    const progress = new ByteProgress(sizes);
    expect(progress.expects(`${base}python_stdlib.zip?v=1`)).toBe(true);
    expect(progress.expects(`${base}numpy.whl`)).toBe(false);
  });
});

describe("counting fetch", () => {
  test("counts what streams by, and the reader gets every byte with the same type", async () => {
    const progress = new ByteProgress(sizes);
    const headers = { "content-type": "application/wasm" };
    const fetch = countingFetch(serving(900, { headers }), progress, nothing, nothing);
    const response = await fetch(`${base}pyodide.asm.wasm`);
    expect(response.headers.get("content-type")).toBe("application/wasm");
    expect((await response.arrayBuffer()).byteLength).toBe(900);
    expect(progress.loaded).toBe(900);
  });

  test("names the file that the server refused", async () => {
    const failures: string[] = [];
    const fetch = countingFetch(serving(0, { status: 503 }), new ByteProgress(sizes), nothing, (url, why) =>
      failures.push(`${url} ${why}`),
    );
    await fetch(`${base}pyodide.asm.wasm`);
    expect(failures).toEqual([`${base}pyodide.asm.wasm HTTP 503`]);
  });

  test("names the file that the network lost", async () => {
    const failures: string[] = [];
    const offline = (): Promise<Response> => Promise.reject(new TypeError("network"));
    const fetch = countingFetch(offline, new ByteProgress(sizes), nothing, (url) => failures.push(url));
    await expect(fetch(`${base}python_stdlib.zip`)).rejects.toThrow("network");
    expect(failures).toEqual([`${base}python_stdlib.zip`]);
  });

  test("leaves other requests alone", async () => {
    const progress = new ByteProgress(sizes);
    await countingFetch(serving(50), progress, nothing, nothing)("https://example.org/act.py");
    expect(progress.loaded).toBe(0);
  });
});
