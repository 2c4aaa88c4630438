// The history of the site's budgets: runs as data, and the tables that the site shows of them.
// @ts-check
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { fileURLToPath } from "node:url";

const DATA = fileURLToPath(new URL("history.json", import.meta.url));
const PAGE = fileURLToPath(new URL("history.md", import.meta.url));

/**
 * @typedef {{what: string, budget: string, measured: string, met: boolean | null}} Line
 * @typedef {{day: string, commit: string, machine: string, load: string, lines: Line[]}} Run
 */

/** Adds a run, the newest first, and writes its table. @param {Line[]} lines */
export function record(lines) {
  const { day, commit, machine, load } = circumstances();
  /** @type {Run[]} */
  const runs = [{ day, commit, machine, load, lines }, ...JSON.parse(readFileSync(DATA, "utf8"))];
  writeFileSync(DATA, `${JSON.stringify(runs, null, 1)}\n`);
  writeFileSync(PAGE, runs.map(table).join("\n"));
}

function circumstances() {
  const commit = execFileSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8" }).trim();
  const machine = `${cpus().length} cores (${cpus()[0]?.model.trim() ?? "unknown"})`;
  return { day: new Date().toISOString().slice(0, 10), commit, machine, load: loadavg()[0]?.toFixed(1) ?? "" };
}

/** @param {Run} run */
function table({ day, commit, machine, load, lines }) {
  const rows = lines.map(({ what, budget, measured, met }) => `| ${what.trim()} | ${budget} | ${measured} | ${met === null ? "" : met ? "within" : "**over**"} |`);
  return `## ${day}, ${commit}\n\n${machine}, load ${load} at the end.\n\n| what | budget | measured | result |\n|---|---:|---:|---|\n${rows.join("\n")}\n`;
}
