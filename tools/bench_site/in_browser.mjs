// Measures in real browsers: bytes before intent, the cold start of an act, and the time from a control to its chart.
// @ts-check
import { launch } from "../../tests/browser/harness/launch.mjs";
import { refuseForeign } from "../../tests/browser/harness/proxy.mjs";
import { AS_ON_PAGES, serveSite } from "../../tests/browser/harness/server.mjs";
import { newReader } from "../../tests/browser/harness/world.mjs";
import { ACT, chartSays, scale, openAct, predict } from "../../tests/browser/suites/act_page.mjs";
import { importFile, LEDGER, ledgerDocument, ledgerSays } from "../../tests/browser/suites/lab_page.mjs";
import { OF_PYTHON } from "../../tests/browser/suites/loading.mjs";
import { dragTimes } from "./drag.mjs";

/** @typedef {import("../../tests/browser/harness/world.mjs").World} World */
/** @typedef {import("../../tests/browser/harness/launch.mjs").Engine} Engine */

export const STARTS = 5;
export const CONTROL_CHANGES = 120;
export const DRAG_MOVES = 200;
const SETTLE_MS = 1500;
const START_LIMIT_MS = 60_000;

const OF_CHARTS = /\/vega-[^/]*\.js$|\/charts\//;
const OUR_SCRIPTS = /\/assets\/live\/[^/]*\.js$/;

/**
 * Opens a fresh browser on the site, does something, and closes it.
 * @template R
 * @param {Engine} engine
 * @param {Record<string, string>} programs
 * @param {string} site
 * @param {(world: World) => Promise<R>} body
 */
async function withBrowser(engine, programs, site, body) {
  const proxy = await refuseForeign();
  const server = await serveSite(site, AS_ON_PAGES);
  const browser = await launch(engine, programs, proxy.port);
  try {
    const world = { browser, server, proxy, site, pages: [], sample: [] };
    await newReader(world);
    return await body(world);
  } finally {
    await browser.close();
    await server.close();
    await proxy.close();
  }
}

/**
 * What a page without acts downloads: our scripts, and bytes of Python, both as sent (gzip where it applies).
 * @param {Engine} engine @param {Record<string, string>} programs @param {string} site
 */
export function quietPage(engine, programs, site) {
  return withBrowser(engine, programs, site, async ({ browser, server }) => {
    await browser.open(server.base);
    await browser.eval(() => scrollTo(0, document.body.scrollHeight));
    await new Promise((done) => setTimeout(done, SETTLE_MS));
    return { scripts: sent(server.log(), OUR_SCRIPTS), python: sent(server.log(), OF_PYTHON) };
  });
}

/**
 * @typedef {object} Hardship
 * @property {number} [slowDown]  how many times slower the page's main thread runs; Chromium only
 * @property {number} [rate]      bytes a second of the network
 *
 * @typedef {object} Starts
 * @property {number} cold     seconds of the first visit
 * @property {number} warm     seconds of the second
 * @property {number} runtime  bytes of Python for the first, as sent
 * @property {number} charts   bytes of the charts for the first, as sent
 */

/**
 * A first start and a second in a fresh profile, each from the page asking for its worker, which is the first thing intent
 * does, to the first chart that Python has drawn. The reader has locked a prediction and moved a control on an earlier
 * visit, so that the act has something to compute at once.
 * @param {Engine} engine @param {Record<string, string>} programs @param {string} site
 * @param {string} visit  the ledger of `recordVisit`
 * @param {Hardship} [hardship]
 * @returns {Promise<Starts>}
 */
export function starts(engine, programs, site, visit, { slowDown, rate } = {}) {
  return withBrowser(engine, programs, site, async (world) => {
    const { browser, server } = world;
    await warmServer(server);
    await browser.open(server.base + LEDGER);
    await browser.waitFor(() => document.querySelector('live-ledger input[type="file"]') !== null);
    await importFile(browser, "visit.json", visit);
    await ledgerSays(browser, /1 act taken/);
    if (slowDown) await browser.driver.slowDown(slowDown);
    if (rate) server.fault({ path: /./, rate, kept: true });
    const cold = await start(world);
    const [runtime, charts] = [sent(server.log(), OF_PYTHON), sent(server.log(), OF_CHARTS)];
    return { cold, warm: await start(world), runtime, charts };
  });
}

/** Opens the act and waits for the chart that Python draws; gives the seconds since intent. @param {World} world */
async function start({ browser, server }) {
  await browser.open(server.base + LEDGER);
  // Otherwise the act would show its last state of this tab before Python has started.
  await browser.eval(() => sessionStorage.clear());
  server.clearLog();
  await browser.open(server.base + ACT);
  // WebKit's driver may come back before the page has its body.
  await browser.waitFor('live-act [data-slot="plot"]');
  const drawn = await browser.eval((limit) => {
    const plot = document.querySelector('live-act [data-slot="plot"]');
    const baked = plot?.getAttribute("aria-label");
    return new Promise((done, fail) => {
      const check = () => {
        if (plot?.getAttribute("aria-label")?.includes("Adam")) done(Date.now());
      };
      new MutationObserver(check).observe(/** @type {Element} */ (plot), { attributes: true });
      check();
      setTimeout(() => fail(new Error(`the chart still shows "${baked}"`)), limit);
    });
  }, START_LIMIT_MS);
  const intent = await browser.eval(() => {
    const [asked] = performance.getEntriesByName("python-asked-for");
    return asked && performance.timeOrigin + asked.startTime;
  });
  if (intent === undefined) throw new Error("the page did not ask for Python");
  return (Number(drawn) - intent) / 1000;
}

/** Lets the server compress every file once, so that the browsers' times are not the server's.
 * @param {import("../../tests/browser/harness/server.mjs").SiteServer} server */
async function warmServer(server) {
  const { files } = /** @type {{files: string[]}} */ (await (await fetch(`${server.base}assets/live/release.json`)).json());
  for (const file of files) await (await fetch(server.base + file)).arrayBuffer();
}

/**
 * The ledger, as JSON, of a reader who has locked a prediction and moved a control.
 * @param {Engine} engine @param {Record<string, string>} programs @param {string} site
 */
export function recordVisit(engine, programs, site) {
  return withBrowser(engine, programs, site, async (world) => {
    await openAct(world);
    await predict(world.browser, "3");
    await world.browser.click({ role: "radio", name: "Adam", exact: true, within: '[data-choice="optimizer"]' });
    await chartSays(world.browser, "Adam");
    await world.browser.open(world.server.base + LEDGER);
    await world.browser.waitFor("live-ledger h2");
    return JSON.stringify(await ledgerDocument(world.browser));
  });
}

/**
 * Milliseconds from a control's input event to the redrawn chart, for many changes of all choice controls in turn.
 * @param {Engine} engine @param {Record<string, string>} programs @param {string} site
 * @returns {Promise<number[]>}
 */
export function controlToChart(engine, programs, site) {
  return withBrowser(engine, programs, site, async (world) => {
    await openAct(world);
    await predict(world.browser, "3");
    return world.browser.eval(async (changes) => {
      const plot = /** @type {Element} */ (document.querySelector('live-act [data-slot="plot"]'));
      const groups = [...document.querySelectorAll('live-act [data-part="explore"] [data-choice]')].map((group) => [
        .../** @type {NodeListOf<HTMLInputElement>} */ (group.querySelectorAll("input")),
      ]);
      const times = [];
      for (let change = 0; change < changes; change += 1) {
        const radios = groups[change % groups.length] ?? [];
        const at = radios.findIndex((radio) => radio.checked);
        const next = radios[(at + 1) % radios.length];
        const redrawn = new Promise((done) => {
          const watch = new MutationObserver(() => {
            watch.disconnect();
            done(performance.now());
          });
          watch.observe(plot, { attributes: true, attributeFilter: ["aria-label"] });
        });
        const start = performance.now();
        next?.click();
        times.push(Number(await redrawn) - start);
        // A pause, as a reader makes one between two changes, in which the page can paint.
        await new Promise((done) => setTimeout(done, 40));
      }
      return times;
    }, CONTROL_CHANGES);
  });
}

/**
 * Milliseconds from a move of the pointer to the redrawn mark, Python included, for many moves of the scale's handle in Act 1.
 * @param {Engine} engine @param {Record<string, string>} programs @param {string} site @param {Hardship} [hardship]
 * @returns {Promise<number[]>}
 */
export function dragToChart(engine, programs, site, { slowDown } = {}) {
  return withBrowser(engine, programs, site, async (world) => {
    await openAct(world);
    await world.browser.of("live-act", (act) => act.scrollIntoView());
    await world.browser.waitFor('live-act[data-live="true"]', START_LIMIT_MS);
    if (slowDown) await world.browser.driver.slowDown(slowDown);
    const figure = { plot: 'live-act [data-slot="plot"]', grip: scale, mark: ".ghost_marks" };
    return dragTimes(world.browser, figure, DRAG_MOVES);
  });
}

/** @param {import("../../tests/browser/harness/server.mjs").LoggedRequest[]} log @param {RegExp} which */
function sent(log, which) {
  return log.filter(({ path }) => which.test(path)).reduce((sum, { bytes }) => sum + bytes, 0);
}
