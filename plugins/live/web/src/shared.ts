// What the document has one of: its Python and its ledger. They outlive instant navigation, because the module does.
import { PythonClient, type WorkerLike } from "./client";
import type { Release } from "./protocol";
import { perhapsTooOld, release } from "./release";
import { openShelf } from "./shelf";
import { attempt, openKeep } from "./storage";
import { LedgerStore, type Channel } from "./store";

declare const WORKER_FILE: string;

let client: PythonClient | undefined;
let ledger: LedgerStore | undefined;

/** The client of this document; no worker exists before its first `start()`. */
export function documentPython(): PythonClient {
  client ??= watched(
    new PythonClient(() => governedWorker(assetUrl(WORKER_FILE)) as unknown as WorkerLike, () => startedHere(release()), assetUrl(".")),
  );
  return client;
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

/** From a kept book nothing has to be asked for early, and in WebKit an answer of a service worker does not wait to be read. */
function startedHere(whole: Release): Release {
  return navigator.serviceWorker?.controller ? { ...whole, runtime: { ...whole.runtime, first: [] } } : whole;
}

/** A worker inherits the page's policy only from a `blob:` address; one with an address of its own is governed by nobody. */
function governedWorker(url: string): Worker {
  const address = URL.createObjectURL(new Blob([`import ${JSON.stringify(url)};`], { type: "text/javascript" }));
  const worker = new Worker(address, { type: "module" });
  // The worker has fetched its one line before it can answer anything.
  worker.addEventListener("message", () => URL.revokeObjectURL(address), { once: true });
  return worker;
}

/** The ledger of this browser, as this document sees it. */
export function documentLedger(): LedgerStore {
  if (ledger) return ledger;
  const channel = attempt(() => new BroadcastChannel("iron-law/ledger") as unknown as Channel) ?? null;
  const opened = new LedgerStore(openShelf, openKeep(() => localStorage), channel);
  ledger = opened;
  // A tab that slept may have missed what another one said.
  addEventListener("focus", () => void opened.reread());
  addEventListener("pageshow", () => void opened.reread());
  return ledger;
}

/** The URL of a file beside this module: the site may be served under any path. */
export function assetUrl(file: string): string {
  return new URL(file, import.meta.url).href;
}

/** An address relative to the site's root, without query and fragment; null outside of the site. */
export function sitePath(url: string): string | null {
  const root = assetUrl("../../");
  const address = url.replace(/[?#].*$/, "");
  return address.startsWith(root) ? address.slice(root.length) : null;
}

/** The address of a page of the site; null for an address outside of it. */
export function siteUrl(page: string): string | null {
  const root = assetUrl("../../");
  const { href } = new URL(page, root);
  return href.startsWith(root) ? href : null;
}

/** Calls at once, and after every instant navigation. */
export function onEveryPage(listener: () => void): void {
  const { document$ } = window as { document$?: { subscribe(listener: () => void): unknown } };
  if (document$) document$.subscribe(listener);
  else listener();
}
