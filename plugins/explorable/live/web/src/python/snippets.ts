// Snippets inside the worker: runs their code, after the packages that it imports, and sends on what it prints.
import { proper } from "./elsewhere";
import type { Gate } from "./gate";
import type { Check, Completed, DataFile, Drawing, Elsewhere, Request, Response as Reply, SnippetError } from "./protocol";

export type Send = (reply: Reply) => void;

/** The Python module `explorable.live.runtime.snippets`: JSON text out. */
export interface SnippetModule {
  run_snippet_awaiting(page: string, name: string, source: string, write: (text: string) => void): PromiseLike<string> | string;
}

/** The Python module `explorable.live.runtime.exercises`. */
interface ExerciseModule {
  check_exercise_awaiting(name: string, source: string, tests: string, hidden: string, write: (text: string) => void): PromiseLike<string> | string;
}

/** The Python module `explorable.live.runtime.completions`. */
interface CompletionModule {
  complete(page: string, source: string, at: number): string;
}

/** What of Pyodide a snippet needs. */
export interface Pyodide {
  FS: { writeFile(path: string, data: Uint8Array): void };
  pyimport(name: string): unknown;
  loadPackagesFromImports(
    code: string,
    options: { messageCallback: (message: string) => void; errorCallback: (message: string) => void },
  ): Promise<unknown>;
}

const { defineProperty } = Reflect;

/** So many pieces are sent at once: no timer runs beside Python, so what is held when it is stopped is lost. */
const SENT_AT_ONCE = 200;
/** Milliseconds and characters after which later output is sent on: a printing loop must not flood the page. */
const FLUSH_MS = 40;
const FLUSH_CHARACTERS = 8192;

/** Packages that come together, and the addresses that have them. */
interface Named {
  readonly packages: readonly string[];
  readonly urls: readonly string[];
}

/** What was asked for cannot be had now; the message is for the reader. */
export class Unavailable extends Error {}

export class Snippets {
  readonly #pyodide: Pyodide;
  readonly #module: SnippetModule;
  readonly #send: Send;
  readonly #elsewhere: Elsewhere;
  readonly #open: Gate["open"];
  /** What packages are had at which addresses, written down before any reader's program runs, which can change what it reaches. */
  readonly #named: readonly Named[];

  constructor(pyodide: Pyodide, module: SnippetModule, send: Send, elsewhere: Elsewhere, open: Gate["open"]) {
    this.#pyodide = pyodide;
    this.#module = module;
    this.#send = send;
    this.#elsewhere = elsewhere;
    this.#open = open;
    const { freeze } = Object;
    this.#named = freeze(Object.values(elsewhere).map(({ packages, urls }) => freeze({ packages: freeze([...packages]), urls: freeze([...urls]) })));
  }

  /** Runs one. Its outcome, or what has to be asked of the reader first; throws `Unavailable`. */
  async run(request: Extract<Request, { kind: "run" }>): Promise<Reply> {
    const { id, page, name, source, foreign, tests, files = [] } = request;
    // First of all: what follows may be a reader's program's doing.
    const addresses = this.#addressesOf(foreign);
    const all = tests ? [source, tests.tests, tests.hidden] : [source];
    for (const code of all) {
      const asks = this.#foreignIn(code, foreign);
      if (asks) return { kind: "asks", id, ...asks };
    }
    // What the reader agreed to for an earlier program is closed again.
    this.#open(addresses);
    for (const code of all) await this.#fetchImports(code);
    for (const file of files) await this.#put(file);
    const output = new OutputBuffer((text) => this.#send({ kind: "output", id, text }));
    const write = (text: string): void => output.write(text);
    const answer = await (tests
      ? this.#exercises.check_exercise_awaiting(name, source, tests.tests, tests.hidden, write)
      : this.#module.run_snippet_awaiting(page, name, source, write));
    output.flush();
    const ran = JSON.parse(answer) as { result: string | null; error: SnippetError | null; figures: Drawing[]; html: string | null; checks?: Check[] };
    return { kind: "ran", id, ...ran };
  }

  /** Puts a data file where the code opens it: into the folder that Python stands in. */
  async #put(file: DataFile): Promise<void> {
    if ("data" in file) return this.#pyodide.FS.writeFile(file.name, file.data);
    const answer = await fetch(file.url).catch(() => null);
    if (!answer?.ok) throw new Unavailable(`The data file ${file.name} could not be downloaded.`);
    this.#pyodide.FS.writeFile(file.name, new Uint8Array(await answer.arrayBuffer()));
  }

  /** What can stand at a place of the code. */
  complete({ id, page, source, at }: Extract<Request, { kind: "complete" }>): Reply {
    const module = this.#pyodide.pyimport("explorable.live.runtime.completions") as CompletionModule;
    return { kind: "completed", id, completed: JSON.parse(module.complete(page, source, at)) as Completed };
  }

  get #exercises(): ExerciseModule {
    return this.#pyodide.pyimport("explorable.live.runtime.exercises") as ExerciseModule;
  }

  /** Where these packages are had. It calls no method that a reader's program can change. */
  #addressesOf(agreed: readonly string[]): string[] {
    const addresses: string[] = [];
    for (let at = 0; at < this.#named.length; at += 1) {
      const { packages, urls } = this.#named[at] as Named;
      if (!includesAll(agreed, packages)) continue;
      for (let one = 0; one < urls.length; one += 1) put(addresses, urls[one] as string);
    }
    return addresses;
  }

  /** What the code imports from other hosts, which nobody asks without the reader's word, and to which there is none. */
  #foreignIn(source: string, agreed: readonly string[]): { packages: string[]; hosts: string[] } | null {
    if (!Object.keys(this.#elsewhere).length || !source.includes("import")) return null;
    const { find_imports } = this.#pyodide.pyimport("pyodide.code") as { find_imports(code: string): { toJs(): string[] } };
    const found = find_imports(source)
      .toJs()
      .flatMap((name) => (Object.hasOwn(this.#elsewhere, name) ? [this.#elsewhere[name] as Elsewhere[string]] : []))
      .filter((one) => !one.packages.every((name) => agreed.includes(name)));
    if (!found.length) return null;
    const all = (part: "packages" | "hosts"): string[] => [...new Set(found.flatMap((one) => one[part]))].sort();
    return { packages: all("packages"), hosts: all("hosts") };
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

function includesAll(list: readonly string[], others: readonly string[]): boolean {
  let found = 0;
  for (let other = 0; other < others.length; other += 1) {
    let at = 0;
    while (at < list.length && list[at] !== others[other]) at += 1;
    if (at < list.length) found += 1;
  }
  return found === others.length;
}

/** Appends as an own element, whatever all lists inherit. */
function put(list: string[], text: string): void {
  defineProperty(list, list.length, { __proto__: null, value: text, writable: true, enumerable: true, configurable: true } as PropertyDescriptor);
}

class OutputBuffer {
  readonly #send: (text: string) => void;
  #text = "";
  #sentAt = 0;
  #sent = 0;

  constructor(send: (text: string) => void) {
    this.#send = send;
  }

  write(text: string): void {
    this.#text += text;
    const rests = this.#sent >= SENT_AT_ONCE && performance.now() - this.#sentAt < FLUSH_MS;
    if (!rests || this.#text.length >= FLUSH_CHARACTERS) this.flush();
  }

  flush(): void {
    if (!this.#text) return;
    this.#send(this.#text);
    this.#text = "";
    this.#sent += 1;
    this.#sentAt = performance.now();
  }
}

/** Says what is under way where no bytes are counted. */
export function tell(send: Send, label: string): void {
  send({ kind: "progress", label, loaded: 0, total: 0 });
}
