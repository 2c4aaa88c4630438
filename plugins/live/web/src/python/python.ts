// Python inside the worker: answers the page's requests through the bridge.
import type { Drawing, Elsewhere, Feedback, Request, Response as Reply, SnippetError, State, Verdict, View } from "./protocol";

export type Send = (reply: Reply) => void;

/** The Python module `plugins.live.runtime.bridge`: JSON text in and out. */
export interface Bridge {
  run_snippet_awaiting(page: string, name: string, source: string, write: (text: string) => void): PromiseLike<string> | string;
  load_act(name: string, programJson: string): string;
  compute(name: string, state: string): string;
  frame(name: string, state: string): string;
  reveal(name: string, state: string): string;
  check(name: string, reflection: string, answers: string, state: string): string;
}

/** What of Pyodide is used here. */
export interface Pyodide {
  version: string;
  pyimport(name: string): unknown;
  loadPackagesFromImports(
    code: string,
    options: { messageCallback: (message: string) => void; errorCallback: (message: string) => void },
  ): Promise<unknown>;
}

/** Milliseconds and characters after which buffered output is sent on: a printing loop must not flood the page. */
const FLUSH_MS = 40;
const FLUSH_CHARACTERS = 8192;

const PROPER_NAMES: Record<string, string> = { numpy: "NumPy", matplotlib: "Matplotlib" };

type Answered = Exclude<Request, { kind: "start" }>;

export class Python {
  readonly #pyodide: Pyodide;
  readonly #bridge: Bridge;
  readonly #send: Send;
  readonly #readText: (url: string) => Promise<string>;
  readonly #elsewhere: Elsewhere;
  readonly #acts = new Map<string, string>();

  constructor(pyodide: Pyodide, bridge: Bridge, send: Send, readText: (url: string) => Promise<string>, elsewhere: Elsewhere = {}) {
    this.#pyodide = pyodide;
    this.#bridge = bridge;
    this.#send = send;
    this.#readText = readText;
    this.#elsewhere = elsewhere;
  }

  /** Answers one request. What Python raises becomes a `problem`; anything else means Python is gone and is thrown. */
  async answer(request: Answered): Promise<void> {
    try {
      this.#send(request.kind === "run" ? await this.#run(request) : await this.#act(request));
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      if (error.name !== "PythonError" && !(error instanceof Unavailable)) throw error;
      this.#send({ kind: "problem", id: request.id, message: plainMessage(error) });
    }
  }

  async #run(request: Extract<Answered, { kind: "run" }>): Promise<Reply> {
    const asks = request.foreign ? null : this.#foreignIn(request.source);
    if (asks) return { kind: "asks", id: request.id, ...asks };
    await this.#fetchImports(request.source);
    const output = new OutputBuffer((text) => this.#send({ kind: "output", id: request.id, text }));
    const answer = await this.#bridge.run_snippet_awaiting(request.page, request.name, request.source, (text) => output.write(text));
    output.flush();
    const ran = JSON.parse(answer) as { result: string | null; error: SnippetError | null; figures: Drawing[] };
    return { kind: "ran", id: request.id, ...ran };
  }

  async #act(request: Exclude<Answered, { kind: "run" }>): Promise<Reply> {
    await this.#loadAct(request.act, request.actUrl);
    const { id, act } = request;
    const state = JSON.stringify(request.state satisfies State);
    switch (request.kind) {
      case "compute": {
        const view = JSON.parse(request.frame ? this.#bridge.frame(act, state) : this.#bridge.compute(act, state)) as View;
        return { kind: "view", id, view };
      }
      case "reveal":
        return { kind: "verdict", id, verdict: JSON.parse(this.#bridge.reveal(act, state)) as Verdict };
      case "check": {
        const answers = JSON.stringify(request.answers);
        const feedback = JSON.parse(this.#bridge.check(act, request.reflection, answers, state)) as Feedback;
        return { kind: "feedback", id, feedback };
      }
    }
  }

  async #loadAct(name: string, url: string): Promise<void> {
    if (this.#acts.get(name) === url) return;
    let program: string;
    try {
      program = await this.#readText(url);
    } catch (error) {
      throw new Unavailable(`The act's program could not be downloaded (${reason(error)}).`);
    }
    this.#bridge.load_act(name, program);
    this.#acts.set(name, url);
  }

  /** What the code imports from other hosts, which nobody asks without the reader's word. */
  #foreignIn(source: string): Elsewhere[string] | null {
    if (!Object.keys(this.#elsewhere).length || !source.includes("import")) return null;
    const { find_imports } = this.#pyodide.pyimport("pyodide.code") as { find_imports(code: string): { toJs(): string[] } };
    const found = find_imports(source)
      .toJs()
      .flatMap((name) => (Object.hasOwn(this.#elsewhere, name) ? [this.#elsewhere[name] as Elsewhere[string]] : []));
    if (!found.length) return null;
    const all = (part: "packages" | "hosts"): string[] => [...new Set(found.flatMap((one) => one[part]))].sort();
    return { packages: all("packages").map(proper), hosts: all("hosts") };
  }

  async #fetchImports(source: string): Promise<void> {
    if (!source.includes("import")) return;
    let missing = "";
    await this.#pyodide.loadPackagesFromImports(source, {
      messageCallback: (message) => {
        const loading = /^Loading (.+)$/.exec(message)?.[1];
        if (loading) tell(this.#send, `${proper(loading)} loads`);
        if (/^(Loaded|Failed) /.test(message)) tell(this.#send, "Python runs");
        missing = /^Failed to load (.+)$/.exec(message)?.[1] ?? missing;
      },
      errorCallback: () => undefined,
    });
    if (missing) {
      throw new Unavailable(
        `${proper(missing)} could not be downloaded. ` +
          "Run needs the network for it; everything else on this page works without.",
      );
    }
  }
}

class Unavailable extends Error {}

class OutputBuffer {
  readonly #send: (text: string) => void;
  #text = "";
  #sentAt = 0;

  constructor(send: (text: string) => void) {
    this.#send = send;
  }

  write(text: string): void {
    this.#text += text;
    if (this.#text.length >= FLUSH_CHARACTERS || performance.now() - this.#sentAt >= FLUSH_MS) this.flush();
  }

  flush(): void {
    if (!this.#text) return;
    this.#send(this.#text);
    this.#text = "";
    this.#sentAt = performance.now();
  }
}

/** Says what is under way where no bytes are counted. */
export function tell(send: Send, label: string): void {
  send({ kind: "progress", label, loaded: 0, total: 0 });
}

/** The last line of a Python traceback without the exception's module path; other messages as they are. */
function plainMessage(error: Error): string {
  const last = error.message.trimEnd().split("\n").at(-1) ?? "";
  return last.replace(/^(?:\w+\.)+ActError: /, "");
}

export function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function proper(packages: string): string {
  return packages
    .split(", ")
    .map((name) => PROPER_NAMES[name] ?? name)
    .join(", ");
}
