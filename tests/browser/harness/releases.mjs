// Makes a later release of the site and deploys it, to test what an open page does when the site changes on the server.
// @ts-check
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, extname, join } from "node:path";
import { promisify } from "node:util";
import { REPOSITORY } from "./site.mjs";

const LIST = "assets/live/release.json";
const CONTENTS = "offline.json";
const TEXTS = new Set([".html", ".js", ".mjs", ".css", ".json"]);
/** A hash in a path: esbuild's, or the build's. */
const HASH = /(?<=[-/])([0-9A-Z]{8}|[0-9a-f]{12}|[0-9a-f]{16})(?=[./])/g;

/** The later release has another word for this request to Python, so that programs of two releases do not understand each other. @type {[string, string]} */
const WORD = ['"compute"', '"kompute"'];
/** Marks every page of the later release. */
export const MARK = '<p id="later">later</p>';

/**
 * @typedef {object} Later
 * @property {string} folder
 * @property {string} build
 * @property {Set<string>} before   site paths that only the release before has
 * @property {Set<string>} own      site paths that only this one has
 */

/** @type {Later | undefined} */
let made;

/** The later release of the site, made once. @param {string} site */
export const laterOf = (site) => (made ??= laterRelease(site));

/**
 * Makes a later release of a built site: every hash in a file's name is replaced, every page has MARK, and its programs
 * have another WORD. The folder is removed when the process ends.
 * @param {string} site
 * @returns {Later}
 */
function laterRelease(site) {
  const folder = mkdtempSync(join(tmpdir(), "iron-law-later-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  cpSync(site, folder, { recursive: true });
  const { build, files } = listOf(site);
  const hashes = [...new Set([build, ...files.flatMap((file) => file.match(HASH) ?? [])])];
  const turned = new Map(hashes.map((hash) => [hash, [...hash].reverse().join("")]));
  // Not where it is only the beginning of a longer hash: that one names a file's content, which stays.
  const any = new RegExp(`(${hashes.join("|")})(?![0-9a-f])`, "g");
  /** @param {string} text */
  const rename = (text) => text.replace(any, (hash) => turned.get(hash) ?? hash);

  const { files: book } = JSON.parse(readFileSync(join(folder, CONTENTS), "utf8"));
  for (const path of [...Object.keys(book), LIST]) {
    const file = join(folder, path);
    if (!TEXTS.has(extname(path))) continue;
    let text = rename(readFileSync(file, "utf8"));
    if (path.endsWith(".html")) text = text.replace("<h1", `${MARK}<h1`);
    if (path.startsWith("assets/live/") && path.endsWith(".js")) text = text.replaceAll(...WORD);
    writeFileSync(file, text);
  }
  for (const path of files) {
    const [from, to] = [join(folder, path), join(folder, rename(path))];
    if (from === to) continue;
    if (dirname(from) !== dirname(to)) cpSync(from, to);
    else renameSync(from, to);
  }
  const listed = Object.keys(book).map((path) => [rename(path), entry(join(folder, rename(path)))]);
  writeFileSync(join(folder, CONTENTS), JSON.stringify({ release: "later", files: Object.fromEntries(listed) }));
  const own = files.map(rename);
  return {
    folder,
    build: listOf(folder).build,
    before: new Set(files.filter((path) => !own.includes(path))),
    own: new Set(own.filter((path) => !files.includes(path))),
  };
}

/** Brings the files of the published release into the later one, by the program that the deploy runs. @param {Later} later @param {string} base */
export async function keepBefore(later, base) {
  const copy = mkdtempSync(join(tmpdir(), "iron-law-kept-"));
  process.once("exit", () => rmSync(copy, { recursive: true, force: true }));
  cpSync(later.folder, copy, { recursive: true });
  const args = ["-m", "tools.keep_releases", "--site", copy, "--from", base];
  await promisify(execFile)(join(REPOSITORY, ".venv", "bin", "python"), args, { cwd: REPOSITORY });
  return copy;
}

/** @param {string} folder @returns {{build: string, files: string[]}} */
const listOf = (folder) => JSON.parse(readFileSync(join(folder, LIST), "utf8"));

/** @param {string} file */
function entry(file) {
  const content = readFileSync(file);
  return [content.length, createHash("sha256").update(content).digest("hex").slice(0, 16)];
}
