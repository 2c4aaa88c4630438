// Runs every snippet of a built site in Pyodide under Node.js, and compares what it gives with what the build printed: `make verify`.
// @ts-check
//
//   node tools/verify.mjs [site]
//
// The build runs snippets in CPython, with an operating system, threads and 64 bits. The page's Python has none of these, and
// is another version. So a snippet can be steady at build and still print something else for a reader.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { Window } from "happy-dom";
import { loadPyodide } from "pyodide";

/** @typedef {{page: string, name: string, source: string, printed: string, files: {name: string, path: string}[]}} Snippet */

const site = process.argv[2] ?? "site";
const BASE = join(site, "assets", "live");
const HOSTS = /<live-snippet\b.*?<\/live-snippet>/gs;
const MOST_CHARACTERS = 200;

/** What a snippet shows under its code: what it printed, its result, its error, its figures. @param {(string | null)[]} parts */
const shown = (parts) => parts.map((part) => part?.trim()).filter(Boolean).join("\n");

/** The snippets of all pages, page by page, in their order. @returns {Snippet[]} */
function snippets() {
  const { document } = new Window();
  const pages = readdirSync(site, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".html"));
  return pages.sort().flatMap((file) => {
    const found = readFileSync(join(site, file), "utf8").match(HOSTS) ?? [];
    return found.map((html) => {
      document.body.innerHTML = html;
      const host = /** @type {import("happy-dom").HTMLElement} */ (document.body.firstElementChild);
      const { page = "", name = "", source = "" } = host.dataset;
      const texts = ["output", "result", "error"].map((slot) => host.querySelector(`[data-slot="${slot}"]`)?.textContent ?? "");
      const figures = [...host.querySelectorAll('[data-slot="figures"] img')].map((image) => drawing(image.getAttribute("src") ?? ""));
      const frame = host.querySelector('[data-slot="html"] iframe')?.getAttribute("srcdoc") ?? "";
      const files = /** @type {{name: string, url: string}[]} */ (JSON.parse(host.dataset.files ?? "[]")).map(({ name, url }) => ({ name, path: join(site, dirname(file), url) }));
      return { page, name, source, files, printed: shown([...texts, ...figures, frame]) };
    });
  });
}

/** The solutions of the site's exercises, with their tests. @returns {{name: string, code: string, tests: string, hidden: string}[]} */
function solutions() {
  const folder = join(BASE, "exercises");
  const files = existsSync(folder) ? readdirSync(folder) : [];
  const read = (/** @type {string} */ file) => JSON.parse(readFileSync(join(folder, file), "utf8"));
  return files.flatMap((file) => {
    const name = /^(.+)-solution-\w+\.json$/.exec(file)?.[1];
    const tests = name && files.find((other) => new RegExp(`^${name}-[0-9a-f]+\\.json$`).test(other));
    return name && tests ? [{ name, code: read(file).code, ...read(tests) }] : [];
  });
}

/** @param {string} address  a picture as `data:` */
const drawing = (address) => decodeURIComponent(address.slice(address.indexOf(",") + 1));

/** Python as the page starts it: with the wheels that the site ships. */
async function start() {
  /** @type {{files: string[], packages: string[], later: string[]}} */
  const { files, packages: own, later: modules } = JSON.parse(readFileSync(join(BASE, "release.json"), "utf8"));
  const lock = files.find((file) => /\/pyodide-lock-\w+\.json$/.test(file));
  if (!lock) throw new Error(`${BASE}/release.json names no lock file: build the site with \`make build\``);
  const path = resolve(site, lock);
  /** @type {{packages: Record<string, {file_name: string, imports: string[]}>}} */
  const { packages } = JSON.parse(readFileSync(path, "utf8"));
  for (const { file_name, imports } of Object.values(packages)) if (file_name.includes("://")) imports.forEach((module) => foreign.add(module));
  const pyodide = await loadPyodide({ lockFileURL: path, packageBaseUrl: join(path, ".."), packages: own, stdout: () => undefined });
  const later = files.find((file) => file.endsWith("/later.zip"));
  if (later) {
    pyodide.unpackArchive(new Uint8Array(readFileSync(resolve(site, later))), "zip", { extractDir: "/later" });
    pyodide.runPython("import sys; sys.path.append('/later')");
    // Of a package that every start loads, the archive holds a part: the package lies in two folders then.
    const halves = new Set(modules.filter((module) => module.includes(".")).map((module) => module.split(".")[0]));
    for (const half of halves) pyodide.runPython(`import ${half}; ${half}.__path__.append('/later/${half}')`);
  }
  return pyodide;
}

/** @param {string} text */
const cut = (text) => (text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)}…` : text);

/** Modules whose wheels the site does not have, because its build had no network. @type {Set<string>} */
const foreign = new Set();
const all = snippets();
const pyodide = await start();
const { find_imports } = pyodide.pyimport("pyodide.code");
const testing = pyodide.pyimport("explorable.live.runtime.exercises");
const runtime = pyodide.pyimport("explorable.live.runtime.snippets");
let different = 0;
/** @type {string[]} */
const left = [];
for (const { page, name, source, printed, files } of all) {
  /** @type {string[]} */
  const output = [];
  // What stands below one that cannot run may need what it would have defined.
  if (left.some((one) => one.startsWith(`${page} `)) || find_imports(source).toJs().some((/** @type {string} */ module) => foreign.has(module))) {
    left.push(`${page} ${name}`);
    continue;
  }
  for (const { name: file, path } of files) pyodide.FS.writeFile(file, readFileSync(path));
  await pyodide.loadPackagesFromImports(source, { messageCallback: () => undefined });
  const ran = JSON.parse(await runtime.run_snippet_awaiting(page, name, source, (/** @type {string} */ text) => output.push(text)));
  const drawn = ran.figures.map((/** @type {{svg: string}} */ { svg }) => svg);
  const gave = shown([output.join(""), ran.result, ran.error?.text, ...drawn, ran.html]);
  if (gave === printed) continue;
  different += 1;
  console.error(`docs/${page}: snippet '${name}' gives another output in the page's Python. Write it so that both agree.`);
  console.error(`  the build:  ${JSON.stringify(cut(printed))}\n  in Pyodide: ${JSON.stringify(cut(gave))}`);
}
const solved = solutions();
for (const { name, code, tests, hidden } of solved) {
  const ran = JSON.parse(await testing.check_exercise_awaiting(name, code, tests, hidden, () => undefined));
  const failed = ran.checks.filter((/** @type {{passed: boolean}} */ { passed }) => !passed);
  if (!ran.error && ran.checks.length && !failed.length) continue;
  different += 1;
  console.error(`exercise '${name}': its solution fails in the page's Python: ${JSON.stringify(ran.error ?? failed)}`);
}
if (left.length) console.log(`verify: not run, because the site lacks packages that they import: ${left.join(", ")}`);
const pages = new Set(all.map(({ page }) => page)).size;
console.log(`verify: ${all.length - left.length} snippets of ${pages} pages and ${solved.length} solutions ran in Pyodide; ${different || "none"} differ from what the build printed`);
process.exit(different || !all.length ? 1 : 0);
