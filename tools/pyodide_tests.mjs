// Runs the engine's tests inside Pyodide, the Python that runs in the page, and prints how many: `make test-pyodide`.
// @ts-check
//
//   node tools/pyodide_tests.mjs [tests/engine/memory ...]
//
// Without arguments it runs the rooms whose tests take seconds: those that compute whole steps over grids of setups take
// minutes in WebAssembly, and the browser tests compare what acts compute there with the build's values.
// pytest and a Hypothesis that is pure Python (newer ones are compiled) lie in a folder of their own, so that nothing
// compiled for this machine is found.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { loadPyodide } from "pyodide";

const ROOMS = ["core", "config", "economics", "hardware", "models", "networks", "numerics"];
const REPOSITORY = fileURLToPath(new URL("../", import.meta.url));
const PACKAGES = [
  ...["pytest==9.2.0", "pluggy==1.7.0", "iniconfig==2.3.1", "packaging==26.3", "pygments==2.20.0"],
  ...["hypothesis==6.155.0", "sortedcontainers==2.4.0"],
];
const LIBRARY = join(REPOSITORY, ".cache", "pyodide-tests", PACKAGES.join("-").replaceAll("==", "-"));

if (!existsSync(join(LIBRARY, "hypothesis"))) {
  const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-compile", "--only-binary", ":all:"];
  const installed = spawnSync(join(REPOSITORY, ".venv", "bin", "python"), [...pip, "--target", LIBRARY, ...PACKAGES], { stdio: "inherit" });
  if (installed.status !== 0) {
    console.error("test-pyodide: pip could not install what the tests need; its message is above");
    process.exit(1);
  }
}

const paths = process.argv.slice(2);
const pyodide = await loadPyodide();
for (const [place, folder] of [["/repository", REPOSITORY], ["/packages", LIBRARY]]) pyodide.mountNodeFS(place ?? "", folder ?? "");
process.exitCode = Number(
  pyodide.runPython(`
import os, sys
sys.pycache_prefix = "/packages/compiled"
os.chdir("/repository")
sys.path[:0] = ["/repository", "/repository/engine", "/packages"]
from tools.pyodide_tests import run
run(${JSON.stringify(paths.length ? paths : ROOMS.map((room) => `tests/engine/${room}`))})
`),
);
