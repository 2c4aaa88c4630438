// Act 1 in the hands of somebody with a small screen: upright and on its side, with the usual and with a large text.
// @ts-check
import assert from "node:assert/strict";
import { inSight } from "./act.mjs";
import { ACT, answerBox, lockNote, openAct } from "./act_page.mjs";

const PHONE = { width: 360, height: 740 };

/** @param {import("../harness/world.mjs").Facts} facts */
export function phoneTests({ once }) {
  once("act: on a phone a wrong number and the lock move nothing, large text cuts off nothing that is pressed, and on its side the chart stays", async (all) => {
    const { browser } = all;
    await browser.resize(PHONE.width, PHONE.height);
    await openAct(all);
    const bench = () => browser.of("live-act .il-bench", (place) => Math.round(place.getBoundingClientRect().top + scrollY));
    const before = await bench();
    await browser.focus(answerBox);
    await browser.type("1000");
    await browser.press("Enter");
    assert.match(await browser.text(lockNote), /out of range/);
    assert.equal(await bench(), before);
    await browser.press("Backspace", 4);
    await browser.type("12,5");
    assert.equal(await browser.of(answerBox, (box) => box.value), "12.5", "a comma is no reason to predict ten times as much");
    await browser.press("Enter");
    await browser.waitFor('live-act [data-slot="controls"]:not([disabled])');
    assert.equal(await bench(), before);
    const label = () => browser.of("live-act .il-chart__svg svg text", (text) => text.getBoundingClientRect().height);
    const small = await label();
    await browser.of("html", (root) => (root.style.fontSize = "250%"));
    await browser.waitFor("live-act .il-chart__frame[tabindex='0']");
    // Material's own size is 125 %: a picture's words become twice as large, as those around them do.
    assert.ok((await label()) > 1.75 * small, `a label of ${small} px has ${await label()}`);
    assert.ok(await browser.eval(() => document.documentElement.scrollWidth <= innerWidth), "the picture is scrolled, and not the page");
    const cut = await browser.eval(() =>
      [...document.querySelectorAll(":is(live-act, live-snippet) :is(a, button, input, select, summary)")].flatMap((one) => {
        const { left, right, width } = one.getBoundingClientRect();
        return one.checkVisibility() && width > 1 && (left < 0 || right > innerWidth) ? [`${one.outerHTML.slice(0, 80)} lies from ${left} to ${right} px`] : [];
      }),
    );
    assert.deepEqual(cut, []);
    await browser.of("html", (root) => root.style.removeProperty("font-size"));
    await browser.waitFor("live-act .il-chart__frame:not([tabindex])");
    await browser.resize(PHONE.height, PHONE.width);
    await browser.of("live-act [data-choice='batch']", (lever) => lever.scrollIntoView({ block: "end", behavior: "instant" }));
    await inSight(browser, "live-act [data-slot='plot']", ACT);
  });
}
