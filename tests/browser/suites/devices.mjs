// The filter of measured tables by device: by keyboard, for all tables of a page at once, kept in the address.
// @ts-check
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { REPOSITORY } from "../harness/site.mjs";

/** @typedef {import("../harness/browser.mjs").Browser} Browser */

/** A page with tables that the plugin makes from records of two devices. The site may have records of only one device. */
function page() {
  const python = join(REPOSITORY, ".venv", "bin", "python");
  const content = execFileSync(python, ["-m", "tests.explorable.measured.two_devices"], { cwd: REPOSITORY, encoding: "utf8" });
  const script = readFileSync(join(REPOSITORY, "plugins", "explorable", "measured", "tables", "devices.js"), "utf8");
  const head = '<meta charset="utf-8"><link rel="icon" href="data:,"><title>Two devices</title>';
  return `<!doctype html><html lang="en"><head>${head}</head><body>${content}<script>${script}</script></body></html>`;
}

/** The devices of the rows that a reader can see, table by table. @param {Browser} browser */
function shown(browser) {
  return browser.eval(() =>
    [...document.querySelectorAll("table")].map((table) =>
      [...table.querySelectorAll("tr[data-device]")]
        .filter((row) => row.checkVisibility())
        .map((row) => row.getAttribute("data-device") ?? ""),
    ),
  );
}

const ALL = [
  ["nvidia-b200", "nvidia-h200", "nvidia-b200", "nvidia-h200"],
  ["nvidia-b200", "nvidia-h200"],
];
const B200 = [["nvidia-b200", "nvidia-b200"], ["nvidia-b200"]];

/** @param {import("../harness/world.mjs").Facts} facts */
export function deviceTests({ once }) {
  once("measured: a device is chosen by keyboard, for every table, and stays in the address", async ({ browser, server }) => {
    const address = server.add("two-devices.html", "text/html; charset=utf-8", page());
    await browser.open(address);
    await browser.waitFor("il-devices select");
    assert.deepEqual(await shown(browser), ALL);
    assert.equal(await browser.of("il-devices label", (label) => label.control.tagName), "SELECT");
    await browser.press("Tab");
    assert.equal(await browser.eval(() => document.activeElement?.parentElement?.firstChild?.textContent), "Measured on ");
    await browser.press("ArrowDown");
    await browser.waitFor(() => location.search === "?device=nvidia-b200");
    assert.deepEqual(await shown(browser), B200);
    assert.deepEqual(
      await browser.eval(() => [...document.querySelectorAll("select")].map((select) => select.value)),
      ["nvidia-b200", "nvidia-b200"],
    );
    await browser.reload();
    await browser.waitFor("il-devices select");
    assert.deepEqual(await shown(browser), B200);
    await browser.press("Tab");
    await browser.press("ArrowUp");
    await browser.waitFor(() => location.search === "");
    assert.deepEqual(await shown(browser), ALL);
    // A link from elsewhere may name a device that no table here has.
    await browser.open(`${address}?device=nvidia-none`);
    await browser.waitFor("il-devices select");
    assert.deepEqual(await shown(browser), ALL);
  });
}
