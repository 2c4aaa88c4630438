// How fast the engine is in Pyodide, the Python that runs in the page: `make bench-engine` runs it after CPython's figures.
// @ts-check
//
//   node tools/bench_pyodide.mjs
//
// Node.js runs the same WebAssembly as Chromium, with the wheel that the site ships and the functions that measure CPython.
// Starting and importing are the first of a fresh process: the wheel holds sources, so importing compiles them. Pyodide's
// library is whole and uncompiled here; a start in the page, which `make bench-site` measures, has less to do.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { loadPyodide, version } from "pyodide";

const REPOSITORY = fileURLToPath(new URL("../", import.meta.url));
const SECONDS = 2;
const WHEEL = "import sys; from book.adapter import BOOK; from explorable.live.build.bundle import build_wheels; sys.stdout.buffer.write(build_wheels(book=BOOK)[0].data)";

const built = spawnSync(join(REPOSITORY, ".venv", "bin", "python"), ["-c", WHEEL], {
  cwd: REPOSITORY,
  env: { ...process.env, PYTHONPATH: [join(REPOSITORY, "engine"), REPOSITORY].join(":") },
  stdio: ["ignore", "pipe", "inherit"],
});
if (built.status !== 0) {
  console.error(`bench-engine: the engine's wheel could not be built (${built.status}); the reason is above`);
  process.exit(1);
}

const began = performance.now();
const pyodide = await loadPyodide();
const started = performance.now();
pyodide.unpackArchive(new Uint8Array(built.stdout), "wheel");
const installed = performance.now();
pyodide.runPython("from ironlaw.answers.estimate import prepare");
const imported = performance.now();
pyodide.FS.writeFile("/home/pyodide/bench_engine.py", readFileSync(join(REPOSITORY, "tools", "bench_engine.py")));
/** @param {string} name */
const rate = (name) => Number(pyodide.runPython(`import bench_engine; bench_engine.${name}(${SECONDS})`));

const python = pyodide.runPython("import platform; platform.python_version()");
console.log(`Pyodide ${version} (Python ${python}) in Node.js ${process.version}; the design names no budget for these`);
/** @type {[string, number, string][]} */
const lines = [
  ["start Pyodide", started - began, "ms"],
  ["unpack the engine's wheel", installed - started, "ms"],
  ["import what an estimate needs", imported - installed, "ms"],
  ["scalar estimates", rate("scalar_estimates"), "/s"],
  ["full estimates, as the command line prints", rate("full_estimates"), "/s"],
];
const width = Math.max(...lines.map(([what]) => what.length));
for (const [what, measured, unit] of lines) {
  const shown = measured.toLocaleString("en-US", { minimumFractionDigits: 1, maximumFractionDigits: 1 });
  console.log(`${what.padEnd(width)}  ${shown.padStart(14)} ${unit}`);
}
