// The document's one Python. It outlives instant navigation, because the module does.
import { PythonClient, type WorkerLike } from "./client";
import { KeptCopies } from "./copies";
import type { Release } from "./protocol";
import { perhapsTooOld, release } from "../release";
import { assetUrl } from "../site";

declare const WORKER_FILE: string;

let client: PythonClient | undefined;

/** The client of this document; no worker exists before its first `start()`. */
export function documentPython(): PythonClient {
  client ??= watched(made());
  return client;
}

function made(): PythonClient {
  const spawn = (): WorkerLike => governedWorker(assetUrl(WORKER_FILE)) as unknown as WorkerLike;
  const parts = [spawn, () => startedHere(release()), assetUrl(".")] as const;
  return new PythonClient(...parts, new KeptCopies(...parts, assetUrl("../../")));
}

/** A start that fails may fail because the page is too old. */
function watched(python: PythonClient): PythonClient {
  let told = "";
  python.subscribe(({ phase }) => {
    if (phase === "error" && told !== phase) void perhapsTooOld();
    told = phase;
  });
  return python;
}

/** Early downloads are left out where the book is kept: they gain nothing, and WebKit loses answers of a service worker that are read late. */
function startedHere(whole: Release): Release {
  return navigator.serviceWorker?.controller ? { ...whole, runtime: { ...whole.runtime, first: [] } } : whole;
}

/** A worker inherits the page's content security policy only if it starts from a `blob:` address. */
function governedWorker(url: string): Worker {
  const address = URL.createObjectURL(new Blob([`import ${JSON.stringify(url)};`], { type: "text/javascript" }));
  const worker = new Worker(address, { type: "module" });
  // A first message proves that the worker has read its address.
  worker.addEventListener("message", () => URL.revokeObjectURL(address), { once: true });
  return worker;
}
