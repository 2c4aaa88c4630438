// Chromium (over CDP) and Firefox (over WebDriver BiDi), both through puppeteer-core and the system's browser.
// @ts-check
import puppeteer from "puppeteer-core";
import { BrowserCrash, DESKTOP, tellingCrashes } from "./browser.mjs";

/** @typedef {import("./browser.mjs").Driver} Driver */

/** How long a click waits for an element that exists but cannot be clicked yet. */
const CLICKABLE_MS = 5000;
const START_LIMIT_MS = 60_000;
/** A page that loads on a busy machine; the limit only ends what hangs. */
const LOAD_LIMIT_MS = 180_000;
const END_HEARD_MS = 500;
const CHROMIUM_FLAGS = [
  "--disable-gpu",
  // WebGPU, by an emulation on the processor.
  "--enable-unsafe-webgpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--disable-extensions",
  "--force-color-profile=srgb",
  "--disable-features=AutofillServerCommunication",
  "--gaia-url=http://127.0.0.1:9",
];
/** Only V8's fast compiler: each test runs a new Python for a few seconds, and the optimizing compiler would take most of them. */
const QUICK_FLAG = "--js-flags=--liftoff-only";
/** What Firefox would otherwise ask the network for on its own: noise in the log of foreign requests. */
const FIREFOX_QUIET = {
  "app.normandy.enabled": false,
  "app.update.disabledForTesting": true,
  "browser.safebrowsing.malware.enabled": false,
  "browser.safebrowsing.phishing.enabled": false,
  "browser.topsites.contile.enabled": false,
  "captivedetect.canonicalURL": "",
  "datareporting.healthreport.uploadEnabled": false,
  "dom.push.connection.enabled": false,
  "extensions.getAddons.cache.enabled": false,
  "network.captive-portal-service.enabled": false,
  "network.connectivity-service.enabled": false,
  "toolkit.telemetry.unified": false,
};
/** As in Chromium, no optimizing compiler for Python. */
const FIREFOX_QUICK = { "javascript.options.wasm_optimizingjit": false };
/** Key names that puppeteer spells differently. @type {Record<string, import("puppeteer-core").KeyInput>} */
const KEYS = { Space: " " };

/** The window, the document and every element around the page's act. @returns {EventTarget[]} */
function aroundTheAct() {
  /** @type {EventTarget[]} */
  const around = [window, document];
  for (let place = document.querySelector("live-act")?.parentElement; place; place = place.parentElement) around.push(place);
  return around;
}

/**
 * @param {"chromium" | "firefox"} engine
 * @param {string} program            path of the browser
 * @param {number} proxyPort          the refusing proxy on 127.0.0.1
 * @param {{asReaders?: boolean}} [how]  with all of its compilers, as on a reader's machine: for what is timed
 * @returns {Promise<Driver>}
 */
export async function startPuppeteer(engine, program, proxyPort, { asReaders = false } = {}) {
  const asRoot = process.getuid?.() === 0;
  /** @type {import("puppeteer-core").LaunchOptions} */
  const options =
    engine === "chromium"
      ? {
          browser: "chrome",
          executablePath: program,
          headless: true,
          timeout: START_LIMIT_MS,
          args: [
            ...CHROMIUM_FLAGS,
            ...(asReaders ? [] : [QUICK_FLAG]),
            // Chromium refuses its own sandbox to root.
            ...(asRoot ? ["--no-sandbox"] : []),
            `--proxy-server=http://127.0.0.1:${proxyPort}`,
          ],
        }
      : {
          browser: "firefox",
          executablePath: program,
          headless: true,
          timeout: START_LIMIT_MS,
          extraPrefsFirefox: {
            ...FIREFOX_QUIET,
            ...(asReaders ? {} : FIREFOX_QUICK),
            "network.proxy.type": 1,
            "network.proxy.http": "127.0.0.1",
            "network.proxy.http_port": proxyPort,
            "network.proxy.ssl": "127.0.0.1",
            "network.proxy.ssl_port": proxyPort,
          },
        };
  /** @type {string[]} */
  const errors = [];
  const begin = async () => {
    const started = await puppeteer.launch(options);
    const [first] = await started.pages();
    const opened = await newPage(started, errors);
    // The page Firefox starts with never gets the keyboard's focus; a page that is opened later does.
    await first?.close();
    return { browser: started, ...opened };
  };
  let { browser, page, crash } = await begin();

  /** @type {Driver} */
  const driver = {
    version: await browser.version(),
    exactViewport: true,
    async open(url) {
      await page.goto(url, { waitUntil: "load", timeout: LOAD_LIMIT_MS });
    },
    async reload() {
      await page.reload({ waitUntil: "load", timeout: LOAD_LIMIT_MS });
    },
    async renew() {
      if (!browser.connected) return void ({ browser, page, crash } = await begin());
      const old = page;
      ({ page, crash } = await newPage(browser, errors));
      await old.close();
    },
    evaluate: (expression) => page.evaluate(expression),
    async click(expression) {
      const until = Date.now() + CLICKABLE_MS;
      for (;;) {
        const handle = await page.evaluateHandle(expression);
        const element = handle.asElement();
        if (!element) throw new Error(`${engine}: nothing to click`);
        try {
          return await /** @type {import("puppeteer-core").ElementHandle<Element>} */ (element).click();
        } catch (error) {
          // An element that was just added to a page that still scrolls or grows cannot be clicked for some frames.
          if (!String(error).includes("not clickable") || Date.now() > until) throw error;
          await new Promise((resolve) => setTimeout(resolve, 50));
        } finally {
          await handle.dispose();
        }
      }
    },
    point: (x, y) => page.mouse.move(x, y),
    async drag([first, ...rest]) {
      await page.mouse.move(...first);
      await page.mouse.down();
      for (const place of rest) await page.mouse.move(...place);
      await page.mouse.up();
    },
    async chord(keys) {
      const names = keys.map((key) => KEYS[key] ?? /** @type {import("puppeteer-core").KeyInput} */ (key));
      for (const name of names) await page.keyboard.down(name);
      for (const name of names.reverse()) await page.keyboard.up(name);
    },
    type: (text) => page.keyboard.type(text),
    resize: (width, height) => setViewport(page, { width, height }),
    async screenshot(file) {
      await page.screenshot({ path: /** @type {`${string}.png`} */ (file) });
    },
    slowDown: (times) => page.emulateCPUThrottling(times),
    reduceMotion: (wanted) => page.emulateMediaFeatures(wanted ? [{ name: "prefers-reduced-motion", value: "reduce" }] : []),
    async kill() {
      browser.process()?.kill("SIGKILL");
    },
    async footprint() {
      const session = await page.createCDPSession();
      await session.send("HeapProfiler.collectGarbage");
      /** @type {Map<string, number>} */
      const types = new Map();
      for (let index = 0; ; index += 1) {
        const { result } = await session.send("Runtime.evaluate", { expression: `(${aroundTheAct})()[${index}]` });
        if (!result.objectId) break;
        const { listeners } = await session.send("DOMDebugger.getEventListeners", { objectId: result.objectId });
        for (const { type } of listeners) types.set(`${result.className} ${type}`, (types.get(`${result.className} ${type}`) ?? 0) + 1);
      }
      await session.detach();
      return { listeners: [...types].map(([type, count]) => `${type}: ${count}`).sort(), workers: page.workers().length };
    },
    pageErrors: () => [...errors],
    clearErrors() {
      errors.length = 0;
    },
    close: () => browser.close(),
  };
  const end = async (/** @type {unknown} */ error) => {
    // Of a browser that ends, the page's end may be heard of before the browser's own.
    if (/detached|closed/i.test(String(error))) await new Promise((resolve) => setTimeout(resolve, END_HEARD_MS));
    return browser.connected ? "" : "its process ended";
  };
  return tellingCrashes(driver, end, () => crash);
}

/** What Firefox reports as a page's errors though no code of the page throws it. */
const NOT_OF_THE_PAGE = [
  // When the page is left, or the network lost, while its service worker handles a request.
  /^Error: Failed to load ‘’\. A ServiceWorker intercepted the request/,
  // When a worker is ended while it loads: what it was waiting for fails some tenths of a second after `terminate`.
  /^Error: uncaught exception: undefined$/,
  /The worker is shutting down$/,
];

/**
 * A new page, and what fails when the page crashes: puppeteer's own calls would then wait forever.
 * @param {import("puppeteer-core").Browser} browser
 * @param {string[]} errors  gets the uncaught errors of the page
 */
async function newPage(browser, errors) {
  const page = await browser.newPage();
  await setViewport(page, DESKTOP);
  page.on("pageerror", (error) => {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    if (!NOT_OF_THE_PAGE.some((noise) => noise.test(text))) errors.push(text);
  });
  page.on("dialog", (dialog) => void dialog.accept());
  /** @type {Promise<never>} */
  const crash = new Promise((_, fail) => page.on("error", ({ message }) => fail(new BrowserCrash(message))));
  crash.catch(() => {});
  return { page, crash };
}

/**
 * Sets the viewport. Puppeteer also sets the screen's orientation, and Firefox ESR 140 cannot; it sets the size all the same.
 * @param {import("puppeteer-core").Page} page
 * @param {{width: number, height: number}} size
 */
async function setViewport(page, size) {
  try {
    await page.setViewport(size);
  } catch (error) {
    if (!String(error).includes("unknown command emulation.setScreenOrientationOverride")) throw error;
    // Polled from here: `waitForFunction` builds its function in the page, which the page's security policy forbids.
    const until = Date.now() + 10_000;
    while ((await page.evaluate(() => innerWidth)) !== size.width) {
      if (Date.now() > until) throw new Error(`the page did not become ${size.width} px wide`, { cause: error });
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}
