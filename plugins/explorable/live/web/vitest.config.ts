// Unit tests of the browser code, in Node with a DOM stand-in; real browsers are tested under tests/browser/.
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    environment: "happy-dom",
    include: ["test/**/*.test.ts"],
    setupFiles: ["test/setup.ts"],
    // A busy machine takes its time; what hangs ends all the same.
    testTimeout: 60_000,
    // Megabytes of one file's objects, so that random input that eats memory ends with a message and not with the machine.
    pool: "forks",
    execArgv: ["--max-old-space-size=1024"],
  },
});
