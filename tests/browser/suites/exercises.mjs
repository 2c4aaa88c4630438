// Exercises in code, and what a snippet shows, shares and completes.
// @ts-check
import assert from "node:assert/strict";
import { WAIT_MS } from "../harness/browser.mjs";
import { pagesWith } from "../harness/site.mjs";
import { START_LIMIT_MS } from "./act_page.mjs";
import { Snippet, snippetWith } from "./snippet_page.mjs";

/** @typedef {import("../harness/world.mjs").World} World */

const EXERCISE = 'live-exercise[data-exercise="optimizer-bytes"]';
const PAGE = "chapter/optimizers/";
const SOLVED = "def state_bytes(parameters, optimizer, bytes_each=4): return {'sgd': 0, 'momentum': 1, 'adam': 2}[optimizer] * parameters * bytes_each";
/** Makes every exercise pass, from then on. */
const FAKES = `
import explorable.live.runtime.exercises as exercises, json
async def fake(*given):
    return json.dumps({"result": None, "error": None, "figures": [], "html": None, "checks": [{"label": "all", "hidden": True, "passed": True, "said": "", "line": None}]})
exercises.check_exercise_awaiting = fake
print("patched")`;
/** Each line tries to run something, or to ask another host; the last would show a part twice, and so on. */
const HOSTILE = [
  "<script>top.ran = 1</script><img src=x onerror='top.ran = 1'><svg onload='top.ran = 1'></svg>",
  "<img src=https://example.org/a.png><iframe src=https://example.org/b></iframe><link rel=stylesheet href=https://example.org/c.css>",
  "<meta http-equiv=refresh content='0;url=https://example.org/d'><style>body{background:url(https://example.org/e.png)}</style>",
  "<svg><g id=again><use href=#part></use></g><clipPath id=clip><path clip-path='url(#part)'></path></clipPath></svg>",
].join("");
/** What a table of pandas, one with its styles, and a drawing have. Kept as it stands, so the page's document of it is the build's. */
const HARMLESS = [
  "<div><style>.dataframe tbody tr th{vertical-align:top}\n#T_1_row0{background-color:rgb(1, 2, 3);background-image:linear-gradient(90deg, red 50%, transparent 50%)}</style>",
  '<table class="dataframe" border="1"><thead><tr style="text-align:right"><th></th><th>loss</th></tr></thead>',
  '<tbody><tr><th>0</th><td id="T_1_row0">2.5</td></tr></tbody></table><p>1 rows × 1 columns</p></div>',
  '<svg viewBox="0 0 9 9" width="9"><defs><linearGradient id="g"><stop offset="0" stop-color="red"></stop></linearGradient></defs><circle cx="4" cy="4" r="4" fill="url(#g)"></circle></svg>',
  '<img alt="dot" src="data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7">',
].join("");

/** In a page: code as a link carries it. @param {string} code */
async function packed(code) {
  const stream = new Blob([code]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** @param {import("../harness/world.mjs").Facts} facts */
export function exerciseTests({ widely, once, full }) {
  widely("exercises: a try that fails says why, a hint is counted, the solution opens after a try, a solved one stays in the ledger", async (all) => {
    const { browser, server } = all;
    await browser.open(server.base + PAGE);
    await browser.waitFor(`${EXERCISE}[data-ready="true"]`, WAIT_MS, "the exercise");
    const snippet = new Snippet(browser, "exercise-optimizer-bytes");
    await snippet.ready();
    const press = (/** @type {string} */ name) => browser.click({ role: "button", name, exact: true, within: EXERCISE });
    const said = () => browser.text(`${EXERCISE} [data-slot="said"]`);
    await press("Solution");
    assert.match(await browser.text(`${EXERCISE} [data-slot="note"]`), /opens after your first check/);
    assert.equal(await browser.eval(() => /parameters \* bytes_each|training_memory\(name/.test(document.documentElement.outerHTML)), false);

    await press("Check");
    await browser.waitFor(`${EXERCISE} [data-slot="checks"] li`, START_LIMIT_MS, "the tests");
    assert.equal(await said(), "0 of 7 tests pass.");
    assert.match(await browser.text(`${EXERCISE} [data-slot="checks"]`), /state_bytes\(10, "adam"\) gives None/);
    await press("Hint");
    await browser.waitFor(`${EXERCISE} [data-slot="hints"] li`, WAIT_MS, "the hint");
    await press("Solution");
    await browser.waitFor(`${EXERCISE} [data-slot="solution"] pre`, WAIT_MS, "the solution");

    await snippet.write(SOLVED);
    await press("Check");
    await browser.waitFor(`${EXERCISE} [data-passed="true"]`, START_LIMIT_MS, "the tests to pass");
    assert.equal(await said(), "All 7 tests pass. Solved.");

    await browser.open(`${server.base}lab/ledger/`);
    await browser.waitFor("live-ledger h2", WAIT_MS, "the ledger");
    const ledger = await browser.text("live-ledger");
    assert.match(ledger, /Exercise: The bytes of an optimizer\s+Solved/);
    assert.match(ledger, /Tries\s+2, solution seen before it was solved/);
    assert.match(ledger, /Hints\s+1/);
  });

  widely("snippets: a result that is HTML stands in a frame in which nothing runs; a program reads the page's data file, or one that the reader opens", async (all) => {
    const { browser } = all;
    const { snippet, page, baked } = await openTable(all);
    assert.match(await inFrame(browser, snippet.host), /momentum/);
    await snippet.run();
    assert.equal(await srcdoc(browser, snippet.host), baked, "the browser's is the build's");

    await snippet.write(`type("Hostile", (), {"_repr_html_": lambda self: """<p>shown</p>${HOSTILE}"""})()`);
    await snippet.run();
    await browser.waitFor(() => document.querySelector("live-snippet iframe")?.getAttribute("srcdoc")?.includes("<p>shown</p>"), WAIT_MS, "the frame");
    assert.match(await inFrame(browser, snippet.host), /shown/);
    const [, left = ""] = (await srcdoc(browser, snippet.host)).split("<body>");
    assert.equal(left.replace(/<style>body\{[\w :;%,-]*\}<\/style>/, ""), '<p>shown</p><img><svg></svg><img><svg><g id="again"></g><clipPath id="clip"><path></path></clipPath></svg></body></html>');
    assert.equal(await browser.eval(() => "ran" in window), false);
    assert.equal(await browser.of(`${snippet.host} iframe`, (frame) => frame.getAttribute("sandbox")), "allow-same-origin");
    await browser.click(snippet.button("Reset"));
    assert.match(await inFrame(browser, snippet.host), /momentum/);
    await readsFiles(browser, page);
  });

  widely("snippets: of a result that is HTML what shows it is kept: tables with their styles, drawings, pictures of its own", async (all) => {
    const { browser } = all;
    const snippet = await snippetWith(all, `type("Styled", (), {"_repr_html_": lambda self: """${HARMLESS}"""})()`);
    await snippet.run();
    const head = (await srcdoc(browser, snippet.host)).split("<body>");
    const kept = head[1]?.replace("</body></html>", "") ?? "";
    // Browsers write one style in different words.
    const parts = (/** @type {string} */ html) => html.replace(/<style>.*?<\/style>| style="[^"]*"/gs, "");
    assert.equal(parts(kept), parts(HARMLESS));
    await browser.waitFor(() => document.querySelector("live-snippet iframe")?.getAttribute("style"), WAIT_MS, "the frame to be fitted");
    const looks = await browser.of(`${snippet.host} iframe`, (frame) => {
      const root = /** @type {Document} */ (/** @type {HTMLIFrameElement} */ (frame).contentDocument);
      const look = (/** @type {string} */ selector) => getComputedStyle(/** @type {Element} */ (root.querySelector(selector)));
      const { backgroundColor, backgroundImage } = look("td");
      return [backgroundColor, backgroundImage.split("(")[0], look("tbody th").verticalAlign, look("thead tr").textAlign, look("circle").fill.replaceAll('"', "").slice(0, 7)];
    });
    assert.deepEqual(looks, ["rgb(1, 2, 3)", "linear-gradient", "top", "right", "url(#g)"]);
  });

  widely("snippets: code in a link opens as text and runs when it is asked for, and the reader's own is there again", async (all) => {
    const { browser, server } = all;
    const { snippet, page } = await openTable(all);
    await snippet.write("print('mine')");
    const theirs = await browser.eval(packed, "top_secret = '<img src=x onerror=alert(1)>'\nprint('theirs')");
    await browser.open("about:blank");
    await browser.open(`${server.base}${page}#code=1.table.${theirs}`);
    const note = `${snippet.host} .il-snippet__link`;
    await browser.waitFor(`${note} [role="alert"]`, WAIT_MS, "the sentence");
    assert.match(await browser.text(note), /came with a link.*It runs only when you press Run/);
    assert.match(await snippet.code(), /print\('theirs'\)/);
    assert.equal(await browser.text(`${snippet.host} [data-slot="state"]`), "edited, not run");
    assert.equal(await browser.has(`${snippet.host} img`), false);
    assert.equal(await snippet.run(), "theirs");
    await browser.click({ role: "button", name: "Back to my code", within: snippet.host });
    await browser.waitFor(() => !location.hash, WAIT_MS, "the link to go");
    assert.equal(await snippet.run(), "mine");
    await browser.reload();
    await snippet.ready();
    assert.equal(await snippet.code(), "print('mine')");
  });

  full("exercises: code of a link has no say in what an exercise tells, and its own checks are not kept", async (all) => {
    const { browser, server } = all;
    await browser.open(server.base + PAGE);
    const plain = await browser.eval(() => [...document.querySelectorAll("live-snippet")].find((one) => !one.closest("live-exercise"))?.getAttribute("data-name"));
    /** @param {string} name @param {string} code */
    const opened = async (name, code) => {
      const theirs = await browser.eval(packed, code);
      await browser.open("about:blank");
      await browser.open(`${server.base}${PAGE}#code=1.${name}.${theirs}`);
      const snippet = new Snippet(browser, name);
      await browser.waitFor(`${snippet.host} .il-snippet__link [role="alert"]`, WAIT_MS, "the sentence");
      return snippet;
    };
    const check = async () => {
      await browser.click({ role: "button", name: "Check", exact: true, within: EXERCISE });
      await browser.waitFor(`${EXERCISE} [data-slot="checks"] li`, START_LIMIT_MS, "the tests");
      return browser.text(`${EXERCISE} [data-slot="said"]`);
    };
    const snippet = await opened(plain ?? assert.fail("a snippet besides"), FAKES);
    assert.equal(await snippet.run(), "patched");
    assert.equal(await check(), "0 of 7 tests pass.");
    await opened("exercise-optimizer-bytes", SOLVED);
    assert.match(await check(), /^All 7 tests pass\. .*your ledger does not keep it\.$/);
    await browser.open(`${server.base}lab/ledger/`);
    await browser.waitFor("live-ledger h2", WAIT_MS, "the ledger");
    assert.doesNotMatch(await browser.text("live-ledger"), /Solved/);
  });

  once("snippets: the editor completes and shows signatures by keyboard, Escape closes, and Tab leaves", async (all) => {
    const { browser } = all;
    const { snippet } = await openTable(all);
    await snippet.run();
    await snippet.write("import math");
    await snippet.run();
    await snippet.write("math.sq");
    await browser.press("Control+Space");
    await browser.waitFor(".cm-tooltip-autocomplete li", WAIT_MS, "the names");
    await browser.press("ArrowDown");
    await browser.press("Enter");
    await browser.waitFor(() => !document.querySelector(".cm-tooltip-autocomplete"), WAIT_MS, "the list to close");
    assert.match(await snippet.code(), /^math\.i?sqrt$/);
    await browser.type("(");
    await browser.waitFor(".il-signature", WAIT_MS, "the signature");
    assert.match(await browser.text(".il-signature"), /sqrt\(/);
    await browser.press("Escape");
    await browser.waitFor(() => !document.querySelector(".il-signature"), WAIT_MS, "the signature to close");
    await browser.press("Tab");
    assert.equal(await browser.eval(() => Boolean(document.activeElement?.closest(".cm-editor"))), false);
  });
}

/** A program reads the data file of a page, and in its place one that the reader opens, which stays in the browser.
 * @param {import("../harness/browser.mjs").Browser} browser @param {string} page */
async function readsFiles(browser, page) {
  const snippet = new Snippet(browser, "years");
  await snippet.ready();
  const baked = await snippet.output();
  assert.equal(await snippet.run(), baked);
  await browser.eval((host) => {
    const input = /** @type {HTMLInputElement} */ (document.querySelector(`${host} input[type="file"]`));
    const chosen = new DataTransfer();
    chosen.items.add(new File(["year = {1066}"], "my works.bib"));
    input.files = chosen.files;
    input.dispatchEvent(new Event("change", { bubbles: true }));
  }, snippet.host);
  const place = `${snippet.host} [data-slot="file"]`;
  await browser.waitFor(() => /my works\.bib/.test(document.querySelector('[data-slot="file"]')?.textContent ?? ""), WAIT_MS, "the file");
  assert.match(await browser.text(place), /is read as references\.bib when you press Run\. It stays in this browser/);
  assert.equal(await snippet.run(), "1066 #");
  await browser.click({ role: "button", name: "Use the page's file", within: snippet.host });
  assert.equal(await snippet.run(), baked, page);
}

/** The snippet of the authors' page whose result is HTML. @param {World} all */
async function openTable(all) {
  const { browser, server } = all;
  const page = pagesWith(all, 'data-name="table"').find((one) => one.startsWith("authoring/snippets"));
  assert.ok(page !== undefined, "a page has a snippet that shows HTML");
  await browser.open(server.base + page);
  const snippet = new Snippet(browser, "table");
  await snippet.ready();
  return { snippet, page, baked: await srcdoc(browser, snippet.host) };
}

/** The document of a snippet's frame. @param {import("../harness/browser.mjs").Browser} browser @param {string} host @returns {Promise<string>} */
function srcdoc(browser, host) {
  return browser.of(`${host} iframe`, (frame) => /** @type {HTMLIFrameElement} */ (frame).srcdoc);
}

/** @param {import("../harness/browser.mjs").Browser} browser @param {string} host */
async function inFrame(browser, host) {
  await browser.waitFor(() => (/** @type {HTMLIFrameElement | null} */ (document.querySelector("live-snippet iframe"))?.contentDocument?.body?.textContent ?? "") !== "", WAIT_MS, "the frame's document");
  return browser.of(`${host} iframe`, (frame) => /** @type {HTMLIFrameElement} */ (frame).contentDocument?.body.textContent ?? "");
}
