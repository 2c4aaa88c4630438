// Python inside the worker: starts Pyodide from the site's own files and answers the page's requests through the bridge.
import { ByteProgress, countingFetch, fileName } from "./progress";
import type { Drawing, Elsewhere, Feedback, Request, Response as Reply, RuntimeManifest, SnippetError, State, Verdict, View } from "./protocol";

export type Send = (reply: Reply) => void;

/** The Python module `plugins.live.runtime.bridge`: JSON text in and out. */
export interface Bridge {
  run_snippet(page: string, name: string, source: string, write: (text: string) => void): string;
  load_act(name: string, source: string): string;
  compute(name: string, state: string): string;
  reveal(name: string, state: string): string;
  check(name: string, reflection: string, answers: string, state: string): string;
}

/** The Python module `plugins.live.runtime.library`. */
interface Library {
  fetch_on_demand(fetch: () => string | undefined): void;
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

/** What of Pyodide is used while it starts. */
interface StartedPyodide extends Pyodide {
  FS: { writeFile(path: string, data: Uint8Array): void };
}

interface PyodideModule {
  loadPyodide(options: {
    indexURL: string;
    lockFileURL: string;
    stdLibURL: string;
    packages: string[];
  }): Promise<StartedPyodide>;
}

/** Milliseconds and characters after which buffered output is sent on: a printing loop must not flood the page. */
const FLUSH_MS = 40;
const FLUSH_CHARACTERS = 8192;

const HTTP_OK = 200;
/** Where Python keeps the part of its library that is fetched on demand. */
const REST = "/lib/python_rest.zip";

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
    const answer = this.#bridge.run_snippet(request.page, request.name, request.source, (text) => output.write(text));
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
        const view = JSON.parse(this.#bridge.compute(act, state)) as View;
        return { kind: "view", id, generation: request.generation, view };
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
    let source: string;
    try {
      source = await this.#readText(url);
    } catch (error) {
      throw new Unavailable(`The act's program could not be downloaded (${reason(error)}).`);
    }
    this.#bridge.load_act(name, source);
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

/** Loads the runtime that `runtime.json` describes. Reports byte progress, then that Python is ready. */
export async function startPython(base: string, send: Send): Promise<Python> {
  const manifestUrl = new URL("runtime.json", base).href;
  const manifest = JSON.parse(await readText(manifestUrl)) as RuntimeManifest;
  const indexURL = new URL(manifest.indexURL, manifestUrl).href;
  const progress = new ByteProgress(manifest.sizes);

  let sent = -1;
  const moved = (): void => {
    const percent = Math.floor((100 * progress.loaded) / progress.total);
    if (percent === sent) return;
    sent = percent;
    send({ kind: "progress", label: "Python loads", loaded: progress.loaded, total: progress.total });
  };
  moved();

  // Pyodide only warns when a core file fails and then waits for ever, so the failure is reported from here.
  let fail: (error: Error) => void = () => undefined;
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  globalThis.fetch = countingFetch(globalThis.fetch.bind(globalThis), progress, moved, (url, why) =>
    fail(new Error(`${fileName(url)} could not be downloaded (${why})`)),
  );

  const module = async (file: string): Promise<unknown> => {
    const url = new URL(file, indexURL).href;
    const loaded: unknown = await import(url);
    progress.finish(url);
    moved();
    return loaded;
  };
  const load = async (): Promise<StartedPyodide> => {
    // The big module is imported again by Pyodide itself; asking early only makes the downloads overlap.
    const [{ loadPyodide }] = (await Promise.all([module("pyodide.mjs"), module("pyodide.asm.mjs")])) as [PyodideModule, unknown];
    const lockFileURL = new URL(manifest.lockFileURL, manifestUrl).href;
    const stdLibURL = new URL(manifest.library.start, manifestUrl).href;
    return loadPyodide({ indexURL, lockFileURL, stdLibURL, packages: manifest.packages });
  };

  const pyodide = await Promise.race([load(), failed]);
  const bridge = pyodide.pyimport("plugins.live.runtime.bridge") as Bridge;
  const library = pyodide.pyimport("plugins.live.runtime.library") as Library;
  const rest = new URL(manifest.library.rest, manifestUrl).href;
  library.fetch_on_demand(() => fetchRest(pyodide, rest, send));
  send({ kind: "ready", python: pyodide.version, engine: manifest.engineVersion });
  return new Python(pyodide, bridge, send, readText, manifest.elsewhere);
}

/** Puts the rest of the standard library into Python's file system. Its path, or undefined (Python's None) on a failure. */
function fetchRest(pyodide: StartedPyodide, url: string, send: Send): string | undefined {
  tell(send, "Python's library loads");
  // An import cannot wait for a promise. In a worker a synchronous request keeps nobody else waiting.
  const request = new XMLHttpRequest();
  request.open("GET", url, false);
  request.responseType = "arraybuffer";
  try {
    request.send();
  } catch {
    return undefined;
  } finally {
    tell(send, "Python runs");
  }
  if (request.status !== HTTP_OK) return undefined;
  pyodide.FS.writeFile(REST, new Uint8Array(request.response as ArrayBuffer));
  return REST;
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
function tell(send: Send, label: string): void {
  send({ kind: "progress", label, loaded: 0, total: 0 });
}

async function readText(url: string): Promise<string> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${fileName(url)}: HTTP ${response.status}`);
  return response.text();
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
