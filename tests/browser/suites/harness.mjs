// The harness itself: what the other suites rely on to notice a defect does notice one.
// @ts-check
import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { error as problems } from "selenium-webdriver";
import { violations, violationsBesides } from "../harness/axe.mjs";
import { askedByTheSite } from "../harness/foreign.mjs";
import { inWords, startWebKit } from "../harness/webkit.mjs";

/** @param {import("../harness/world.mjs").Facts} facts */
export function harnessTests({ everywhere, once, full }) {
  let attempts = 0;
  full("harness: a test in which the browser crashes begins once more, in a page of its own", async ({ browser, server }) => {
    attempts += 1;
    // Chromium calls this navigation aborted before it says that the page is gone.
    // Whoever waits for something hears of the crash at once, whatever their deadline.
    if (attempts === 1) await browser.open("chrome://crash").catch(() => browser.waitFor(() => false, Infinity));
    await browser.open(server.base);
    assert.equal(attempts, 2);
  });

  let starts = 0;
  full("harness: a test in which the whole browser ends begins once more, in another browser", async ({ browser, server }) => {
    starts += 1;
    if (starts === 1) await browser.driver.kill();
    await browser.open(server.base);
    assert.equal(starts, 2);
  });

  everywhere(
    "harness: a foreign request is noticed, from a page, a style sheet and a module worker",
    async ({ browser, server, proxy }) => {
      server.add("__worker.js", "text/javascript", 'await fetch("https://worker.example/x").catch(() => {}); postMessage(1);');
      const address = server.add(
        "__foreign.html",
        "text/html",
        `<!doctype html><html lang="en"><title>foreign</title><link rel="icon" href="data:,">
         <style>@import url("http://style.example/x.css");</style><img alt="" src="http://image.example/x.png">
         <script>new Worker("__worker.js", { type: "module" }).onmessage = () => { document.title = "asked"; };</script>`,
      );
      await browser.open(address);
      await browser.waitFor(() => document.title === "asked");
      const hosts = new Set(askedByTheSite(proxy.asked()).map((asked) => new URL(asked).hostname));
      assert.deepEqual([...hosts].sort(), ["image.example", "style.example", "worker.example"]);
    },
    { foreign: true },
  );

  everywhere("harness: what moves away while the pointer is down is clicked again, what goes away then is not", async ({ browser, server }) => {
    const address = server.add(
      "__moving.html",
      "text/html",
      `<!doctype html><html lang="en"><title>moving</title><link rel="icon" href="data:,">
       <button id="moves">moves</button><button id="goes">goes</button>
       <script>
         const count = (what) => (document.body.dataset[what] = String(Number(document.body.dataset[what] ?? 0) + 1));
         moves.onpointerdown = () => (moves.style = "position: absolute; top: 300px");
         moves.onclick = () => count("moves");
         goes.onpointerdown = ({ currentTarget }) => { count("goes"); currentTarget.replaceWith(currentTarget.cloneNode(true)); };
       </script>`,
    );
    await browser.open(address);
    await browser.click("#moves");
    await browser.click("#goes");
    assert.deepEqual(await browser.eval(() => ({ ...document.body.dataset })), { moves: "1", goes: "1" });
  });

  once("harness: axe-core finds an image without a text and grey on grey", async ({ browser, server }) => {
    const address = server.add(
      "__unfair.html",
      "text/html",
      `<!doctype html><html lang="en"><title>unfair</title><link rel="icon" href="data:,">
       <main><h1>Unfair</h1><img src="data:image/gif;base64,R0lGODlhAQABAAAAACw="><p style="color:#999;background:#aaa">grey</p></main>`,
    );
    await browser.open(address);
    const found = await violations(browser);
    assert.deepEqual([...new Set(found.map((line) => line.split(":")[0]))].sort(), ["color-contrast", "image-alt"]);
  });

  full("harness: axe-core examines text with a new look, light and dark", async ({ browser, server }) => {
    /** @type {Set<string>} */
    const seen = new Set();
    await browser.open(server.base);
    assert.deepEqual(await violationsBesides(browser, seen), []);
    await browser.eval(() => {
      const grey = document.createElement("p");
      grey.style.cssText = "color: #999; background: #aaa";
      grey.textContent = "grey";
      document.querySelector("article")?.append(grey);
    });
    const found = await violationsBesides(browser, seen);
    assert.deepEqual(found.map((line) => line.split(":").slice(0, 2).join(":")).sort(), ["dark: color-contrast", "light: color-contrast"]);
  });
}

/** What WebKit's driver does not answer. @param {import("../harness/webkit.mjs").Programs} programs */
export function driverTests(programs) {
  test("harness: what WebKit's driver does not answer is named, and a session starts once more at most, said aloud", async () => {
    /** @type {string[]} */
    const said = [];
    const found = { ...programs };
    const patient = { session: 60_000, command: 60_000, quit: 30_000 };
    const limits = { ...patient };
    let heals = false;
    const driver = await startWebKit(found, 9, limits, (line) => {
      said.push(line);
      if (heals) [found.miniBrowser, limits.session] = [programs.miniBrowser, patient.session];
    });
    const unanswered = (/** @type {string} */ command) => `WebKitWebDriver did not answer "${command}" within 1 s`;
    const again = (/** @type {string} */ command) => `webkit: ${unanswered(command)}; the driver is started once more`;
    try {
      limits.command = 1000;
      await assert.rejects(driver.evaluate("new Promise(() => {})"), { message: unanswered("executeAsyncScript") });
      limits.command = patient.command;
      await assert.rejects(driver.open("about:blank"), { message: unanswered("executeAsyncScript") }, "it is asked nothing more");
      await driver.renew();
      assert.equal(await driver.evaluate("1 + 1"), 2);
      assert.deepEqual(said.splice(0), [again("executeAsyncScript")]);

      // The driver never answers the start of a session whose browser ends at once.
      [found.miniBrowser, limits.session] = ["/bin/false", 1000];
      await assert.rejects(driver.renew(), { message: unanswered("new session") });
      assert.deepEqual(said.splice(0), [again("new session")]);
      heals = true;
      await driver.renew();
      assert.equal(await driver.evaluate("1 + 1"), 2);
      assert.deepEqual(said, [again("new session")]);
    } finally {
      await driver.close();
    }
  });
  test("harness: an error of WebKit's driver without words names the command and its kind", () => {
    const silent = new problems.NoSuchSessionError();
    const told = /** @type {Error} */ (inWords("get", silent));
    assert.ok(told instanceof problems.NoSuchSessionError, "what it says of the session still counts");
    assert.equal(told.message, 'WebKitWebDriver answered "get" with the error NoSuchSessionError and no words');
    assert.equal(told.cause, silent);
    const spoken = new problems.WebDriverError("spoken");
    assert.equal(inWords("get", spoken), spoken);
  });

  test("harness: WebKit's driver takes another port when its own is taken before it listens", async () => {
    const folder = mkdtempSync(join(tmpdir(), "taken-port-"));
    try {
      const once = join(folder, "driver");
      writeFileSync(once, `#!/bin/sh\nmkdir "${folder}/tried" 2>/dev/null && exit 1\nexec "${programs.driver}" "$@"\n`);
      chmodSync(once, 0o755);
      const driver = await startWebKit({ ...programs, driver: once }, 9);
      try {
        assert.equal(await driver.evaluate("1 + 1"), 2);
      } finally {
        await driver.close();
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
}
