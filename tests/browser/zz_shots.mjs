// @ts-nocheck
import { writeFileSync } from "node:fs";
import { DESKTOP } from "./harness/browser.mjs";
import { findPrograms, launch, wantedEngines } from "./harness/launch.mjs";
import { refuseForeign } from "./harness/proxy.mjs";
import { chooseScheme } from "./harness/scheme.mjs";
import { serveSite } from "./harness/server.mjs";
import { builtSite, pagesOf } from "./harness/site.mjs";
import { newReader } from "./harness/world.mjs";
const OUT = "/tmp/w/book29shots/";
const engines = wantedEngines("chromium");
const programs = findPrograms(engines);
const site = builtSite();
const pages = pagesOf(site);
const proxy = await refuseForeign();
const server = await serveSite(site);
const browser = await launch("chromium", programs, proxy.port);
const world = { browser, server, proxy, site, pages, sample: pages };
const want = (process.env.PAGES || "chapter/why/").split(",");
for (const page of want) for (const [n, size] of Object.entries({ desktop: { width: 1280, height: 900 }, phone: { width: 360, height: 740 } })) for (const scheme of ["light", "dark"]) {
  if (n === "desktop" && scheme === "dark" && process.env.FEW) continue;
  await newReader(world);
  await browser.open(server.base);
  await chooseScheme(browser, scheme);
  await browser.resize(size.width, size.height);
  await browser.open(server.base + page);
  const height = await browser.eval(() => document.documentElement.scrollHeight);
  await browser.resize(size.width, Math.min(16000, height));
  await browser.eval(() => document.fonts.ready.then(() => undefined));
  await browser.eval(() => new Promise((r) => setTimeout(r, 700)));
  const name = page.replaceAll("/", "-") + n + "-" + scheme;
  const rects = await browser.eval(() => [...document.querySelectorAll("figure, .il-measured-table, .highlight")].map((f) => { const b = f.getBoundingClientRect(); return [f.id || f.className, b.x, b.y + scrollY, b.width, b.height]; }));
  writeFileSync(OUT + name + ".json", JSON.stringify({ rects, wide: await browser.eval(() => document.documentElement.scrollWidth) }));
  await browser.screenshot(OUT + name + ".png");
  console.log(name, height);
}
await browser.close(); await server.close(); await proxy.close();
