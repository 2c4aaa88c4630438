// Bundles the browser code into dist/: live.js, live.css, hashed chunks, the worker, and a manifest with their sizes.
import { readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, basename } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const outdir = join(here, "dist");

/**
 * Data that explains itself to people, where a browser only decides by it: descriptions in the schemas of files, reasons in the
 * list of what a worker keeps.
 */
const unexplained = {
  name: "unexplained",
  /** @param {import("esbuild").PluginBuild} build */
  setup: ({ onLoad }) =>
    onLoad({ filter: /(ledger\.schema|ceilings\/schema|allowed)\.json$/ }, async ({ path }) => {
      const text = await readFile(path, "utf-8");
      const short = path.endsWith("allowed.json")
        ? JSON.parse(text, (key, value) => (typeof value === "string" && !/^\d+$/.test(key) ? 0 : value))
        : JSON.parse(text, (key, value) => (key === "description" && typeof value === "string" ? undefined : value));
      return { contents: JSON.stringify(short), loader: "json" };
    }),
};

const common = {
  plugins: [unexplained],
  absWorkingDir: here,
  outdir,
  bundle: true,
  format: "esm",
  minify: true,
  metafile: true,
  legalComments: "none",
  logLevel: "warning",
  target: ["chrome110", "firefox128", "safari16.4"],
};

await rm(outdir, { recursive: true, force: true });

// The worker first: the page's code carries its hashed file name.
const worker = await build({ ...common, entryPoints: { worker: "src/python/worker.ts" }, entryNames: "[name]-[hash]" });
const workerFile = basename(Object.keys(worker.metafile.outputs)[0]);

const page = await build({
  ...common,
  entryPoints: { live: "src/live.ts" },
  entryNames: "[name]",
  chunkNames: "[name]-[hash]",
  splitting: true,
  define: { WORKER_FILE: JSON.stringify(workerFile) },
});

const styles = await build({ ...common, entryPoints: { live: "styles/live.css" }, entryNames: "[name]" });

// Under one name for ever: browsers look for a newer one there.
const server = await build({ ...common, format: "iife", entryPoints: { sw: "src/sw.ts" }, entryNames: "[name]" });

const files = {};
const entries = {};
for (const result of [page, worker, server, styles]) {
  for (const [path, output] of Object.entries(result.metafile.outputs)) {
    const file = basename(path);
    const bytes = await readFile(join(here, path));
    const imports = output.imports.filter((one) => one.kind === "import-statement").map((one) => basename(one.path));
    files[file] = { bytes: bytes.length, gzip: gzipSync(bytes, { level: 9 }).length, imports };
    if (output.entryPoint) entries[output.entryPoint] = file;
  }
}
// Whose licenses the site has to show.
const inputs = [page, worker].flatMap(({ metafile }) => Object.keys(metafile.inputs));
const packages = [...new Set(inputs.flatMap((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []))].sort();
await writeFile(join(outdir, "manifest.json"), JSON.stringify({ entries, files, packages }, null, 2) + "\n");

for (const [file, { bytes, gzip }] of Object.entries(files).sort()) {
  console.log(`${file.padEnd(28)} ${String(bytes).padStart(8)} bytes ${String(gzip).padStart(7)} gzip`);
}
