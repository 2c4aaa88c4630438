// The site under test: the folder in SITE_DIR, or a strict build into a temporary folder.
// @ts-check
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

export const REPOSITORY = fileURLToPath(new URL("../../../", import.meta.url));
export const RESULTS = join(REPOSITORY, "test-results");

/**
 * The folder of the built site. Ends the process when the build fails: no test could mean anything.
 * @returns {string}
 */
export function builtSite() {
  const given = process.env["SITE_DIR"];
  if (given) {
    if (existsSync(join(given, "index.html"))) return given;
    console.error(`browser tests: SITE_DIR is "${given}", which holds no index.html; build the site there first`);
    process.exit(2);
  }
  return built();
}

/**
 * The folder of a strict build of the site as it is published: with a form for wrong numbers. It goes when this process ends.
 * @returns {string}
 */
export function built() {
  const folder = mkdtempSync(join(tmpdir(), "iron-law-site-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const python = join(REPOSITORY, ".venv", "bin", "mkdocs");
  // Without --quiet, which hides warnings from the count, so that a strict build would pass with them.
  const built = spawnSync(python, ["build", "--strict", "--site-dir", folder], {
    cwd: REPOSITORY,
    encoding: "utf8",
    env: { REPOSITORY_URL: "https://example.org/book", ...process.env, NO_MKDOCS_2_WARNING: "1" },
  });
  if (built.status !== 0) {
    console.error(built.stderr.split("\n").filter((line) => !line.startsWith("INFO")).join("\n"));
    console.error("browser tests: the strict build of the site failed; its message is above");
    process.exit(1);
  }
  return folder;
}

/** In the pages that only lead to another. */
const MOVED = "data-il-moved";

/**
 * The addresses of all pages that stay, relative to the site's root: "", "lab/act1/", ...
 * @param {string} folder
 */
export function pagesOf(folder) {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => file === "index.html" || file.endsWith(`${sep}index.html`))
    .filter((file) => !readFileSync(join(folder, file), "utf8").includes(MOVED))
    .map((file) => relative(folder, join(folder, file)).split(sep).slice(0, -1).map((part) => `${part}/`).join(""))
    .sort();
}

/** The HTML of a built page. @param {{site: string}} world @param {string} page its address, relative to the root */
export const htmlOf = ({ site }, page) => readFileSync(join(site, page, "index.html"), "utf8");

/** The pages whose HTML holds a text. @param {{site: string, pages: string[]}} world @param {string} text */
export const pagesWith = (world, text) => world.pages.filter((page) => htmlOf(world, page).includes(text));

/**
 * A page of each kind: home, and the first with figures and snippets, of the lab, with measured tables, a notebook.
 * @param {string[]} pages
 */
export function oneOfEachKind(pages) {
  const kinds = ["", "chapter/", "lab/", "measured/", "notebooks/"];
  // The page at a section's root only lists the others, so it is left out.
  return kinds.map((kind) => pages.find((page) => (kind ? page.startsWith(kind) && page !== kind : page === "")) ?? "");
}

/**
 * The first page of each folder of the site, beside the one that lists the others: the pages of a folder are made in one way.
 * @param {string[]} pages
 */
export function firstOfEachFolder(pages) {
  /** @type {Map<string, string>} */
  const found = new Map();
  for (const page of pages) {
    const folder = page.slice(0, page.indexOf("/") + 1);
    const first = found.get(folder);
    if (first === undefined || first === folder) found.set(folder, page);
  }
  return [...found.values()];
}
