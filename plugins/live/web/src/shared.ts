// The document's one Python. It outlives instant navigation, because the module does.
import { PythonClient, type WorkerLike } from "./client";

declare const WORKER_FILE: string;

let client: PythonClient | undefined;

/** The client of this document; no worker exists before its first `start()`. */
export function documentPython(): PythonClient {
  client ??= new PythonClient(
    () => new Worker(assetUrl(WORKER_FILE), { type: "module" }) as unknown as WorkerLike,
    assetUrl("."),
  );
  return client;
}

/** The URL of a file beside this module: the site may be served under any path. */
export function assetUrl(file: string): string {
  return new URL(file, import.meta.url).href;
}
