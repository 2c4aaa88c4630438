// Another book, about waiting lines: built from the installed wheels in an environment of its own, with the plain theme of
// Material, and played. What it says and keeps is its own.
// @ts-check
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { serveSite } from "../harness/server.mjs";
import { REPOSITORY } from "../harness/site.mjs";
import { actReady, predict, redrawn, revealButton, verdict, verdictShown } from "./act_page.mjs";
import { Snippet } from "./snippet_page.mjs";

const LIMIT_MS = 300_000;

/**
 * The folder of the site, which goes when this process ends.
 * @param {"mkdocs" | "zensical"} generator
 */
function built(generator) {
  const folder = mkdtempSync(join(tmpdir(), "second-book-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const python = join(REPOSITORY, ".venv", "bin", "python");
  execFileSync(python, ["-m", "tests.second_book.build", folder, generator], { cwd: REPOSITORY, encoding: "utf8" });
  return join(folder, "book", "site");
}

/**
 * @param {import("../harness/world.mjs").World["browser"]} browser
 * @param {"mkdocs" | "zensical"} generator
 */
async function played(browser, generator) {
  const server = await serveSite(built(generator));
  try {
    await browser.open(`${server.base}counter/`);
    await actReady(browser);
    const color = await browser.of('live-act [data-slot="plot"] path[stroke^="var"]', (line) => getComputedStyle(line).stroke);
    assert.equal(color, "rgb(0, 99, 149)", "the curve has the book's color without a theme of its own");
    await predict(browser, "5");
    await redrawn(browser, () => browser.drag("live-act .il-grip:not([hidden])", 60, 0));
    const arrivals = await browser.of('live-act input[data-slider="arrivals"]', (slider) => Number(slider.value));
    assert.ok(arrivals > 30 && arrivals < 55, `the point was dragged from 30 to ${arrivals}`);
    await browser.click(revealButton);
    await verdictShown(browser);
    assert.match(await browser.of(verdict, (said) => said.textContent), /You said 5 min; it is 9 min/);

    await browser.open(server.base);
    assert.match(await browser.of("main article p", (text) => text.textContent), /Each waits 5\.0\smin on average/);
    assert.equal(await browser.eval(() => document.querySelectorAll("main table tbody tr").length), 3);
    const snippet = new Snippet(browser, "one");
    await snippet.ready();
    await snippet.write("from queues import waiting; waiting(57, 60)");
    await snippet.run();
    assert.equal(Number((await browser.of(`${snippet.host} [data-slot="result"]`, (shown) => shown.textContent)).trim()), 19);

    await browser.open(`${server.base}ledger/`);
    await browser.waitFor(() => document.querySelector("live-ledger")?.textContent?.includes("One counter"));
    const text = await browser.of("live-ledger", (ledger) => ledger.textContent);
    assert.match(text, /Longest mean wait/, "the ledger's fields are the book's");
    const kept = await browser.eval(async () => [
      ...Object.keys(localStorage),
      ...(await indexedDB.databases()).map(({ name }) => name),
    ].filter((name) => name && !name.startsWith("/") && !name.startsWith("__")));
    assert.ok(kept.length > 1 && kept.every((name) => name?.startsWith("queues")), `kept: ${kept.join(", ")}`);
  } finally {
    await server.close();
  }
}

/** @param {import("../harness/world.mjs").Facts} facts */
export function secondBookTests({ once, full }) {
  once(
    "second book: from wheels alone it is built strictly, its act is played, its snippets run, its ledger is its own",
    ({ browser }) => played(browser, "mkdocs"),
    { limitMs: LIMIT_MS },
  );

  full("second book: under Zensical it is played in the same way", ({ browser }) => played(browser, "zensical"), { limitMs: LIMIT_MS });
}
