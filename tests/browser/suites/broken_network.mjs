// A bad network: a download that ends half-way or never, a sign-in page, files that a new release has removed.
// @ts-check
import assert from "node:assert/strict";
import { WAIT_MS } from "../harness/browser.mjs";
import { ACT, actReady, answerBox, openAct, START_LIMIT_MS } from "./act_page.mjs";
import { Snippet } from "./snippet_page.mjs";

/** @typedef {import("../harness/world.mjs").World} World */
/** @typedef {import("../harness/server.mjs").Fault} Fault */

const CHAPTER = "chapter/memory/";
const ENTRY = /\/live-\w+\.js$/;
const WASM = /pyodide\.asm\.wasm$/;
const ACT_CODE = /\/act-\w+\.js$/;
const CHARTS = /\/vega-\w+\.js$/;
/** The page gives up after one second without a byte, not after twenty. @type {Fault} */
const IMPATIENT = { path: ENTRY, replace: ['"patience": 20', '"patience": 1'] };
/** Five seconds, so that a busy machine does not look like a lost connection. @type {Fault} */
const PATIENT = { path: ENTRY, replace: ['"patience": 20', '"patience": 5'] };

/** @type {[Fault, RegExp][]} */
const BROKEN = [
  [{ path: WASM, half: "cut" }, /^Python did not start: (the connection was lost while pyodide\.asm\.wasm was on its way|of pyodide\.asm\.wasm \d+ bytes arrived)/],
  [{ path: WASM, bytes: 1_000_000 }, /^Python did not start: of pyodide\.asm\.wasm 1000000 bytes arrived instead of \d+\.$/],
  [{ path: WASM, portal: true }, /^Python did not start: a web page came instead of pyodide\.asm\.wasm; does this network want you to sign in\?/],
  [{ path: /python_start\.zip\.packed$/, status: 404 }, /^Python did not start: python_start\.zip\.packed could not be downloaded \(HTTP 404\)\.$/],
  [{ path: /pyodide\.asm\.mjs$/, portal: true }, /^Python did not start: pyodide\.asm\.mjs could not be downloaded, or is not what it should be\.$/],
  [{ path: /\.whl\.packed$/, half: "cut" }, /^Python did not start: /],
];

/** The page of the act, but none of its files. */
const PAGE = new RegExp(`/${ACT}$`);
/** What does not come: no error of the browser tells it. @type {[string, Fault][]} */
const STUCK = [
  ["an entry that stalls", { path: ENTRY, half: "stall" }],
  ["an entry that is cut to 100 bytes", { path: ENTRY, bytes: 100 }],
  ["a theme whose program stalls", { path: /\/bundle\.\w+\.min\.js$/, half: "stall" }],
];
/** Three seconds, and three more for a page that pauses while it is read: both are timers of one page, so how busy the machine is does not matter. */
const TOLD_MS = 6000;

/** In the page, before all else: which comes first once its programs are awaited, the notice or a timer of so many milliseconds?
 * @param {number} ms */
function watchNotice(ms) {
  const root = document.documentElement;
  let timer = 0;
  const end = (/** @type {string} */ what) => (root.dataset["first"] ??= what);
  const start = () => {
    clearTimeout(timer);
    timer = window.setTimeout(end, ms, "timer");
  };
  // The theme's program is what the reading of a page waits for; the entry is awaited once all is read.
  document.addEventListener("readystatechange", () => document.readyState === "interactive" && start());
  new MutationObserver(() => {
    if (!timer && document.querySelector('script[src*="/bundle."]')) start();
    if ("late" in root.dataset) end("notice");
  }).observe(root, { attributes: true, childList: true, subtree: true });
}

/** @param {import("../harness/world.mjs").Facts} facts */
export function brokenNetworkTests({ once, widely, full, fully }) {
  widely("network: a start that cannot succeed ends with one sentence, Stop stops, and Retry works when the network does", async (all) => {
    const { browser, server } = all;
    // The act in view starts Python at once; it meets the first fault too.
    server.fault(BROKEN[0]?.[0] ?? IMPATIENT);
    await browser.open(server.base + ACT);
    const snippet = new Snippet(browser, await browser.of("live-snippet", (host) => host.dataset.name));
    await snippet.ready();
    await browser.waitFor('live-act [data-slot="state"][data-phase="error"]', START_LIMIT_MS, "the act to say that Python did not start");
    const baked = await snippet.output();
    for (const [index, [fault, told]] of BROKEN.entries()) {
      server.heal();
      server.fault(fault);
      await browser.click(snippet.button(index ? "Retry" : "Run"));
      await snippet.ended();
      assert.match(await snippet.output(), told, JSON.stringify({ ...fault, path: String(fault.path) }));
    }

    server.heal();
    server.fault({ path: WASM, half: "stall" });
    server.clearLog();
    await browser.click(snippet.button("Retry"));
    await asked(all, WASM);
    await browser.click(snippet.button("Stop"));
    await snippet.ended();
    assert.doesNotMatch(await browser.text(`${snippet.host} [data-slot="state"]`), /loads/);

    server.heal();
    // Python must also start when the server does not know the file's type.
    server.fault({ path: WASM, type: "application/octet-stream" });
    await browser.click(snippet.button("Run"));
    await snippet.ended();
    assert.equal(await snippet.output(), baked);

    server.heal();
    server.fault(IMPATIENT);
    server.fault({ path: WASM, half: "stall" });
    await browser.open(server.base + ACT);
    await snippet.ready();
    await browser.click(snippet.button("Run"));
    await snippet.ended();
    assert.match(await snippet.output(), /^Python did not start: nothing more of [\w.]+ arrived for 1 seconds\.$/);
  }, { pageErrors: true });

  full("network: on a slow line progress follows the bytes, the page does not give up, and Stop ends the download", async ({ browser, server }) => {
    server.fault(PATIENT);
    // The download takes longer than the page's patience, which must end only if no byte comes.
    server.fault({ path: WASM, rate: 450_000 });
    await browser.open(server.base + CHAPTER);
    const snippet = new Snippet(browser, await browser.of("live-snippet", (host) => host.dataset.name));
    await snippet.ready();
    const baked = await snippet.output();
    await browser.eval((host) => {
      const chip = /** @type {HTMLElement} */ (document.querySelector(`${host} [data-slot="state"]`));
      /** @type {number[]} */
      const seen = [];
      Object.assign(window, { seen });
      new MutationObserver(() => {
        const percent = Number(/loads (\d+) %/.exec(chip.textContent ?? "")?.[1] ?? Number.NaN);
        if (!Number.isNaN(percent) && percent !== seen.at(-1)) seen.push(percent);
      }).observe(chip, { childList: true, characterData: true, subtree: true });
    }, snippet.host);
    assert.equal(await snippet.run(), baked);
    const seen = await browser.eval(() => /** @type {{seen: number[]}} */ (/** @type {unknown} */ (window)).seen);
    assert.ok(seen.length > 10, `progress was told in ${seen}`);
    assert.deepEqual(seen, [...seen].sort((one, other) => one - other), "progress never goes back");

    server.heal();
    // 400 kbit a second: the whole would take a minute and a half.
    server.fault({ path: WASM, rate: 50_000 });
    await browser.reload();
    await snippet.ready();
    server.clearLog();
    await browser.click(snippet.button("Run"));
    const slow = () => server.log().find(({ path }) => WASM.test(path));
    await until(() => (slow()?.bytes ?? 0) > 150_000, "the download to come along");
    assert.match(await browser.text(`${snippet.host} [data-slot="state"]`), /^Python loads \d+ %$/);
    await browser.click(snippet.button("Stop"));
    await snippet.ended();
    await until(() => slow()?.gone === true, "the download to end");
    assert.ok((slow()?.bytes ?? 0) < 2_000_000);
  });

  fully("network: programs of the page that do not arrive are said to be missing, and Retry brings them", async (all) => {
    const { browser, server } = all;
    const trouble = "live-act > [data-il-late]";
    server.fault({ path: ACT_CODE, half: "cut" });
    await browser.open(server.base + ACT);
    await browser.waitFor(trouble, WAIT_MS, "the act to say that its program is missing");
    assert.match(await browser.text(trouble), /^The program of this part could not be downloaded\. ?Retry$/);
    server.lose(true);
    await browser.click({ role: "button", name: "Retry", within: trouble });
    await browser.waitFor(() => document.querySelector("live-act > [data-il-late]")?.textContent?.includes("cannot be reached"));
    server.lose(false);
    server.heal();
    server.fault({ path: CHARTS, half: "cut" });
    await browser.click({ role: "button", name: "Retry", within: trouble });
    await actReady(browser);
    await browser.focus(answerBox);
    await browser.type("3");
    await browser.click({ role: "button", name: "Lock in", within: "live-act" });
    await browser.click({ role: "radio", name: "Adam", exact: true, within: 'live-act [data-choice="optimizer"]' });
    const chart = 'live-act [data-slot="trouble"]';
    await browser.waitFor(() => document.querySelector('live-act [data-slot="trouble"] button') !== null, START_LIMIT_MS, "the act to say that its chart is missing");
    assert.match(await browser.text(chart), /^The page could not show the result: the connection was lost while vega-\w+\.js was on its way\. ?Retry$/);
    server.heal();
    await browser.click({ role: "button", name: "Retry", within: chart });
    await browser.waitFor(() => document.querySelector('live-act [data-slot="plot"]')?.getAttribute("aria-label")?.includes("Adam m"), START_LIMIT_MS, "the chart");
  }, { pageErrors: true });

  full("network: a page whose entry is gone says that a program is missing", async ({ browser, server }) => {
    await browser.open(server.base + ACT);
    assert.equal(await browser.has(".il-notice"), false);
    server.fault({ path: ENTRY, status: 404 });
    await browser.reload();
    await browser.waitFor(".il-notice--missing");
    server.heal();
    await browser.click("#il-reload");
    await actReady(browser);
    assert.equal(await browser.has(".il-notice"), false);
  });

  for (const [at, [how, fault]] of STUCK.entries()) {
    // One kind of loss in every run, the others in a full one.
    (at ? full : once)(`network: ${how} is told after three seconds, and a page whose programs came says nothing of it`, async ({ browser, server }) => {
      server.fault(fault);
      server.fault({ path: PAGE, replace: ['<meta charset="utf-8">', `<meta charset="utf-8"><script>(${watchNotice})(${TOLD_MS})</script>`] });
      // Without such a program a page never ends to load.
      await browser.open(server.add("__blank.html", "text/html", '<!doctype html><html lang="en"><title>blank</title><link rel="icon" href="data:,">'));
      await browser.eval((address) => void setTimeout(() => location.assign(address)), server.base + ACT);
      await browser.waitFor(() => document.documentElement.dataset["first"] !== undefined, START_LIMIT_MS, "either timer");
      assert.equal(await browser.eval(() => document.documentElement.dataset["first"]), "notice");
      await browser.waitFor(".il-notice--missing");
      assert.match(await browser.text(".il-notice--missing"), /^A program of this page has not arrived/);
      server.heal();
      await browser.click("#il-reload");
      await actReady(browser);
      await new Promise((done) => setTimeout(done, 3500));
      assert.equal(await browser.has(".il-notice"), false);
    }, { pageErrors: true });
  }

  full("network: an act's loading can be stopped, and goes on at the next move", async (all) => {
    const { browser, server } = all;
    await openAct(all);
    server.fault({ path: WASM, half: "stall" });
    await browser.focus(answerBox);
    await browser.type("3");
    await browser.click({ role: "button", name: "Lock in", within: "live-act" });
    await browser.click({ role: "button", name: "Stop loading Python", within: "live-act" });
    await browser.waitFor(() => document.querySelector('live-act [data-slot="trouble"]')?.textContent?.startsWith("You stopped Python"));
    server.heal();
    await browser.click({ role: "radio", name: "Adam", exact: true, within: 'live-act [data-choice="optimizer"]' });
    await browser.waitFor(() => document.querySelector('live-act [data-slot="plot"]')?.getAttribute("aria-label")?.includes("Adam m"), START_LIMIT_MS, "the chart");
    assert.equal(await browser.text('live-act [data-slot="trouble"]'), "");
  });
}

/** Waits until the site was asked for a path. @param {World} world @param {RegExp} path */
const asked = ({ server }, path) => until(() => server.log().some((request) => path.test(request.path)), `somebody to ask for ${path}`);

/** @param {() => boolean} holds @param {string} what */
async function until(holds, what) {
  for (let left = 400; left > 0; left -= 1) {
    if (holds()) return;
    await new Promise((done) => setTimeout(done, 25));
  }
  throw new Error(`waited in vain for ${what}`);
}
