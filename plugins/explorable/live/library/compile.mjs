// Compiles what a start imports of a book's wheels, by the page's own Python, for `live/build/compiled.py`.
// @ts-check
//
//   node compile.mjs JOB.json
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process, { argv } from "node:process";
import { fileURLToPath, pathToFileURL } from "node:url";

/** @type {{pyodide: string, library: string, archive: string, names: string[], to: string}} */
const job = JSON.parse(readFileSync(argv[2] ?? "", "utf8"));
const here = dirname(fileURLToPath(import.meta.url));

try {
  /** @type {typeof import("pyodide")} */
  const { loadPyodide } = await import(pathToFileURL(join(job.pyodide, "pyodide.mjs")).href);
  let folder = "";
  const pyodide = await loadPyodide({ stdLibURL: job.library, fsInit: (_, { sitePackages }) => Promise.resolve(void (folder = sitePackages)) });
  pyodide.FS.writeFile("/home/pyodide/bytecode.py", readFileSync(join(here, "bytecode.py")));
  pyodide.FS.writeFile("/tmp/wheels.zip", readFileSync(job.archive));
  pyodide.runPython("import sys; sys.dont_write_bytecode = True");
  writeFileSync(job.to, pyodide.pyimport("bytecode").compile_imported("/tmp/wheels.zip", folder, job.names).toJs());
} catch (/** @type {any} */ error) {
  // A traceback's last line says what is wrong.
  console.error(error.message.trim());
  process.exitCode = 1;
}
