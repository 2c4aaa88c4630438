// A stand-in for the worker: it records what the page says and answers only when told to.
import { PythonClient, type WorkerLike } from "../src/python/client";
import type { Copies } from "../src/python/copies";
import fields from "./fields.json";
import type { Asked, Release, Request, Response as Reply, State, View } from "../src/python/protocol";

export class FakeWorker implements WorkerLike {
  onmessage: WorkerLike["onmessage"] = null;
  onerror: WorkerLike["onerror"] = null;
  readonly requests: Request[] = [];
  terminated = false;

  postMessage(request: Request): void {
    this.requests.push(request);
  }

  terminate(): void {
    this.terminated = true;
  }

  reply(reply: Reply): void {
    this.onmessage?.({ data: reply.kind === "copied" ? reply : JSON.stringify(reply) });
  }

  ready(): void {
    this.reply({ kind: "ready", copied: false });
  }

  /** The request in the worker's hands. */
  get last(): Asked {
    const request = this.requests.at(-1);
    if (!request || request.kind === "start" || request.kind === "copy") throw new Error("the worker has no request");
    return request;
  }

  /** Names of the snippets it was asked to run, in order. */
  get snippets(): string[] {
    return this.requests.flatMap((request) => (request.kind === "run" ? [request.name] : []));
  }

  /** The snippet in the worker's hands ends without error. */
  ran(): void {
    this.reply({ kind: "ran", id: this.last.id, result: null, error: null, figures: [] });
  }
}

export const release: Release = {
  book: "a-book",
  ledger: fields,
  version: "1.0.0",
  build: "now",
  patience: 20,
  pages: 30,
  vega: "vega.js",
  runtime: {
    engineVersion: "engine",
    indexURL: "pyodide/",
    lockFileURL: "lock.json",
    library: { start: "start.zip", rest: "rest.zip" },
    later: null,
    packages: [],
    first: [],
    sizes: {},
    elsewhere: {},
  },
};

export interface Bench {
  client: PythonClient;
  workers: FakeWorker[];
  /** The newest worker. */
  worker(): FakeWorker;
}

export function bench(released: () => Release = () => release, copies: Copies | null = null): Bench {
  const workers: FakeWorker[] = [];
  const spawn = (): FakeWorker => {
    const worker = new FakeWorker();
    workers.push(worker);
    return worker;
  };
  const worker = (): FakeWorker => {
    const newest = workers.at(-1);
    if (!newest) throw new Error("no worker was made");
    return newest;
  };
  return { client: new PythonClient(spawn, released, "https://example.org/assets/live/", copies), workers, worker };
}

export const state = (batch: number): State => ({ context: "node", controls: { batch }, prediction: 12, revealed: false, held: null, moves: 0, hint: false });

export const view = (value: string): View => ({
  data: {},
  headline: { label: "Memory", value, unit: "GB" },
  summary: value,
  tables: {},
  failure: null, success: null, command: "", readings: {},
  ledger: {}, score: null, share: null,
});

/** Lets settled promises run their continuations. */
export const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

export const ignore = (): void => undefined;

/** A snippet of a page, whose source is its name unless one is given. */
export const snippet = (name: string, source = name) => ({ page: "lab/act1.md", name, source });
