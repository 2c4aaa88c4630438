// Runs snippets and solutions in Pyodide, for `explorable verify`: a job in a file, and a line for what each gives.
// @ts-check
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { argv, kill, pid, stdout } from "node:process";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";

/** @typedef {{page: string, name: string, source: string, files: {name: string, path: string}[]}} Snippet */
/** @typedef {{name: string, code: string, tests: string, hidden: string}} Solution */
/** @type {{site: string, pyodide: string, library: string, wheels: string, release: {files: string[], packages: string[], later: string[]}, snippets: Snippet[], solutions: Solution[]}} */
const job = JSON.parse(readFileSync(argv[2] ?? "", "utf8"));
const { files, packages, later } = job.release;
/** How a line begins that is an answer; programs may print others. */
const MARK = "explorable-answer:";
/** @param {{answer: unknown} | {problem: string}} said @returns {Promise<void>} */
const say = (said) => new Promise((done) => stdout.write(`\n${MARK}${JSON.stringify(said)}\n`, () => done()));
/** A program may loop for ever, and whoever asked be gone: the end of the standard input, which holds nothing, says so. */
const LIFELINE = `
  const { readSync } = require("node:fs");
  const nap = new Int32Array(new SharedArrayBuffer(4));
  const open = () => {
    try {
      return readSync(0, Buffer.alloc(1)) > 0;
    } catch (error) {
      return error.code === "EAGAIN";
    }
  };
  while (open()) Atomics.wait(nap, 0, 0, 500);
  process.kill(process.pid, "SIGKILL");
`;
new Worker(LIFELINE, { eval: true });
/** @param {any} error */
const fail = async (error) => {
  await say({ problem: String(error?.message || error?.name || error) });
  kill(pid, "SIGKILL");
};
process.on("uncaughtException", (error) => void fail(error));
process.on("unhandledRejection", (error) => void fail(error));

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
const pyodide = await loadPyodide({ lockFileURL, packageBaseUrl: job.wheels, stdLibURL: job.library, packages, stdin: () => null, stdout: () => undefined });
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

await say({ answer: null });
/** What each gives; null for one that cannot run, and for those below it, which may need what it would have defined. */
const stopped = new Set();
for (const { page, name, source, files: given } of job.snippets) {
  if (find_imports(source).toJs().some((/** @type {string} */ module) => foreign.has(module))) stopped.add(page);
  if (stopped.has(page)) {
    await say({ answer: null });
    continue;
  }
  /** @type {string[]} */
  const output = [];
  for (const { name: file, path } of given) pyodide.FS.writeFile(file, readFileSync(path));
  await pyodide.loadPackagesFromImports(source, { messageCallback: () => undefined });
  const ran = JSON.parse(await runtime.run_snippet_awaiting(page, name, source, (/** @type {string} */ text) => output.push(text)));
  await say({ answer: { ...ran, output: output.join("") } });
}
for (const { name, code, tests, hidden } of job.solutions) await say({ answer: JSON.parse(await testing.check_exercise_awaiting(name, code, tests, hidden, () => undefined)) });
