// Writes the license texts of what is bundled before it reaches this repository: Vega, as vl-convert bundles it, and the
// scripts of Material for MkDocs. Needs the npm registry; run it again when the build says that a version has changed.
// @ts-check
//
//   node book/theme/licenses/collect.mjs vega@6.2.0
//   node book/theme/licenses/collect.mjs material@9.8.1 clipboard escape-html focus-visible rxjs tslib lunr material-design-color
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const [whole = "", ...parts] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "licenses-"));
try {
  writeFileSync(join(folder, "package.json"), "{}");
  execFileSync("npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts", ...(parts.length ? parts : [whole])], { cwd: folder });
  const packages = parts.length ? parts : await bundled(`export { parse, View } from "${whole.split("@")[0]}"`);
  /** @type {Map<string, string[]>} text -> the packages that have it */
  const texts = new Map();
  for (const name of packages.sort()) {
    const root = join(folder, "node_modules", name);
    const { version, license } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    const file = readdirSync(root).find((one) => /^licen[cs]e/i.test(one));
    const text = file ? readFileSync(join(root, file), "utf8") : `The package names the license ${license} and brings no text.`;
    const plain = text.replaceAll("\r\n", "\n").trim();
    texts.set(plain, [...(texts.get(plain) ?? []), `${name} ${version} (${license})`]);
  }
  const file = join(dirname(fileURLToPath(import.meta.url)), `${whole.split("@")[0]}.txt`);
  const sections = [...texts].map(([text, names]) => `${names.join("\n")}\n\n${text}`);
  writeFileSync(file, `${whole}\n\n${sections.join(`\n\n${"-".repeat(78)}\n\n`)}\n`);
} finally {
  rmSync(folder, { recursive: true });
}

/** The packages that a program of one line imports, and all their dependencies, whose code they may contain. @param {string} contents */
async function bundled(contents) {
  const options = /** @type {const} */ ({ bundle: true, write: false, metafile: true, format: "esm", logLevel: "error" });
  const { metafile } = await build({ ...options, stdin: { contents, resolveDir: folder }, absWorkingDir: folder });
  const names = Object.keys(metafile.inputs).map((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]);
  const found = new Set(names.filter((name) => name !== undefined));
  // Iterating over a set also visits what is added meanwhile.
  for (const name of found) {
    const { dependencies = {} } = JSON.parse(readFileSync(join(folder, "node_modules", name, "package.json"), "utf8"));
    for (const other of Object.keys(dependencies)) if (!other.startsWith("@types/")) found.add(other);
  }
  return [...found];
}
