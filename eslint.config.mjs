// The linter of TypeScript and of the scripts around it. The compiler checks types (`npm run typecheck`).
//
// typescript-eslint does not read TypeScript 7, so Babel parses; rules that need types are left to the compiler's strictness.
import babelParser from "@babel/eslint-parser";
import js from "@eslint/js";

export default [
  { ignores: ["**/dist/**", "node_modules/**", "site/**", ".venv/**", "test-results/**", ".cache/**", "build/**"] },
  js.configs.recommended,
  {
    files: ["**/*.{ts,mjs,js}"],
    languageOptions: {
      parser: babelParser,
      parserOptions: {
        requireConfigFile: false,
        babelOptions: { babelrc: false, configFile: false, presets: ["@babel/preset-typescript"] },
      },
    },
    rules: {
      // The compiler checks these.
      "no-undef": "off",
      "no-unused-vars": "off",
      "no-redeclare": "off",
      complexity: ["error", { max: 20 }],
      eqeqeq: "error",
      // Instead of `max-params`, which fails on Babel's function types.
      "no-restricted-syntax": ["error", { selector: ":function[params.length>5]", message: "More than five parameters: hand over an object." }],
      "no-constructor-return": "error",
      "no-implicit-coercion": "error",
      "no-new-func": "error",
      "no-eval": "error",
      "no-implied-eval": "error",
      "no-self-compare": "error",
      "no-template-curly-in-string": "error",
      "no-throw-literal": "error",
      "no-unmodified-loop-condition": "error",
      "no-unneeded-ternary": "error",
      "no-useless-concat": "error",
      "no-useless-rename": "error",
      "no-useless-return": "error",
      "no-var": "error",
      "object-shorthand": "error",
      "prefer-const": "error",
      "prefer-promise-reject-errors": "error",
      radix: "error",
    },
  },
  {
    // These have a branch for each keyword of JSON Schema, or for each path of the test server.
    files: ["plugins/explorable/live/web/src/ledger/schema.ts", "tests/browser/harness/server.mjs"],
    rules: { complexity: ["error", { max: 30 }] },
  },
];
