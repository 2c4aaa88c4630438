// The one way out of the worker: `fetch` for files of this site by their names alone and, once the reader has agreed, for the packages that the build named.
//
// A reader's program runs beside this and can change what every object inherits. So nothing here looks up a method when it decides.
import { DownloadError } from "./downloads";

/** What the gate needs of its worker. */
interface Surroundings {
  fetch: typeof globalThis.fetch;
  URL: typeof URL;
  Request: typeof Request;
  location: { href: string; origin: string };
}

export interface Gate {
  fetch: typeof globalThis.fetch;
  /** The reader has agreed: from now on these addresses of other hosts may be asked, and no others. */
  open(addresses: readonly string[]): void;
}

export function makeGate(around: Surroundings): Gate {
  const { fetch: native, URL: NativeURL, location } = around;
  const { href: base, origin: ownOrigin } = location;
  const { apply } = Reflect;
  const hrefOf = getter(NativeURL.prototype, "href");
  const originOf = getter(NativeURL.prototype, "origin");
  const searchOf = getter(NativeURL.prototype, "search");
  const addressOf = getter(around.Request.prototype, "url");
  const methodOf = getter(around.Request.prototype, "method");
  const signalOf = getter(around.Request.prototype, "signal");
  // It has no prototype: `in` asks this object alone.
  let foreign: object = Object.freeze({ __proto__: null });

  /** The address of a request of the browser's own, which cannot change any more. */
  const addressIn = (input: unknown): string | null => {
    try {
      return apply(addressOf, input, []) as string;
    } catch {
      return null;
    }
  };

  const open = (addresses: readonly string[]): void => {
    const named: Record<string, unknown> = { __proto__: null };
    for (let index = 0; index < addresses.length; index += 1) named[addresses[index] as string] = true;
    foreign = Object.freeze(named);
  };

  /** How a file of the site is read: by its name. Whatever else a program has to say, the site would hear too. */
  const read = (address: string, url: URL, request: unknown, init?: RequestInit): object => {
    const method = `${init?.method ?? (request === null ? "GET" : (apply(methodOf, request, []) as string))}`;
    const { body } = init ?? {};
    const plain = (method === "GET" || method === "HEAD") && (body === undefined || body === null) && apply(searchOf, url, []) === "";
    if (!plain) throw new DownloadError(`${address} cannot be asked so: this site's files are read by their names, without a query, and nothing is sent`);
    const signal = init?.signal ?? (request === null ? null : (apply(signalOf, request, []) as AbortSignal));
    return { __proto__: null, method, signal, integrity: init?.integrity ?? "" };
  };

  const fetch = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    const requested = addressIn(input);
    // Judged and asked is one text, whatever an object of the program's says the second time.
    const url = new NativeURL(requested ?? `${input as string}`, base);
    const address = apply(hrefOf, url, []) as string;
    if (apply(originOf, url, []) === ownOrigin) return apply(native, around, [address, read(address, url, requested === null ? null : input, init)]) as Promise<Response>;
    if (!(address in foreign)) throw new DownloadError(`${address} cannot be asked from here: only this site's files, and packages to which the reader agreed`);
    // The address as the build wrote it, and nothing that a program has to say: no method, body, header or cookie, and no detour.
    const plain = { __proto__: null, credentials: "omit", referrerPolicy: "no-referrer", redirect: "error", signal: init?.signal ?? null, integrity: init?.integrity ?? "" };
    return apply(native, around, [address, plain]) as Promise<Response>;
  };

  return { fetch, open };
}

/** What reads a property of a platform's objects, taken from their prototype: a program that changes the prototype does not change this. */
export function getter(of: object, name: string): () => unknown {
  return Object.getOwnPropertyDescriptor(of, name)?.get as () => unknown;
}
