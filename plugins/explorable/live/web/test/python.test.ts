// The worker's side: requests to Python and back, with Pyodide replaced by a script.
import { describe, expect, test, vi } from "vitest";
import { listen, Python, type Acts } from "../src/python/python";
import type { Elsewhere, Request, Response as Reply } from "../src/python/protocol";
import { Snippets, type Pyodide, type SnippetModule } from "../src/python/snippets";
import { release, settle, state, view } from "./fake-worker";

interface Setup {
  modules?: Partial<Acts & SnippetModule>;
  /** Messages of Pyodide's package loader. */
  loader?: string[];
  readText?: (url: string) => Promise<string>;
  elsewhere?: Elsewhere;
}

function setup({ modules = {}, loader = [], readText = () => Promise.resolve("ACT = ..."), elsewhere = {} }: Setup) {
  const replies: Reply[] = [];
  const loaded: string[] = [];
  const written: string[] = [];
  const pyodide: Pyodide = {
    FS: { writeFile: (path, data) => void written.push(`${path}: ${new TextDecoder().decode(data)}`) },
    // As Pyodide's own function does for code as simple as here.
    pyimport: () => ({ find_imports: (code: string) => ({ toJs: () => [...code.matchAll(/import (\w+)/g)].map(([, name]) => name) }) }),
    loadPackagesFromImports(_, { messageCallback }) {
      for (const message of loader) messageCallback(message);
      return Promise.resolve();
    },
  };
  const whole: Acts & SnippetModule = {
    run_snippet_awaiting: () => '{"result": null, "error": null}',
    load_act: (name) => void loaded.push(name),
    compute: (_, json) => JSON.stringify(view(json)),
    frame: (_, json) => JSON.stringify({ ...view(json), tables: {} }),
    reveal: () => "{}",
    check: () => "{}",
    tell: (_, what) => JSON.stringify({ what }),
    ...modules,
  };
  const send = (reply: Reply): void => void replies.push(reply);
  const opened: string[][] = [];
  const snippets = new Snippets(pyodide, whole, send, elsewhere, (addresses) => void opened.push([...addresses]));
  return { python: new Python(whole, snippets, send, readText), replies, loaded, written, opened };
}

const run = (source: string, foreign: string[] = []) => ({ kind: "run", id: 1, page: "p", name: "n", source, foreign }) as const;
const compute = (actUrl: string) => ({ kind: "compute", id: 2, act: "tax", actUrl, state: state(8), frame: false }) as const;

class PythonError extends Error {
  override name = "PythonError";
}

describe("snippets", () => {
  test("a data file is there before the code runs; one that does not arrive is said, and the code does not run", async () => {
    const { python, replies, written } = setup({});
    const own = { name: "own.csv", data: new TextEncoder().encode("1,2") };
    await python.answer({ ...run("open('own.csv')"), files: [own] });
    expect(written).toEqual(["own.csv: 1,2"]);
    await python.answer({ ...run("open('gone.csv')"), files: [{ name: "gone.csv", url: "http://127.0.0.1:1/gone.csv" }] });
    expect(replies.map((reply) => (reply.kind === "problem" ? reply.message : reply.kind))).toEqual(["ran", "The data file gone.csv could not be downloaded."]);
  });

  test("everything printed is sent before the outcome", async () => {
    const { python, replies } = setup({
      modules: {
        run_snippet_awaiting(_page, _name, _source, write) {
          write("one\n");
          write("two\n");
          // A program that then runs until it is stopped has shown what it printed.
          expect(replies.filter(({ kind }) => kind === "output")).toHaveLength(2);
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
      modules: {
        run_snippet_awaiting(_page, _name, _source, write) {
          for (let line = 0; line < 5000; line += 1) write("x\n");
          return '{"result": null, "error": null}';
        },
      },
    });
    await python.answer(run("..."));
    expect(replies.length).toBeLessThan(250);
  });

  test("code that needs another host does not run before the reader agreed", async () => {
    const host = "wheels.example.org";
    const [numpy, pandas] = [`https://${host}/numpy.whl`, `https://${host}/pandas.whl`];
    const elsewhere = {
      numpy: { packages: ["numpy"], hosts: [host], urls: [numpy] },
      pandas: { packages: ["numpy", "pandas"], hosts: [host], urls: [numpy, pandas] },
    };
    let ran = 0;
    const run_snippet_awaiting = (): string => ((ran += 1), '{"result": null, "error": null, "figures": []}');
    const { python, replies, opened } = setup({ modules: { run_snippet_awaiting }, elsewhere });
    await python.answer(run("import json"));
    await python.answer(run("import numpy\nimport pandas\nimport constructor"));
    expect([ran, replies.at(-1)]).toEqual([1, { kind: "asks", id: 1, packages: ["numpy", "pandas"], hosts: [host] }]);
    expect(opened.flat()).toEqual([]);
    // A program that ran before consent may have changed how lists of addresses are made.
    const forged = [{ packages: ["numpy"], urls: [`${numpy}?secret`] }];
    const flatMap = vi.spyOn(Array.prototype, "flatMap").mockReturnValue(forged);
    const values = vi.spyOn(Object, "values").mockReturnValue(forged);
    // Of every list that it reaches it takes more than it was given.
    const every = vi.spyOn(Array.prototype, "every").mockImplementation(function (this: string[]) {
      if (!Object.isFrozen(this)) this.push("pandas");
      return true;
    });
    const includes = vi.spyOn(Array.prototype, "includes").mockImplementation(function (this: string[]) {
      return this.push("pandas") > 0;
    });
    try {
      await python.answer(run("import numpy", ["numpy"]));
    } finally {
      for (const one of [flatMap, values, every, includes]) one.mockRestore();
    }
    expect([ran, replies.at(-1)?.kind]).toEqual([2, "ran"]);
    expect(opened.at(-1)).toEqual([numpy]);
  });

  test("what the reader agreed to for one program opens nothing for another", async () => {
    const at = (name: string): string => `https://wheels.example/${name}.whl`;
    const one = (...packages: string[]) => ({ packages, hosts: ["wheels.example"], urls: packages.map(at) });
    const { python, replies, opened } = setup({ elsewhere: { numpy: one("numpy"), matplotlib: one("matplotlib", "numpy") } });
    await python.answer(run("import numpy", ["numpy"]));
    expect([replies.at(-1)?.kind, opened.at(-1)]).toEqual(["ran", [at("numpy")]]);
    await python.answer(run("import numpy, matplotlib\nimport matplotlib", ["numpy"]));
    expect(replies.at(-1)).toEqual({ kind: "asks", id: 1, packages: ["matplotlib", "numpy"], hosts: ["wheels.example"] });
    await python.answer(run("import numpy"));
    expect(replies.at(-1)?.kind).toBe("asks");
    await python.answer(run("print()"));
    expect([replies.at(-1)?.kind, opened.at(-1)]).toEqual(["ran", []]);
    await python.answer(run("import matplotlib", ["numpy", "matplotlib"]));
    expect(new Set(opened.at(-1))).toEqual(new Set([at("matplotlib"), at("numpy")]));
  });

  test("a package that cannot be downloaded is a plain sentence, and the code does not run", async () => {
    const { python, replies } = setup({
      loader: ["Loading numpy", "Failed to load numpy"],
      modules: {
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
    expect(replies).toEqual([{ kind: "answer", id: 2, answer: view(JSON.stringify(state(8))) }]);
  });

  test("each question goes to its function", async () => {
    const says = (what: string) => (): string => JSON.stringify(what);
    const modules = { compute: says("view"), frame: says("frame"), reveal: says("verdict"), check: says("feedback") };
    const { python, replies } = setup({ modules });
    const asked = compute("act.py");
    await python.answer(asked);
    await python.answer({ ...asked, frame: true });
    await python.answer({ ...asked, kind: "reveal" });
    await python.answer({ ...asked, kind: "check", reflection: "why", answers: {} });
    expect(replies.map((reply) => reply.kind === "answer" && reply.answer)).toEqual(["view", "frame", "verdict", "feedback"]);
  });

  test("of a Python error the reader sees the last line, without module paths", async () => {
    const { python, replies } = setup({
      modules: {
        compute: () => {
          throw new PythonError("Traceback (most recent call last):\n  …\nexplorable.live.runtime.acts.ActError: batch is 3\n");
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
    expect(replies.at(-1)?.kind).toBe("answer");
  });

  test("an interpreter that breaks is not passed off as the act's problem", async () => {
    const { python } = setup({
      modules: {
        compute: () => {
          throw new WebAssembly.RuntimeError("unreachable");
        },
      },
    });
    await expect(python.answer(compute("act.py"))).rejects.toThrow("unreachable");
  });
});

describe("the worker", () => {
  function worker(start: () => Promise<Python>) {
    const replies: Reply[] = [];
    const listeners = new Map<string, (event: never) => void>();
    const addEventListener = (type: string, listener: (event: never) => void): void => void listeners.set(type, listener);
    listen({ addEventListener, postMessage: (reply) => void replies.push(reply) }, ({ data }) => data as Request, start, () => Promise.reject(new Error("no copy is made here")));
    const happens = (type: string, event: object): void => listeners.get(type)?.({ isTrusted: true, ...event } as never);
    const say = (data: Request, isTrusted = true): void => happens("message", { data, isTrusted });
    say({ kind: "start", release, base: "https://example.org/", copy: null });
    return { say, happens, replies };
  }

  test("does nothing for an event that a snippet has made", async () => {
    const { python, replies } = setup({});
    const { say } = worker(() => Promise.resolve(python));
    say(compute("act.py"), false);
    say(run("asked"));
    await vi.waitFor(() => expect(replies.map(({ kind }) => kind)).toEqual(["ran"]));
  });

  test("answers in the order in which it was asked, from when Python has started", async () => {
    const { python, replies } = setup({});
    const { say } = worker(() => settle().then(() => python));
    say(run("1"));
    say(compute("act.py"));
    await settle();
    expect(replies).toEqual([]);
    await settle();
    expect(replies.map(({ kind }) => kind)).toEqual(["ran", "answer"]);
  });

  test("a start that fails is told, and whether it was Pyodide's own program", async () => {
    const fatal = Object.assign(new Error("null function"), { pyodide_fatal_error: true });
    const { replies } = worker(() => Promise.reject(fatal));
    const { replies: offline } = worker(() => Promise.reject(new Error("offline")));
    await settle();
    expect(replies).toEqual([{ kind: "failed", message: "null function", broken: true }]);
    expect(offline).toEqual([{ kind: "failed", message: "offline", broken: false }]);
  });

  test("tells of Pyodide's own error that nobody waits for, and of none of a reader's program", async () => {
    const { python } = setup({ modules: { run_snippet_awaiting: () => new Promise<string>(() => undefined) } });
    const { say, happens, replies } = worker(() => Promise.resolve(python));
    say(run("os.abort()"));
    await settle();
    for (const mine of [new Error("a reader's own"), "text", undefined]) {
      happens("unhandledrejection", { reason: mine });
      happens("error", { error: mine });
    }
    const fatal = Object.assign(new WebAssembly.RuntimeError("unreachable"), { pyodide_fatal_error: true });
    happens("unhandledrejection", { reason: fatal, isTrusted: false });
    expect(replies).toEqual([]);
    const told = { kind: "failed", message: "unreachable", broken: true };
    happens("unhandledrejection", { reason: fatal });
    happens("error", { error: fatal });
    expect(replies).toEqual([told, told]);
  });
});
