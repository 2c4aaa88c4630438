// The worker's side: requests to the bridge and back, with Pyodide replaced by a script.
import { describe, expect, test } from "vitest";
import { Python, type Bridge, type Pyodide } from "../src/python/python";
import type { Elsewhere, Response as Reply } from "../src/python/protocol";
import { state, view } from "./fake-worker";

interface Setup {
  bridge?: Partial<Bridge>;
  /** Messages of Pyodide's package loader. */
  loader?: string[];
  readText?: (url: string) => Promise<string>;
  elsewhere?: Elsewhere;
}

function setup({ bridge = {}, loader = [], readText = () => Promise.resolve("ACT = ..."), elsewhere = {} }: Setup) {
  const replies: Reply[] = [];
  const loaded: string[] = [];
  const pyodide: Pyodide = {
    version: "314.0.7",
    // As Pyodide's own function does for code as simple as here.
    pyimport: () => ({ find_imports: (code: string) => ({ toJs: () => [...code.matchAll(/import (\w+)/g)].map(([, name]) => name) }) }),
    loadPackagesFromImports(_, { messageCallback }) {
      for (const message of loader) messageCallback(message);
      return Promise.resolve();
    },
  };
  const whole: Bridge = {
    run_snippet_awaiting: () => '{"result": null, "error": null}',
    load_act: (name) => (loaded.push(name), "{}"),
    compute: (_, json) => JSON.stringify(view(json)),
    frame: (_, json) => JSON.stringify({ ...view(json), tables: {} }),
    reveal: () => "{}",
    check: () => "{}",
    ...bridge,
  };
  return { python: new Python(pyodide, whole, (reply) => replies.push(reply), readText, elsewhere), replies, loaded };
}

const run = (source: string, foreign = false) => ({ kind: "run", id: 1, page: "p", name: "n", source, foreign }) as const;
const compute = (actUrl: string) => ({ kind: "compute", id: 2, act: "tax", actUrl, state: state(8) }) as const;

class PythonError extends Error {
  override name = "PythonError";
}

describe("snippets", () => {
  test("everything printed is sent before the outcome", async () => {
    const { python, replies } = setup({
      bridge: {
        run_snippet_awaiting(_page, _name, _source, write) {
          write("one\n");
          write("two\n");
          return '{"result": "3", "error": {"text": "boom", "line": 2}, "figures": []}';
        },
      },
    });
    await python.answer(run("print()"));
    const text = replies.flatMap((reply) => (reply.kind === "output" ? [reply.text] : [])).join("");
    expect(text).toBe("one\ntwo\n");
    expect(replies.at(-1)).toEqual({ kind: "ran", id: 1, result: "3", error: { text: "boom", line: 2 }, figures: [] });
  });

  test("a printing loop is sent in a few messages, not one per line", async () => {
    const { python, replies } = setup({
      bridge: {
        run_snippet_awaiting(_page, _name, _source, write) {
          for (let line = 0; line < 1000; line += 1) write("x\n");
          return '{"result": null, "error": null}';
        },
      },
    });
    await python.answer(run("..."));
    expect(replies.length).toBeLessThan(20);
  });

  test("code that needs another host does not run before the reader agreed", async () => {
    const host = "wheels.example.org";
    const elsewhere = { numpy: { packages: ["numpy"], hosts: [host] }, pandas: { packages: ["numpy", "pandas"], hosts: [host] } };
    let ran = 0;
    const run_snippet_awaiting = (): string => ((ran += 1), '{"result": null, "error": null, "figures": []}');
    const { python, replies } = setup({ bridge: { run_snippet_awaiting }, elsewhere });
    await python.answer(run("import json"));
    await python.answer(run("import numpy\nimport pandas\nimport constructor"));
    expect([ran, replies.at(-1)]).toEqual([1, { kind: "asks", id: 1, packages: ["NumPy", "pandas"], hosts: [host] }]);
    await python.answer(run("import numpy", true));
    expect([ran, replies.at(-1)?.kind]).toEqual([2, "ran"]);
  });

  test("a package that cannot be downloaded is a plain sentence, and the code does not run", async () => {
    const { python, replies } = setup({
      loader: ["Loading numpy", "Failed to load numpy"],
      bridge: {
        run_snippet_awaiting: () => {
          throw new Error("must not run");
        },
      },
    });
    await python.answer(run("import numpy as np"));
    expect(replies.at(-1)).toEqual({
      kind: "problem",
      id: 1,
      message:
        "NumPy could not be downloaded. " +
        "Run needs the network for it; everything else on this page works without.",
    });
  });
});

describe("acts", () => {
  test("the act's program is loaded once, and again when its address changes", async () => {
    const { python, loaded } = setup({});
    await python.answer(compute("acts/tax-1.py"));
    await python.answer(compute("acts/tax-1.py"));
    await python.answer(compute("acts/tax-2.py"));
    expect(loaded).toEqual(["tax", "tax"]);
  });

  test("a view carries the id of its request", async () => {
    const { python, replies } = setup({});
    await python.answer(compute("act.py"));
    expect(replies).toEqual([{ kind: "view", id: 2, view: view(JSON.stringify(state(8))) }]);
  });

  test("of a Python error the reader sees the last line, without module paths", async () => {
    const { python, replies } = setup({
      bridge: {
        compute: () => {
          throw new PythonError("Traceback (most recent call last):\n  …\nplugins.live.runtime.acts.ActError: batch is 3\n");
        },
      },
    });
    await python.answer(compute("act.py"));
    expect(replies).toEqual([{ kind: "problem", id: 2, message: "batch is 3" }]);
  });

  test("a program that cannot be downloaded is a problem of this request, and is tried again", async () => {
    let online = false;
    const { python, replies } = setup({
      readText: () => (online ? Promise.resolve("") : Promise.reject(new Error("act.py: HTTP 404"))),
    });
    await python.answer(compute("act.py"));
    expect(replies.at(-1)).toMatchObject({ kind: "problem", message: expect.stringContaining("HTTP 404") as string });
    online = true;
    await python.answer(compute("act.py"));
    expect(replies.at(-1)?.kind).toBe("view");
  });

  test("an interpreter that breaks is not passed off as the act's problem", async () => {
    const { python } = setup({
      bridge: {
        compute: () => {
          throw new WebAssembly.RuntimeError("unreachable");
        },
      },
    });
    await expect(python.answer(compute("act.py"))).rejects.toThrow("unreachable");
  });
});
