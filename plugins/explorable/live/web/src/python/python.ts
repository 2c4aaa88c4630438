// Python inside the worker: takes the page's requests one at a time, in the order they came, and answers those of acts.
import type { LoadedActs } from "./copy";
import type { Asked, Request, Response as Reply, State } from "./protocol";
import { Unavailable, type Send, type Snippets } from "./snippets";

/** The Python module `explorable.live.runtime.acts`: JSON text in and out. */
export interface Acts {
  load_act(name: string, programJson: string): void;
  compute(name: string, state: string): string;
  frame(name: string, state: string): string;
  reveal(name: string, state: string): string;
  tell(name: string, what: string, texts: string, state: string): string;
  check(name: string, reflection: string, answers: string, state: string): string;
}

export class Python {
  readonly #acts: Acts;
  readonly #snippets: Snippets;
  readonly #send: Send;
  readonly #readText: (url: string) => Promise<string>;
  /** Act -> the address of the program that is loaded. */
  readonly #loaded: Map<string, string>;

  constructor(acts: Acts, snippets: Snippets, send: Send, readText: (url: string) => Promise<string>, loaded: LoadedActs = []) {
    this.#loaded = new Map(loaded);
    this.#acts = acts;
    this.#snippets = snippets;
    this.#send = send;
    this.#readText = readText;
  }

  /** Answers one request. What Python raises becomes a `problem`; anything else means Python is gone and is thrown. */
  async answer(request: Asked): Promise<void> {
    try {
      if (request.kind === "run") this.#send(await this.#snippets.run(request));
      else if (request.kind === "complete") this.#send(this.#snippets.complete(request));
      else this.#send(await this.#act(request));
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      if (error.name !== "PythonError" && !(error instanceof Unavailable)) throw error;
      this.#send({ kind: "problem", id: request.id, message: plainMessage(error) });
    }
  }

  async #act(request: Exclude<Asked, { kind: "run" | "complete" }>): Promise<Reply> {
    const { id, act, actUrl } = request;
    await this.#loadAct(act, actUrl);
    const state = JSON.stringify(request.state satisfies State);
    let answer: string;
    if (request.kind === "reveal") answer = this.#acts.reveal(act, state);
    else if (request.kind === "tell") answer = this.#acts.tell(act, request.what, JSON.stringify(request.texts), state);
    else if (request.kind === "check") answer = this.#acts.check(act, request.reflection, JSON.stringify(request.answers), state);
    else answer = request.frame ? this.#acts.frame(act, state) : this.#acts.compute(act, state);
    return { kind: "answer", id, answer: JSON.parse(answer) as object };
  }

  async #loadAct(name: string, url: string): Promise<void> {
    if (this.#loaded.get(name) === url) return;
    let program: string;
    try {
      program = await this.#readText(url);
    } catch (error) {
      throw new Unavailable(`The act's program could not be downloaded (${reason(error)}).`);
    }
    this.#acts.load_act(name, program);
    this.#loaded.set(name, url);
  }
}

/** The worker's side of the conversation. */
interface WorkerScope {
  addEventListener(type: "message", listener: (event: MessageEvent<Request>) => void): void;
  addEventListener(type: "unhandledrejection", listener: (event: Pick<PromiseRejectionEvent, "isTrusted" | "reason">) => void): void;
  addEventListener(type: "error", listener: (event: Pick<ErrorEvent, "isTrusted" | "error">) => void): void;
  postMessage(reply: Reply, transfer?: Transferable[]): void;
}

type Begin = Extract<Request, { kind: "start" }>;
type Copy = Extract<Request, { kind: "copy" }>;

/**
 * Lets a worker listen to its page: `start` starts Python, which then answers, and `copy` makes a copy of one. `dataOf` gives what a message says, also when a
 * snippet has changed what all messages say of themselves.
 */
export function listen(scope: WorkerScope, dataOf: (event: MessageEvent) => Request, start: (request: Begin, send: Send) => Promise<Python>, copy: (request: Copy) => Promise<ArrayBuffer>): void {
  const send = (reply: Reply): void => scope.postMessage(reply);
  let python: Python | undefined;
  let last: Promise<void> = Promise.resolve();
  const handle = async (request: Request): Promise<void> => {
    if (request.kind === "start") python = await start(request, send);
    else if (request.kind === "copy") {
      const bytes = await copy(request);
      scope.postMessage({ kind: "copied", bytes }, [bytes]);
    } else await python?.answer(request);
  };
  scope.addEventListener("message", (event) => {
    // A snippet can make such an event too, and must not speak for the reader.
    if (!event.isTrusted) return;
    const data = dataOf(event);
    last = last.then(() => handle(data)).catch((error: unknown) => send(failure(error)));
  });
  // Pyodide may meet a second error before it can tell of the one that ends it: then that one, of a task that nobody waits for, is the only
  // sign. What a reader's program rejects or throws has no mark, and ends nothing.
  const met = (error: unknown): void => void (brokeDown(error) && send(failure(error)));
  scope.addEventListener("unhandledrejection", (event) => event.isTrusted && met(event.reason));
  scope.addEventListener("error", (event) => event.isTrusted && met(event.error));
}

/** What the page is told of an error that Python does not outlive. */
export function failure(error: unknown): Reply {
  return { kind: "failed", message: reason(error), broken: brokeDown(error) };
}

/** Whether Pyodide's own program broke down: it marks the error that ends it. */
function brokeDown(error: unknown): boolean {
  return error instanceof Error && "pyodide_fatal_error" in error;
}

/** The last line of a Python traceback without the exception's module path; other messages as they are. */
function plainMessage(error: Error): string {
  const last = error.message.trimEnd().split("\n").at(-1) ?? "";
  return last.replace(/^(?:\w+\.)+ActError: /, "");
}

function reason(error: unknown): string {
  // Emscripten's exit status has a message and is no Error.
  const { message } = Object(error) as { message?: unknown };
  return typeof message === "string" ? message : String(error);
}
