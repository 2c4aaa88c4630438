// Takes pictures of every page, light, dark and at a phone's width, and of the act in each of its states, to look at.
// @ts-check
//
//   node tests/browser/screenshots.mjs        into test-results/screenshots/; SITE_DIR and ENGINES as for the tests
//   node tests/browser/screenshots.mjs readme only the pictures of the README, into .github/pictures/
import { join } from "node:path";
import { DESKTOP } from "./harness/browser.mjs";
import { findPrograms, launch, wantedEngines } from "./harness/launch.mjs";
import { refuseForeign } from "./harness/proxy.mjs";
import { chooseScheme } from "./harness/scheme.mjs";
import { serveSite } from "./harness/server.mjs";
import { builtSite, pagesOf, RESULTS } from "./harness/site.mjs";
import { newReader } from "./harness/world.mjs";
import { actReady, ACT, failure, openAct, predict, revealButton, set, verdict, verdictShown } from "./suites/act_page.mjs";

const PHONE = { width: 360, height: 740 };
const FOLDER = join(RESULTS, "screenshots");
const README = join(import.meta.dirname, "../../.github/pictures");
/** As wide as a repository's page shows a picture. */
const SHOWN = { width: 900, height: 640 };
/** Pages are taken whole, up to this height. */
const TALLEST_PX = 6000;

const engines = process.env["ENGINES"] ? wantedEngines() : wantedEngines("chromium");
const programs = findPrograms(engines);
const site = builtSite();
const pages = pagesOf(site);

for (const engine of engines) {
  const proxy = await refuseForeign();
  const server = await serveSite(site);
  const browser = await launch(engine, programs, proxy.port);
  const world = { browser, server, proxy, site, pages, sample: pages };
  // WebKitGTK's window cannot be as narrow as a phone, nor taller than its screen.
  const wholePages = browser.driver.exactViewport;
  const sizes = wholePages ? { desktop: DESKTOP, phone: PHONE } : { desktop: DESKTOP };

  /** @param {string} name @param {{width: number, height: number}} size */
  const take = async (name, size) => {
    if (wholePages) {
      await browser.resize(size.width, size.height);
      const height = await browser.eval(() => document.documentElement.scrollHeight);
      await browser.resize(size.width, Math.min(TALLEST_PX, Math.max(size.height, height)));
    }
    await browser.eval(() => document.fonts.ready.then(() => undefined));
    await browser.screenshot(join(FOLDER, `${engine}-${name}.png`));
    await browser.resize(size.width, size.height);
    console.log(`  ${engine}-${name}.png`);
  };

  if (engine === "chromium") await takeReadme(world);
  if (process.argv.includes("readme")) {
    await browser.close();
    await server.close();
    await proxy.close();
    continue;
  }

  console.log(`==> ${engine}, into ${FOLDER}`);
  for (const page of pages) {
    const name = page.replaceAll("/", "-").replace(/-$/, "") || "home";
    for (const [sizeName, size] of Object.entries(sizes)) {
      for (const scheme of /** @type {const} */ (["light", "dark"])) {
        await newReader(world);
        await browser.open(server.base);
        await chooseScheme(browser, scheme);
        await browser.resize(size.width, size.height);
        await browser.open(server.base + page);
        if (page === ACT) await actReady(browser);
        await take(`${name}-${sizeName}-${scheme}`, size);
      }
    }
  }

  for (const [sizeName, size] of Object.entries(sizes)) {
    for (const scheme of /** @type {const} */ (["light", "dark"])) {
      await newReader(world);
      await openAct(world);
      await chooseScheme(browser, scheme);
      await browser.resize(size.width, size.height);
      await predict(browser, "3");
      await set(browser, "Optimizer", "Adam");
      await take(`act-explored-${sizeName}-${scheme}`, size);
      await set(browser, "Batch size", "64");
      await browser.waitFor(failure);
      await take(`act-oom-${sizeName}-${scheme}`, size);
      await browser.click(revealButton);
      await verdictShown(browser);
      await browser.waitFor(verdict);
      await take(`act-revealed-${sizeName}-${scheme}`, size);
    }
  }
  await browser.close();
  await server.close();
  await proxy.close();
}

/** Act 1 out of memory, and the published runs against the engine. @param {import("./harness/world.mjs").World} world */
async function takeReadme(world) {
  const { browser, server } = world;
  await newReader(world);
  await openAct(world);
  await chooseScheme(browser, "light");
  await browser.resize(SHOWN.width, SHOWN.height);
  await predict(browser, "3");
  await set(browser, "Batch size", "64");
  await browser.waitFor(failure);
  await browser.of('live-act [data-part="explore"]', (part) => part.scrollIntoView());
  await browser.screenshot(join(README, "act-1.png"));
  await browser.open(server.base);
  // The header stays at the top of the window; the figure begins below it.
  await browser.of(".il-proof figure", (figure) => scrollTo(0, figure.getBoundingClientRect().top + scrollY - 70));
  await browser.screenshot(join(README, "published-runs.png"));
  console.log(`  act-1.png and published-runs.png, into ${README}`);
}
