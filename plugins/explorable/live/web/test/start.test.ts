// What a start writes down before any program of a reader runs, with Pyodide replaced by a script.
// @vitest-environment node
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test, vi } from "vitest";
import type { Response as Reply } from "../src/python/protocol";
import type { CreateModule } from "../src/python/start";
import { ignore, release } from "./fake-worker";

test("archives that are fetched later are asked where the build put them, whatever a program makes of addresses", async () => {
  const asked: string[] = [];
  vi.stubGlobal("XMLHttpRequest", class {
    status = 200;
    response = new ArrayBuffer(0);
    open(_method: string, url: string) {
      asked.push(url);
    }
    send() {
      return undefined;
    }
  });
  vi.stubGlobal("isSecureContext", false);
  const folder = mkdtempSync(join(tmpdir(), "start-"));
  mkdirSync(join(folder, "pyodide"));
  writeFileSync(join(folder, "pyodide", "pyodide.mjs"), "export const loadPyodide = () => globalThis.fakePyodide;");
  writeFileSync(join(folder, "pyodide", "pyodide.asm.mjs"), "export default undefined;");
  const fetches: (() => string | undefined)[] = [];
  const fetch_on_demand = (fetch: () => string | undefined): void => void fetches.push(fetch);
  const fetch_later = (_names: string[], fetch: () => string | undefined): void => void fetches.push(fetch);
  vi.stubGlobal("fakePyodide", { pyimport: () => ({ fetch_on_demand, fetch_later }), FS: { writeFile: ignore } });
  const base = `${pathToFileURL(folder).href}/`;
  const later = { archive: "later.zip", modules: ["late"] };
  const { startPython } = await import("../src/python/start");
  try {
    await startPython({ ...release, runtime: { ...release.runtime, later } }, base, null, ignore, ignore);
    const href = vi.spyOn(URL.prototype, "href", "get").mockReturnValue("https://wheels.example/python/?secret");
    for (const fetch of fetches) fetch();
    href.mockRestore();
  } finally {
    rmSync(folder, { recursive: true });
    vi.unstubAllGlobals();
  }
  expect(asked).toEqual([`${base}rest.zip`, `${base}later.zip`]);
});

test("a Python that breaks down is told by its start that fails, and after the start by itself", async () => {
  vi.stubGlobal("isSecureContext", false);
  const folder = mkdtempSync(join(tmpdir(), "start-"));
  mkdirSync(join(folder, "pyodide"));
  writeFileSync(join(folder, "pyodide", "pyodide.mjs"), "export const loadPyodide = (options) => globalThis.fakePyodide(options);");
  writeFileSync(join(folder, "pyodide", "pyodide.asm.mjs"), "export default async () => undefined;");
  type Settings = Parameters<CreateModule>[0];
  const modules: Settings[] = [];
  let lasts = false;
  vi.stubGlobal("fakePyodide", async ({ createPyodideModule }: { createPyodideModule: CreateModule }) => {
    const settings: Settings = { API: {} };
    modules.push(settings);
    await createPyodideModule(settings);
    return lasts ? { pyimport: () => ({ fetch_on_demand: ignore }) } : new Promise(ignore);
  });
  const fatal = Object.assign(new Error("unreachable"), { pyodide_fatal_error: true });
  const failed: Reply[] = [];
  const send = (reply: Reply): void => void (reply.kind === "failed" && failed.push(reply));
  const { startPython } = await import("../src/python/start");
  const start = () => startPython(release, `${pathToFileURL(folder).href}/`, null, send, ignore);
  try {
    const starting = start();
    await vi.waitFor(() => expect(modules).toHaveLength(1));
    modules[0]?.API.on_fatal?.(fatal);
    await expect(starting).rejects.toBe(fatal);
    expect(failed).toEqual([]);
    lasts = true;
    await start();
    modules[1]?.API.on_fatal?.(fatal);
    expect(failed).toEqual([{ kind: "failed", message: "unreachable", broken: true }]);
  } finally {
    rmSync(folder, { recursive: true });
    vi.unstubAllGlobals();
  }
});
