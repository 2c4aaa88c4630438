// "Number wrong? Tell us": on a site that names its repository, the card of a number and the planner open a form that is filled in.
// @ts-check
import assert from "node:assert/strict";
import { serveSite } from "../harness/server.mjs";
import { built, htmlOf } from "../harness/site.mjs";
import { actReady, START_LIMIT_MS } from "./act_page.mjs";

const FORM = "a[data-wrong-number]";
const CARD = ".il-card--number:popover-open";
const COMPUTED = "main p a.il-number.il-computed";
const PLANNER = 'live-act[data-name="plan"] a.il-link__wrong:not([hidden])';
/** Every form's link by its own words, in cards, tables and the foot of the page: a question, since it stands also where a number is right. */
const WORDS = 'a[href*="issues/new"]';
const ASKS = /^(?:Number wrong|A wrong number on this page)\? Tell us$/;
const LIMIT_MS = 300_000;

/** The fields of a form's address. @param {string} address */
function fields(address) {
  const { pathname, searchParams } = new URL(address);
  assert.ok(pathname.endsWith("/issues/new"), address);
  return Object.fromEntries(searchParams);
}

/** @param {import("../harness/world.mjs").Facts} facts */
export function wrongNumberTests({ full }) {
  full(
    "wrong number: the card of a number, the planner, the accuracy page and a measured table link to a form that is filled in",
    async (all) => {
      const { browser } = all;
      // A site that was built without a repository has no form, as it must be.
      const own = htmlOf(all, "").includes("data-wrong-number") ? null : await serveSite(built());
      const { base } = own ?? all.server;
      const link = (/** @type {string} */ selector) => browser.of(selector, (found) => found instanceof HTMLAnchorElement ? found.href : "");
      try {
        await browser.open(`${base}chapter/why/`);
        const page = fields(await link(FORM));
        assert.ok(page["page"]?.endsWith("chapter/why/"));
        assert.ok(page["version"]);
        const shown = await browser.of(COMPUTED, (number) => number.textContent?.trim() ?? "");
        await browser.focus(COMPUTED);
        await browser.press("Enter");
        await browser.waitFor(CARD);
        const { number, origin, ...rest } = fields(await link(`${CARD} a[href*="issues/new"]`));
        assert.deepEqual(rest, page);
        assert.equal(number, shown);
        assert.match(origin ?? "", /\w/);

        const words = await browser.eval((forms) => [...document.querySelectorAll(forms)].map((form) => form.textContent?.trim() ?? ""), WORDS);
        assert.ok(words.length > 2, "the card's, the page's and the checks' links");
        for (const said of words) assert.match(said, ASKS);

        await browser.open(`${base}plan/`);
        await actReady(browser);
        await browser.waitFor(PLANNER, START_LIMIT_MS, "the planner's link");
        const plan = fields(await link(PLANNER));
        assert.match(plan["number"] ?? "", /\d/);
        assert.match(plan["origin"] ?? "", /python -m ironlaw/);

        await browser.open(`${base}engine/accuracy/`);
        assert.ok(fields(await link('.il-accuracy a[href*="issues/new"]'))["page"]?.endsWith("engine/accuracy/"));
        await browser.open(`${base}measured/`);
        assert.match(fields(await link('.il-measured-table a[href*="issues/new"]'))["origin"] ?? "", /^Measured: .*\.json/);
      } finally {
        await own?.close();
      }
    },
    { limitMs: LIMIT_MS },
  );
}
