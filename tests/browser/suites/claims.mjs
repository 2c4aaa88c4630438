// The claims page: folds, the filter by keyboard, its address, links that reach a claim whatever is hidden.
// @ts-check
import assert from "node:assert/strict";
import { WAIT_MS } from "../harness/browser.mjs";

const CLAIMS = "claims/";
/** A claim in the middle of a long section. */
const CLAIM = "ch-loss-scale-2-15";
/** A mark that shows without being asked for. */
const SHOWN = ".il-checks:not(.il-checks--quiet) .il-check";

/** @typedef {import("../harness/browser.mjs").Browser} Browser */

/** Rows of claims that a reader can see. @param {Browser} browser */
function shown(browser) {
  return browser.eval(() =>
    [...document.querySelectorAll("il-claims tr[data-verdict]")]
      .filter((row) => row.checkVisibility())
      .map((row) => row.getAttribute("data-verdict") ?? ""),
  );
}

/** @param {Browser} browser */
function said(browser) {
  return browser.of("il-claims output", (output) => output.textContent ?? "");
}

/** @param {Browser} browser */
async function ready(browser) {
  await browser.waitFor("il-claims form:not([hidden])", WAIT_MS, "the filter");
}

/** @param {import("../harness/world.mjs").Facts} facts */
export function claimTests({ once, full }) {
  once("claims: a mark behind a sentence opens its check by keyboard, Escape closes it, and the legend shows the rest", async ({ browser, server }) => {
    // A page with marks of both kinds: those that are shown and those that agree.
    await browser.open(server.base + "chapter/recompute/");
    await browser.focus(SHOWN);
    await browser.press("Enter");
    await browser.waitFor(() => document.querySelectorAll(".il-card:popover-open").length === 1);
    const card = await browser.of(".il-card:popover-open", (open) => [open.textContent ?? "", open.querySelector('a[href*="claims/#"]')?.hash ?? ""]);
    const mark = await browser.of(SHOWN, (button) => button.getAttribute("aria-label") ?? "");
    const gist = mark.slice(mark.indexOf(":") + 2);
    assert.ok(gist.length > 10);
    assert.ok(card[0].includes(gist));
    assert.match(card[1], /^#ch-/);
    await browser.press("Escape");
    await browser.waitFor(() => document.querySelectorAll(".il-card:popover-open").length === 0);

    const marks = () => browser.eval(() => [...document.querySelectorAll(".il-check")].filter((one) => one.checkVisibility()).length);
    const before = await marks();
    await browser.focus(".il-legend__all");
    await browser.press("Space");
    assert.equal(await marks(), await browser.eval(() => document.querySelectorAll(".il-check").length));
    assert.ok((await marks()) > before);
  });

  full("claims: the list opens and closes as a whole; words and a verdict narrow it, by keyboard, and stay in the address", async ({ browser, server }) => {
    await browser.open(server.base + CLAIMS);
    await ready(browser);
    assert.equal((await shown(browser)).length, 0);
    const all = Number((await said(browser)).split(" ")[0]);
    assert.ok(all > 500);
    await browser.click({ role: "button", name: "Open all sections", exact: true });
    assert.equal((await shown(browser)).length, all);
    await browser.click({ role: "button", name: "Open all sections", exact: true });
    assert.equal((await shown(browser)).length, 0);

    await browser.focus('il-claims input[name="words"]');
    await browser.type("Loss SCALE");
    const texts = await browser.eval(() =>
      [...document.querySelectorAll("il-claims tr[data-verdict]")].filter((row) => row.checkVisibility()).map((row) => row.textContent ?? ""),
    );
    assert.ok(texts.length > 0 && texts.length < 100, `${texts.length} claims are shown`);
    for (const text of texts) assert.match(text, /(?=.*loss)(?=.*scale)/is);
    assert.match(await said(browser), new RegExp(`^${texts.length} of \\d+ claims$`));
    await browser.press("Enter");
    await browser.waitFor(() => new URLSearchParams(location.search).get("words") === "Loss SCALE");
    await browser.click({ role: "button", name: "Show all", exact: true });
    await browser.waitFor(() => location.search === "");

    await browser.focus('il-claims select[name="verdict"]');
    await browser.press("ArrowDown", 4);
    await browser.waitFor(() => location.search === "?verdict=contradicted");
    const rows = await shown(browser);
    assert.deepEqual([...new Set(rows)], ["contradicted"]);
    assert.match(await said(browser), new RegExp(`^${rows.length} of \\d+ claims$`));
    await browser.reload();
    await ready(browser);
    assert.equal((await shown(browser)).length, rows.length);
    await browser.click({ role: "button", name: "Show all", exact: true });
    await browser.waitFor(() => location.search === "");
    assert.equal((await shown(browser)).length, 0);
  });

  once("claims: a link reaches its claim through folds and filters; a number in text or summary shows the claims that it counts", async ({ browser, server }) => {
    for (const query of ["", "?verdict=open"]) {
      await browser.open(`${server.base}${CLAIMS}${query}#${CLAIM}`);
      await ready(browser);
      const { visible, top } = await browser.of(`#${CLAIM}`, (row) => ({
        visible: row.checkVisibility(),
        top: row.getBoundingClientRect().top,
      }));
      assert.ok(visible);
      assert.ok(top >= 0 && top < 400, `the claim is ${top} px below the top`);
    }
    for (const link of ['article p > a.il-number[href*="verdict=contradicted"]', 'a[href*="section=chapter"][href*="contradicted"]']) {
      const [wanted, address] = await browser.of(link, (one) => [Number(one.textContent), String(Reflect.get(one, "href"))]);
      await browser.open(String(address));
      await ready(browser);
      const rows = await shown(browser);
      assert.equal(rows.length, wanted);
      assert.deepEqual([...new Set(rows)], ["contradicted"]);
    }
  });

  once("numbers: a number opens a card with its origin, which takes the focus and gives it back", async ({ browser, server }) => {
    await browser.open(`${server.base}chapter/why/`);
    const link = "article a.il-computed";
    const origin = await browser.of(link, (one) => one.getAttribute("title"));
    await browser.focus(link);
    await browser.press("Enter");
    await browser.waitFor(() => document.querySelector(".il-card--number:popover-open") !== null);
    const { text, inside } = await browser.of(".il-card--number", (card) => ({
      text: card.querySelector("code")?.textContent ?? "",
      inside: card.contains(document.activeElement),
    }));
    assert.equal(text, origin);
    assert.ok(inside);
    await browser.press("Escape");
    await browser.waitFor(() => document.querySelector(".il-card--number:popover-open") === null);
    assert.ok(await browser.of(link, (one) => one === document.activeElement));
  });

  once("moved pages: an old address leads to the page and the section that have its text now", async ({ browser, server }) => {
    for (const [old, now] of [
      ["chapter/pipeline/", "chapter/bottlenecks/"],
      ["chapter/pipeline/#checkpoint-files", "chapter/scaling/#checkpoint-files"],
      ["chapter/pipeline/#eq-max-law", "chapter/bottlenecks/#eq-max-law"],
    ]) {
      await browser.open(server.base + old);
      await browser.waitFor(() => !location.pathname.endsWith("/chapter/pipeline/"));
      assert.equal(await browser.eval(() => location.href), server.base + now);
    }
  });
}
