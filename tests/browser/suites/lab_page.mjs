// The lab's pages as a reader handles them: acts with a number to predict, their moves, and the ledger.
// @ts-check
import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import { htmlOf } from "../harness/site.mjs";
import { actReady, fill, follow, instrumentsOpen, lockButton, redrawn, revealButton, verdictShown } from "./act_page.mjs";

/** @typedef {import("../harness/browser.mjs").Browser} Browser */
/** @typedef {import("../harness/world.mjs").World} World */

export const ACT_3 = "lab/act3/";
export const LAPTOP = "lab/laptop/";
export const ACT_2 = "lab/act2/";
export const EXPLORERS = "lab/explorers/";
export const LEDGER = "lab/ledger/";
export const problem = 'live-act [data-slot="problem"]';
export const headline = 'live-act [data-slot="headline"]';
export const moveList = 'live-act [data-slot="move-list"]';
export const unsaved = 'live-act [data-slot="unsaved"]';
export const undoButton = { role: "button", name: "Undo the last move", within: "live-act" };
export const number = { role: "spinbutton", name: "Your prediction", within: 'live-act [data-part="predict"]' };
/** @param {string} control @param {string} label */
export const choice = (control, label) => ({
  role: "radio",
  name: label,
  exact: true,
  within: `live-act [data-choice="${control}"]`,
});
/** @param {string} label */
export const lever = (label) => ({ role: "checkbox", name: label, within: 'live-act [data-part="explore"]' });
/** @param {string} reflection */
export const check = (reflection) => ({
  role: "button",
  name: "Check",
  within: `live-act [data-reflection="${reflection}"]`,
});
/** @param {string} name */
export const ledgerButton = (name) => ({ role: "button", name, exact: true, within: "live-ledger" });

// ---- an act ----

/** @param {World} world @param {string} page */
export async function open({ browser, server }, page) {
  await browser.open(server.base + page);
  await actReady(browser);
}

/** As `open`, by a link within the site. @param {World} world @param {string} page */
export async function onwards({ browser, server }, page) {
  await follow(browser, server.base + page);
  await actReady(browser);
}

/** @param {Browser} browser @param {string} value */
export async function predict(browser, value) {
  await browser.focus(number);
  await browser.type(value);
  await browser.click(lockButton);
  await instrumentsOpen(browser);
}

/** @param {Browser} browser @param {import("../harness/locate.mjs").Locator} locator */
export const move = (browser, locator) => redrawn(browser, () => browser.click(locator));

/** Presses Reveal, in an act that does not reveal its answer when the prediction is locked in. @param {Browser} browser */
export async function reveal(browser) {
  if (await browser.has(revealButton)) await browser.click(revealButton);
  await verdictShown(browser);
}

/** Fills a reflection and has it checked.
 * @param {Browser} browser @param {string} reflection @param {Record<string, string>} answers */
export async function answerAll(browser, reflection, answers) {
  for (const [label, option] of Object.entries(answers)) await fill(browser, label, option);
  await browser.click(check(reflection));
  await browser.waitFor(`[data-reflection="${reflection}"] [data-blank][data-correct]`);
  // What is shown may still be the judgement on the previous answer.
  const wanted = JSON.stringify(Object.values(answers));
  for (let left = 80; left > 0 && !(await judges(browser, reflection, answers)); left -= 1) await pause(50);
  assert.ok(await judges(browser, reflection, answers), `${reflection} is not judged with ${wanted}`);
}

/** @param {Browser} browser @param {string} reflection @param {Record<string, string>} answers */
async function judges(browser, reflection, answers) {
  const text = await said(browser, reflection);
  return Object.values(answers).every((answer) => text.includes(answer));
}

/** @param {number} ms */
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** @param {Browser} browser @param {string} reflection */
export const said = (browser, reflection) => browser.text(`[data-reflection="${reflection}"] [data-slot="feedback"]`);

/** The number that matters, as it is written. @param {Browser} browser */
export const needed = (browser) => browser.text('live-act [data-slot="headline-value"]');

/** @param {Browser} browser */
export const movesOf = (browser) =>
  browser.eval(() => [...document.querySelectorAll('live-act [data-slot="move-list"] li')].map((item) => item.textContent ?? ""));

/** Waits until the list of moves is this: the amounts appear after the moves. @param {Browser} browser @param {string[]} wanted */
export async function movesSay(browser, wanted) {
  for (let left = 80; left > 0 && !isDeepStrictEqual(await movesOf(browser), wanted); left -= 1) {
    await pause(50);
  }
  assert.deepEqual(await movesOf(browser), wanted);
}

/** @param {Browser} browser */
export const stepsDone = (browser) =>
  browser.eval(() => {
    const done = [...document.querySelectorAll('live-act [data-step][data-done="true"] .il-steps__label')];
    return done.map((step) => step.textContent).join(" ");
  });

/** What the navigation says of an act. @param {Browser} browser @param {string} title */
export const trail = (browser, title) =>
  browser.eval((title) => {
    const links = [...document.querySelectorAll(".md-nav__link")].filter((link) => link.textContent?.includes(title));
    return links.map((link) => link.querySelector(".il-trail")?.textContent?.trim()).find(Boolean);
  }, title);

/** @param {Browser} browser @param {import("../harness/locate.mjs").RoleLocator} locator */
export async function tabTo(browser, locator) {
  for (let press = 0; press < 150; press += 1) {
    if (await browser.of(locator, (element) => {
      const active = /** @type {HTMLInputElement | null} */ (document.activeElement);
      return active === element || (element.type === "radio" && active?.name === element.name);
    })) return;
    await browser.press("Tab");
  }
  throw new Error(`${browser.engine}: 150 presses of Tab do not reach ${locator.role} "${locator.name}"`);
}

// ---- the ledger ----

/** A reader's ledger: Act 3 revealed, the challenge begun; leaves its page open. @param {World} world */
export async function playedLedger(world) {
  const { browser, server } = world;
  await open(world, ACT_3);
  await predict(browser, "80");
  await move(browser, choice("precision", "Mixed"));
  await reveal(browser);
  await onwards(world, LAPTOP);
  await predict(browser, "6");
  await move(browser, choice("optimizer", "SGD"));
  await browser.waitFor(`${moveList} li`);
  await follow(browser, server.base + LEDGER);
  await browser.waitFor("live-ledger h2");
  return ledgerDocument(browser);
}

/** What Download would save. @param {Browser} browser @returns {Promise<any>} */
export async function ledgerDocument(browser) {
  const saved = await browser.of("live-ledger a[download]", (link) => link.href);
  return browser.eval((url) => fetch(url).then((file) => file.json()), saved);
}

/** @param {Browser} browser @param {RegExp} wanted */
export async function ledgerSays(browser, wanted) {
  await browser.waitFor(() => document.querySelector("live-ledger .il-ledger__status")?.textContent);
  assert.match(await browser.text("live-ledger .il-ledger__status"), wanted);
}

/** @param {Browser} browser */
export async function emptyLedger(browser) {
  await browser.click(ledgerButton("Reset"));
  await browser.click({ role: "button", name: "Reset", exact: true, within: 'live-ledger [data-slot="reset"]' });
  await ledgerSays(browser, /^Every act starts again\.$/);
}

/** @param {Browser} browser @param {string} name @param {string} text */
export const importFile = (browser, name, text) =>
  browser.eval((name, text) => {
    const input = /** @type {HTMLInputElement} */ (document.querySelector('live-ledger input[type="file"]'));
    const files = new DataTransfer();
    files.items.add(new File([text], name, { type: "application/json" }));
    input.files = files.files;
    // What the import before said is gone, so that nobody reads it again.
    for (const said of document.querySelectorAll("live-ledger .il-ledger__status, live-ledger p.il-trouble")) said.replaceChildren();
    input.dispatchEvent(new Event("change", { bubbles: true }));
  }, name, text);

/** Opens another page of the site in a frame, which acts as a second tab, and locks a number in there.
 * @param {Browser} browser @param {string} url @param {string} value */
export const secondTab = (browser, url, value) =>
  browser.eval(async (url, value) => {
    const frame = document.createElement("iframe");
    frame.width = "1000";
    frame.height = "700";
    frame.src = url;
    document.body.append(frame);
    /** @param {string} selector @returns {Promise<any>} */
    const appears = async (selector) => {
      for (let left = 400; left > 0; left -= 1) {
        const found = frame.contentDocument?.querySelector(selector);
        if (found) return found;
        await new Promise((done) => setTimeout(done, 25));
      }
      throw new Error(`the second tab lacks ${selector}`);
    };
    await appears('live-act[data-ready="true"]');
    (await appears("input[data-prediction]")).value = value;
    (await appears('form[data-part="predict"]')).requestSubmit();
    await appears('[data-slot="controls"]:not([disabled])');
    await new Promise((done) => setTimeout(done, 200));
  }, url, value);

/** Runs in the page: puts a record into the database that no version of the site wrote. */
export const damageShelf = () =>
  new Promise((done, fail) => {
    const opened = indexedDB.open("iron-law");
    opened.onerror = () => fail(opened.error);
    opened.onsuccess = () => {
      const change = opened.result.transaction("acts", "readwrite");
      change.objectStore("acts").put({ act: "optimizer-memory-tax", updated: "yesterday", memory: [] });
      change.oncomplete = () => {
        opened.result.close();
        done(true);
      };
    };
  });

/** The address of a page of the chapter with an act at its end, put together from two pages of the site.
 * @param {World} world @param {string} chapter @param {string} home the page that has the act @param {string} act */
export function inChapter(world, chapter, home, act) {
  const block = new RegExp(`<live-act [^>]*data-name="${act}"[\\s\\S]*?</live-act>`).exec(htmlOf(world, home))?.[0];
  assert.ok(block, `${home} has no act ${act}`);
  const html = htmlOf(world, chapter).replace(/<\/article>/, () => `${block}</article>`);
  return world.server.add(`${chapter}with-act.html`, "text/html; charset=utf-8", html);
}

/** The address of a copy of the page whose storage is refused, as in a browser that blocks all site data.
 * @param {World} world @param {string} page */
export function refusingStorage(world, page) {
  const refuse = `<script>for (const name of ["localStorage", "sessionStorage", "indexedDB", "caches"]) Object.defineProperty(window, name, {
    configurable: true, get() { throw new DOMException("refused by the test", "SecurityError"); } });</script>`;
  const html = htmlOf(world, page).replace("<head>", `<head>${refuse}`);
  return world.server.add(`${page}refused.html`, "text/html; charset=utf-8", html);
}
