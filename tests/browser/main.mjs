// Runs the browser tests: builds the site once, then every suite in every wanted engine, one browser per engine.
// @ts-check
//
//   node --test-reporter=spec tests/browser/main.mjs
//
// ENGINES=chromium,firefox,webkit  which engines; all when empty
// SITE_DIR=site                    a built site to test instead of building one
// FULL=1                           the full run: also what other tests prove in part, in every engine where it can differ
// --test-name-pattern=stop         before the file's name: only facts that match
import { rmSync } from "node:fs";
import { after, before, describe } from "node:test";
import { findPrograms, launch, wantedEngines, webKitPrograms } from "./harness/launch.mjs";
import { refuseForeign } from "./harness/proxy.mjs";
import { serveSite } from "./harness/server.mjs";
import { builtSite, oneOfEachKind, pagesOf } from "./harness/site.mjs";
import { EVIDENCE, factsIn, FULL } from "./harness/world.mjs";
import { accessTests } from "./suites/access.mjs";
import { actTests } from "./suites/act.mjs";
import { brokenNetworkTests } from "./suites/broken_network.mjs";
import { ceilingTests } from "./suites/ceilings.mjs";
import { claimTests } from "./suites/claims.mjs";
import { deviceTests } from "./suites/devices.mjs";
import { earlierSiteTests } from "./suites/earlier_site.mjs";
import { everyPageTests } from "./suites/every_page.mjs";
import { exerciseTests } from "./suites/exercises.mjs";
import { figureTests } from "./suites/figures.mjs";
import { handsTests } from "./suites/hands.mjs";
import { driverTests, harnessTests } from "./suites/harness.mjs";
import { hostileLedgerTests } from "./suites/hostile_ledger.mjs";
import { journeyTests } from "./suites/journey.mjs";
import { labTests } from "./suites/lab.mjs";
import { ledgerTests } from "./suites/ledger.mjs";
import { loadingTests } from "./suites/loading.mjs";
import { memoryTests } from "./suites/memory.mjs";
import { missionTests } from "./suites/missions.mjs";
import { offlineTests } from "./suites/offline.mjs";
import { ownWheelsTests } from "./suites/own_wheels.mjs";
import { pageTests } from "./suites/pages.mjs";
import { phoneTests } from "./suites/phone.mjs";
import { planTests } from "./suites/plan.mjs";
import { policyTests } from "./suites/policy.mjs";
import { releaseTests } from "./suites/releases.mjs";
import { searchTests } from "./suites/search.mjs";
import { secondBookTests } from "./suites/second_book.mjs";
import { setupTests } from "./suites/setup.mjs";
import { snippetTests } from "./suites/snippets.mjs";
import { wrongNumberTests } from "./suites/wrong_number.mjs";

/** @typedef {import("./harness/world.mjs").World} World */

/** Suites of what runs inside a page (acts, snippets, figures), and suites of pages and site as a whole. */
const acts = [harnessTests, loadingTests, brokenNetworkTests, policyTests, journeyTests, actTests, phoneTests, labTests];
const widgets = [ledgerTests, missionTests, handsTests, figureTests, hostileLedgerTests, snippetTests, exerciseTests, planTests, ceilingTests];
const around = [pageTests, offlineTests, earlierSiteTests, releaseTests, memoryTests, claimTests, searchTests, deviceTests, accessTests, secondBookTests, ownWheelsTests, wrongNumberTests];
const all = [...acts, ...widgets, ...around, everyPageTests];

// The browsers end with this process, however it ends.
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));

/**
 * The engine that visits every page and runs all tests. The others visit one page of each kind and run only the tests whose
 * outcome depends on the engine: acts, Python, storage, rendering.
 */
const THOROUGH = "chromium";

const engines = wantedEngines();
const programs = findPrograms(engines);
const site = builtSite();
const pages = pagesOf(site);
rmSync(EVIDENCE, { recursive: true, force: true });

setupTests();

/**
 * Each visit has its own browser. They start in this order, AT_A_TIME at once; the longest come first.
 * @type {{engine: import("./harness/launch.mjs").Engine, part: string, suites: ((facts: import("./harness/world.mjs").Facts) => void)[]}[]}
 */
const visits = [
  { engine: "chromium", part: "acts", suites: acts },
  { engine: "chromium", part: "widgets", suites: widgets },
  { engine: "chromium", part: "around", suites: around },
  { engine: "chromium", part: "every page", suites: [everyPageTests] },
  { engine: "webkit", part: "all", suites: all },
  { engine: "firefox", part: "all", suites: all },
];
/** Browsers at once: a test keeps at most one core busy, and the tests must run well on two. */
const AT_A_TIME = 2;
describe("site", { concurrency: AT_A_TIME }, () => {
  for (const { engine, part, suites } of visits.filter(({ engine }) => engines.includes(engine))) visitSite(engine, part, suites);
});

/**
 * Registers suites for a browser of their own.
 * @param {import("./harness/launch.mjs").Engine} engine
 * @param {string} part
 * @param {((facts: import("./harness/world.mjs").Facts) => void)[]} suites
 */
function visitSite(engine, part, suites) {
  // Without `concurrency: false`, the value of the `describe` around it would hold: tests of one browser must not overlap.
  describe(`${engine}: ${part}`, { concurrency: false }, () => {
    const thorough = engine === THOROUGH;
    /** @type {World | undefined} */
    let world;
    const current = () => {
      if (!world) throw new Error(`${engine} did not start`);
      return world;
    };
    before(async () => {
      const proxy = await refuseForeign();
      const server = await serveSite(site);
      const browser = await launch(engine, programs, proxy.port);
      world = { browser, server, proxy, site, pages, thorough, sample: thorough ? pages : oneOfEachKind(pages) };
    });
    after(async () => {
      await world?.browser.close();
      await world?.server.close();
      await world?.proxy.close();
    });
    const facts = factsIn(current, thorough);
    if (engine === "webkit" && FULL) driverTests(webKitPrograms(programs));
    for (const suite of suites) suite(facts);
  });
}
