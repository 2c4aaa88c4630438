// Splits the standard library of Pyodide's npm package into dist/python_start.zip.packed and dist/python_rest.zip.
// @ts-check
//
//   node plugins/explorable/live/library/split.mjs
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { loadPyodide } from "pyodide";

const here = dirname(fileURLToPath(import.meta.url));
const folder = join(here, "..", "..", "..");
const outdir = join(here, "dist");

const pyodide = await loadPyodide();
pyodide.mountNodeFS("/package", folder);
pyodide.FS.writeFile("/home/pyodide/bytecode.py", readFileSync(join(here, "bytecode.py")));

// What a start imports: Pyodide's own modules by now, what installing a wheel takes, the code of the page, and what a
// library of formulas with data files usually asks for. A module that is missing here is one more download.
const wheel = join(mkdtempSync(join(tmpdir(), "explorable-")), "nothing-1-py3-none-any.whl");
writeFileSync(wheel, pyodide.runPython("from bytecode import empty_wheel; empty_wheel()").toJs());
await pyodide.loadPackage(wheel, { messageCallback: () => undefined });
rmSync(dirname(wheel), { recursive: true });
const [start, rest] = pyodide
  .runPython(`
import importlib, os, sys
sys.dont_write_bytecode = True
sys.path.insert(0, "/package")
import nothing, explorable.live.runtime.acts, explorable.live.runtime.library, explorable.live.runtime.snippets
import dataclasses, datetime, enum, fractions, functools, itertools, math, pkgutil, tomllib
from bytecode import split
split(os.path.dirname(os.path.dirname(importlib.import_module("json").__file__)))
`)
  .toJs();

mkdirSync(outdir, { recursive: true });
for (const [name, bytes] of Object.entries({ "python_start.zip.packed": start, "python_rest.zip": rest })) {
  writeFileSync(join(outdir, name), bytes);
  console.log(`${name.padEnd(28)} ${String(bytes.length).padStart(8)} bytes`);
}
