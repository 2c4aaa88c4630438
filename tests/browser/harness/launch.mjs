// Starts one browser per engine, with the refusing proxy as its only way out.
// @ts-check
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { Browser } from "./browser.mjs";
import { startPuppeteer } from "./puppeteer.mjs";
import { startWebKit } from "./webkit.mjs";

/** @typedef {"chromium" | "firefox" | "webkit"} Engine */

/** @type {Engine[]} */
const ALL_ENGINES = ["chromium", "firefox", "webkit"];
/** The script that finds the browsers. */
export const SETUP = fileURLToPath(new URL("../../../tools/setup_browsers.sh", import.meta.url));

/** The engines named in the variable ENGINES, all when it is empty. Ends the process with 2 on an unknown name. */
export function wantedEngines(names = process.env["ENGINES"] ?? "") {
  const wanted = names.split(/[\s,]+/).filter((name) => name);
  for (const name of wanted) {
    if (!ALL_ENGINES.some((engine) => engine === name)) {
      console.error(`browser tests: ENGINES names "${name}"; allowed: ${ALL_ENGINES.join(", ")}`);
      process.exit(2);
    }
  }
  return wanted.length ? ALL_ENGINES.filter((engine) => wanted.includes(engine)) : ALL_ENGINES;
}

/** Where the browsers' programs are. Ends the process with 2 when one is missing and cannot be installed.
 * @param {Engine[]} engines */
export function findPrograms(engines) {
  const found = spawnSync("sh", [SETUP, "--paths", ...engines], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  if (found.status !== 0) process.exit(2);
  /** @type {Record<string, string>} */
  const programs = {};
  for (const line of found.stdout.trim().split("\n")) {
    const split = line.indexOf("=");
    programs[line.slice(0, split)] = line.slice(split + 1);
  }
  return programs;
}

/** @param {Record<string, string>} programs  from `findPrograms` */
export const webKitPrograms = (programs) => ({
  driver: programs["WEBKIT_DRIVER"] ?? "",
  miniBrowser: programs["MINIBROWSER"] ?? "",
  xvfb: programs["XVFB"] ?? "",
});

/**
 * @param {Engine} engine
 * @param {Record<string, string>} programs  from `findPrograms`
 * @param {number} proxyPort
 * @param {{asReaders?: boolean}} [how]  see `startPuppeteer`
 */
export async function launch(engine, programs, proxyPort, how = {}) {
  const driver =
    engine === "webkit"
      ? await startWebKit(webKitPrograms(programs), proxyPort)
      : await startPuppeteer(engine, programs[engine.toUpperCase()] ?? "", proxyPort, how);
  return new Browser(engine, driver);
}
