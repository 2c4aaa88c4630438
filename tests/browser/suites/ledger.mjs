// The design ledger: what it says and keeps of the acts, as a file, as a link, in two tabs, and where nothing can be kept.
// @ts-check
import assert from "node:assert/strict";
import { ACT, actReady, confirmReset, follow, instrumentsOpen, resetButton, verdict, verdictShown } from "./act_page.mjs";
import { ACT_2, ACT_3, damageShelf, emptyLedger, importFile, LAPTOP, LEDGER, ledgerButton, ledgerDocument, ledgerSays, lever, move, number, open, playedLedger, predict, refusingStorage, reveal, secondTab, trail, unsaved } from "./lab_page.mjs";
/** @param {import("../harness/world.mjs").Facts} facts */
export function ledgerTests({ once, full }) {
  full("ledger: by the navigation to the ledger and back, without a reload: everything lives on", async (all) => {
    const { browser } = all;
    await open(all, ACT_3);
    await predict(browser, "42");
    await browser.eval(() => void Object.assign(window, { stayed: true }));
    await browser.click({ role: "link", name: "Design ledger" });
    await browser.waitFor("live-ledger h2");
    assert.match(await browser.text("live-ledger"), /Prediction 42 %/);
    assert.equal(await trail(browser, "The MFU Gap"), "(revealed)");
    await browser.click({ role: "link", name: "The MFU Gap", within: "live-ledger" });
    await actReady(browser);
    await verdictShown(browser);
    assert.match(await browser.text(verdict), /You said 42 %/);
    assert.equal(await browser.eval(() => "stayed" in window), true, "the page was not loaded again");
    assert.equal(await trail(browser, "The MFU Gap"), "(revealed)");
  });

  once("ledger: its JSON says what was done, comes back by file and by link; a file that is no ledger is refused in one line", async (all) => {
    const { browser, server } = all;
    const document = await playedLedger(all);
    assert.equal(document.chapter, 8);
    assert.equal(document.baseline_mfu_estimate_pct, 80);
    assert.equal(document.precision_chosen, "mixed");
    assert.ok(document.final_mfu_pct > 0 && document.final_mfu_pct < 100, `MFU ${document.final_mfu_pct}`);
    assert.equal(document.gaps["mfu-gap"].difference, document.gaps["mfu-gap"].answer - 80);
    assert.equal(document.moves["laptop-challenge"].length, 1);
    assert.match(document.engine_version, /^[\d.]+\+[0-9a-f]{8}$/);
    assert.equal(document.predictions["laptop-challenge"], 6);
    assert.equal(document.gaps["laptop-challenge"], undefined, "no gap before the reveal");
    assert.equal(document.laptop_fit_achieved, null, "nothing is given away before the reveal");

    for (const [text, why] of /** @type {[string, RegExp][]} */ ([
      ["<html>", /not JSON/],
      ["{}", /no "schema_version"/],
      [JSON.stringify({ ...document, schema_version: 99 }), /schema_version is 99; this site reads/],
      [JSON.stringify({ ...document, acts: { "mfu-gap": 5 } }), /damaged at acts › mfu-gap/],
    ])) {
      await importFile(browser, "odd.json", text);
      await browser.waitFor({ role: "alert", name: "odd.json was not imported", within: "live-ledger" });
      assert.match(await browser.text("live-ledger .il-trouble"), why);
      assert.deepEqual(await ledgerDocument(browser), document);
    }
    await browser.reload();
    await browser.waitFor("live-ledger a[download]");
    assert.deepEqual(await ledgerDocument(browser), document);

    await browser.click(ledgerButton("Copy link"));
    await browser.waitFor('live-ledger .il-ledger__link:not([hidden])');
    const link = await browser.of('live-ledger .il-ledger__link:not([hidden])', (input) => input.value);
    await emptyLedger(browser);
    await importFile(browser, "mine.json", JSON.stringify(document));
    await ledgerSays(browser, /^mine\.json: 2 acts taken/);
    assert.deepEqual(await ledgerDocument(browser), { ...document, acts: (await ledgerDocument(browser)).acts });
    await importFile(browser, "mine.json", JSON.stringify(document));
    await ledgerSays(browser, /2 acts stayed as here/);

    await follow(browser, `${server.base}${LAPTOP}`);
    await actReady(browser);
    await browser.click(resetButton);
    await browser.click(confirmReset);
    await follow(browser, server.base + LEDGER);
    await browser.waitFor("live-ledger h2");
    assert.match(await browser.text("live-ledger"), /Not started/);
    await importFile(browser, "mine.json", JSON.stringify(document));
    await ledgerSays(browser, /1 act taken\. 1 act stayed as here/);
    assert.deepEqual((await ledgerDocument(browser)).predictions, document.predictions);

    await emptyLedger(browser);
    server.clear();
    for (const answer of ["Back to mine", "Merge into mine"]) {
      await browser.open(server.base);
      await browser.open(link);
      await browser.waitFor(ledgerButton(answer));
      assert.match(await browser.text('live-ledger [role="alert"]'), /You are reading a ledger .*The MFU Gap.*Yours is untouched/);
      assert.match(await browser.text("live-ledger"), /Prediction 80 %/, "it can be read");
      assert.equal(await browser.has(ledgerButton("Reset")), false, "the reader's own ledger is not shown, so it cannot be reset");
      await browser.click(ledgerButton(answer));
      if (answer === "Back to mine") assert.deepEqual((await ledgerDocument(browser)).acts, {}, "nothing is merged unasked");
      assert.equal(await browser.eval(() => location.hash), "", "the address is clean again");
    }
    await ledgerSays(browser, /2 acts taken/);
    assert.deepEqual((await ledgerDocument(browser)).predictions, document.predictions);
    assert.ok(server.log().every((request) => !request.path.includes("ledger=")), "the server never sees the ledger");
  });

  once("ledger: reached by a link, no page says that it needs JavaScript, and a reset leaves the focus with what it says", async (all) => {
    const { browser, server } = all;
    await browser.open(`${server.base}missions/`);
    for (const [page, part] of [["missions/defense/", "live-defense"], [LEDGER, "live-ledger"], ["lab/class/", "live-class"], [LEDGER, "live-ledger"]]) {
      await follow(browser, server.base + page);
      await browser.waitFor(`${part} > *`);
      assert.equal(await browser.eval(() => /** @type {HTMLElement} */ (document.querySelector("main article")).innerText.match(/.*needs JavaScript.*/)?.[0] ?? ""), "", page);
    }
    await emptyLedger(browser);
    assert.ok(await browser.eval(() => document.activeElement?.matches("live-ledger .il-ledger__status")));
  });

  full("ledger: a hint that was taken is counted in it", async (all) => {
    const { browser, server } = all;
    await open(all, "missions/edge-audit/");
    await predict(browser, "8");
    await browser.press("Escape");
    await verdictShown(browser);
    await browser.click({ role: "button", name: "Hint", within: "live-act" });
    await browser.waitFor('live-act [data-slot="hint"] button[aria-disabled="true"]');
    await browser.open(server.base + LEDGER);
    await browser.waitFor("live-ledger a[download]");
    assert.equal((await ledgerDocument(browser)).acts["edge-state-audit"].memory.hints, 1);
  });

  once("ledger: on a phone the files of a class are chosen in the first screen", async ({ browser, server }) => {
    await browser.resize(360, 740);
    await browser.open(`${server.base}lab/class/`);
    const { bottom, wide } = await browser.of("live-class label.il-button", (label) => ({
      bottom: label.getBoundingClientRect().bottom,
      wide: document.documentElement.scrollWidth > innerWidth,
    }));
    assert.ok(bottom <= 740 && !wide, `Choose files ends at ${bottom} px`);
  });

  full("ledger: on a phone a class's page shows two ledgers, says what is wrong with others, and saves the median as CSV", async (all) => {
    const { browser, server } = all;
    const ada = await playedLedger(all);
    const bob = structuredClone(ada);
    Object.assign(bob.acts["mfu-gap"].memory, { prediction: 40, hints: 2 });
    bob.acts["mfu-gap"].account.prediction = "40 %";
    await browser.resize(360, 740);
    await browser.open(`${server.base}lab/class/`);
    await browser.waitFor('live-class input[type="file"]');
    await browser.eval((files) => {
      const input = /** @type {HTMLInputElement} */ (document.querySelector('live-class input[type="file"]'));
      const given = new DataTransfer();
      for (const [name, text] of files) given.items.add(new File([text], name, { type: "application/json" }));
      input.files = given.files;
      input.dispatchEvent(new Event("change", { bubbles: true }));
    }, /** @type {[string, string][]} */ ([["=ada.json", JSON.stringify(ada)], ["half.json", JSON.stringify(bob).slice(0, 400)], ["bob.json", JSON.stringify(bob)], ["old.json", '{"schema_version": 0}']]));
    await browser.waitFor("live-class table");
    const refused = await browser.eval(() => [...document.querySelectorAll("live-class [role=alert] p")].map((line) => line.textContent));
    assert.equal(refused.length, 2, "one line for each broken file");
    assert.equal(refused[0], "half.json: This is not JSON, so it is not a design ledger.");
    assert.match(refused[1] ?? "", /^old\.json: Its schema_version is 0; this site reads [1-9]\.$/);
    const shown = await browser.text("live-class");
    assert.match(shown, /2 ledgers, 2 acts\..*The MFU Gap.*Median of the first predictions: 60 %\./);
    assert.equal(await browser.eval(() => document.documentElement.scrollWidth <= innerWidth), true, "nothing is wider than the phone");
    const { name, csv } = await browser.eval(async () => {
      /** @type {HTMLAnchorElement[]} */
      const saved = [];
      const { click } = HTMLAnchorElement.prototype;
      HTMLAnchorElement.prototype.click = function () {
        saved.push(this);
      };
      [...document.querySelectorAll("live-class button")].find((button) => button.textContent === "Download CSV")?.dispatchEvent(new MouseEvent("click"));
      HTMLAnchorElement.prototype.click = click;
      return { name: saved[0]?.download ?? "", csv: await (await fetch(saved[0]?.href ?? "")).text() };
    });
    assert.match(name, /-class.*\.csv$/);
    assert.match(csv, /"bob","[^"]*MFU Gap","40 %","[^"]*","[^"]*","0","40 %","false","2","","40","[\d.]+","%"/);
    assert.match(csv, /"'=ada"/, "no name is taken for a formula");
  });

  once("ledger: two tabs share one ledger: each sees the other, and neither loses what it did", async (all) => {
    const { browser, server } = all;
    await open(all, ACT_3);
    await secondTab(browser, server.base + ACT_3, "60");
    await browser.waitFor(() => /Locked in: 60 %/.test(document.querySelector('[data-slot="lock-note"]')?.textContent ?? ""));
    await browser.eval(() => document.querySelector("iframe")?.remove());
    await secondTab(browser, server.base + ACT_2, "7");
    await instrumentsOpen(browser);
    await move(browser, lever("Prefetching"));
    // No answer can follow a move with which the reader leaves.
    await browser.of('live-act input[data-toggle="checkpointing"]', (input) => {
      input.click();
      location.assign("../ledger/");
    });
    await browser.waitFor("live-ledger h2");
    const { predictions, acts } = await ledgerDocument(browser);
    assert.deepEqual(predictions, { "mfu-gap": 60, "trust-but-measure": 7 });
    assert.equal(acts["mfu-gap"].memory.controls.prefetch, true);
    assert.equal(acts["mfu-gap"].memory.controls.checkpointing, true, "the last move is kept");
  });

  full("ledger: entries of an older version of the site are kept, damaged ones are left out and reported", async (all) => {
    const { browser, server } = all;
    await open(all, ACT_3);
    await browser.eval(() => {
      const stands = { prediction: 70, context: "a100", controls: { prefetch: true } };
      const memory = { ...stands, explored: true, revealed: true, answers: {}, checked: [], moves: [] };
      const old = { act: "mfu-gap", updated: Date.now(), stage: "revealed", memory, account: null };
      localStorage.setItem("iron-law/ledger/mfu-gap/tab", JSON.stringify(old));
      localStorage.setItem("iron-law/ledger/laptop-challenge/tab", "{not json");
      localStorage.setItem("iron-law/ledger/trust-but-measure/tab", '{"act":"trust-but-measure","updated":"never"}');
    });
    await browser.eval(damageShelf);
    await open(all, ACT_3);
    await browser.of("live-act", (element) => element.scrollIntoView());
    await verdictShown(browser);
    assert.match(await browser.text(verdict), /You said 70 %/);
    await browser.open(server.base + LEDGER);
    await browser.waitFor("live-ledger h2");
    assert.match(await browser.text("live-ledger"), /A part of what this browser had kept was damaged/);
    const kept = await ledgerDocument(browser);
    assert.deepEqual(Object.keys(kept.acts), ["mfu-gap"]);
    // An entry from a time when the act had another address.
    const moved = { ...kept.acts["mfu-gap"], updated: Date.now(), account: { ...kept.acts["mfu-gap"].account, page: ACT_2 } };
    await importFile(browser, "moved.json", JSON.stringify({ ...kept, acts: { "mfu-gap": moved } }));
    await ledgerSays(browser, /1 act taken/);
    const address = await browser.of("live-ledger h2 a", (link) => link.getAttribute("href") ?? "");
    assert.ok(address.endsWith(ACT_3), `${address} is where the act is now`);
    await open(all, LAPTOP);
    await predict(browser, "6");
    await browser.reload();
    await actReady(browser);
    assert.equal(await browser.of(number, (input) => input.value), "6");
  });

  full("ledger: an answer in another unit is to a question that was asked before: it is an earlier attempt, and what was reached stays", async (all) => {
    const { browser, server } = all;
    const page = "missions/tiny-audit/";
    await open(all, page);
    await predict(browser, "4");
    await browser.press("Escape");
    await verdictShown(browser);
    await browser.open(server.base + LEDGER);
    await browser.waitFor("live-ledger h2");
    const kept = await ledgerDocument(browser);
    const played = kept.acts["tiny-state-audit"];
    assert.equal(played.account.prediction, "4 times");
    const old = { ...played, updated: Date.now(), memory: { ...played.memory, prediction: 10, argument: "It is small." }, account: { ...played.account, prediction: "10 KiB" } };
    await importFile(browser, "old.json", JSON.stringify({ ...kept, acts: { "tiny-state-audit": old } }));
    await ledgerSays(browser, /1 act taken/);
    await open(all, page);
    assert.equal(await browser.of(number, (input) => input.value), "");
    assert.equal(await browser.of(number, (input) => input.matches(":disabled")), false, "the question is open");
    await predict(browser, "5");
    await browser.open(server.base + LEDGER);
    await browser.waitFor("live-ledger h2");
    const { memory, account } = (await ledgerDocument(browser)).acts["tiny-state-audit"];
    assert.deepEqual([account.prediction, memory.argument], ["5 times", "It is small."]);
    assert.deepEqual(memory.earlier, { attempts: 1, first: "10 KiB", revealed: true });
  });

  full("ledger: where the browser keeps nothing, the act plays and both pages say so", async (all) => {
    const { browser } = all;
    for (const [page, right, told] of /** @type {const} */ ([[ACT_3, "59", /and that is right/], [ACT, "12.5", /You said 12\.5 GB/]])) {
      await browser.open(refusingStorage(all, page));
      await actReady(browser);
      assert.match(await browser.text(unsaved), /does not keep your answers/);
      await predict(browser, right);
      await reveal(browser);
      assert.match(await browser.text(verdict), told);
    }
    await browser.open(refusingStorage(all, LEDGER));
    await browser.waitFor("live-ledger a[download]");
    assert.match(await browser.text("live-ledger"), /does not keep all that you do now.*Download it, or copy the link/);
    // The theme's program asks its storage for the reader's settings before it does anything else.
    await browser.eval(() => /** @type {HTMLInputElement} */ (document.querySelector("#__search")).click());
    await browser.focus(".md-search__input");
    await browser.type("optimizer");
    await browser.waitFor(".md-search-result__item", 20_000, "a search where nothing is kept");
  }, { pageErrors: true });
}
