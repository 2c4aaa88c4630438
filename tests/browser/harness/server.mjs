// Serves a built site under a sub-path, as GitHub Pages does, logs every request, and fails or delays paths on demand.
// @ts-check
import { createHash } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";

const compress = promisify(gzip);

/** The sub-path of a project site on GitHub Pages. Links that leave it are broken links. */
export const SUB_PATH = "/iron-law/";
/** A page of the harness on the site's origin, without scripts: where storage is cleared between two tests. */
export const BLANK_PATH = `${SUB_PATH}__blank.html`;
const BLANK = {
  type: "text/html",
  body: '<!doctype html><html lang="en"><link rel="icon" href="data:,"><title>blank</title></html>',
};

const TYPES = new Map([
  [".html", "text/html; charset=utf-8"],
  [".js", "text/javascript; charset=utf-8"],
  [".mjs", "text/javascript; charset=utf-8"],
  [".css", "text/css; charset=utf-8"],
  [".json", "application/json; charset=utf-8"],
  [".webmanifest", "application/manifest+json"],
  [".svg", "image/svg+xml"],
  [".wasm", "application/wasm"],
  [".woff2", "font/woff2"],
  [".png", "image/png"],
  [".ico", "image/x-icon"],
  [".xml", "application/xml"],
  [".zip", "application/zip"],
]);
const COMPRESSED = new Set([".html", ".js", ".mjs", ".css", ".json", ".svg", ".wasm", ".xml", ".py"]);

/**
 * @typedef {object} LoggedRequest
 * @property {string} path       the requested path, with the sub-path, without the query
 * @property {number} at         when it came, by Date.now()
 * @property {number} status     the status answered
 * @property {number} bytes      bytes of the body sent (compressed where it was; 0 for a 304)
 * @property {boolean} [gone]    the browser ended a slow download before its end
 *
 * @typedef {object} Fault
 * @property {RegExp} path       which paths the fault concerns
 * @property {number} [status]   answer with this status instead of the file
 * @property {number} [delayMs]  wait before answering
 * @property {"cut" | "stall"} [half]  send half of the file, then drop the connection, or fall silent
 * @property {number} [rate]     send so many bytes in a second, all requests together, as a slow line does
 * @property {boolean} [kept]    with `rate`: let the browser cache the file, like any other
 * @property {number} [bytes]    send only so many bytes, as if they were the whole file
 * @property {boolean} [portal]  answer like a network whose visitors must sign in: status 200 and the sign-in page
 * @property {string} [type]     send the file under this type
 * @property {[string, string]} [replace]  another text in place of the first in a text file
 *
 * @typedef {object} SiteServer
 * @property {string} origin                       e.g. http://127.0.0.1:4321
 * @property {string} base                         the site's root address, ending in the sub-path
 * @property {() => LoggedRequest[]} log           every request since the last `clear`
 * @property {() => void} clearLog                 forgets the log
 * @property {() => void} clear                    forgets the log, the faults, the policy and the added pages
 * @property {(name: string, type: string, body: string) => string} add  serves a text under the root; gives its address
 * @property {(fault: Fault) => void} fault        adds a fault
 * @property {() => void} heal                     removes all faults
 * @property {(folder: string) => void} deploy     serves another built site from here on
 * @property {(gone: boolean) => void} lose        true: drops every connection, as if there were no network; false: ends this
 * @property {(policy: string | null) => void} policy  sends this Content-Security-Policy with every page
 * @property {() => Promise<void>} close
 */

/**
 * The sitemap with this server's addresses. Instant navigation follows only links that the sitemap lists.
 * @param {string} sitemap
 * @param {string} base
 */
function movedSitemap(sitemap, base) {
  const builtFor = [...sitemap.matchAll(/<loc>(.*?)<\/loc>/g)].map((match) => match[1] ?? "");
  const root = builtFor.reduce((one, other) => (other.length < one.length ? other : one), builtFor[0] ?? "");
  return sitemap.replaceAll(`<loc>${root}`, `<loc>${base}`);
}

/** Revalidate always: every use of a file shows in the log, while the browser still keeps its copy. */
const EVERY_USE = "no-cache";
/** The Cache-Control that GitHub Pages sends with every file. */
export const AS_ON_PAGES = "max-age=600";
const SLICES_A_SECOND = 20;
/** When the slow line is free again, by Date.now(). */
let busyUntil = 0;

/** Sends a body slowly, until all is sent or the browser closes the connection.
 * @param {Buffer} body @param {number} rate @param {LoggedRequest} entry @param {import("node:http").ServerResponse} response */
async function trickle(body, rate, entry, response) {
  const slice = Math.ceil(rate / SLICES_A_SECOND);
  while (entry.bytes < body.length && !response.destroyed) {
    const part = body.subarray(entry.bytes, entry.bytes + slice);
    busyUntil = Math.max(Date.now(), busyUntil) + (1000 * part.length) / rate;
    await new Promise((done) => setTimeout(done, busyUntil - Date.now()));
    entry.bytes += part.length;
    response.write(part);
  }
  response.end();
}

/**
 * Sends a file the way the fault asks for; false if the fault asks for no other way.
 * @param {Fault} fault
 * @param {{response: import("node:http").ServerResponse, entry: LoggedRequest, headers: Record<string, string>, plain: Buffer, packed: Buffer | null,
 *   answer: (status: number, headers: Record<string, string>, body: Buffer | string) => void}} request
 */
function sendFaulty(fault, { response, entry, headers, plain, packed, answer }) {
  const { replace, bytes, rate, half } = fault;
  if (replace) answer(200, headers, plain.toString().replace(...replace));
  else if (bytes !== undefined) answer(200, headers, plain.subarray(0, bytes));
  else if (rate) {
    const body = packed ?? plain;
    entry.status = 200;
    response.writeHead(200, { ...headers, ...(packed && { "Content-Encoding": "gzip" }), "Content-Length": body.length });
    response.once("close", () => (entry.gone = entry.bytes < body.length));
    void trickle(body, rate, entry, response);
  } else if (half) {
    entry.status = 200;
    response.writeHead(200, { ...headers, "Content-Length": plain.length });
    response.write(plain.subarray(0, plain.length / 2), () => half === "cut" && response.destroy());
  } else return false;
  return true;
}

/**
 * Starts a server for the built site in `folder` on a free port of 127.0.0.1.
 * @param {string} folder
 * @param {string} [caching]  how long a browser may keep a file without asking: a Cache-Control
 * @returns {Promise<SiteServer>}
 */
export async function serveSite(folder, caching = EVERY_USE) {
  /** @type {LoggedRequest[]} */
  let requests = [];
  /** @type {Fault[]} */
  let faults = [];
  /** @type {string | null} */
  let contentPolicy = null;
  /** @type {Map<string, {type: string, body: string}>} */
  const added = new Map();
  const built = folder;
  let lost = false;
  /** @type {Map<string, {tag: string, plain: Buffer, gzipped: Buffer | null}>} */
  const cache = new Map();

  /** @param {string} file */
  async function load(file) {
    const cached = cache.get(file);
    if (cached) return cached;
    const plain = await readFile(file);
    const gzipped = COMPRESSED.has(extname(file)) ? await compress(plain) : null;
    const loaded = { tag: `"${createHash("sha256").update(plain).digest("hex").slice(0, 16)}"`, plain, gzipped };
    cache.set(file, loaded);
    return loaded;
  }

  /** The file for a path of the site, or null. @param {string} path */
  async function resolve(path) {
    if (!path.startsWith(SUB_PATH)) return null;
    const relative = normalize(decodeURIComponent(path.slice(SUB_PATH.length)));
    if (relative.startsWith("..")) return null;
    let file = join(folder, relative);
    const found = await stat(file).catch(() => null);
    if (found?.isDirectory()) {
      // GitHub Pages redirects to the address with the slash; a page that needs this has a broken relative link.
      if (!path.endsWith("/")) return null;
      file = join(file, "index.html");
      return (await stat(file).catch(() => null)) ? file : null;
    }
    return found ? file : null;
  }

  const server = createServer(async (request, response) => {
    if (lost) return void request.socket.destroy();
    const path = new URL(request.url ?? "/", "http://site").pathname;
    /** @type {LoggedRequest} */
    const entry = { path, at: Date.now(), status: 0, bytes: 0 };
    requests.push(entry);
    /** @param {number} status @param {Record<string, string>} headers @param {Buffer | string} [body] */
    const answer = (status, headers, body = "") => {
      entry.status = status;
      entry.bytes = Buffer.byteLength(body);
      response.writeHead(status, { "Cache-Control": caching, "Content-Length": entry.bytes, ...headers });
      response.end(request.method === "HEAD" ? undefined : body);
    };

    const active = faults.filter((fault) => fault.path.test(path));
    for (const fault of active) {
      if (fault.delayMs) await new Promise((done) => setTimeout(done, fault.delayMs));
      if (fault.status) return answer(fault.status, { "Content-Type": "text/plain" }, "failed by the test\n");
      if (fault.portal) return answer(200, { "Content-Type": "text/html" }, "<!doctype html><title>Sign in</title>");
    }
    const extra = path === BLANK_PATH ? BLANK : added.get(path);
    if (extra) return answer(200, { "Content-Type": extra.type, "Cache-Control": "no-store" }, extra.body);
    const file = await resolve(path);
    if (!file) return answer(404, { "Content-Type": "text/plain" }, "not found\n");
    if (path === `${SUB_PATH}sitemap.xml`) {
      return answer(200, { "Content-Type": "application/xml" }, movedSitemap(await readFile(file, "utf8"), origin + SUB_PATH));
    }
    const { tag, plain, gzipped } = await load(file);
    const [fault] = active;
    const type = fault?.type ?? TYPES.get(extname(file)) ?? "application/octet-stream";
    const right = !fault || fault.kept === true;
    /** @type {Record<string, string>} */
    const headers = { "Content-Type": type, "Cache-Control": right ? caching : "no-store", ...(right && { ETag: tag, Vary: "Accept-Encoding" }) };
    if (contentPolicy && type.startsWith("text/html")) {
      headers["Content-Security-Policy"] = contentPolicy;
      headers["Cache-Control"] = "no-store";
    } else if (right && request.headers["if-none-match"] === tag) {
      return answer(304, { ETag: tag });
    }
    const packed = gzipped && /\bgzip\b/.test(request.headers["accept-encoding"]?.toString() ?? "") ? gzipped : null;
    if (fault && sendFaulty(fault, { response, entry, headers, plain, packed, answer })) return;
    if (packed) return answer(200, { ...headers, "Content-Encoding": "gzip" }, packed);
    return answer(200, headers, plain);
  });

  await new Promise((done) => server.listen(0, "127.0.0.1", () => done(undefined)));
  const address = server.address();
  if (!address || typeof address === "string") throw new Error("the site server has no port");
  const origin = `http://127.0.0.1:${address.port}`;
  return {
    origin,
    base: origin + SUB_PATH,
    log: () => [...requests],
    clearLog() {
      requests = [];
    },
    clear() {
      requests = [];
      faults = [];
      contentPolicy = null;
      added.clear();
      folder = built;
      lost = false;
    },
    add(name, type, body) {
      added.set(SUB_PATH + name, { type, body });
      return origin + SUB_PATH + name;
    },
    fault: (fault) => void faults.push(fault),
    heal() {
      faults = [];
    },
    deploy(other) {
      folder = other;
    },
    lose(gone) {
      lost = gone;
      if (gone) server.closeAllConnections();
    },
    policy(policy) {
      contentPolicy = policy;
    },
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}
