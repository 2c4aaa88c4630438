// What readers look for, and the page that has to be among the first three: acts and chapter before reference.
// @ts-check
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { WAIT_MS } from "../harness/browser.mjs";

/** Query -> page. @type {Record<string, string>} */
const WANTED = JSON.parse(readFileSync(new URL("searches.json", import.meta.url), "utf8"));
/** The largest file of a visit: fetched when the search is opened. */
export const SEARCH_INDEX = /\/search_index\.json$/;
/** Pages that state the acts' answers. */
const SPOILERS = ["lab/instructor/", "lab/act1-notes/"];

/** @param {import("../harness/world.mjs").Facts} facts */
export function searchTests({ widely, once }) {
  widely("search: the index is fetched when the search is opened, and in a page to which a search or its link has led", async ({ browser, server }) => {
    const fetched = () => server.log().filter(({ path }) => SEARCH_INDEX.test(path)).length;
    await browser.open(`${server.base}chapter/why/`);
    await browser.waitFor(() => "location$" in window);
    assert.equal(fetched(), 0);
    await browser.eval((address) => document.querySelector("article")?.append(Object.assign(document.createElement("a"), { href: address, id: "led" })), `${server.base}chapter/precision/?h=loss+scale`);
    await browser.eval(() => document.getElementById("led")?.click());
    await browser.waitFor(() => document.querySelectorAll("article mark").length > 1);
    assert.equal(fetched(), 1);

    server.clear();
    await browser.open(server.base);
    await browser.waitFor(() => "location$" in window);
    assert.equal(fetched(), 0);
    await browser.eval(() => /** @type {HTMLElement} */ (document.querySelector("[data-md-toggle=search]")).click());
    await browser.waitFor(() => /start searching/i.test(document.querySelector(".md-search-result__meta")?.textContent ?? ""));
    assert.equal(fetched(), 1);
  });

  once("search: what readers look for is among the first three pages, and no page gives an act's answer away", async ({ browser, server }) => {
    assert.ok(Object.keys(WANTED).length >= 30);
    await browser.open(server.base);
    await browser.eval(() => /** @type {HTMLElement} */ (document.querySelector("[data-md-toggle=search]")).click());
    const missed = [];
    for (const [query, page] of Object.entries(WANTED)) {
      const pages = await found(browser, query);
      const first = pages.map((address) => address.replace(server.base, ""));
      if (!first.slice(0, 3).includes(page)) missed.push(`${query}: ${page} is not in ${first.slice(0, 3).join(", ")}`);
      for (const spoiler of SPOILERS) assert.ok(!first.includes(spoiler), `${query} finds ${spoiler}`);
    }
    assert.deepEqual(missed, []);
  });

  once("search: the page that a result leads to marks the words", async ({ browser, server }) => {
    await browser.open(`${server.base}chapter/precision/?h=loss+scale`);
    await browser.waitFor(() => document.querySelectorAll("article mark").length > 1, 30_000, "marked words");
    assert.match(await browser.of("article mark", (mark) => mark.textContent), /loss|scale/i);
  });

  once("search: the index holds no word of the pages that give answers away", async ({ site }) => {
    const index = JSON.parse(readFileSync(join(site, "search/search_index.json"), "utf8"));
    const places = index.docs.map((/** @type {{location: string}} */ one) => one.location.split("#")[0]);
    for (const spoiler of SPOILERS) assert.ok(!places.includes(spoiler));
  });
}

/** The pages that a query finds, in their order. @param {import("../harness/browser.mjs").Browser} browser @param {string} query */
async function found(browser, query) {
  const type = (/** @type {string} */ text) =>
    browser.eval((text) => {
      const input = /** @type {HTMLInputElement} */ (document.querySelector("[data-md-component=search-query]"));
      input.focus();
      input.value = text;
      input.dispatchEvent(new Event("keyup", { bubbles: true }));
      input.dispatchEvent(new Event("input", { bubbles: true }));
    }, text);
  const meta = () => browser.eval(() => document.querySelector(".md-search-result__meta")?.textContent?.trim() ?? "");
  const until = async (/** @type {(text: string) => boolean} */ reached) => {
    for (const deadline = Date.now() + WAIT_MS; !reached(await meta()); ) {
      assert.ok(Date.now() < deadline, `the search for "${query}" says "${await meta()}"`);
      await new Promise((done) => setTimeout(done, 25));
    }
  };
  await type("");
  await until((text) => /start searching/i.test(text));
  await type(query);
  await until((text) => /matching document|No match/i.test(text));
  const links = await browser.eval(() =>
    [...document.querySelectorAll(".md-search-result__item > a")].map((link) => new URL(/** @type {HTMLAnchorElement} */ (link).href)).map((url) => url.origin + url.pathname),
  );
  return [...new Set(links)];
}
