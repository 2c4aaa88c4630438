// Unit tests of the browser code, in Node with a DOM stand-in; real browsers are tested under tests/browser/.
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: { environment: "happy-dom", include: ["test/**/*.test.ts"], setupFiles: ["test/setup.ts"] },
});
