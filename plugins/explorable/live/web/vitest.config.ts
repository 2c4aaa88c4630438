// Unit tests of the browser code, in Node with a DOM stand-in; real browsers are tested under tests/browser/.
import { defineConfig } from "vitest/config";

/** Tests that replace a module or stand in another environment: they are the first to import what they test. */
const apart = ["act", "defense", "exercise", "fatal", "gate", "start"].map((name) => `test/${name}.test.ts`);

const shared = {
  environment: "happy-dom",
  setupFiles: ["test/setup.ts"],
  // A busy machine takes its time; what hangs ends all the same.
  testTimeout: 60_000,
  pool: "forks" as const,
  // Megabytes of one process's objects, so that random input that eats memory ends with a message and not with the machine.
  execArgv: ["--max-old-space-size=1024"],
};

export default defineConfig({
  test: {
    projects: [
      { test: { ...shared, name: "apart", include: apart } },
      // One process, in which a file finds what others imported: a process and a document for each took three times as long.
      { test: { ...shared, name: "together", include: ["test/**/*.test.ts"], exclude: apart, isolate: false, maxWorkers: 1 } },
    ],
  },
});
