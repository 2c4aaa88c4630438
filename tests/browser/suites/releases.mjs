// Two releases in turn: a page that is open during a deploy works on or says that it cannot, and never mixes the two.
// @ts-check
import assert from "node:assert/strict";
import { WAIT_MS } from "../harness/browser.mjs";
import { keepBefore, laterOf } from "../harness/releases.mjs";
import { SUB_PATH } from "../harness/server.mjs";
import { actReady, answerBox, chartSays, instrumentsOpen, openAct, position, predict, set } from "./act_page.mjs";
import { Snippet } from "./snippet_page.mjs";

const CHAPTER = "chapter/memory/";
const OFFER = ".il-notice--release";

/** @typedef {import("../harness/releases.mjs").Later} Later */
/** @typedef {import("../harness/server.mjs").SiteServer} SiteServer */

/** @param {import("../harness/world.mjs").Facts} facts */
export function releaseTests({ once }) {
  once("releases: an open page works on after a deploy; too old for the site it says so, and a reload loses nothing", async (all) => {
    const { browser, server, site } = all;
    const later = laterOf(site);
    await openAct(all);
    await predict(browser, "3");
    server.deploy(await keepBefore(later, server.base));
    server.clearLog();
    await set(browser, "Optimizer", "Adam");
    // Editor and second Python are first needed after the deploy.
    const snippet = new Snippet(browser, await browser.of("live-snippet", (host) => host.dataset.name));
    await snippet.write("while True: pass");
    await browser.click(snippet.button("Run"));
    await snippet.running();
    await browser.click(snippet.button("Stop"));
    await snippet.write("print(6 * 7)");
    assert.equal(await snippet.run(), "42");
    const asked = pathsOf(server);
    assert.deepEqual(asked.filter((path) => later.own.has(path)), [], "nothing of the new release is in the old page");
    assert.ok(asked.some((path) => later.before.has(path)), "the old page has fetched what it needed");

    // After so many deploys the old files are gone, and the restarted Python has not read the act's program yet.
    server.deploy(later.folder);
    assert.equal(await browser.has(OFFER), false);
    await browser.click(position("Batch size", "8"));
    await reloadOffered(all);
    await actReady(browser);
    await browser.of("live-act", (act) => act.scrollIntoView());
    await instrumentsOpen(browser);
    assert.equal(await browser.of(answerBox, (box) => box.value), "3");
    await chartSays(browser, "Adam in FP32 at batch 8");
    await set(browser, "Optimizer", "Momentum");
    await isWhole(all, later);
  }, { pageErrors: true });

  once("releases: the next page after a deploy comes whole, and a click into code that is gone offers a reload", async (all) => {
    const { browser, server, site } = all;
    const later = laterOf(site);
    await browser.open(server.base + CHAPTER);
    const name = await browser.of("live-snippet", (host) => host.dataset.name);
    const snippet = new Snippet(browser, name);
    await snippet.ready();
    server.deploy(later.folder);
    await browser.click(`${snippet.host} [data-slot="code"] pre`);
    await reloadOffered(all);
    await isWhole(all, later);

    server.deploy(site);
    await browser.open(server.base);
    server.deploy(later.folder);
    await browser.click({ role: "link", name: "Compared", within: ".md-tabs:not([hidden])" });
    await browser.waitFor("#later");
    await isWhole(all, later);
  }, { pageErrors: true });
}

/** Takes the offer of a page that finds itself too old. @param {import("../harness/world.mjs").World} world */
async function reloadOffered({ browser }) {
  await browser.waitFor(OFFER, WAIT_MS, "the offer to reload");
  assert.match(await browser.text(OFFER), /^This page is from an older release of the site\. ?Reload$/);
  await browser.click({ role: "button", name: "Reload", within: OFFER });
  await browser.waitFor("#later");
}

/** The page shown and all it has loaded are of the later release. @param {import("../harness/world.mjs").World} world @param {Later} later */
export async function isWhole({ browser, server }, later) {
  assert.equal(await browser.of("[data-release]", (place) => place.dataset.release), later.build);
  const loaded = await browser.eval(() => performance.getEntriesByType("resource").map(({ name }) => name));
  const paths = loaded.map((url) => url.replace(server.base, ""));
  assert.deepEqual(paths.filter((path) => later.before.has(path)), [], "nothing of the old release is in the new page");
  assert.ok(paths.some((path) => later.own.has(path)));
}

/** @param {SiteServer} server */
const pathsOf = (server) => server.log().filter(({ status }) => status < 400).map(({ path }) => path.slice(SUB_PATH.length));
