// Starts Python inside the worker: Pyodide from the site's own files, with every download watched.
import { loadCopy, makeCopy, type Copyable, type Load, type LoadedActs, type Options } from "./copy";
import { ByteProgress, checkedBytes, DownloadError, fileName, guardedFetch, packed, unpacked, wholeBytes } from "./downloads";
import type { Gate } from "./gate";
import type { Release } from "./protocol";
import { failure, Python, type Acts } from "./python";
import { Snippets, tell, type Send, type SnippetModule } from "./snippets";

/** The Python module `explorable.live.runtime.library`. */
interface Library {
  fetch_on_demand(fetch: () => string | undefined): void;
  fetch_later(names: string[], fetch: () => string | undefined): void;
}

interface PyodideModule {
  loadPyodide(options: Options & { indexURL: string; lockFileURL: string; stdLibURL: string; createPyodideModule: CreateModule }): Promise<Copyable>;
}

/** What makes Pyodide's module, from `pyodide.asm.mjs`. Of its settings, what tells that its program breaks down. */
export type CreateModule = (settings: { API: { on_fatal?: (error: unknown) => void } }) => Promise<unknown>;

/** Milliseconds between two words about a download. */
const TELL_MS = 100;
/** An archive is fetched in one piece; a slow line takes a minute for it. */
const ARCHIVE_LIMIT_MS = 120_000;

const HTTP_OK = 200;
/** Taken before the worker gives it up. */
const { XMLHttpRequest } = globalThis;
/** Where Python keeps what is fetched on demand: the rest of its library, and what the book's library keeps for later. */
const REST = "/lib/python_rest.zip";
const LATER = "/lib/later.zip";

/**
 * Loads the runtime of a release, or begins with a copy of it. Reports byte progress, then that Python is ready; a start that
 * cannot succeed rejects.
 */
export async function startPython(release: Release, base: string, copy: ArrayBuffer | null, send: Send, open: Gate["open"]): Promise<Python> {
  const { runtime } = release;
  const at = (file: string): string => new URL(file, base).href;
  // What is asked later is written down now: a reader's program can change what an address says of itself.
  const rest = at(runtime.library.rest);
  const later = runtime.later && { modules: runtime.later.modules, archive: at(runtime.later.archive) };
  const { load, started } = loader(release, base, send);
  const [pyodide, loaded] = copy ? await loadCopy(load, copy) : [await load({ packages: runtime.packages }), []];
  started();
  const acts = pyodide.pyimport("explorable.live.runtime.acts") as Acts;
  const snippets = pyodide.pyimport("explorable.live.runtime.snippets") as SnippetModule;
  const library = pyodide.pyimport("explorable.live.runtime.library") as Library;
  library.fetch_on_demand(() => fetchArchive(pyodide, rest, REST, send));
  if (later) library.fetch_later(later.modules, () => fetchArchive(pyodide, later.archive, LATER, send));
  send({ kind: "ready", copied: copy !== null });
  return new Python(acts, new Snippets(pyodide, snippets, send, runtime.elsewhere, open), send, readText, loaded);
}

/** A copy of Python as a start leaves it, with acts loaded. The worker that makes it serves for nothing else. */
export function copyPython(release: Release, base: string, acts: LoadedActs): Promise<ArrayBuffer> {
  const { load } = loader(release, base, () => undefined);
  return makeCopy(load, release.runtime.packages, acts, readText);
}

/** What loads Pyodide, with every download watched until it has `started`. Called once in a worker. */
function loader({ runtime, patience }: Release, base: string, send: Send): { load: Load; started(): void } {
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
    const asked = input instanceof Request ? input.url : String(input);
    // Pyodide knows an archive by the name that it has once it is unpacked.
    const url = progress.size(packed(asked)) === undefined ? asked : packed(asked);
    const from = url === asked ? input : url;
    const { integrity, ...rest } = init ?? {};
    const got = async (): Promise<Response> => {
      if (integrity && !isSecureContext) return native(from, init);
      const response = await (early.get(url) ?? fetch(from, rest));
      early.delete(url);
      if (integrity) return checkedBytes(response, integrity, url);
      return fileName(url).endsWith(".wasm") ? wholeBytes(response) : response;
    };
    const whole = got().then((response) => (url === asked ? response : unpacked(response, url)));
    whole.catch((error: unknown) => void (progress.size(url) !== undefined && fail(error)));
    return whole;
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
  const load = async (options: Options): Promise<Copyable> => {
    // With a copy no wheels come.
    if (!options.packages.length) for (const name of Object.keys(runtime.sizes)) if (name.endsWith(packed(".whl"))) progress.finish(name);
    const modules = Promise.all([module("pyodide.mjs"), module("pyodide.asm.mjs")]);
    const [{ loadPyodide }, { default: create }] = (await modules) as [PyodideModule, { default: CreateModule }];
    return loadPyodide({
      indexURL: at(runtime.indexURL),
      lockFileURL: at(runtime.lockFileURL),
      stdLibURL: at(runtime.library.start).slice(0, -packed("").length),
      // A start's failure is its caller's to tell. Later nobody else hears of it: what broke in a task has no answer.
      createPyodideModule: tellingFatal(create, (error) => (started ? send(failure(error)) : fail(error))),
      ...options,
    });
  };
  return { load: (options) => Promise.race([load(options), failed]), started: () => void (started = true) };
}

/** Reports the error with which Pyodide's own program breaks down: where a callback meets it, only errors that follow from it are thrown. */
export function tellingFatal(create: CreateModule, fail: (error: unknown) => void): CreateModule {
  return (settings) => {
    settings.API.on_fatal = fail;
    return create(settings);
  };
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

/** Puts an archive into Python's file system. Its path, or undefined (Python's None) on a failure. */
function fetchArchive(pyodide: Copyable, url: string, path: string, send: Send): string | undefined {
  tell(send, "Python's library loads");
  // An import cannot wait for a promise. In a worker a synchronous request keeps nobody else waiting.
  const request = new XMLHttpRequest();
  request.open("GET", url, false);
  request.responseType = "arraybuffer";
  request.timeout = ARCHIVE_LIMIT_MS;
  try {
    request.send();
  } catch {
    return undefined;
  } finally {
    tell(send, "Python runs");
  }
  if (request.status !== HTTP_OK) return undefined;
  pyodide.FS.writeFile(path, new Uint8Array(request.response as ArrayBuffer));
  return path;
}

async function readText(url: string): Promise<string> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${fileName(url)}: HTTP ${response.status}`);
  return response.text();
}
