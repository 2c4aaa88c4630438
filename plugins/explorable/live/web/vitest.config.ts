// Unit tests of the browser code, in Node with a DOM stand-in; real browsers are tested under tests/browser/.
import { defineConfig } from "vitest/config";

/** They need a document and modules that no other file has used. */
const ALONE = ["test/defense.test.ts", "test/start.test.ts"];

const shared = {
  environment: "happy-dom",
  setupFiles: ["test/setup.ts"],
  // Megabytes of one file's objects, so that random input that eats memory ends with a message and not with the machine.
  pool: "forks" as const,
  execArgv: ["--max-old-space-size=1024"],
};

export default defineConfig({
  test: {
    projects: [
      // A process for each file takes three times as long.
      { test: { ...shared, name: "together", include: ["test/**/*.test.ts"], exclude: ALONE, isolate: false } },
      { test: { ...shared, name: "alone", include: ALONE } },
    ],
  },
});
