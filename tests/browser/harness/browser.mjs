// The one interface through which the tests drive a browser, and what is common to its adapters.
// @ts-check
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { clickTarget, describeLocator, findInPage } from "./locate.mjs";

/** @typedef {import("./locate.mjs").Locator} Locator */
/** @typedef {{listeners: string[], workers: number}} Footprint  listeners: how many of each type, on the window, the document and what surrounds the act */
/** @typedef {[number, number]} Place  pixels of the viewport */

/**
 * @typedef {object} Shot
 * @property {number} [width]
 * @property {number} [height]
 *
 * What an engine's driver must be able to do; everything else is built on it in `Browser`.
 * @typedef {object} Driver
 * @property {string} version
 * @property {boolean} exactViewport   can the viewport be as narrow as a phone?
 * @property {(url: string) => Promise<void>} open           returns when the page has loaded
 * @property {() => Promise<void>} reload
 * @property {() => Promise<void>} renew                     continues in a new page if the engine can open one; the storage stays
 * @property {(expression: string) => Promise<unknown>} evaluate   an expression's value in the page, promises awaited
 * @property {(expression: string) => Promise<void>} click   a real pointer click on the element the expression gives
 * @property {(x: number, y: number) => Promise<void>} point  moves the pointer there without a click
 * @property {(places: [Place, ...Place[]]) => Promise<void>} drag  presses the pointer at the first place, moves on, lets go
 * @property {(keys: string[]) => Promise<void>} chord       presses the keys together and lets them go
 * @property {(text: string) => Promise<void>} type          types into the focused element
 * @property {(width: number, height: number) => Promise<void>} resize
 * @property {(file: string) => Promise<void>} screenshot    what the viewport shows, as PNG
 * @property {(times: number) => Promise<void>} slowDown   makes the page's main thread this many times slower; Chromium only
 * @property {(wanted: boolean) => Promise<void>} reduceMotion   emulates the system's setting for reduced motion; Chromium only
 * @property {() => Promise<void>} kill                     ends the browser's process, as a crash does; not WebKit
 * @property {() => Promise<Footprint>} footprint           what surrounds an act, after a garbage collection; Chromium only
 * @property {() => string[]} pageErrors                     uncaught errors of pages since the last `clearErrors`
 * @property {() => void} clearErrors
 * @property {() => Promise<void>} close
 */

/** The browser's process for the page is gone: a defect of the browser, whatever the page did. */
export class BrowserCrash extends Error {}

/** Calls that no crash concerns, or that come after one. @type {ReadonlySet<keyof Driver>} */
const AFTER_A_CRASH = new Set(["renew", "pageErrors", "clearErrors", "close"]);

/**
 * The driver with calls that fail with BrowserCrash when the browser is gone.
 * @param {Driver} driver
 * @param {(error: unknown) => Promise<string>} end  after a call has failed: how the browser ended, "" when it has not
 * @param {() => Promise<never>} [crashed]  fails when the page crashes, where calls would otherwise wait forever
 * @returns {Driver}
 */
export function tellingCrashes(driver, end, crashed) {
  return new Proxy(driver, {
    get(target, name) {
      const value = Reflect.get(target, name);
      if (typeof value !== "function" || AFTER_A_CRASH.has(/** @type {keyof Driver} */ (name))) return value;
      /** @param {unknown[]} given */
      return async (...given) => {
        try {
          const answer = value(...given);
          return await (crashed ? Promise.race([answer, crashed()]) : answer);
        } catch (error) {
          const how = error instanceof BrowserCrash ? "" : await end(error);
          throw how ? new BrowserCrash(how, { cause: error }) : error;
        }
      };
    },
  });
}

const POLL_MS = 25;
/** How long a page may take for what it does, on a machine that is busy with other things; the limit only ends what hangs. */
export const WAIT_MS = 60_000;
/** How many times a click is repeated when the element moves away under the pointer. */
const MISSES = 5;
export const DESKTOP = { width: 1280, height: 900 };

/** A call as an expression. No `new Function` in the page: it must work under a policy that forbids scripts.
 * @param {Function} fn @param {unknown[]} args */
const call = (fn, ...args) => `(${fn})(${args.map((arg) => JSON.stringify(arg)).join(", ")})`;

/** A browser with one page, driven the same way whatever the engine. */
export class Browser {
  /** @param {string} engine @param {Driver} driver */
  constructor(engine, driver) {
    this.engine = engine;
    this.driver = driver;
  }

  /** @param {string} url */
  open(url) {
    return this.driver.open(url);
  }

  /** Loads the page anew. A driver may come back while the old page still answers. */
  async reload() {
    await this.eval(() => void Object.assign(window, { oldPage: true }));
    await this.driver.reload();
    await this.waitFor(() => !("oldPage" in window), WAIT_MS, "the page to be loaded anew");
  }

  /** Continues in a new page if the engine can open one; what the site stored stays. */
  renew() {
    return this.driver.renew();
  }

  /** Clicks an element with the pointer, after waiting for it; clicks again if it moved away under the pointer. @param {Locator} locator */
  async click(locator) {
    await this.waitFor(locator);
    for (let left = MISSES; ; left -= 1) {
      await this.driver.click(`(${clickTarget})(${call(findInPage, locator)})`);
      // If the click led to another page, the old one cannot answer; then the click did not miss.
      const missed = await this.eval(() => /** @type {any} */ (window).pointerMissed).catch(() => false);
      if (!missed) return;
      if (left === 0) throw new Error(`${this.engine}: ${describeLocator(locator)} moved away under the pointer, ${MISSES + 1} times`);
    }
  }

  /** Drags an element with the pointer by so many pixels, in steps. @param {Locator} locator
   * @param {number} right @param {number} down @param {number} [steps] */
  async drag(locator, right, down, steps = 8) {
    const [x, y] = await this.of(locator, (element) => {
      element.scrollIntoView({ block: "center", behavior: "instant" });
      const box = element.getBoundingClientRect();
      return /** @type {Place} */ ([box.x + box.width / 2, box.y + box.height / 2]);
    });
    /** @type {[Place, ...Place[]]} */
    const places = [[x, y]];
    for (let step = 1; step <= steps; step += 1) places.push([x + (right * step) / steps, y + (down * step) / steps]);
    await this.driver.drag(places);
  }

  /** Takes the pointer away from whatever it rests on, so that tooltips close. */
  restPointer() {
    return this.driver.point(2, 2);
  }

  /** Presses a key or a chord: "Tab", "Shift+Tab", "Control+Enter", "a". @param {string} key @param {number} [times] */
  async press(key, times = 1) {
    const keys = key === "+" ? [key] : key.split("+");
    for (let count = 0; count < times; count += 1) await this.driver.chord(keys);
  }

  /** Types text into the focused element. @param {string} text */
  type(text) {
    return this.driver.type(text);
  }

  /**
   * Runs a function in the page. It must stand alone: it sees its arguments and the page, nothing of this file.
   * @template {unknown[]} A
   * @template R
   * @param {(...args: A) => R | Promise<R>} fn
   * @param {A} args
   * @returns {Promise<Awaited<R>>}
   */
  async eval(fn, ...args) {
    return /** @type {Awaited<R>} */ (await this.driver.evaluate(call(fn, ...args)));
  }

  /** The rendered text of an element, spaces joined; "" when it is not on the page. @param {Locator} locator */
  async text(locator) {
    const [text] = (await this.#apply(locator, (element) => element.innerText.replace(/\s+/g, " ").trim())) ?? [""];
    return text;
  }

  /** @param {Locator} locator */
  async has(locator) {
    return Boolean(await this.#apply(locator, () => true));
  }

  /**
   * Applies a function to an element, after waiting for it, and returns its result.
   * @template R
   * @param {Locator} locator
   * @param {(element: any) => R} fn
   * @returns {Promise<R>}
   */
  async of(locator, fn) {
    for (;;) {
      await this.waitFor(locator);
      // It may be gone again: an act that starts is drawn more than once.
      const got = await this.#apply(locator, fn);
      if (got) return got[0];
    }
  }

  /** Puts the keyboard focus on an element without a click. @param {Locator} locator */
  async focus(locator) {
    await this.of(locator, (element) => element.focus());
  }

  /**
   * The function's value for the element, in a list; nothing when there is no such element.
   * @template R
   * @param {Locator} locator
   * @param {(element: any) => R} fn
   */
  async #apply(locator, fn) {
    const expression = `(async (element) => (element ? [await (${fn})(element)] : null))(${call(findInPage, locator)})`;
    return /** @type {[R] | null | undefined} */ (await this.driver.evaluate(expression));
  }

  /**
   * Waits until an element is rendered, or until a function of the page returns something true; returns that.
   * @param {Locator | (() => unknown)} target @param {number} [timeout] milliseconds @param {string} [what] for the message
   */
  async waitFor(target, timeout = WAIT_MS, what = "") {
    const deadline = Date.now() + timeout;
    for (;;) {
      /** @type {unknown} */
      let found;
      try {
        found = typeof target === "function" ? await this.eval(target) : await this.has(target);
      } catch (error) {
        // A navigation may replace the page during the call. Any other error comes again until the deadline, which a crash need
        // not wait for.
        if (error instanceof BrowserCrash || Date.now() > deadline) throw error;
      }
      if (found) return found;
      if (Date.now() > deadline) {
        const wanted = what || (typeof target === "function" ? target.toString() : describeLocator(target));
        throw new Error(`${this.engine}: waited ${timeout} ms in vain for ${wanted}`);
      }
      await new Promise((done) => setTimeout(done, POLL_MS));
    }
  }

  /** @param {number} width @param {number} height */
  resize(width, height) {
    return this.driver.resize(width, height);
  }

  /** Writes what the viewport shows to a PNG file. @param {string} file @param {Shot} [shot] */
  async screenshot(file, shot = {}) {
    mkdirSync(dirname(file), { recursive: true });
    if (shot.width || shot.height) await this.resize(shot.width ?? DESKTOP.width, shot.height ?? DESKTOP.height);
    await this.driver.screenshot(file);
  }

  close() {
    return this.driver.close();
  }
}
