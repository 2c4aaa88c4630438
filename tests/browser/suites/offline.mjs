// "Keep this book": the site without a network, and an update that comes whole or not at all.
// @ts-check
import assert from "node:assert/strict";
import { laterOf, MARK } from "../harness/releases.mjs";
import { FULL } from "../harness/world.mjs";
import { ACT, actReady, chartSays, predict, set } from "./act_page.mjs";
import { isWhole } from "./releases.mjs";
import { Snippet, snippetWith } from "./snippet_page.mjs";

/** The browser copies the whole site into its cache. */
export const COPY_LIMIT_MS = 90_000;
const KEPT = "This book is kept in this browser.";
const CHAPTER = "chapter/memory/";
/** Two starts from one copy must not give the same. */
const RANDOM = "import random\nprint(random.random())";

/** @param {string} name */
const button = (name) => ({ role: "button", name, exact: true, within: "live-keep" });

/** @param {import("../harness/world.mjs").Facts} facts */
export function offlineTests({ widely, full }) {
  widely("offline: a kept book has its chapter, its acts and its Python without a network, and a copy of its memory to start from, unless that is damaged or of another release", async (world) => {
    const { browser, server } = world;
    await browser.open(server.base + CHAPTER);
    const here = new Snippet(browser, await browser.of("live-snippet", (host) => host.dataset.name));
    await here.ready();
    const baked = await here.output();
    await browser.click(button("Keep this book"));
    await browser.waitFor(button("Keep it"));
    assert.match(await browser.text("live-keep"), /^The whole book, with its acts and Python, takes \d+ MB in this browser\./);
    await browser.click(button("Keep it"));
    await kept(browser);

    server.lose(true);
    assert.equal(await here.run(), baked, "on the very page where the book was kept");
    assert.equal(await copied(browser), false, "the first start has no copy");
    await browser.waitFor(isCopied, COPY_LIMIT_MS, "the copy");
    await browser.open(server.base + ACT);
    await actReady(browser);
    await predict(browser, "3");
    await set(browser, "Optimizer", "Adam");
    await chartSays(browser, "Adam m 6.23 GB");
    assert.equal(await copied(browser), true);
    const snippet = new Snippet(browser, await browser.of("live-snippet", (host) => host.dataset.name));
    await snippet.write("import statistics\nprint(statistics.mean([1, 3]))");
    assert.equal(await snippet.run(), "2", "the rest of Python's library is there too");
    await browser.open(server.base + CHAPTER);
    await browser.waitFor(() => document.querySelectorAll("main article h2").length > 1);

    server.lose(false);
    const given = [];
    // Each start, and each copy that is made anew, takes seconds; that the others end as the first two do is for the full run.
    for (const _ of FULL ? [1, 2] : [1]) {
      const random = await snippetWith(world, RANDOM);
      given.push(await random.run());
      assert.equal(await copied(browser), true);
    }
    assert.match(given[0] ?? "", /^0\.\d+$/);
    assert.notEqual(given[0], given[1]);
    if (FULL) {
      // One of another release is not used, and goes when there is one of this.
      await changeCopy(browser, "other");
      const elsewhere = await snippetWith(world, "1 + 1");
      assert.equal(await elsewhere.run(), "2");
      assert.equal(await copied(browser), false);
      await browser.waitFor(isCopied, COPY_LIMIT_MS, "a copy of this release");
    }

    for (const harm of /** @type {("cut" | "flipped")[]} */ (FULL ? ["flipped", "cut"] : ["cut"])) {
      await changeCopy(browser, harm);
      const damaged = await snippetWith(world, "1 + 1");
      assert.equal(await damaged.run(), "2", harm);
      assert.equal(await copied(browser), false, harm);
      assert.deepEqual((await held(browser)).filter((url) => url.includes("python-copy")), [], harm);
      if (FULL) await actWithCopy(world);
    }

    await browser.click(button("Forget it"));
    await browser.waitFor(button("Keep this book"));
    assert.deepEqual(await browser.eval(async () => (await caches.keys()).filter((name) => name.startsWith("iron-law-book"))), []);
    // Firefox reports each damaged copy as an error of the page.
  }, { pageErrors: true });

  full("offline: keeping the book can be stopped, gone on with and forgotten, and the page says what is there", async ({ browser, server }) => {
    const said = (/** @type {RegExp} */ words) => waitForText(browser, words);
    await browser.open(server.base);
    await browser.click(button("Keep this book"));
    server.fault({ path: /sw\.js$/, delayMs: 15_000 });
    await browser.click(button("Keep it"));
    await said(/^The book arrives: 0 %/);
    await browser.click(button("Stop"));
    await said(/^Keep this book$/);
    server.heal();
    await browser.open(server.base);
    await browser.click(button("Keep this book"));
    server.fault({ path: /\.wasm$/, half: "stall" });
    await browser.click(button("Keep it"));
    await said(/^The book arrives: [1-9]\d* %/);
    await said(/^The book arrives: \d+ %; nothing has come for [1-9]0 seconds/);
    await browser.click(button("Stop"));
    await said(/^\d+ of \d+ MB of this book are in this browser, which is not enough to read without a network\. Go on Forget it/);
    await browser.reload();
    await said(/^\d+ of \d+ MB of this book/);
    const there = new Set((await held(browser)).map((url) => new URL(url).pathname));
    assert.ok(there.size > 0);
    server.heal();
    server.clearLog();
    await browser.click(button("Go on"));
    await kept(browser);
    assert.deepEqual(server.log().filter(({ path }) => there.has(path)), [], "what was there is asked for again");

    // Another book of the same origin takes the service worker away: the page brings it back, or says what is missing.
    const withdrawn = async () => {
      for (const one of await navigator.serviceWorker.getRegistrations()) await one.unregister();
    };
    await browser.eval(withdrawn);
    server.fault({ path: /sw\.js$/, status: 404 });
    await browser.reload();
    await said(/^The book is in this browser, but it cannot be opened without a network: /);
    server.heal();
    await browser.reload();
    await kept(browser);
    assert.equal(await browser.eval(async () => (await navigator.serviceWorker.getRegistrations()).length), 1);

    // What was cut on the disk comes from the network, and the page says that it is missing.
    await browser.eval(async () => {
      const [name = ""] = (await caches.keys()).filter((one) => one.startsWith("iron-law-book"));
      const cache = await caches.open(name);
      const whole = await (await cache.match(location.href + "index.html"))?.text();
      await cache.put(location.href + "index.html", new Response(whole?.slice(0, 1000), { headers: { "content-type": "text/html" } }));
    });
    await browser.reload();
    await browser.waitFor("main article h1");
    await said(/^\d+ of \d+ MB of this book/);
    await browser.click({ role: "button", name: "Go on", within: "live-keep" });
    await kept(browser);

    // A browser that is short of room throws files away and says nothing.
    await browser.eval(async () => {
      for (const name of await caches.keys()) if (name.startsWith("iron-law-book")) await (await caches.open(name)).delete(location.href + "index.html");
      dispatchEvent(new Event("focus"));
    });
    await said(/^\d+ of \d+ MB of this book/);
    await browser.click(button("Forget it"));
    await browser.waitFor(button("Keep this book"));
    assert.deepEqual(await held(browser), []);
  });

  full("offline: an update to a release with other programs comes whole, or the book stays as it was", async (all) => {
    const { browser, server, site } = all;
    const later = laterOf(site);
    await browser.open(server.base);
    await browser.click(button("Keep this book"));
    await browser.click(button("Keep it"));
    await kept(browser);

    server.deploy(later.folder);
    // The deploy is half done: the list is new, the page is old.
    server.fault({ path: /index\.html$|\/iron-law\/$/, replace: [MARK, ""] });
    await browser.reload();
    await browser.waitFor(() => document.querySelector("live-keep")?.textContent?.includes("index.html is of another release now"), COPY_LIMIT_MS);
    server.heal();
    server.lose(true);
    await browser.reload();
    await browser.waitFor("main article h1");
    assert.equal(await browser.has("#later"), false);

    server.lose(false);
    await browser.reload();
    await browser.waitFor(async () => {
      for (const name of await caches.keys()) if (name.endsWith(" later") && (await (await caches.open(name)).match("offline.json"))) return true;
      return false;
    }, COPY_LIMIT_MS, "the whole update");
    await kept(browser);
    server.lose(true);
    await browser.open(server.base + CHAPTER);
    await browser.waitFor("#later");
    const snippet = new Snippet(browser, await browser.of("live-snippet", (host) => host.dataset.name));
    await snippet.ready();
    const baked = await snippet.output();
    assert.equal(await snippet.run(), baked, "Python of the new release, without a network");
    await isWhole(all, later);
  });
}

/** The addresses of the book's files that the browser holds. @param {import("../harness/browser.mjs").Browser} browser @returns {Promise<string[]>} */
const held = (browser) =>
  browser.eval(async () => {
    /** @type {string[]} */
    const files = [];
    for (const name of await caches.keys()) if (name.startsWith("iron-law-book")) files.push(...(await (await caches.open(name)).keys()).map(({ url }) => url));
    return files;
  });

/** @param {import("../harness/browser.mjs").Browser} browser @param {RegExp} words */
async function waitForText(browser, words) {
  const until = Date.now() + COPY_LIMIT_MS;
  for (;;) {
    const text = await browser.eval(() => (document.querySelector("live-keep")?.textContent ?? "").replace(/\s+/g, " ").trim()).catch(() => "");
    if (words.test(text)) return;
    if (Date.now() > until) throw new Error(`waited for ${words}; the page says "${text}"`);
    await new Promise((done) => setTimeout(done, 50));
  }
}

/** @param {import("../harness/browser.mjs").Browser} browser */
async function kept(browser) {
  await browser.waitFor(() => document.querySelector("live-keep")?.textContent?.startsWith("This book is kept"), COPY_LIMIT_MS, KEPT);
}

/** Opens the first act, keeps the book, starts Python, and waits until its copy is made. @param {import("../harness/world.mjs").World} world */
export async function actWithCopy(world) {
  const { browser } = world;
  const snippet = await snippetWith(world, "1 + 1");
  await browser.waitFor('live-keep [data-labels]:not([data-labels=""])');
  if (await browser.has(button("Keep this book"))) {
    await browser.click(button("Keep this book"));
    await browser.click(button("Keep it"));
  }
  await kept(browser);
  await browser.waitFor(() => navigator.serviceWorker.controller !== null, COPY_LIMIT_MS, "the service worker");
  assert.equal(await snippet.run(), "2");
  await browser.waitFor(isCopied, COPY_LIMIT_MS, "the copy");
}

/** Did the page's Python start from a copy? @param {import("../harness/browser.mjs").Browser} browser @returns {Promise<boolean>} */
export const copied = (browser) =>
  browser.eval(() => /** @type {PerformanceMark} */ (performance.getEntriesByName("python-ready").at(-1)).detail.copied);

/** In a page: is there one copy, of this release? */
async function isCopied() {
  for (const name of await caches.keys()) {
    const urls = (await (await caches.open(name)).keys()).map(({ url }) => url).filter((url) => url.includes("python-copy"));
    if (urls.length === 1 && !urls[0]?.endsWith("?other")) return true;
  }
  return false;
}

/** Makes the copy one of another release, or damages it. @param {import("../harness/browser.mjs").Browser} browser @param {"other" | "flipped" | "cut"} how */
const changeCopy = (browser, how) =>
  browser.eval(async (how) => {
    for (const name of await caches.keys()) {
      const cache = await caches.open(name);
      for (const request of await cache.keys()) {
        if (!request.url.includes("python-copy")) continue;
        const bytes = new Uint8Array((await (await cache.match(request))?.arrayBuffer()) ?? new ArrayBuffer(0));
        await cache.delete(request);
        const middle = bytes.length >> 1;
        if (how === "flipped") bytes[middle] = 255 - (bytes[middle] ?? 0);
        await cache.put(how === "other" ? request.url.replace(/[?].*/, "?other") : request, new Response(how === "cut" ? bytes.slice(0, middle) : bytes));
      }
    }
  }, how);
