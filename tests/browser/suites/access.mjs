// Accessibility by axe-core: acts and ledger in every state, and what a pointer brings up, in light and dark.
// @ts-check
import assert from "node:assert/strict";
import { COLOR, violations, violationsBesides } from "../harness/axe.mjs";
import { DESKTOP } from "../harness/browser.mjs";
import { chooseScheme } from "../harness/scheme.mjs";
import { FULL } from "../harness/world.mjs";
import { follow, lockButton, openAct, predict as predictAct1, revealButton, set, START_LIMIT_MS, verdictShown } from "./act_page.mjs";
import { ACT_2, ACT_3, answerAll, choice, EXPLORERS, LAPTOP, LEDGER, ledgerButton, lever, move, onwards, predict, reveal } from "./lab_page.mjs";

const PHONE = { width: 360, height: 740 };

/** @param {import("../harness/world.mjs").Facts} facts */
export function accessTests({ once }) {
  once("access: the tooltips of the header have contrast enough, light and dark", async ({ browser, server }) => {
    await browser.open(server.base);
    for (const scheme of /** @type {const} */ (["light", "dark"])) {
      await chooseScheme(browser, scheme);
      const { x, y } = await browser.of("[data-md-component=palette] label:not([hidden])", (label) => {
        const { left, top, width, height } = label.getBoundingClientRect();
        return { x: left + width / 2, y: top + height / 2 };
      });
      await browser.driver.point(x, y);
      await browser.waitFor(".md-tooltip--active .md-tooltip__inner");
      assert.deepEqual(await violations(browser, COLOR), [], scheme);
    }
  });

  once("access: what a tooltip says is text to read, not a label", async ({ browser, server }) => {
    await browser.open(`${server.base}claims/`);
    const { x, y } = await browser.of("article p > .il-number", (number) => {
      number.scrollIntoView({ block: "center", behavior: "instant" });
      const { left, top, width, height } = number.getBoundingClientRect();
      return { x: left + width / 2, y: top + height / 2 };
    });
    await browser.driver.point(x, y);
    const { size, weight } = await browser.of('[role="tooltip"] > .md-tooltip2__inner', (tip) => ({
      size: Number.parseFloat(getComputedStyle(tip).fontSize),
      weight: getComputedStyle(tip).fontWeight,
    }));
    assert.ok(size >= 13, `its letters are ${size} px`);
    assert.equal(weight, "400");
  });

  once("access: axe-core finds no violation in any state of acts and ledger, light and dark, and 360 px are wide enough", async (all) => {
    const { browser, server } = all;
    /** @type {string[]} */
    const found = [];
    /** @type {Set<string>} */
    const looks = new Set();
    const look = async (/** @type {string} */ state, inShort = true) => {
      if (!FULL && !inShort) return;
      // Header and navigation are the same on every page, and are tested there.
      found.push(...(await violationsBesides(browser, looks, "main article")).map((line) => `${state}, ${line}`));
      await browser.resize(PHONE.width, PHONE.height);
      const width = await browser.eval(() => document.documentElement.scrollWidth);
      if (width > PHONE.width) found.push(`${state}: ${width} px wide on a phone of ${PHONE.width}`);
      await browser.resize(DESKTOP.width, DESKTOP.height);
    };
    await openAct(all);
    await predictAct1(browser, "3");
    await set(browser, "Optimizer", "Adam");
    await look("Act 1 unlocked", false);
    await set(browser, "Batch size", "64");
    await look("Act 1 out of memory");
    await browser.click(revealButton);
    await verdictShown(browser);
    await look("Act 1 revealed");

    await onwards(all, ACT_3);
    await browser.click(lockButton);
    await look("Act 3 refuses");
    if (FULL) {
      await predict(browser, "80");
      await move(browser, choice("batch", "256"));
      await look("Act 3 out of memory");
      await reveal(browser);
      await answerAll(browser, "checkpointing", { "By how much": "4", Compute: "33 %", Why: "recompute" });
      await look("Act 3 revealed");

      await onwards(all, LAPTOP);
      await predict(browser, "6");
      await move(browser, choice("optimizer", "SGD"));
      await reveal(browser);
      await browser.waitFor(lever("Update during backward"));
      await look("the challenge's epilogue");
      await onwards(all, ACT_2);
      await predict(browser, "2");
      await reveal(browser);
      await look("Act 2 revealed");
      await onwards(all, EXPLORERS);
      await browser.waitFor('live-act [data-slot="state"][data-phase="ready"]', START_LIMIT_MS, "Python to be ready");
      await move(browser, choice("sequence", "1,024"));
      await look("explorers");
    }
    await follow(browser, server.base + LEDGER);
    await browser.waitFor("live-ledger h2");
    for (const scheme of /** @type {const} */ (["dark", "light"])) {
      await chooseScheme(browser, scheme);
      const at = await browser.of("live-ledger a[download]", (link) => {
        link.scrollIntoView({ block: "center", behavior: "instant" });
        const { left, top, width, height } = link.getBoundingClientRect();
        return { x: left + width / 2, y: top + height / 2 };
      });
      await browser.driver.point(at.x, at.y);
      await browser.waitFor("live-ledger a[download]:hover");
      // Its colors change in 120 ms.
      await new Promise((done) => setTimeout(done, 150));
      found.push(...(await violations(browser, COLOR)).map((line) => `the ledger's Download under a pointer, ${scheme}, ${line}`));
    }
    await browser.click(ledgerButton("Copy link"));
    await browser.waitFor('live-ledger .il-ledger__link:not([hidden])');
    const link = await browser.of('live-ledger .il-ledger__link:not([hidden])', (input) => input.value);
    await look("ledger", false);
    await browser.open(server.base);
    await browser.open(link);
    await browser.waitFor(ledgerButton("Merge into mine"));
    await look("a ledger offered");
    assert.deepEqual(found, []);
  });
}
