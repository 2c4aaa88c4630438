// A copy of Python's memory: how one is made, in a worker of its own that runs no reader's program, and what a start begins with.
//
// It holds no object of JavaScript, so it gives the worker that starts from it nothing to reach. Files lie outside of the memory: they travel
// beside it and are put back. Compressed, gzip's checksum stands at its end: a damaged copy cannot be read.
import type { Acts } from "./python";
import type { Pyodide } from "./snippets";

/** What of Pyodide a copy needs besides. */
export interface Copyable extends Pyodide {
  FS: Pyodide["FS"] & {
    mkdirTree(path: string): void;
    readdir(path: string): string[];
    readFile(path: string): Uint8Array;
    stat(path: string): { mode: number };
    isDir(mode: number): boolean;
  };
  /** Package -> where it came from. */
  loadedPackages: Record<string, string>;
  runPython(code: string): unknown;
  makeMemorySnapshot(): Uint8Array;
}

/** What of `loadPyodide`'s options differs from start to start. */
export interface Options {
  packages: string[];
  fsInit?: (fs: Copyable["FS"], info: { sitePackages: string }) => Promise<void>;
  _makeSnapshot?: true;
  _loadSnapshot?: Uint8Array;
}
export type Load = (options: Options) => Promise<Copyable>;

/** The acts that are loaded in it: name and the address of the program. */
export type LoadedActs = [name: string, url: string][];

interface Copy {
  acts: LoadedActs;
  packages: Record<string, string>;
  files: [path: string, data: Uint8Array][];
  memory: Uint8Array;
}

/** How it ends: the bytes of the JSON before that say what there is. */
const TAIL_BYTES = 4;
/** Modules that every start imports. */
const MODULES = ["acts", "snippets", "library"].map((name) => `explorable.live.runtime.${name}`);
/** Taken before the worker gives them up. */
const { CompressionStream, DecompressionStream } = globalThis;

/** Makes one with these acts, without those that need what is fetched later. Throws where the book's packages cannot be copied. */
export async function makeCopy(load: Load, packages: string[], acts: LoadedActs, readText: (url: string) => Promise<string>): Promise<ArrayBuffer> {
  let folder = "";
  const pyodide = await load({ packages, _makeSnapshot: true, fsInit: (_, { sitePackages }) => Promise.resolve(void (folder = sitePackages)) });
  const files = filesIn(pyodide.FS, folder);
  if (files.some(([path]) => path.endsWith(".so"))) throw new Error("a package with a compiled part cannot be copied");
  const modules = MODULES.map((name) => pyodide.pyimport(name) as { destroy(): void });
  const loaded: LoadedActs = [];
  for (const [name, url] of acts) {
    const program = await readText(url);
    try {
      (modules[0] as unknown as Acts).load_act(name, program);
      loaded.push([name, url]);
    } catch (error) {
      console.debug(`The act ${name} is not in the copy of Python:`, error);
    }
  }
  for (const module of modules) module.destroy();
  // Pyodide puts the present folder in front of the path at every start.
  pyodide.runPython("import gc, sys; sys.path.remove(''); gc.collect(); del gc, sys");
  // Pyodide refuses to copy a Python for which it has loaded packages.
  const from = { ...pyodide.loadedPackages };
  for (const name of Object.keys(from)) delete pyodide.loadedPackages[name];
  return packed({ acts: loaded, packages: from, files, memory: pyodide.makeMemorySnapshot() });
}

/** Starts Python from a copy, and says which acts are loaded in it. */
export async function loadCopy(load: Load, bytes: ArrayBuffer): Promise<[Copyable, LoadedActs]> {
  const { acts, packages, files, memory } = await unpacked(bytes);
  const pyodide = await load({ packages: [], _loadSnapshot: memory, fsInit: (fs) => putBack(fs, files) });
  Object.assign(pyodide.loadedPackages, packages);
  // Or every start would give the same random numbers.
  pyodide.runPython("__import__('random').seed()");
  return [pyodide, acts];
}

function filesIn(fs: Copyable["FS"], folder: string): Copy["files"] {
  return fs
    .readdir(folder)
    .filter((name) => name !== "." && name !== "..")
    .map((name) => `${folder}/${name}`)
    .flatMap((path) => (fs.isDir(fs.stat(path).mode) ? filesIn(fs, path) : [[path, fs.readFile(path)] as [string, Uint8Array]]));
}

function putBack(fs: Copyable["FS"], files: Copy["files"]): Promise<void> {
  for (const [path, data] of files) {
    fs.mkdirTree(path.slice(0, path.lastIndexOf("/")));
    fs.writeFile(path, data);
  }
  return Promise.resolve();
}

/** The memory comes first, because Pyodide reads it in words of four bytes. */
async function packed({ acts, packages, files, memory }: Copy): Promise<ArrayBuffer> {
  const sizes = files.map(([path, data]) => [path, data.length]);
  const said = new TextEncoder().encode(JSON.stringify({ acts, packages, sizes, memory: memory.length }));
  const tail = new Uint8Array(TAIL_BYTES);
  new DataView(tail.buffer).setUint32(0, said.length);
  const parts = [memory, ...files.map(([, data]) => data), said, tail];
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return through(whole, new CompressionStream("gzip"));
}

async function unpacked(bytes: ArrayBuffer): Promise<Copy> {
  const whole = new Uint8Array(await through(bytes, new DecompressionStream("gzip")));
  const end = whole.length - TAIL_BYTES;
  const begin = end - new DataView(whole.buffer).getUint32(end);
  const { acts, packages, sizes, memory } = JSON.parse(new TextDecoder().decode(whole.subarray(begin, end))) as {
    acts: LoadedActs;
    packages: Copy["packages"];
    sizes: [string, number][];
    memory: number;
  };
  let at = memory;
  const files = sizes.map(([path, size]): [string, Uint8Array] => [path, whole.subarray(at, (at += size))]);
  return { acts, packages, files, memory: whole.subarray(0, memory) };
}

function through(bytes: ArrayBuffer | Uint8Array<ArrayBuffer>, change: CompressionStream | DecompressionStream): Promise<ArrayBuffer> {
  const { body } = new Response(bytes);
  return new Response((body as ReadableStream<Uint8Array<ArrayBuffer>>).pipeThrough(change)).arrayBuffer();
}
