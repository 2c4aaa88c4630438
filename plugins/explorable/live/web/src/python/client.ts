// The page's side of the conversation with Python: one worker, one request at a time, latest wins, stop and replay.
//
// Every state ends: a start or an answer on which nothing is heard for too long is given up, and Retry begins anew.
import type { Copies } from "./copies";
import { Consents } from "./elsewhere";
import type { Asked, Check, Completed, DataFile, Drawing, Feedback, Release, Request, Response as Reply, SnippetError, State, Tell, Tests, Value, Verdict, View } from "./protocol";
import { Excess, Fault, Replies } from "./replies";
import type { Status } from "./status";

export interface Snippet {
  readonly page: string;
  readonly name: string;
  readonly source: string;
  /** Whether the code came with a link: of what it has run in, no act and no exercise is asked. */
  readonly linked?: boolean;
  readonly files?: readonly DataFile[];
}

export type Outcome =
  | { kind: "ran"; result: string | null; error: SnippetError | null; figures: Drawing[]; html?: string | null; checks?: Check[] }
  | { kind: "asks"; packages: string[]; hosts: string[] }
  | { kind: "stopped" }
  /** `lost`: Python is gone, and another try starts it anew. */
  | { kind: "problem"; message: string; lost: boolean };

export interface WorkerLike {
  onmessage: ((event: { data: unknown }) => void) | null;
  onerror: ((event: { message?: string; preventDefault?: () => void }) => void) | null;
  postMessage(request: Request, transfer?: Transferable[]): void;
  terminate(): void;
}

type RequestBody = Asked extends infer R ? (R extends Asked ? Omit<R, "id"> : never) : never;

interface Task {
  readonly id: number;
  readonly body: RequestBody;
  /** Tasks of one key supersede each other. */
  readonly key: string;
  /** The run that this task is or prepares; 0 for none. */
  readonly owner: number;
  readonly output: ((text: string) => void) | null;
  settle(reply: Settled): void;
}

/** What ends a task: its answer, or that it was stopped, superseded, or that Python failed. */
type Settled = Reply | { kind: "stopped" } | { kind: "superseded" } | { kind: "lost"; message: string };

/** One run, which the caller may stop. */
export interface Run {
  readonly outcome: Promise<Outcome>;
  stop(): void;
}

export class ActProblem extends Error {}

/** Seconds more than the worker's own patience: the worker can say which file is late, so it should report first. */
const MARGIN_S = 10;
/** Once every byte has arrived, Python is compiled and started in silence: a slow machine gets so many times the patience. */
const STARTING = 6;
const TICK_MS = 1000;

export class PythonClient {
  readonly #consents = new Consents();
  readonly #spawn: () => WorkerLike;
  readonly #release: () => Release;
  readonly #base: string;
  readonly #copies: Copies | null;
  /** Was the present worker given a copy of Python's memory? */
  #copied = false;
  /** Act -> the address of its program: what was asked of it here. */
  readonly #acts = new Map<string, string>();
  #patience = 0;
  /** Seconds since the worker was last heard of, not counting those in which the machine slept. */
  #silent = 0;
  /** Has every byte of the start arrived? */
  #arrived = false;
  /** Has Python been started again of itself, with no answer and nobody's Retry since? */
  #again = false;
  #clock: ReturnType<typeof setInterval> | undefined;
  readonly #listeners = new Set<(status: Status) => void>();
  #worker: WorkerLike | null = null;
  #replies = new Replies();
  #ready = false;
  #engine = "";
  #status: Status = { phase: "static", label: "", percent: null, snippet: "" };
  #queue: Task[] = [];
  #current: Task | null = null;
  #nextId = 1;
  #runs = 0;
  /** The owner of what a restart brings back. */
  #replays = 0;
  /** Page -> snippet -> as it last ran without error in the present worker, in order of first success. */
  readonly #ran = new Map<string, Map<string, Snippet>>();
  /** The page on which a link's code has run in the present worker. */
  #strange: string | null = null;
  /** Snippets run in the present worker to prepare a later one, whatever came of it. */
  readonly #prepared = new Set<string>();

  /** `release` is asked for at every start: what a start may ask for can change while the page is open. */
  constructor(spawn: () => WorkerLike, release: () => Release, base: string, copies: Copies | null = null) {
    this.#copies = copies;
    this.#spawn = spawn;
    this.#release = release;
    this.#base = base;
  }

  get status(): Status {
    return this.#status;
  }

  /** The version of the engine that computes here; "" before the first start. */
  get engine(): string {
    return this.#engine;
  }

  /** Calls the listener at once and at every change. Returns the way to stop that. */
  subscribe(listener: (status: Status) => void): () => void {
    this.#listeners.add(listener);
    listener(this.#status);
    return () => this.#listeners.delete(listener);
  }

  /** The reader's intent: starts Python unless it has started. After a failure this is the retry. */
  start(): void {
    if (!this.#worker) this.#begin({ phase: "loading", label: "Python loads", percent: 0 });
  }

  /**
   * Runs a snippet in its page's namespace. `before` are the snippets above it: those that have not run in this
   * worker run first, silently, because one namespace is shared. With `tests` the code runs alone, and is tested.
   */
  run(snippet: Snippet, before: readonly Snippet[], output: (text: string) => void, tests?: Tests): Run {
    const owner = (this.#runs += 1);
    for (const earlier of before) this.#prepare(earlier, owner);
    const asked = { kind: "run" as const, ...snippet, foreign: this.#consents.of(snippet), ...(tests ? { tests } : {}) };
    const outcome = this.#enqueue(asked, `run:${snippetKey(snippet)}`, owner, output).then(
      (settled): Outcome => {
        if (settled.kind === "ran") {
          if (!settled.error && !tests) this.#remember(snippet);
          const { id: _, ...ran } = settled;
          return ran;
        }
        if (settled.kind === "asks") return settled;
        if (settled.kind === "problem" || settled.kind === "lost") {
          return { kind: "problem", message: settled.message, lost: settled.kind === "lost" };
        }
        return { kind: "stopped" };
      },
    );
    return { outcome, stop: () => this.#stop(owner) };
  }

  /** The reader's word that other hosts may be asked for these packages when this code runs. */
  agree(snippet: Snippet, packages: readonly string[]): void {
    this.#consents.agree(snippet, packages);
  }

  /** Snippets of a page that the next run of one below them runs again: what they defined is no longer what the page shows. */
  forget(page: string, names: readonly string[]): void {
    for (const name of names) {
      this.#ran.get(page)?.delete(name);
      this.#prepared.delete(snippetKey({ page, name }));
    }
  }

  /** What can stand at a place of a snippet's code. Null while Python is not ready: nobody waits for it, and nothing starts it. */
  async complete(page: string, source: string, at: number): Promise<Completed | null> {
    if (this.#status.phase !== "ready") return null;
    const settled = await this.#enqueue({ kind: "complete", page, source, at }, "complete");
    return settled.kind === "completed" ? settled.completed : null;
  }

  /** Stops the snippet that runs now, whoever started it. */
  stopRunning(): void {
    if (this.#current?.body.kind === "run") this.#stop(this.#current.owner);
  }

  /**
   * The view of a state, or null when a newer state was asked for meanwhile. Rejects with `ActProblem`. A frame, while a hand
   * moves, is a view without tables and ledger: quicker.
   */
  compute(act: string, actUrl: string, state: State, frame = false): Promise<View | null> {
    return this.#ask<View>({ kind: "compute", act, actUrl, state, frame }, `${frame ? "frame" : "compute"}:${act}`);
  }

  reveal(act: string, actUrl: string, state: State): Promise<Verdict | null> {
    return this.#ask<Verdict>({ kind: "reveal", act, actUrl, state }, `reveal:${act}`);
  }

  check(act: string, actUrl: string, reflection: string, answers: Record<string, Value>, state: State): Promise<Feedback | null> {
    return this.#ask<Feedback>({ kind: "check", act, actUrl, reflection, answers, state }, `check:${act}:${reflection}`);
  }

  /** What an act says besides; null when the same was asked for again meanwhile. */
  tell(act: string, actUrl: string, what: Tell, texts: readonly string[], state: State): Promise<object | null> {
    return this.#ask<object>({ kind: "tell", act, actUrl, what, texts, state }, `tell:${what}:${act}`);
  }

  async #ask<T extends View | Verdict | Feedback | object>(body: RequestBody, key: string): Promise<T | null> {
    if ("actUrl" in body) this.#acts.set(body.act, body.actUrl);
    const settled = await this.#enqueue(body, key);
    if (settled.kind === "problem") throw new ActProblem(settled.message);
    return settled.kind === "answer" ? (settled.answer as T) : null;
  }

  #enqueue(body: RequestBody, key: string, owner = 0, output: Task["output"] = null): Promise<Settled> {
    return new Promise((settle) => {
      const id = this.#nextId;
      this.#nextId += 1;
      const older = this.#queue.filter((task) => task.key === key);
      this.#queue = this.#queue.filter((task) => task.key !== key);
      this.#queue.push({ id, body, key, owner, output, settle });
      for (const task of older) task.settle({ kind: "superseded" });
      this.start();
      this.#pump();
    });
  }

  #prepare(snippet: Snippet, owner: number): void {
    const key = snippetKey(snippet);
    if (this.#prepared.has(key) || this.#ran.get(snippet.page)?.has(snippet.name)) return;
    this.#prepared.add(key);
    void this.#enqueue({ kind: "run", ...snippet, foreign: this.#consents.of(snippet) }, `prepare:${key}`, owner).then((settled) => {
      if (settled.kind === "ran" && !settled.error) this.#remember(snippet);
      if (["stopped", "lost", "asks"].includes(settled.kind)) this.#prepared.delete(key);
    });
  }

  #remember(snippet: Snippet): void {
    const page = this.#ran.get(snippet.page) ?? new Map<string, Snippet>();
    this.#ran.set(snippet.page, page.set(snippet.name, snippet));
  }

  #stop(owner: number): void {
    const waiting = this.#queue.filter((task) => task.owner === owner);
    this.#queue = this.#queue.filter((task) => task.owner !== owner);
    const running = this.#current?.owner === owner ? this.#current : null;
    // What tests ran alone needs nothing of the page; and what is stopped while it is replayed would only need to be stopped again.
    if (running) this.#respawn(running.body.kind === "run" && !running.body.tests && owner !== this.#replays ? running.body.page : "");
    // Nobody else waits for the start: it ends here, and so do its downloads.
    else if (waiting.length && this.#status.phase === "loading" && !this.#queue.length) this.#end();
    for (const task of running ? [running, ...waiting] : waiting) task.settle({ kind: "stopped" });
  }

  /** Stops a start, as if nobody had asked for Python. */
  stopLoading(): void {
    if (this.#status.phase !== "loading") return;
    const given = this.#queue;
    this.#queue = [];
    this.#end();
    for (const task of given) task.settle({ kind: "stopped" });
  }

  #end(): void {
    this.#discard();
    this.#publish({ phase: "static", label: "", percent: null });
  }

  /**
   * Ends the worker, which is the only way to stop Python here, and to be rid of what a link's code has done to it, and brings a
   * new one to where the page was.
   */
  #respawn(page: string, linked = true): void {
    const replay = [...(this.#ran.get(page)?.values() ?? [])].filter((snippet) => linked || !snippet.linked);
    this.#discard();
    this.#begin({ phase: "stopped", label: "Python restarts", percent: null });
    const rest = this.#queue;
    this.#queue = [];
    this.#replays = this.#runs += 1;
    for (const snippet of replay) this.#prepare(snippet, this.#replays);
    this.#queue.push(...rest);
  }

  #begin(status: Omit<Status, "snippet">): void {
    this.#publish(status);
    // The benchmark measures a reader's waiting time from here.
    performance.mark("python-asked-for");
    try {
      const release = this.#release();
      const worker = this.#spawn();
      this.#worker = worker;
      this.#replies = new Replies(release.runtime.elsewhere);
      this.#replies.begin(performance.now());
      worker.onmessage = ({ data }) => {
        if (this.#worker === worker) this.#hear(data);
      };
      worker.onerror = (event) => {
        event.preventDefault?.();
        if (this.#worker === worker) this.#fail(this.#ownWords(event.message || "its worker could not be loaded"));
      };
      this.#patience = release.patience;
      this.#engine = release.runtime.engineVersion;
      const start = (copy: ArrayBuffer | null): void => {
        if (this.#worker !== worker) return;
        this.#copied = copy !== null;
        worker.postMessage({ kind: "start", release, base: this.#base, copy }, copy ? [copy] : []);
      };
      const found = this.#copies?.find();
      if (found) void found.then(start);
      else start(null);
      this.#silent = 0;
      this.#arrived = false;
      this.#clock = setInterval(() => this.#tick(), TICK_MS);
    } catch (error) {
      this.#fail(error instanceof Error ? error.message : String(error));
    }
  }

  /** A reader's own code may run as long as the reader likes; a start and an act's answer may not. */
  #tick(): void {
    const waits = !this.#ready || (this.#current !== null && this.#current.body.kind !== "run");
    this.#silent = waits ? this.#silent + 1 : 0;
    const limit = this.#patience * (this.#arrived && !this.#ready ? STARTING : 1) + MARGIN_S;
    if (this.#silent > limit) this.#fail(`it said nothing for ${this.#silent} seconds`);
  }

  /** Takes what Python says, and ends a Python that says what it may not. */
  #hear(data: unknown): void {
    try {
      this.#receive(this.#replies.checked(data, performance.now()));
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      this.#fail(error.message, error instanceof Excess ? "was ended" : undefined);
    }
  }

  /** An error's text, for the page. Once Python is ready it may be the word of a reader's program: that is for the console. */
  #ownWords(message: string): string {
    if (this.#ready) console.warn(`explorable: Python broke down: ${message}`);
    const deep = /call stack|too much recursion/i.test(message) ? "a program nests deeper than this browser follows" : "";
    return this.#ready ? deep : message;
  }

  #receive(reply: Reply): void {
    this.#silent = 0;
    switch (reply.kind) {
      case "alive":
        return;
      // A copy comes from a worker of its own (copies.ts): here it could only be a reader's program that says so.
      case "copied":
        return;
      case "progress": {
        this.#arrived = reply.total > 0 && reply.loaded === reply.total;
        if (this.#status.phase === "stopped") return;
        const percent = reply.total > 0 ? Math.floor((100 * reply.loaded) / reply.total) : null;
        // The last bytes are our small wheels, which are fetched after Python has started. A bar at 99 % would look stuck.
        if (percent !== null && percent >= 99) this.#publish({ ...this.#status, label: "Python starts", percent: null });
        else this.#publish({ ...this.#status, label: reply.label, percent });
        return;
      }
      case "ready":
        this.#ready = true;
        performance.mark("python-ready", { detail: { copied: reply.copied } });
        this.#pump();
        return;
      case "failed":
        this.#breakDown(this.#ownWords(reply.message), reply.broken);
        return;
      case "output":
        if (this.#current?.id === reply.id) this.#current.output?.(reply.text);
        return;
      default: {
        const task = this.#current;
        if (task?.id !== reply.id) return;
        this.#current = null;
        this.#again = false;
        task.settle(this.#queue.some((newer) => newer.key === task.key) ? { kind: "superseded" } : reply);
        this.#pump();
      }
    }
  }

  #pump(): void {
    if (!this.#worker || !this.#ready || this.#current) return;
    const task = this.#queue.shift();
    if (!task) {
      this.#publish({ phase: "ready", label: "Python ready", percent: null });
      this.#copies?.make(() => [...this.#acts]);
      return;
    }
    // A program can change everything in its Python. The reader's own may; a stranger's has no say in what acts and exercises tell.
    if (this.#strange !== null && isJudge(task.body)) {
      this.#queue.unshift(task);
      return this.#respawn(this.#strange, false);
    }
    if (task.body.kind === "run" && task.body.linked) this.#strange = task.body.page;
    this.#current = task;
    this.#silent = 0;
    this.#replies.begin(performance.now(), task.body);
    // A view takes milliseconds: only a snippet is worth telling.
    this.#publish(
      task.body.kind === "run"
        ? { phase: "running", label: "Python runs", percent: null, snippet: task.body.name }
        : { phase: "ready", label: "Python ready", percent: null },
    );
    this.#worker.postMessage({ ...task.body, id: task.id });
  }

  /**
   * Pyodide's own program breaks down now and then, during a start or an act's answer (seen in WebKit), and the next try
   * succeeds. A reader's program may be what breaks it, so that one is not run again.
   */
  #breakDown(why: string, broken: boolean): void {
    if (broken && !this.#again && this.#current?.body.kind !== "run") this.#startAgain(why);
    else this.#fail(why);
  }

  /** Brings a Python that broke down to a second try, once. Who waits for it goes on waiting. */
  #startAgain(why: string): void {
    if (this.#copied) this.#copies?.forget();
    console.warn(`Python is started once more${why && ": "}${why}`);
    // Without a copy it is the first try.
    this.#again = !this.#copied;
    const asked = this.#current;
    if (asked) this.#queue.unshift(asked);
    this.#discard();
    this.#begin({ phase: "loading", label: "Python starts again", percent: null });
  }

  #fail(why: string, how = this.#ready ? "broke down" : "did not start"): void {
    if (this.#copied && !this.#ready) return this.#startAgain(why);
    this.#again = false;
    const message = `Python ${how}${why && ": "}${why.replace(/\.$/, "")}.`;
    const lost = [this.#current, ...this.#queue].filter((task) => task !== null);
    this.#discard();
    this.#queue = [];
    this.#publish({ phase: "error", label: message, percent: null });
    for (const task of lost) task.settle({ kind: "lost", message });
  }

  #discard(): void {
    clearInterval(this.#clock);
    this.#copied = false;
    if (this.#worker) this.#worker.onmessage = null;
    this.#worker?.terminate();
    this.#worker = null;
    this.#ready = false;
    this.#current = null;
    this.#strange = null;
    this.#ran.clear();
    this.#prepared.clear();
  }

  #publish(change: Omit<Status, "snippet"> & Partial<Status>): void {
    const status: Status = { snippet: "", ...change };
    const { phase, label, percent, snippet } = this.#status;
    if (phase === status.phase && label === status.label && percent === status.percent && snippet === status.snippet) return;
    this.#status = status;
    for (const listener of [...this.#listeners]) listener(status);
  }
}

/** Whether it asks for what the reader is judged by, or what an act says. */
function isJudge(body: RequestBody): boolean {
  return body.kind === "run" ? body.tests !== undefined : body.kind !== "complete";
}

function snippetKey({ page, name }: Pick<Snippet, "page" | "name">): string {
  return `${page}#${name}`;
}
