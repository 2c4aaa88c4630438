// @vitest-environment node
// How Pyodide itself tells that its program broke down, so that an update that tells it otherwise is noticed.
import { loadPyodide } from "pyodide";
import { expect, test, vi } from "vitest";
import { tellingFatal, type CreateModule } from "../src/python/start";
import { ignore } from "./fake-worker";

type Create = NonNullable<NonNullable<Parameters<typeof loadPyodide>[0]>["createPyodideModule"]>;
/** A start of the whole Pyodide, on any machine. */
const PATIENCE_MS = 120_000;

test.each(["os.abort()", "os._exit(3)"])("the error of %s is told, with Pyodide's mark; those that follow it have none", async (ends) => {
  const told: unknown[] = [];
  const module: string = "pyodide/pyodide.asm.mjs";
  const { default: create } = (await import(module)) as { default: CreateModule };
  const createPyodideModule = tellingFatal(create, (error) => told.push(error)) as Create;
  const pyodide = await loadPyodide({ createPyodideModule, stderr: ignore });
  vi.spyOn(console, "error").mockImplementation(ignore);
  expect(() => pyodide.runPython(`import os\n${ends}`)).toThrow();
  expect(told).toEqual([expect.objectContaining({ pyodide_fatal_error: true })]);
  expect(() => pyodide.pyimport("sys")).toThrow(expect.not.objectContaining({ pyodide_fatal_error: true }) as Error);
}, PATIENCE_MS);
