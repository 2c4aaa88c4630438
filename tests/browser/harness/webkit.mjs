// WebKitGTK through WebKitWebDriver and MiniBrowser, on a virtual screen that lives as long as the browser.
// @ts-check
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Builder, Capabilities, error as problems, Key } from "selenium-webdriver";
import { DESKTOP, tellingCrashes } from "./browser.mjs";

/** @typedef {import("./browser.mjs").Driver} Driver */

const START_LIMIT_MS = 30_000;
/** @type {Record<string, string>} */
const KEYS = {
  Tab: Key.TAB,
  Enter: Key.ENTER,
  Escape: Key.ESCAPE,
  Space: Key.SPACE,
  Backspace: Key.BACK_SPACE,
  Delete: Key.DELETE,
  ArrowUp: Key.ARROW_UP,
  ArrowDown: Key.ARROW_DOWN,
  ArrowLeft: Key.ARROW_LEFT,
  ArrowRight: Key.ARROW_RIGHT,
  Home: Key.HOME,
  End: Key.END,
  Shift: Key.SHIFT,
  Control: Key.CONTROL,
};

/** A port that was free a moment ago. @returns {Promise<number>} */
const freePort = () =>
  new Promise((done, fail) => {
    const probe = createServer();
    probe.on("error", fail);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => (address && typeof address === "object" ? done(address.port) : fail(new Error("no port"))));
    });
  });

/** Starts Xvfb on a display it chooses itself, and returns it with its name. @param {string} program */
async function startScreen(program) {
  const screen = spawn(program, ["-displayfd", "3", "-screen", "0", "1600x1200x24", "-nolisten", "tcp"], {
    stdio: ["ignore", "ignore", "ignore", "pipe"],
  });
  const named = screen.stdio[3];
  const name = await new Promise((done, fail) => {
    const limit = setTimeout(() => fail(new Error("Xvfb did not start")), START_LIMIT_MS);
    screen.on("exit", (code) => fail(new Error(`Xvfb ended with ${code}`)));
    named?.once("data", (number) => {
      clearTimeout(limit);
      done(`:${String(number).trim()}`);
    });
  });
  return { screen, display: String(name) };
}

/**
 * @param {{driver: string, miniBrowser: string, xvfb: string}} programs
 * @param {number} proxyPort  the refusing proxy on 127.0.0.1
 * @returns {Promise<Driver>}
 */
export async function startWebKit(programs, proxyPort) {
  const { screen, display } = await startScreen(programs.xvfb);
  const home = mkdtempSync(join(tmpdir(), "webkit-"));
  const driverPort = await freePort();
  const service = spawn(programs.driver, [`--port=${driverPort}`, "--host=127.0.0.1"], {
    stdio: "ignore",
    env: {
      ...process.env,
      DISPLAY: display,
      HOME: home,
      XDG_RUNTIME_DIR: home,
      NO_AT_BRIDGE: "1",
      GDK_BACKEND: "x11",
      LIBGL_ALWAYS_SOFTWARE: "1",
      // As in the other browsers, no optimizing compiler for Python.
      JSC_useOMGJIT: "0",
    },
  });
  const stop = () => {
    service.kill();
    screen.kill();
    rmSync(home, { recursive: true, force: true });
  };
  process.once("exit", stop);

  const capabilities = new Capabilities();
  capabilities.set("browserName", "MiniBrowser");
  capabilities.set("webkitgtk:browserOptions", {
    binary: programs.miniBrowser,
    args: ["--automation", `--proxy=http://127.0.0.1:${proxyPort}`, "--ignore-host=127.0.0.1"],
  });
  const begin = async () => {
    const started = Date.now();
    for (;;) {
      try {
        const session = await new Builder().usingServer(`http://127.0.0.1:${driverPort}`).withCapabilities(capabilities).build();
        await session.manage().setTimeouts({ script: 120_000, pageLoad: 60_000 });
        return session;
      } catch (error) {
        // The driver needs a moment before it listens.
        if (Date.now() - started > START_LIMIT_MS) {
          stop();
          throw error;
        }
        await new Promise((done) => setTimeout(done, 100));
      }
    }
  };
  let page = await begin();
  let gone = false;
  const version = (await page.getCapabilities()).get("browserVersion") ?? "";

  /** @param {number} width @param {number} height */
  const resize = async (width, height) => {
    // The window has bars of its own: ask once, then correct by what the page reports.
    await page.manage().window().setRect({ x: 0, y: 0, width, height });
    const inner = /** @type {number[]} */ (await page.executeScript("return [innerWidth, innerHeight]"));
    const rect = { x: 0, y: 0, width: 2 * width - (inner[0] ?? width), height: 2 * height - (inner[1] ?? height) };
    await page.manage().window().setRect(rect);
  };
  await resize(DESKTOP.width, DESKTOP.height);

  /** @type {Driver} */
  const driver = {
    version: `WebKitGTK ${version}`,
    exactViewport: false,
    async open(url) {
      await page.get(url);
    },
    async reload() {
      await page.navigate().refresh();
    },
    // WebKit's automation has a single window, and a page that was left and is kept for the way back holds its connection to the
    // database: deleting that one waited for ever, mostly after pages with Python. A new session has a profile of its own.
    async renew() {
      if (!gone) await page.quit().catch(() => {});
      page = await begin();
      gone = false;
      await resize(DESKTOP.width, DESKTOP.height);
    },
    async evaluate(expression) {
      const outcome = /** @type {{value?: unknown, error?: string}} */ (
        await page.executeAsyncScript(`
          const done = arguments[arguments.length - 1];
          Promise.resolve().then(() => (${expression})).then(
            (value) => done({ value }),
            (error) => done({ error: String(error) + "\\n" + (error?.stack ?? "") }));`)
      );
      if (outcome.error) throw new Error(outcome.error);
      return outcome.value ?? undefined;
    },
    async click(expression) {
      const element = /** @type {import("selenium-webdriver").WebElement | null} */ (
        await page.executeScript(`return ${expression}`)
      );
      if (!element) throw new Error("webkit: nothing to click");
      await element.click();
    },
    async point(x, y) {
      await page.actions().move({ x, y, duration: 0 }).perform();
    },
    async drag([[x, y], ...rest]) {
      const actions = page.actions({ async: false }).move({ x: Math.round(x), y: Math.round(y), duration: 0 }).press();
      for (const [toX, toY] of rest) actions.move({ x: Math.round(toX), y: Math.round(toY), duration: 20 });
      await actions.release().perform();
    },
    async chord(keys) {
      const actions = page.actions({ async: false });
      const names = keys.map((key) => KEYS[key] ?? key);
      for (const name of names) actions.keyDown(name);
      for (const name of names.reverse()) actions.keyUp(name);
      await actions.perform();
    },
    async type(text) {
      await page.actions().sendKeys(text.replaceAll("\n", Key.ENTER)).perform();
    },
    resize,
    async screenshot(file) {
      writeFileSync(file, await page.takeScreenshot(), "base64");
    },
    slowDown: () => Promise.reject(new Error("WebKit's driver cannot")),
    reduceMotion: () => Promise.reject(new Error("WebKit's driver cannot")),
    kill: () => Promise.reject(new Error("WebKit's driver cannot")),
    footprint: () => Promise.reject(new Error("WebKit's driver does not tell")),
    pageErrors: () => [],
    clearErrors() {},
    async close() {
      await page.quit().catch(() => {});
      process.removeListener("exit", stop);
      stop();
    },
  };
  return tellingCrashes(driver, async () => {
    // The error of the call during which the browser ends does not say so; the error of the next call does.
    gone ||= await page.getWindowHandle().then(() => false, (next) => next instanceof problems.NoSuchSessionError);
    return gone ? "its session ended" : "";
  });
}
