// Unpacks wheels while Python is still on its way, so that a start finds the book's packages in their place.
//
// Pyodide would do so in Python once it runs, and import half a dozen modules of the standard library for that.
import { unzipSync } from "fflate";

/** A wheel that every start has: its package, its address from the entry, and its hash as `fetch` takes it. */
export interface StartWheel {
  name: string;
  url: string;
  integrity: string;
}

/** The files of a wheel: paths below the folder of packages, and contents. Throws for bytes that are no archive. */
export const filesOf = (wheel: ArrayBuffer): [path: string, data: Uint8Array][] =>
  Object.entries(unzipSync(new Uint8Array(wheel))).filter(([path]) => !path.endsWith("/"));
