// The planner: files are pasted and dropped, changes are found and made, the plan stands in the address, nothing of a file leaves.
// @ts-check
import assert from "node:assert/strict";
import { WAIT_MS } from "../harness/browser.mjs";
import { BLANK_PATH } from "../harness/server.mjs";
import { FULL } from "../harness/world.mjs";
import { readFileSync } from "node:fs";
import { inflateRawSync } from "node:zlib";
import { START_LIMIT_MS } from "./act_page.mjs";

/** @typedef {import("../harness/browser.mjs").Browser} Browser */
/** @typedef {import("../harness/world.mjs").World} World */

const ACT = 'live-act[data-name="plan"]';
const PAGE = "plan/";
const PHONE = { width: 360, height: 740 };
const slider = (/** @type {string} */ name) => `${ACT} input[data-slider="${name}"]`;
const boxOf = (/** @type {string} */ name) => `${ACT} input[data-typed="${name}"]`;
const BOX = `${ACT} .il-reader__box`;
const WAIT = `${ACT} [data-slot="wait"]`;
/** What may move of its own accord, as browsers add it up: the words of how Python is. */
const STEADY = 0.01;
const NOT_OFFERED = "#state=1.plan.q1ZKzs8rKcrPKVayqlZKLyhVslJKTEpMLi1W0lFKSixJzlCyMqmtBQA";
const DAMAGED = ["#state=<script>", "#state=1.plan.AAAA", "#state=9.plan.q1ZKzs8rKcrPKVayUqhWys1PSc0BspQ"];
const SECRET = "sEcReTsEcReT";
const AXOLOTL = [
  "base_model: Qwen/Qwen2.5-7B",
  "adapter: qlora",
  "load_in_4bit: true",
  "lora_r: 32",
  "sequence_len: 4096",
  "micro_batch_size: 4",
  "optimizer: adamw_bnb_8bit",
  "bf16: auto",
  `hub_token: ${SECRET}`,
  `output_dir: /home/${SECRET}/out`,
  "",
].join("\n");
/** Lines of public threads, by program, as the engine's own tests read them. @type {Record<string, string>} */
const LOGS = JSON.parse(readFileSync(new URL("../../engine/files/logs.json", import.meta.url), "utf8"));
/** What stands in each: rows of the table, and the number as its first column has it. @type {Record<string, [string, string][]>} */
const READ_OF_LOGS = {
  nanoGPT: [["time of a step, s", "0.8942"], ["utilization (MFU) as the log counts it, %", "16.68"]],
  "llm.c": [["time of a step, s", "0.04458"], ["tokens per second", "91,886"]],
  torchtitan: [["tokens per second", "10,050"], ["reserved memory, GB", "71.84"]],
  "Megatron-LM": [["time of a step, s", "5.411"], ["allocated memory, GB", "56.89"]],
  axolotl: [["time of a step, s", "5.35"], ["allocated memory, GB", "37.46"], ["reserved memory, GB", "44.3"]],
  transformers: [["time of a step, s", "2.994"], ["tokens per second", "78,017"]],
};
const OUT_OF_MEMORY =
  "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.32 GiB. GPU 0 has a total capacity of 23.65 GiB of which 1.09 GiB is free.";

/** @param {import("../harness/world.mjs").Facts} facts */
export function planTests({ widely, once, full }) {
  widely("plan: a pasted file is read, the answer follows, its address opens the same plan, and no secret leaves", async (all) => {
    const { browser, server } = all;
    await openPlan(all);
    const before = await headline(browser);
    await paste(browser, AXOLOTL);
    await answered(browser, before);
    assert.match(await browser.text(`${ACT} .il-reader__texts`), /axolotl/);
    const shown = await headline(browser);
    await browser.waitFor(() => location.hash.startsWith("#state=1.plan."), WAIT_MS, "the plan in the address");
    const address = await browser.eval(() => location.href);
    const link = inflateRawSync(Buffer.from(address.split("#state=1.plan.")[1] ?? "", "base64url")).toString();
    assert.match(link, /"rank":32/);
    for (const part of [SECRET, "/home", "hub_token"]) assert.ok(!link.includes(part), `${part} in the link`);
    assert.equal(await browser.eval((secret) => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]).includes(secret), SECRET), false, "in the storage");

    await browser.click({ role: "button", name: "Keep this to compare", within: ACT });
    await choose(browser, "gpu", "rtx-4060");
    await answered(browser, shown);
    assert.equal(await browser.text(`${ACT} [data-slot="headline-flag"]`), "Does not fit");
    assert.match(await browser.text(`${ACT} .il-comparison`), /Kept Now/);

    await browser.eval(() => document.querySelector("live-act .il-exports")?.toggleAttribute("open"));
    await browser.waitFor(`${ACT} .il-export pre`, WAIT_MS, "the exports");
    const exports = await browser.text(`${ACT} .il-exports`);
    assert.match(exports, /python -m ironlaw estimate .*--gpu rtx-4060/);
    assert.ok(!exports.includes(SECRET), "in an export");
    assert.ok(!server.log().some(({ path }) => path.includes(SECRET)), "in a request");

    await browser.open(server.origin + BLANK_PATH);
    await browser.open(address);
    await browser.waitFor(`${ACT}[data-ready="true"]`, START_LIMIT_MS);
    await browser.waitFor(() => document.querySelector("live-act")?.getAttribute("data-live") === "true", START_LIMIT_MS, "the linked plan");
    await browser.waitFor(() => /** @type {HTMLSelectElement | null} */ (document.querySelector('select[data-menu="optimizer"]'))?.selectedOptions[0]?.text === "adamw-8bit", WAIT_MS, "the controls of the link");
    await same(browser, shown);
  });

  full("plan: by keyboard alone a file is read, a change is made and undone by hand, and a search can be stopped", async (all) => {
    const { browser } = all;
    await openPlan(all);
    await choose(browser, "gpu", "rtx-4090");
    await choose(browser, "model", "Qwen/Qwen2.5-7B");
    await browser.focus(`${ACT} [data-choice="method"] input`);
    const before = await headline(browser);
    await browser.press("ArrowLeft");
    await answered(browser, before);
    // A length that the slider has no place for is typed.
    await browser.focus(boxOf("sequence"));
    await browser.of(boxOf("sequence"), (box) => box.select());
    await browser.type("2047");
    await browser.press("Enter");
    await browser.waitFor(() => document.querySelector('input[data-slider="sequence"]')?.getAttribute("aria-valuetext") === "2,047", WAIT_MS, "the typed length");
    await browser.waitFor(`${ACT} .il-suggestions__list button`, 60_000, "a change that helps");
    const change = await browser.text(`${ACT} .il-suggestions__list li:first-child`);
    assert.match(change, /GB (less|more), /);
    assert.equal(await browser.eval(namedOnPaper), true, "changes have their names on paper");
    const full = await headline(browser);
    await browser.focus(`${ACT} .il-suggestions__list li:first-child button`);
    await browser.eval(() => {
      const value = document.querySelector('live-act [data-slot="headline-value"]');
      new MutationObserver(() => {
        const bright = document.querySelector("live-act .il-suggestions > div:not([data-past]) button:not([aria-disabled=true])");
        /** @type {any} */ (window).bright ??= bright !== null;
      }).observe(/** @type {Element} */ (value), { childList: true, characterData: true, subtree: true });
    });
    await browser.press("Enter");
    await answered(browser, full);
    assert.equal(await browser.eval(() => /** @type {any} */ (window).bright), false, "changes of the plan before are dim under the next answer");
    assert.match(await browser.text(`${ACT} [data-slot="announce"]`), /^Changed: /);
    await browser.waitFor(() => document.querySelectorAll("live-act .il-suggestions__list button").length > 0, 30_000, "changes of the changed plan");
    await browser.waitFor(() => Boolean(document.activeElement?.closest("live-act .il-suggestions")), WAIT_MS, "the focus stays among the changes, though the one that was made is gone");
    await browser.reload();
    await browser.waitFor(`${ACT} .il-suggestions__list button`, START_LIMIT_MS, "changes again after a reload");
  });

  full("plan: a text that cannot be read, given while Python starts again, leaves the plan as it stood and says so until the next change", async (all) => {
    const { browser, server } = all;
    await openPlan(all);
    await browser.waitFor(`${ACT}:not([data-stale])`, START_LIMIT_MS, "the whole answer, which this tab keeps");
    server.fault({ path: /pyodide\.asm\.wasm$/, delayMs: 1500 });
    await browser.reload();
    await browser.waitFor(`${ACT}[data-live="true"]:not([data-stale]) .il-reader__box:enabled`, START_LIMIT_MS, "what this tab showed last");
    await browser.eval(() => {
      /** @type {HTMLTextAreaElement} */ (document.querySelector(".il-reader__box")).value = "hello world, nothing here";
      /** @type {HTMLElement} */ (document.querySelector('live-act [data-action="read"]')).click();
    });
    assert.equal(await browser.text(WAIT), "Not yet for your settings");
    await browser.waitFor(() => document.querySelector(".il-reader__unread")?.textContent?.includes("as it stood before") === true, START_LIMIT_MS, "whose plan it is");
    assert.equal(await browser.text(WAIT), "", "nothing more is awaited");
    const before = await headline(browser);
    await browser.of(`${ACT} [data-choice="method"] input`, (everything) => everything.click());
    await answered(browser, before);
    await browser.waitFor(() => document.querySelector("live-act:not([data-unread])") !== null, WAIT_MS, "a plan of the reader's own");
  });

  full("plan: until Python has answered, what stands there is dimmed and said to be of other settings, and nothing moves", async (all) => {
    const { browser, server } = all;
    server.fault({ path: /pyodide\.asm\.wasm$/, delayMs: 1500 });
    // Of a link the next test sees every frame.
    for (const linked of FULL ? [false, true] : [false]) {
      await browser.open(server.origin + BLANK_PATH);
      await browser.open(server.base + PAGE + (linked ? NOT_OFFERED : ""));
      await browser.eval(watchShifts);
      await browser.waitFor(`${ACT}[data-ready="true"]`, START_LIMIT_MS);
      if (!linked) {
        assert.equal(await browser.text(WAIT), "", "what is baked is of the default's settings");
        await browser.of(`${ACT} [data-choice="method"] input`, (everything) => everything.click());
      }
      assert.equal(await browser.text(WAIT), "Not yet for your settings");
      await new Promise((done) => setTimeout(done, 500));
      for (const part of ["il-headline__figure", "il-chart", "il-failure-slot", "il-beside"])
        assert.ok(await browser.of(`${ACT} .${part}`, (element) => Number(getComputedStyle(element).opacity) < 0.9 && element.getAttribute("aria-busy") === "true"), `${part} is dimmed`);
      assert.equal(await browser.of(`${ACT} .il-headline__flag`, (flag) => getComputedStyle(flag).visibility), "hidden");
      assert.doesNotMatch(await browser.text(`${ACT} [data-slot="state"]`), /ready/);
      if (linked) break;
      await browser.waitFor(() => !document.querySelector("live-act")?.hasAttribute("data-stale"), START_LIMIT_MS, "the answer");
      assert.equal(await browser.text(WAIT), "");
      assert.equal(await browser.has(`${ACT} [aria-busy="true"]`), false);
      // Every slider stood in the page where its script puts it, and no control has jumped.
      const moved = await browser.eval(() => [.../** @type {NodeListOf<HTMLInputElement>} */ (document.querySelectorAll("live-act input[data-slider]"))].filter((one) => one.value !== one.defaultValue || one.defaultValue === "").length);
      assert.equal(moved, 0);
      assert.ok((await browser.eval(() => /** @type {any} */ (window).shifts)) < STEADY, `${await browser.eval(() => /** @type {any} */ (window).shifts)}`);
    }
  });

  full("plan: from the first change until its answer is drawn the old one is dimmed and said to be of other settings, in every frame", async (all) => {
    const { browser, server } = all;
    const changed = () => browser.eval(() => void Object.assign(window, { changed: true }));
    const slide = () =>
      browser.of(slider("sequence"), (input) => {
        Object.assign(window, { changed: true });
        input.value = input.max;
        input.dispatchEvent(new Event("input", { bubbles: true }));
      });
    /** How somebody comes to other settings than those of the baked answer. @type {Record<string, () => Promise<void>>} */
    const ways = {
      "a hand before Python is there": async () => {
        await browser.open(server.base + PAGE);
        await browser.eval(watchGaps);
        await browser.waitFor(`${ACT}[data-ready="true"]`, START_LIMIT_MS);
        await slide();
      },
      "a hand while Python computes its first answer": async () => {
        await browser.open(server.base + PAGE);
        await browser.eval(watchGaps);
        await browser.waitFor(() => document.querySelector('live-act [data-slot="state"]')?.textContent === "Python computes", START_LIMIT_MS, "the first answer to be computed");
        await slide();
      },
      "a link": async () => {
        await browser.open(server.base + PAGE + NOT_OFFERED);
        await browser.eval(watchGaps);
        await changed();
      },
      "a link on a page where Python is there": async () => {
        await browser.open(`${server.base}lab/peak/`);
        await browser.waitFor(() => document.querySelector("live-act")?.getAttribute("data-live") === "true", START_LIMIT_MS, "Python on another page");
        await browser.eval(watchGaps);
        await changed();
        await browser.eval((address) => {
          const link = Object.assign(document.createElement("a"), { href: address });
          document.querySelector("article")?.append(link);
          link.click();
        }, server.base + PAGE + NOT_OFFERED);
      },
    };
    for (const [way, come] of Object.entries(ways).filter((_, at) => FULL || at % 2 === 0)) {
      await browser.open(server.origin + BLANK_PATH);
      await come();
      await browser.waitFor(() => document.querySelector('live-act[data-name="plan"] [data-table="answer"] td') !== null && /** @type {any} */ (window).answered(), START_LIMIT_MS, `the answer: ${way}`);
      const { frames, gaps } = await browser.eval(() => /** @type {any} */ (window).seen);
      assert.ok(frames > 0, `the old answer was seen: ${way}`);
      assert.deepEqual(gaps, [], way);
    }
  });

  once("plan: without JavaScript no row and no control is empty", async ({ browser, server }) => {
    server.policy("sandbox allow-same-origin");
    for (const size of [{ width: 1280, height: 800 }, PHONE]) {
      await browser.resize(size.width, size.height);
      await browser.open(server.base + PAGE);
      assert.equal(await browser.has(`${ACT}[data-ready="true"]`), false, "scripting is off");
      assert.deepEqual(await browser.eval(emptyRows), []);
      assert.equal(await browser.text(`${ACT} [data-slot="headline-flag"]`), "Fits");
      assert.ok((await browser.eval(() => document.querySelectorAll("live-act .il-control").length)) > 5, "the settings of the first state");
    }
  });

  full("plan: at 1280 pixels the answer stays in view beside the last control, and above the changes", async (all) => {
    const { browser } = all;
    await browser.resize(1280, 800);
    await openPlan(all);
    await browser.eval(() => document.querySelector("live-act .il-more")?.setAttribute("open", ""));
    await browser.focus(boxOf("price"));
    await answerInView(browser);
    assert.equal(await browser.of(`${ACT} .il-bench__hand`, (hand) => hand.scrollHeight > hand.clientHeight + 1 && getComputedStyle(hand).overflowY !== "visible"), false, "the controls scroll with the page");
    assert.ok(await browser.of(boxOf("price"), (box) => box.getBoundingClientRect().bottom <= innerHeight), "the control is in view");
    assert.match(await browser.text(`${ACT} [data-slot="headline-label"]`), / (s|ms|minutes) a step$/);
    const last = `${ACT} .il-suggestions__list li:last-child button`;
    await browser.waitFor(last, 60_000, "a change");
    await allChanges(browser);
    await browser.focus(last);
    await answerInView(browser);
  });

  full("plan: what an out-of-memory message and a log say is shown; what cannot be read is said, and kept in the box", async (all) => {
    const { browser } = all;
    await openPlan(all);
    await browser.eval((text) => {
      const box = /** @type {HTMLTextAreaElement} */ (document.querySelector(".il-reader__box"));
      box.value = text;
    }, "nothing that anybody knows");
    await browser.click({ role: "button", name: "Read it", within: ACT });
    await browser.waitFor(() => (document.querySelector(".il-reader .il-problem")?.textContent ?? "") !== "", WAIT_MS, "why it cannot be read");
    assert.equal(await browser.of(BOX, (box) => box.value), "nothing that anybody knows");
    await paste(browser, OUT_OF_MEMORY);
    await browser.waitFor(() => /out of memory/.test(document.querySelector(".il-reader__texts")?.textContent ?? ""), WAIT_MS, "the message");
    // Without a file that names the model, what was read stands alone.
    await browser.waitFor(() => /asked for, GB\s*2\.491/.test(document.querySelector('[data-table="measured"]')?.textContent ?? ""), WAIT_MS, "what the message asked for");
    const log = Array.from({ length: 12 }, (_, n) => `iter ${n + 1}: loss 3.1, time ${900 + n}.00ms, mfu 40.00%`).join("\n");
    await drop(browser, log);
    await browser.waitFor(() => /time of a step/.test(document.querySelector('[data-table="measured"]')?.textContent ?? ""), WAIT_MS, "the measured time");
  });

  full("plan: a command without adapters trains everything, a later one takes its place, and a reset takes the texts away", async (all) => {
    const { browser } = all;
    await openPlan(all);
    const texts = () => browser.eval(() => [...document.querySelectorAll(".il-reader__texts li")].map((one) => one.textContent?.trim()));
    const chosen = (/** @type {string} */ name) => browser.of(`${ACT} [data-choice="${name}"] input:checked`, (input) => input.dataset.value);
    const first = await headline(browser);
    await paste(browser, "model_name_or_path: meta-llama/Meta-Llama-3-8B\nfinetuning_type: full\ncutoff_len: 6000\nbf16: true\n");
    await answered(browser, first);
    assert.deepEqual([await texts(), await chosen("method")], [["LLaMA-Factory ×"], '"full"']);
    const before = await headline(browser);
    await paste(browser, 'torchrun --nproc_per_node 8 train.py --model_name_or_path meta-llama/Meta-Llama-3-8B --bf16 --fsdp "full_shard auto_wrap"');
    await answered(browser, before);
    assert.deepEqual([await texts(), await chosen("method"), await chosen("zero")], [["command ×"], '"full"', "3"]);
    await browser.click(`${ACT} [data-action="reset"]`);
    await browser.click(`${ACT} [data-action="reset-yes"]`);
    await browser.waitFor(() => !document.querySelector(".il-reader__texts li"), WAIT_MS, "no text");
    assert.equal(await chosen("method"), '"lora"');
  });

  widely("plan: a log stands among published runs, a faster one higher; of each of the six programs a real one is read, and stands beside the band", async (all) => {
    const { browser } = all;
    await openFullTraining(all);
    await rankedAmongRuns(browser);
    assert.deepEqual(Object.keys(LOGS).sort(), Object.keys(READ_OF_LOGS).sort());
    for (const [program, lines] of Object.entries(READ_OF_LOGS)) {
      await (program === "axolotl" ? paste(browser, LOGS[program] ?? "") : drop(browser, LOGS[program] ?? ""));
      const table = `${ACT} [data-table="measured"] table`;
      const until = Date.now() + 30_000;
      for (;;) {
        const rows = (await browser.has(table)) ? await browser.of(table, (found) => [...found.querySelectorAll("tbody tr")].map((row) => [...row.children].map((cell) => cell.textContent))) : [];
        if (lines.every(([what, measured]) => rows.some(([name, number]) => name === what && number === measured))) {
          // Each is put into its band, but for those that have none.
          for (const [what] of lines) {
            const row = rows.find(([name]) => name === what) ?? [];
            if (what.startsWith("utilization")) assert.match(row[4], /^not compared$|^the percentile above/);
            else {
              assert.match(row[3] ?? "", /^[\d.,]+ to [\d.,]+$/, `the band of ${what} in ${program}`);
              assert.match(row[4] ?? "", /^(inside|above|below)$/);
            }
          }
          break;
        }
        if (Date.now() > until) throw new Error(`${program}: ${JSON.stringify(rows)}`);
        await new Promise((done) => setTimeout(done, 100));
      }
      await browser.click(`${ACT} .il-reader__texts button`);
      await browser.waitFor(() => !document.querySelector(".il-reader__texts li"), WAIT_MS, "no text");
    }
  });

  once("plan: on a phone a slider is dragged and the bar follows while it moves; nothing sticks out, the answer stays in view, and what one scrolls to lies under it", async (all) => {
    const { browser } = all;
    await browser.resize(PHONE.width, PHONE.height);
    await openPlan(all);
    const bar = () => browser.eval(() => document.querySelector('live-act [data-chart="memory"] svg')?.innerHTML ?? "");
    const still = await bar();
    await browser.of(slider("sequence"), (input) => {
      input.scrollIntoView({ block: "center", behavior: "instant" });
      input.value = input.max;
      input.dispatchEvent(new Event("input", { bubbles: true }));
    });
    const until = Date.now() + WAIT_MS;
    while ((await bar()) === still) {
      if (Date.now() > until) throw new Error("the bar does not follow the hand");
      await new Promise((done) => setTimeout(done, 50));
    }
    assert.equal(await browser.of(slider("sequence"), (input) => input.getAttribute("aria-valuetext")), "131,072");
    // And typed, in a box that a thumb finds.
    await browser.of(boxOf("sequence"), (box) => {
      box.value = "3000";
      for (const kind of ["input", "change"]) box.dispatchEvent(new Event(kind, { bubbles: true }));
    });
    assert.equal(await browser.of(slider("sequence"), (input) => input.getAttribute("aria-valuetext")), "3,000");
    assert.ok(await browser.of(boxOf("sequence"), (box) => box.getBoundingClientRect().height >= 24));
    assert.ok(await browser.eval(() => document.documentElement.scrollWidth <= innerWidth), "the page is wider than the phone");
    // What is said of the answer stands under its table, as wide as the column and not as what does not fit it.
    assert.ok(await browser.of('[data-table="answer"] .il-table-scroll', (table) => table.scrollWidth <= table.clientWidth), "the answer scrolls sideways");
    const [top, bottom] = await browser.of(`${ACT} [data-slot="headline"]`, (headline) => {
      const box = headline.getBoundingClientRect();
      return /** @type {[number, number]} */ ([box.top, box.bottom]);
    });
    assert.ok(top >= 0 && bottom <= PHONE.height / 2, `the answer stays in view beside the slider: ${top} to ${bottom} px`);
    const covered = await browser.eval(async () => {
      const act = /** @type {HTMLElement} */ (document.querySelector('live-act[data-name="plan"]'));
      const stage = /** @type {HTMLElement} */ (act.querySelector('[data-slot="stage"]'));
      /** @type {string[]} */
      const found = [];
      for (const part of act.querySelectorAll(".il-bench :is(button, select, summary, textarea)")) {
        if (stage.contains(part) || !part.getClientRects().length) continue;
        part.scrollIntoView({ block: "start", behavior: "instant" });
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
        const [box, cover] = [part.getBoundingClientRect(), stage.getBoundingClientRect()];
        if (box.top < cover.bottom - 1 && box.bottom > cover.top) found.push((part.textContent || part.tagName).trim().slice(0, 30));
      }
      return found;
    });
    assert.deepEqual(covered, []);
  });

  full("plan: a link that is damaged or hostile changes nothing and says so; a cell of the tables opens its plan", async (all) => {
    const { browser, server } = all;
    for (const fragment of FULL ? DAMAGED : DAMAGED.slice(0, 1)) {
      await browser.open(server.origin + BLANK_PATH);
      await browser.open(`${server.base}${PAGE}${fragment}`);
      await browser.waitFor(() => (document.querySelector('[data-slot="link-problem"]')?.textContent ?? "") !== "", START_LIMIT_MS, `a word on ${fragment}`);
      assert.equal(await browser.of(`${ACT} select[data-menu="gpu"]`, (menu) => menu.selectedOptions[0].text), "NVIDIA H100 SXM5 80 GB");
    }
    const before = await headline(browser);
    // Changes that are found stand above the tables, and move them until all are there.
    await allChanges(browser);
    const cell = 'a[href*="#state=1.plan."]';
    const said = await browser.of(cell, (link) => {
      link.scrollIntoView({ block: "center", behavior: "instant" });
      return link.textContent;
    });
    await browser.click(cell);
    await answered(browser, before);
    assert.ok(said.includes((await headline(browser)).split(" ")[0] ?? "?"), `${said} opens ${await headline(browser)}`);

    // A link of {"controls":{"gpu":"abacus","batch":4}}: what is not offered is said, and the rest is taken.
    await browser.open(server.origin + BLANK_PATH);
    await browser.open(`${server.base}${PAGE}${NOT_OFFERED}`);
    await browser.waitFor(() => /abacus is not offered here; NVIDIA H100/.test(document.querySelector('[data-slot="link-problem"]')?.textContent ?? ""), START_LIMIT_MS, "a word on the card");
    assert.equal(await browser.of(slider("batch"), (input) => input.getAttribute("aria-valuetext")), "4");
  });
}

/** Runs in the page: adds up what moves of its own accord from the beginning on. */
function watchShifts() {
  Object.assign(window, { shifts: 0 });
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (!(/** @type {any} */ (entry).hadRecentInput)) /** @type {any} */ (window).shifts += /** @type {any} */ (entry).value;
  }).observe({ type: "layout-shift", buffered: true });
}

/** Runs in the page: looks at every frame that shows the baked answer once something has changed, and notes where it is neither dimmed nor named. */
function watchGaps() {
  const table = () => document.querySelector('live-act[data-name="plan"] [data-table="answer"] tbody');
  /** @type {{frames: number, gaps: string[]}} */
  const seen = { frames: 0, gaps: [] };
  let baked = "";
  const look = () => {
    const act = document.querySelector('live-act[data-name="plan"]');
    const answer = table()?.textContent ?? "";
    baked ||= answer;
    if (act && /** @type {any} */ (window).changed && answer === baked) {
      seen.frames += 1;
      const wait = act.querySelector('[data-slot="wait"]');
      const words = `${wait?.textContent ?? ""}${wait ? getComputedStyle(wait, "::before").content : ""}`;
      const bright = [".il-headline__figure", ".il-chart", ".il-beside", ".il-bench__tables"].filter((part) => [...act.querySelectorAll(part)].some((one) => getComputedStyle(one).filter === "none"));
      if (bright.length || !words.includes("Not yet for your settings")) seen.gaps.push(`${bright.join(" ")} bright, ${words} said, in frame ${seen.frames}`);
    }
    requestAnimationFrame(look);
  };
  Object.assign(window, { seen, changed: false, answered: () => baked !== "" && (table()?.textContent ?? "") !== baked });
  look();
}

/** Runs in the page: what takes a row of the act and shows nothing in it. */
function emptyRows() {
  /** Whether somebody sees something of it: words, a picture, or a control with a value. @param {Element} element @returns {boolean} */
  const shows = (element) =>
    element.checkVisibility({ checkVisibilityCSS: true }) &&
    (element.matches("svg, select, input") ||
      (element instanceof HTMLTextAreaElement && element.value !== "") ||
      [...element.childNodes].some((child) => (child instanceof Element ? shows(child) : child instanceof Text && child.data.trim() !== "")));
  const rows = [.../** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("live-act :is(p, ul, ol, section, fieldset, textarea, button, [data-slot], [data-table], .il-control)"))];
  const seen = rows.filter((row) => row.checkVisibility() && !row.closest(".il-vh, details:not([open]) > :not(summary)"));
  return seen.filter((row) => row.getBoundingClientRect().height > 0 && row.getBoundingClientRect().width > 0 && !shows(row)).map((row) => row.outerHTML.slice(0, 120));
}

/** Runs in the page: whether every change that helps has its name while the rules for paper hold. */
function namedOnPaper() {
  const print = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]).filter((rule) => rule instanceof CSSMediaRule && rule.media.mediaText === "print");
  const asMedia = (/** @type {string} */ media) => print.forEach((rule) => void (/** @type {CSSMediaRule} */ (rule).media.mediaText = media));
  asMedia("all");
  const shown = [...document.querySelectorAll("live-act .il-suggestions__list button")].map((one) => one.getBoundingClientRect().height > 0);
  asMedia("print");
  return shown.length > 0 && shown.every(Boolean);
}

/** Opens the planner and waits for its first answer. @param {World} all */
async function openPlan({ browser, server }) {
  await browser.open(server.origin + BLANK_PATH);
  await browser.open(server.base + PAGE);
  await browser.waitFor(`${ACT} .il-reader__box`, START_LIMIT_MS, "the planner");
  await browser.waitFor(() => document.querySelector("live-act")?.getAttribute("data-live") === "true", START_LIMIT_MS, "its first answer");
}

/** Opens the planner and asks it for full training. @param {World} all */
async function openFullTraining(all) {
  await openPlan(all);
  const before = await headline(all.browser);
  await choose(all.browser, "model", "meta-llama/Meta-Llama-3-8B");
  await all.browser.of(`${ACT} [data-choice="method"] input`, (everything) => everything.click());
  await answered(all.browser, before);
}

/** The percentile of a log among published runs: of a faster step it is higher. @param {Browser} browser */
async function rankedAmongRuns(browser) {
  /** Where a step of so many milliseconds stands. @param {number} ms */
  const placeOf = async (ms) => {
    await drop(browser, Array.from({ length: 12 }, (_, n) => `iter ${n + 1}: loss 3.1, time ${ms}.00ms, mfu 40.00%`).join("\n"));
    const step = new RegExp(`time of a step, s\\s+${ms / 1000}\\s`);
    const until = Date.now() + 30_000;
    for (;;) {
      const said = (await browser.has(`${ACT} [data-table="measured"] table`)) ? await browser.text(`${ACT} [data-table="measured"]`) : "";
      const found = /Your MFU, (\d+) %, is at percentile (\d+) of ([\d,]+) published runs of (\d+) publishers/.exec(said);
      if (found && step.test(said)) return found.slice(1).map((text) => Number(text.replace(",", "")));
      if (Date.now() > until) throw new Error(`no percentile for ${ms} ms: ${said}`);
      await new Promise((done) => setTimeout(done, 100));
    }
  };
  const [slowMfu, slow, runs, publishers] = await placeOf(900);
  await browser.click({ role: "button", name: "Take log away", within: ACT });
  const [fastMfu, fast, sameRuns] = await placeOf(300);
  assert.ok(slowMfu !== undefined && fastMfu !== undefined && fastMfu > slowMfu, `${slowMfu} % and ${fastMfu} %`);
  assert.ok(slow !== undefined && fast !== undefined && 0 <= slow && slow < fast && fast <= 100, `percentiles ${slow} and ${fast}`);
  assert.ok(runs !== undefined && publishers !== undefined && runs > publishers && publishers > 1 && runs === sameRuns, `${runs} runs of ${publishers}`);
  await browser.click({ role: "button", name: "Take log away", within: ACT });
}

/** Fails where the number or the bar is out of the window, or under something else. @param {Browser} browser */
async function answerInView(browser) {
  for (const part of ['[data-slot="headline-value"]', '[data-chart="memory"] svg']) {
    const until = Date.now() + WAIT_MS;
    while (
      !(await browser.eval((selector) => {
        const element = document.querySelector(`live-act ${selector}`);
        const box = element?.getBoundingClientRect();
        if (!box || box.top < 0 || box.bottom > innerHeight) return false;
        const seen = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
        return seen !== null && (element?.contains(seen) || seen.contains(element ?? null));
      }, part))
    ) {
      if (Date.now() > until) throw new Error(`${part} is not in view`);
      await new Promise((done) => setTimeout(done, 50));
    }
  }
}

/** @param {Browser} browser */
const headline = (browser) => browser.text(`${ACT} [data-slot="headline"] .il-headline__figure`);

/** @param {Browser} browser @param {string} before */
async function answered(browser, before) {
  await browser.waitFor(() => !document.querySelector("live-act")?.hasAttribute("data-stale"), 30_000);
  const until = Date.now() + 30_000;
  while ((await headline(browser)) === before) {
    if (Date.now() > until) throw new Error(`the answer stays ${before}`);
    await new Promise((done) => setTimeout(done, 50));
  }
}

/** Waits until the search for changes has ended. @param {Browser} browser */
async function allChanges(browser) {
  await browser.waitFor(`${ACT} .il-suggestions__list button`, 60_000, "a change that helps");
  await browser.waitFor(() => !/Looking/.test(document.querySelector("live-act .il-suggestions [role=status]")?.textContent ?? ""), 60_000, "all changes");
}

/** @param {Browser} browser @param {string} wanted */
async function same(browser, wanted) {
  const until = Date.now() + 30_000;
  while ((await headline(browser)) !== wanted) {
    if (Date.now() > until) assert.equal(await headline(browser), wanted);
    await new Promise((done) => setTimeout(done, 50));
  }
}

/** Chooses a position of a list. @param {Browser} browser @param {string} name @param {string} value */
async function choose(browser, name, value) {
  await browser.eval(
    (menu, wanted) => {
      const select = /** @type {HTMLSelectElement} */ (document.querySelector(`select[data-menu="${menu}"]`));
      const option = [...select.options].find((one) => JSON.parse(one.dataset["value"] ?? "null") === wanted);
      if (!option) throw new Error(`no ${wanted} in ${menu}`);
      option.selected = true;
      select.dispatchEvent(new Event("change", { bubbles: true }));
    },
    name,
    value,
  );
}

/** What a browser does when somebody pastes: it puts the text there after the event. @param {Browser} browser @param {string} text */
async function paste(browser, text) {
  await browser.eval((pasted) => {
    const box = /** @type {HTMLTextAreaElement} */ (document.querySelector(".il-reader__box"));
    box.focus();
    box.dispatchEvent(new ClipboardEvent("paste", { bubbles: true }));
    box.value = pasted;
  }, text);
  await browser.waitFor(() => /** @type {HTMLTextAreaElement} */ (document.querySelector(".il-reader__box")).value === "", 30_000, "the text to be read");
}

/** Drops a file. @param {Browser} browser @param {string} text */
async function drop(browser, text) {
  await browser.eval((dropped) => {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([dropped], "train.log", { type: "text/plain" }));
    document.querySelector("live-act .il-bench")?.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
  }, text);
}
