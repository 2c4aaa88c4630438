// Runs snippets and solutions in Pyodide, for `explorable verify`: a job on standard input, what they gave on standard output.
// @ts-check
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

/** @typedef {{page: string, name: string, source: string, files: {name: string, path: string}[]}} Snippet */
/** @typedef {{name: string, code: string, tests: string, hidden: string}} Solution */
/** @type {{site: string, pyodide: string, library: string, release: {files: string[], packages: string[], later: string[]}, snippets: Snippet[], solutions: Solution[]}} */
const job = JSON.parse(readFileSync(0, "utf8"));
const { files, packages, later } = job.release;
/** @type {typeof import("pyodide")} */
const { loadPyodide } = await import(pathToFileURL(join(job.pyodide, "pyodide.mjs")).href);
const lock = files.find((file) => /\/pyodide-lock-\w+\.json$/.test(file));
if (!lock) throw new Error("release.json names no lock file");
const lockFileURL = resolve(job.site, lock);
/** @type {{packages: Record<string, {file_name: string, imports: string[]}>}} */
const locked = JSON.parse(readFileSync(lockFileURL, "utf8"));
/** Modules whose wheels the site does not have, because its build had no network. */
const foreign = new Set(Object.values(locked.packages).flatMap(({ file_name, imports }) => (file_name.includes("://") ? imports : [])));

// Python as the page starts it: with the wheels that the site ships.
const pyodide = await loadPyodide({ lockFileURL, packageBaseUrl: join(lockFileURL, ".."), stdLibURL: job.library, packages, stdout: () => undefined });
const archive = files.find((file) => file.endsWith("/later.zip"));
if (archive) {
  pyodide.unpackArchive(new Uint8Array(readFileSync(resolve(job.site, archive))), "zip", { extractDir: "/later" });
  pyodide.runPython("import sys; sys.path.append('/later')");
  // Of a package that every start loads, the archive holds a part: the package lies in two folders then.
  const halves = new Set(later.filter((module) => module.includes(".")).map((module) => module.split(".")[0]));
  for (const half of halves) pyodide.runPython(`import ${half}; ${half}.__path__.append('/later/${half}')`);
}
const { find_imports } = pyodide.pyimport("pyodide.code");
const testing = pyodide.pyimport("explorable.live.runtime.exercises");
const runtime = pyodide.pyimport("explorable.live.runtime.snippets");

/** What each gave; null for one that cannot run, and for those below it, which may need what it would have defined. @type {unknown[]} */
const snippets = [];
const stopped = new Set();
for (const { page, name, source, files: given } of job.snippets) {
  if (find_imports(source).toJs().some((/** @type {string} */ module) => foreign.has(module))) stopped.add(page);
  if (stopped.has(page)) {
    snippets.push(null);
    continue;
  }
  /** @type {string[]} */
  const output = [];
  for (const { name: file, path } of given) pyodide.FS.writeFile(file, readFileSync(path));
  await pyodide.loadPackagesFromImports(source, { messageCallback: () => undefined });
  const ran = JSON.parse(await runtime.run_snippet_awaiting(page, name, source, (/** @type {string} */ text) => output.push(text)));
  snippets.push({ ...ran, output: output.join("") });
}
const solutions = [];
for (const { name, code, tests, hidden } of job.solutions) solutions.push(JSON.parse(await testing.check_exercise_awaiting(name, code, tests, hidden, () => undefined)));
process.stdout.write(JSON.stringify({ snippets, solutions }), () => process.exit());
