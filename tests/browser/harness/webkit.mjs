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
/** What the driver itself waits for at most: a script, a page. */
const DRIVERS_LIMITS_MS = { script: 120_000, pageLoad: 60_000 };
/**
 * How long an answer of the driver is waited for. It never answers the start of a session whose browser ends before it has reached
 * the driver. A session takes 1 to 3 s to start, on a busy machine some more.
 */
const ANSWER_LIMITS_MS = { session: 60_000, command: DRIVERS_LIMITS_MS.script + 30_000, quit: 30_000 };

/** The driver gave no answer at all. */
class Unanswered extends Error {}

/** An answer of the driver, or an error that names what was not answered.
 * @template T @param {string} command @param {number} limitMs @param {PromiseLike<T>} answer @returns {Promise<T>} */
async function inTime(command, limitMs, answer) {
  /** @type {NodeJS.Timeout | undefined} */
  let limit;
  const late = new Promise((_, fail) => {
    limit = setTimeout(() => fail(new Unanswered(`WebKitWebDriver did not answer "${command}" within ${limitMs / 1000} s`)), limitMs);
  });
  try {
    return /** @type {T} */ (await Promise.race([answer, late]));
  } finally {
    clearTimeout(limit);
  }
}

/**
 * The driver's error, of its own class, with the command and what there is of a reason where the driver gave no words.
 * @param {string} command @param {unknown} error @returns {unknown}
 */
export function inWords(command, error) {
  if (!(error instanceof problems.WebDriverError) || error.message) return error;
  const Kind = /** @type {new (message: string) => Error} */ (error.constructor);
  return Object.assign(new Kind(`WebKitWebDriver answered "${command}" with the error ${error.name} and no words`), { cause: error });
}

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

/** Starts the driver on a screen and with a home of its own. @param {Programs} programs */
async function startService(programs) {
  const { screen, display } = await startScreen(programs.xvfb);
  const home = mkdtempSync(join(tmpdir(), "webkit-"));
  const port = await freePort();
  const service = spawn(programs.driver, [`--port=${port}`, "--host=127.0.0.1"], {
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
  let ended = false;
  service.once("exit", () => (ended = true));
  const stop = () => {
    process.removeListener("exit", stop);
    // Also one that hears nothing. Its browser ends with the screen.
    service.kill("SIGKILL");
    screen.kill();
    rmSync(home, { recursive: true, force: true });
  };
  process.once("exit", stop);
  return { address: `http://127.0.0.1:${port}`, stop, ended: () => ended };
}

/**
 * @typedef {{driver: string, miniBrowser: string, xvfb: string}} Programs
 * @param {Programs} programs
 * @param {number} proxyPort  the refusing proxy on 127.0.0.1
 * @param {typeof ANSWER_LIMITS_MS} [limits]
 * @param {(line: string) => void} [say]  gets what is done a second time, and why
 * @returns {Promise<Driver>}
 */
export async function startWebKit(programs, proxyPort, limits = ANSWER_LIMITS_MS, say = console.error) {
  let service = await startService(programs);
  /** What the driver did not answer; since then it is asked nothing. @type {Unanswered | undefined} */
  let silence;

  /** @template T @param {string} command @param {number} limitMs @param {() => PromiseLike<T>} ask @returns {Promise<T>} */
  const asked = async (command, limitMs, ask) => {
    if (silence) throw silence;
    try {
      return await inTime(command, limitMs, ask());
    } catch (error) {
      if (error instanceof Unanswered) silence = error;
      throw inWords(command, error);
    }
  };
  const newSession = async () => {
    const capabilities = new Capabilities();
    capabilities.set("browserName", "MiniBrowser");
    capabilities.set("webkitgtk:browserOptions", {
      binary: programs.miniBrowser,
      args: ["--automation", `--proxy=http://127.0.0.1:${proxyPort}`, "--ignore-host=127.0.0.1"],
    });
    const started = Date.now();
    for (;;) {
      try {
        const builder = new Builder().usingServer(service.address).withCapabilities(capabilities);
        const session = await asked("new session", limits.session, () => builder.build());
        const execute = session.execute.bind(session);
        session.execute = (command) => {
          const name = command.getName();
          return asked(name, name === "quit" ? limits.quit : limits.command, () => execute(command));
        };
        await session.manage().setTimeouts(DRIVERS_LIMITS_MS);
        return session;
      } catch (error) {
        if (error instanceof Unanswered || Date.now() - started > START_LIMIT_MS) throw error;
        // Somebody else has taken its port since it was found free.
        if (service.ended()) {
          service.stop();
          service = await startService(programs);
        }
        // The driver needs a moment before it listens.
        await new Promise((done) => setTimeout(done, 100));
      }
    }
  };
  const restarted = async () => {
    say(`webkit: ${silence?.message}; the driver is started once more`);
    service.stop();
    service = await startService(programs);
    silence = undefined;
    return newSession();
  };
  /** A new session, of a new driver if this one does not answer: once, and said aloud. */
  const begin = async () => {
    if (silence) return restarted();
    return newSession().catch((error) => {
      if (error instanceof Unanswered) return restarted();
      throw error;
    });
  };
  let page = await begin().catch((error) => {
    service.stop();
    throw error;
  });
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
      try {
        await element.click();
      } catch (error) {
        if (!(error instanceof problems.ElementClickInterceptedError)) throw error;
        // Something else was at the element's place, as while the page scrolls: the pointer of the other engines misses there.
        await page.executeScript("window.pointerMissed = true");
      }
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
      service.stop();
    },
  };
  return tellingCrashes(driver, async () => {
    // The error of the call during which the browser ends does not say so; the error of the next call does.
    gone ||= await page.getWindowHandle().then(() => false, (next) => next instanceof problems.NoSuchSessionError);
    return gone ? "its session ended" : "";
  });
}
