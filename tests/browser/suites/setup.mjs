// The script that finds the browsers: a missing one is a plain line with the fix and exit code 2, never a silent skip.
// @ts-check
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { SETUP } from "../harness/launch.mjs";

/**
 * Runs the script for someone who may not install anything, on a machine whose path holds only the given programs.
 * @param {string[]} programs names of programs that exist and do nothing
 * @param {string[]} args
 */
function runSetup(programs, args) {
  const folder = mkdtempSync(join(tmpdir(), "iron-law-setup-"));
  try {
    const bin = join(folder, "bin");
    mkdirSync(bin);
    symlinkSync("/bin/sh", join(bin, "sh"));
    // The script is made to believe that it does not run as root, on a given system, whoever runs the tests.
    for (const [name, says] of [["id", "1000"], ["uname", "Linux"], ["apt-get", ""], ...programs.map((one) => [one, ""])]) {
      writeFileSync(join(bin, String(name)), `#!/bin/sh\necho ${says}\n`);
      chmodSync(join(bin, String(name)), 0o755);
    }
    const ran = spawnSync("/bin/sh", [SETUP, ...args], { env: { PATH: bin }, encoding: "utf8" });
    return { status: ran.status, lines: ran.stderr.trim().split("\n"), out: ran.stdout.replaceAll(`${bin}/`, "") };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Needs no browser. */
export function setupTests() {
  describe("setup", () => {
    test("setup: a missing browser is one line with the fix, and exit code 2", () => {
      const { status, lines } = runSetup([], ["chromium", "firefox"]);
      assert.equal(status, 2);
      assert.deepEqual(lines, [
        "setup_browsers: CHROMIUM is missing: sudo apt-get install chromium, or set CHROME_PATH",
        "setup_browsers: FIREFOX is missing: sudo apt-get install firefox-esr, or set FIREFOX_PATH",
      ]);
    });

    test("setup: Google Chrome serves where Chromium is not installed", () => {
      const { status, out } = runSetup(["google-chrome", "firefox"], ["--paths", "chromium", "firefox"]);
      assert.equal(status, 0);
      assert.equal(out, "CHROMIUM=google-chrome\nFIREFOX=firefox\n");
    });

    test("setup: an engine that does not exist is refused by name", () => {
      const { status, lines } = runSetup([], ["opera"]);
      assert.equal(status, 2);
      assert.deepEqual(lines, ["setup_browsers: unknown engine 'opera'; allowed: chromium, firefox, webkit"]);
    });
  });
}
