// The page that measures a card: by WebGPU where the browser has it (Chromium, by its emulation), in a sentence where not.
// @ts-check
import assert from "node:assert/strict";

const PAGE = "plan/card/";
const HOST = "live-ceilings";
const START = `${HOST} [data-action=measure]`;
const STOP = `${HOST} [data-action=stop]`;
const ROWS = `${HOST} tbody tr`;
/** An emulation on a busy machine is slow. */
const MEASURED_MS = 120_000;

/** @typedef {import("../harness/browser.mjs").Browser} Browser */

/** @param {import("../harness/world.mjs").Facts} facts */
export function ceilingTests({ everywhere, once }) {
  everywhere("ceilings: what the browser offers is said in a sentence, and a file is opened anywhere", async ({ browser, server }) => {
    await open(browser, server.base);
    const emulated = browser.engine === "chromium";
    assert.match(await offered(browser), emulated ? /only an emulation of one by the processor/ : /^This browser offers no card to web pages \(WebGPU\)/);
    assert.match(await offered(browser), /python -m gpu_bench card --out card\.json measures the same in a shell/);
    assert.equal(await browser.of(HOST, (host) => host.querySelector("[data-action=measure]").hidden), !emulated);
    await give(browser, "theirs.json", JSON.stringify(FILE));
    await browser.waitFor(ROWS);
    assert.deepEqual(await cells(browser), [
      [`NVIDIA GeForce RTX 4090: theirs.json, measured by PyTorch 2.13, median of several runs, 2026-11-23, given by Ada`],
      ["FP32 product", "8,192³", "41.3 TFLOP/s", "50 %"],
      ["Copy", "1,024 MiB", "907 GB/s", "90 %"],
    ]);
    assert.match(await browser.of(`${HOST} svg[role=img]`, (svg) => svg.getAttribute("aria-label")), /^The roofs of NVIDIA GeForce RTX 4090: FP32 82\.6 TFLOP\/s, .* Measured points: 2/);
    await give(browser, "large.json", " ".repeat(70_000));
    await browser.waitFor(() => document.querySelector("live-ceilings [role=alert]")?.textContent === "large.json was not opened: it has more than 64 KiB.");
  });

  once("ceilings: the emulation is measured after a click, with progress, kept, and downloaded as a file", async ({ browser, server }) => {
    await open(browser, server.base);
    await browser.of(`${HOST} select`, (select) => {
      select.value = "rtx-4090";
      select.dispatchEvent(new Event("change"));
    });
    await hurry(browser);
    await browser.eval(() => {
      /** @type {{shares: number[], said: string[]}} */
      const seen = { shares: [], said: [] };
      Object.assign(window, { seen });
      const [status, bar] = [document.querySelector("live-ceilings [role=status]"), document.querySelector("live-ceilings progress")];
      if (!(bar instanceof HTMLProgressElement) || !status) throw new Error("the element is not there");
      new MutationObserver(() => seen.said.push(status.textContent ?? "")).observe(status, { childList: true, characterData: true, subtree: true });
      new MutationObserver(() => seen.shares.push(bar.value)).observe(bar, { attributes: true, attributeFilter: ["value"] });
    });
    await browser.focus(START);
    await browser.press("Enter");
    await browser.waitFor(`${HOST} progress`);
    assert.equal(await browser.of(STOP, (stop) => stop === document.activeElement), true, "Stop has the focus while it measures");
    await browser.waitFor(ROWS, MEASURED_MS);
    const { shares, said } = /** @type {{shares: number[], said: string[]}} */ (await browser.eval(() => /** @type {any} */ (window).seen));
    assert.ok(shares.length > 5, `${shares.length} steps of progress`);
    assert.deepEqual([...shares].sort((one, other) => one - other), shares, "progress goes one way");
    assert.deepEqual(said.filter(Boolean), ["Measuring.", "Measuring FP32 products.", "Measuring copies.", "Measured."]);
    await browser.waitFor(START);
    const [head, product, copy, ...more] = await cells(browser);
    assert.match(String(head), /^NVIDIA GeForce RTX 4090: measured here, in a browser, without tensor cores, an emulation by the processor, best of several runs/);
    assert.match(String(product), /^FP32 product,[\d,]+³,[\d.]+ [MGT]FLOP\/s,\d+ %$/);
    assert.match(String(copy), /^Copy,32 MiB,[\d.]+ [MGT]B\/s,\d+ %$/);
    assert.deepEqual(more, [], "the emulation has no FP16");
    const file = await browser.of(`${HOST} [data-action=save]`, async (link) => ({ name: link.download, text: await (await fetch(link.href)).text() }));
    assert.match(file.name, /^ceilings-rtx-4090-\d{4}-\d\d-\d\d\.json$/);
    const made = JSON.parse(file.text);
    assert.deepEqual([made.kind, made.card, made.emulated, made.tensor_cores], ["ceilings", "rtx-4090", true, false]);
    assert.ok(made.products[0].flops_per_s > 1e7, `${made.products[0].flops_per_s} FLOP/s`);
    assert.ok(made.copies[0].bytes_per_s > 1e8, `${made.copies[0].bytes_per_s} B/s`);
    await browser.reload();
    await browser.waitFor(ROWS);
    assert.equal((await cells(browser)).length, 3, "it is there at the next visit");
    await browser.click(`${HOST} [data-action=forget]`);
    assert.equal(await browser.has(ROWS), false);
    assert.equal(await browser.eval(() => Object.keys(localStorage).some((key) => key.endsWith("/ceilings"))), false);
  });

  once("ceilings: Stop ends a measurement at once, by keyboard too, and keeps nothing of it", async ({ browser, server }) => {
    await open(browser, server.base);
    await browser.click(START);
    await browser.waitFor(() => (document.querySelector("live-ceilings progress")?.getAttribute("value") ?? "0") !== "0", MEASURED_MS);
    const pressed = Date.now();
    await browser.press("Enter");
    await browser.waitFor(() => /^Stopped\./.test(document.querySelector("live-ceilings [role=status]")?.textContent ?? ""));
    assert.ok(Date.now() - pressed < 5000, "within a run and a busy machine's patience");
    await browser.waitFor(START);
    assert.equal(await browser.has(ROWS), false);
    assert.equal(await browser.of(START, (start) => start === document.activeElement), true, "the focus is back");
  });

  once("ceilings: a card that multiplies wrongly is found out before it is timed", async ({ browser, server }) => {
    await open(browser, server.base);
    await browser.eval(() => {
      const make = GPUDevice.prototype.createShaderModule;
      GPUDevice.prototype.createShaderModule = function (given) {
        return make.call(this, { ...given, code: given.code.replace("s70 = fma(l7, r0, s70)", "s70 = fma(l6, r0, s70)") });
      };
    });
    await browser.click(START);
    await browser.waitFor(() => Boolean(document.querySelector("live-ceilings [role=alert]")?.textContent), MEASURED_MS);
    assert.match(await browser.text(`${HOST} [role=alert]`), /^Nothing was measured: the card's FP32 product is wrong: entry \(\d+, \d+\) is \S+, and \S+ is right; nothing was timed\.$/);
    assert.equal(await browser.has(ROWS), false);
  });
}

const FILE = {
  kind: "ceilings",
  schema_version: 1,
  card: "rtx-4090",
  measured: "2026-11-23T10:00:00Z",
  place: "shell",
  program: "PyTorch 2.13",
  system: "Linux",
  device: "NVIDIA GeForce RTX 4090",
  emulated: false,
  tensor_cores: true,
  statistic: "median",
  products: [{ format: "fp32", m: 8192, n: 8192, k: 8192, flops_per_s: 41.3e12 }],
  copies: [{ bytes: 2 ** 30, bytes_per_s: 907.2e9 }],
  contributor: { name: "Ada", link: "https://example.org/ada" },
};

/** Opens the page and waits until it has looked for a card. @param {Browser} browser @param {string} base */
async function open(browser, base) {
  await browser.open(base + PAGE);
  await browser.waitFor(`${HOST}[data-ready]`);
  await browser.of(HOST, (host) => host.scrollIntoView({ block: "start", behavior: "instant" }));
  await browser.waitFor(() => Boolean(document.querySelector("live-ceilings [data-slot=offer]")?.textContent));
}

/** @param {Browser} browser */
const offered = (browser) => browser.text(`${HOST} [data-slot=offer]`);

/** The whole measurement in about two seconds, as short as its runs allow. @param {Browser} browser */
const hurry = (browser) => browser.of(HOST, (host) => void (host.dataset["seconds"] = "2"));

/** @param {Browser} browser @returns {Promise<string[][]>} */
const cells = (browser) =>
  browser.of(`${HOST} tbody`, () =>
    [...document.querySelectorAll("live-ceilings tbody tr")].map((row) => [...row.children].map((cell) => (cell.textContent ?? "").trim())),
  );

/** Opens a file. @param {Browser} browser @param {string} name @param {string} text */
async function give(browser, name, text) {
  await browser.eval((/** @type {string} */ called, /** @type {string} */ content) => {
    const given = new DataTransfer();
    given.items.add(new File([content], called, { type: "application/json" }));
    const input = /** @type {HTMLInputElement} */ (document.querySelector("live-ceilings input[type=file]"));
    input.files = given.files;
    input.dispatchEvent(new Event("change"));
  }, name, text);
}
