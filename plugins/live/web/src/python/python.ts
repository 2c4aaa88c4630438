// Python inside the worker: starts Pyodide from the site's own files and answers the page's requests through the bridge.
import { ByteProgress, checkedBytes, DownloadError, fileName, guardedFetch, wholeBytes } from "./downloads";
import type { Drawing, Elsewhere, Feedback, Release, Request, Response as Reply, SnippetError, State, Verdict, View } from "./protocol";

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

/** Milliseconds between two words about a download. */
const TELL_MS = 100;
/** The rest of the library is fetched in one piece; a slow line takes a minute for it. */
const REST_LIMIT_MS = 120_000;

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

/** Loads the runtime of a release. Reports byte progress, then that Python is ready; a start that cannot succeed rejects. */
export async function startPython({ runtime, patience }: Release, base: string, send: Send): Promise<Python> {
  const at = (file: string): string => new URL(file, base).href;
  const progress = new ByteProgress(runtime.sizes);
  const tellProgress = (): void => send({ kind: "progress", label: "Python loads", loaded: progress.loaded, total: progress.total });
  const often = throttled(tellProgress);
  // The last byte is always reported: from then on the page waits for Python's start and not for the network.
  const moved = (): void => (progress.loaded === progress.total ? tellProgress() : often());
  moved();

  // When a file of the start fails, Pyodide only logs a warning and waits for ever, so the failure is reported here.
  let fail: (error: unknown) => void = () => undefined;
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  const alive = throttled(() => send({ kind: "alive" }));
  let started = false;
  const native = globalThis.fetch.bind(globalThis);
  const fetch = guardedFetch(native, {
    progress,
    moved: () => (started ? alive() : moved()),
    failed: (error, url) => void (progress.size(url) !== undefined && fail(error)),
    patience,
  });
  // All downloads begin at once, in the order of need, not each when Pyodide comes to ask for it.
  // With `integrity` a browser hands out a file only when all of it has arrived, so there would be no progress to show.
  // On a secure connection, where nobody can have changed this script, the script checks the hash itself.
  const early = new Map((isSecureContext ? runtime.first : []).map(at).map((url) => [url, fetch(url)]));
  for (const response of early.values()) response.catch(() => undefined);
  globalThis.fetch = async (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    const { integrity, ...rest } = init ?? {};
    if (integrity && !isSecureContext) return native(input, init);
    const response = early.get(url) ?? fetch(input, rest);
    early.delete(url);
    if (!integrity) return fileName(url).endsWith(".wasm") ? wholeBytes(await response) : response;
    const checked = checkedBytes(await response, integrity, url);
    checked.catch((error: unknown) => void (progress.size(url) !== undefined && fail(error)));
    return checked;
  };
  tellFailures(fail);

  const module = async (file: string): Promise<unknown> => {
    const url = new URL(file, at(runtime.indexURL)).href;
    const loaded: unknown = await import(url).catch(() => {
      throw new DownloadError(`${file} could not be downloaded, or is not what it should be`);
    });
    progress.finish(url);
    moved();
    return loaded;
  };
  const load = async (): Promise<StartedPyodide> => {
    // The big module is imported again by Pyodide itself; asking early only makes the downloads overlap.
    const [{ loadPyodide }] = (await Promise.all([module("pyodide.mjs"), module("pyodide.asm.mjs")])) as [PyodideModule, unknown];
    return loadPyodide({
      indexURL: at(runtime.indexURL),
      lockFileURL: at(runtime.lockFileURL),
      stdLibURL: at(runtime.library.start),
      packages: runtime.packages,
    });
  };

  const pyodide = await Promise.race([load(), failed]);
  started = true;
  const bridge = pyodide.pyimport("plugins.live.runtime.bridge") as Bridge;
  const library = pyodide.pyimport("plugins.live.runtime.library") as Library;
  library.fetch_on_demand(() => fetchRest(pyodide, at(runtime.library.rest), send));
  send({ kind: "ready", python: pyodide.version, engine: runtime.engineVersion });
  return new Python(pyodide, bridge, send, readText, runtime.elsewhere);
}

/** Reports what Pyodide only warns of: that the program it has fetched cannot be started. */
function tellFailures(fail: (error: unknown) => void): void {
  const instantiate = WebAssembly.instantiateStreaming.bind(WebAssembly);
  WebAssembly.instantiateStreaming = async (source, imports) => {
    try {
      return await instantiate(source, imports);
    } catch (error) {
      fail(error);
      throw error;
    }
  };
}

/** Calls at most so often that the page has nothing to do with it. */
function throttled(call: () => void): () => void {
  let last = Number.NEGATIVE_INFINITY;
  return () => {
    if (performance.now() - last < TELL_MS) return;
    last = performance.now();
    call();
  };
}

/** Puts the rest of the standard library into Python's file system. Its path, or undefined (Python's None) on a failure. */
function fetchRest(pyodide: StartedPyodide, url: string, send: Send): string | undefined {
  tell(send, "Python's library loads");
  // An import cannot wait for a promise. In a worker a synchronous request keeps nobody else waiting.
  const request = new XMLHttpRequest();
  request.open("GET", url, false);
  request.responseType = "arraybuffer";
  request.timeout = REST_LIMIT_MS;
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
