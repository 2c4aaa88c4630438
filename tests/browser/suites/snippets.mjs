// Executable snippets: run, edit, stop, keep, fail plainly, and agree with what the build printed.
// @ts-check
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { WAIT_MS } from "../harness/browser.mjs";
import { askedByTheSite } from "../harness/foreign.mjs";
import { firstOfEachFolder, htmlOf, pagesWith } from "../harness/site.mjs";
import { FULL } from "../harness/world.mjs";
import { ACT, chartSays, follow, position, predict, START_LIMIT_MS } from "./act_page.mjs";
import { Snippet, snippetHere, snippetWith } from "./snippet_page.mjs";

/** @typedef {import("../harness/world.mjs").World} World */

const SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20"><script>top.ran = 1</script></svg>';
const FIGURE = `type("Figure", (), {"_repr_svg_": lambda self: '${SVG}'})()`;

/** Programs that say in Python's name more than a page can show: large texts, small ones without end, a large result. */
const FLOODS = [
  'text = "abcdefgh \\n" * 200_000\nfor _ in range(60):\n    for run in range(20): js.postMessage(js.JSON.parse(json.dumps({"kind": "output", "id": run, "text": text})))',
  'said = [js.JSON.parse(json.dumps({"kind": "output", "id": run, "text": "x\\n"})) for run in range(20)]\nwhile True:\n    for one in said: js.postMessage(one)',
  'for run in range(20): js.postMessage(js.JSON.parse(json.dumps({"kind": "ran", "id": run, "result": "y" * 20_000_000, "error": None, "figures": []})))',
];
/** And what no page understands, or would show as its own words. */
const ODD = ["js.postMessage(None)", 'js.postMessage(js.JSON.parse(json.dumps({"kind": "failed", "message": "Your password has expired.", "broken": False})))'];
/** Programs whose output keeps a browser busy: marks, selectors, elements that a parser repeats, objects in a message. */
const SLOW = [
  'print("a" + "\\u0300\\u0316" * 49_000)',
  'print("\\u0e33" * 99_000)',
  ...[
    '"<p>" + "&#768;" * 30_000',
    '"<style>" + "".join(f"div:has(div div div:nth-child({i}n+1) ~ div) div{{color:red}}" for i in range(1200)) + "</style>" + "<div>" * 90 + "<div></div>" * 8000',
    '"<ol>" + "<li value=9>x" * 6000',
    '"<details open>" * 6000',
    '"<p>shown</p><table>" + "<tr>" + "<td rowspan=65534 colspan=1000>x</td>" * 50 + "</tr>" + "<tr><td>x</td></tr>" * 3000 + "</table>"',
    `"<p>shown</p><img width=600 height=600 src='data:image/svg+xml," + "".join("%%%02x" % one for one in ("<svg xmlns=\\"http://www.w3.org/2000/svg\\"><g id=\\"a0\\"><circle r=\\"5\\"/></g>" + "".join(f"<g id=\\"a{i + 1}\\"><use href=\\"#a{i}\\"/><use href=\\"#a{i}\\" x=\\"1\\"/></g>" for i in range(24)) + "</svg>").encode()) + "'>"`,
    '"<p>" + "".join(f"<b id={i}>" for i in range(1500)) + "</p>" + "<p>x" * 3000',
    `"<div style='width:4000px;height:4000px;background-image:" + ",".join(["repeating-conic-gradient(red 0 0.001deg,blue 0.002deg)"] * 200) + "'></div>"`,
    `"<div style='width:4000px;height:4000px;background-image:" + ",".join(["linear-gradient(red,blue)"] * 900) + "'></div>"`,
    `"<div style='text-shadow:" + ",".join(["0 0 900px red"] * 300) + "'>" + "word " * 4000 + "</div>"`,
  ].map((html) => `type("Slow", (), {"_repr_html_": lambda self: ${html}})()`),
  `type("Slow", (), {"_repr_svg_": lambda self: '<svg xmlns="http://www.w3.org/2000/svg" width="900" height="900"><foreignObject width="900" height="900"><div xmlns="http://www.w3.org/1999/xhtml">' + "\\u0e33" * 90_000 + "</div></foreignObject></svg>"})()`,
  'import js\njs.postMessage(js.JSON.parse("[" + ",".join([\'{"a":{}}\'] * 3_000_000) + "]"))',
];
const SPEAKS = "import js, json, time\n";
const THEN = "\ntime.sleep(60)";

/** In a page: measures for how long it does not answer. */
function beats() {
  const beat = { last: performance.now(), worst: 0 };
  Object.assign(window, { beat });
  setInterval(() => {
    const now = performance.now();
    if (document.querySelector('[data-phase="running"], [data-phase="error"], [data-phase="ready"]')) beat.worst = Math.max(beat.worst, now - beat.last);
    beat.last = now;
  }, 20);
}

/** @param {World["browser"]} browser @param {string} program @param {number} [most] milliseconds */
async function answered(browser, program, most = 4000) {
  const worst = await browser.eval(() => Reflect.get(window, "beat").worst);
  assert.ok(worst < most, `the page did not answer for ${worst} ms: ${program}`);
}

/** @param {import("../harness/world.mjs").Facts} facts */
export function snippetTests({ once, widely, full, fully }) {
  widely("snippets: a program that floods the page in Python's name is ended with a sentence, and the page answers meanwhile", async (all) => {
    const { browser } = all;
    // Without end and in one piece; both together, as of the first, in a full run.
    for (const flood of FULL ? FLOODS : FLOODS.slice(1)) {
      const snippet = await snippetWith(all, SPEAKS + flood + THEN);
      await browser.eval(beats);
      await snippet.run();
      assert.match(await snippet.output(), /Python was ended: output cut after 100,000 characters\.$/);
      await answered(browser, flood);
    }
  });

  full("snippets: texts, HTML and figures for which a browser takes minutes are bounded, and the page answers meanwhile", async (all) => {
    const { browser } = all;
    await browser.open(all.server.base + ACT);
    // Marks, HTML and a message: one of each kind that a browser takes long for; all of them in a full run.
    for (const slow of FULL ? SLOW : [SLOW[1], SLOW[3], SLOW.at(-1)]) {
      assert.ok(slow);
      const snippet = await snippetHere(browser, slow);
      await browser.eval(beats);
      await snippet.run();
      // What is slow is laid out after the run.
      await browser.eval(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 500))));
      // Unbounded, most of these take 20 to 140 s on a machine on which bounded ones take one or two.
      await answered(browser, slow, 15_000);
    }
  });

  fully("snippets: what a program says in Python's name that is no reply, or a text of its own, ends it in the page's words", async (all) => {
    for (const said of ODD) {
      const snippet = await snippetWith(all, SPEAKS + said + THEN);
      await snippet.run();
      assert.match(await snippet.output(), /^Python broke down(: it said something that this page does not understand)?\.$/);
    }
  });

  widely("snippets: what the build printed is what the browser prints, on the pages that have snippets", async (all) => {
    const { browser, server } = all;
    const holding = pagesWith(all, "<live-snippet");
    const withSnippets = FULL ? holding.filter((page) => all.sample.includes(page)) : firstOfEachFolder(holding).filter((page) => /^(chapter|notebooks)\//.test(page));
    assert.ok(withSnippets.length > 0, "the site has snippets");
    await browser.open(server.base);
    for (const page of withSnippets) {
      // As a reader goes through the chapter: one Python for all pages.
      await follow(browser, server.base + page);
      await browser.waitFor(() => document.querySelector("live-snippet") !== null, WAIT_MS, `the snippets of ${page}`);
      const names = await browser.eval(() =>
        [...document.querySelectorAll("live-snippet")].map((host) => /** @type {HTMLElement} */ (host).dataset.name ?? ""),
      );
      for (const name of names) {
        const snippet = new Snippet(browser, name);
        await openTabAround(browser, snippet.host);
        await snippet.ready();
        const baked = await snippet.output();
        const gave = await snippet.run();
        // Without a network the build has no wheel of NumPy, and the page asks: another test answers. What follows needs its names.
        if (await browser.has(`${snippet.host} [data-action="load"]`)) break;
        assert.equal(gave, baked, `${page} ${name}`);
      }
    }
  });

  once("snippets: Ctrl+Enter runs, a later snippet knows the earlier one's names, an edit survives a reload; a traceback shows the reader's code only, and one-key shortcuts stay quiet", async (all) => {
    const { browser } = all;
    const { first, second } = await openTwo(all);
    await first.write("answer = 6 * 7; name = 'mine'");
    await browser.press("Control+Enter");
    await first.ended();
    await second.write("print(answer)");
    await browser.press("Control+Enter");
    await second.ended();
    assert.equal(await second.output(), "42");

    await browser.reload();
    await first.ready();
    await second.ready();
    assert.equal(await first.code(), "answer = 6 * 7; name = 'mine'");
    assert.equal(await second.code(), "print(answer)");
    assert.equal(await second.run(), "42", "the snippet above runs first, because they share one namespace");
    // A frame is a second tab: what it writes, this one is told.
    await browser.eval(() => {
      const tab = document.body.appendChild(document.createElement("iframe"));
      const { localStorage: storage } = /** @type {Window} */ (tab.contentWindow);
      const key = Object.keys(storage).find((one) => storage.getItem(one) === JSON.stringify("print(answer)"));
      storage.setItem(String(key), JSON.stringify("print('theirs')"));
    });
    await browser.waitFor(() => document.querySelector("main article")?.textContent?.includes("print('theirs')"));
    assert.equal(await second.code(), "print('theirs')", "no key here takes the place of an edit that nobody saw");
    await browser.click(first.button("Reset"));
    await second.write("print(name)");
    assert.equal(await second.run(), "gpt2", "what the page shows above is what the code below works with");
    await browser.click(second.button("Reset"));
    assert.match(await second.code(), /training_memory/);

    await first.write("bytes_each = 4\nbytes_each / 0\n");
    const output = await first.run();
    assert.match(output, /ZeroDivisionError/);
    assert.match(output, /line 2/);
    assert.ok(!/pyodide|explorable\/live|exec\(/i.test(output), output);
    assert.equal(await browser.text(`${first.host} .il-error-line`), "bytes_each / 0");
    await first.write("print('well again')");
    assert.equal(await first.run(), "well again", "an error does not end Python");

    const before = await browser.eval(() => location.href);
    await first.write("n = p = s = f = 1 / 1");
    assert.equal(await first.code(), "n = p = s = f = 1 / 1");
    assert.equal(await browser.eval(() => location.href), before);
    assert.equal(await first.run().then(() => browser.eval(() => document.activeElement?.tagName !== "INPUT")), true);
  });

  widely("snippets: Stop ends an endless loop within a second, and the page's names are there again", async (all) => {
    const { browser } = all;
    const { first, second } = await openTwo(all);
    await first.write("kept = 'still here'");
    await first.run();
    await second.write("print('one')\nprint('two')\nwhile True: pass");
    await browser.click(second.button("Run"));
    await second.running();
    const printed = () => [...document.querySelectorAll('live-snippet [data-slot="output"]')].some(({ textContent }) => textContent?.includes("two"));
    await browser.waitFor(printed, WAIT_MS, "what is printed");
    await browser.eval((host) => {
      const element = /** @type {HTMLElement} */ (document.querySelector(host));
      const stop = /** @type {HTMLElement} */ (element.querySelector('[data-action="stop"]'));
      const times = /** @type {{pressed?: number, ended?: number}} */ ({});
      Object.assign(window, { times });
      stop.addEventListener("click", () => (times.pressed = performance.now()), { capture: true });
      new MutationObserver(() => {
        if (stop.getAttribute("aria-disabled") === "true") times.ended ??= performance.now();
      }).observe(stop, { attributes: true });
    }, second.host);
    await browser.click(second.button("Stop"));
    await second.ended();
    const took = await browser.eval(() => {
      const { times } = /** @type {{times: {pressed: number, ended: number}}} */ (/** @type {unknown} */ (window));
      return times.ended - times.pressed;
    });
    assert.ok(took < 1000, `stopping took ${took} ms`);
    assert.match(await browser.text(`${second.host} [data-slot="state"]`), /stopped/i);
    assert.match(await browser.text(`${second.host} [data-slot="output"]`), /one\s+two/, "what was printed stays");

    await second.write("print(kept)");
    assert.equal(await second.run(), "still here");
  });

  // Not in WebKit, where a stopped loop runs until its page is closed: on two cores, Python then starts too slowly to test.
  full("snippets: an act that waits for an endless program says for which, and stops it", async (all) => {
    const { browser } = all;
    const { first } = await openTwo(all);
    await predict(browser, "3");
    await first.write("while True: pass");
    await browser.click(first.button("Run"));
    await browser.waitFor('live-act [data-slot="state"][data-phase="running"]', WAIT_MS, "the program to run");
    await browser.click(position("Optimizer", "Adam"));
    const trouble = 'live-act [data-slot="trouble"]';
    await browser.waitFor(`${trouble} p`);
    assert.match(await browser.text(trouble), /This act waits: the program “count” on this page is still running\./);
    await browser.click({ role: "button", name: "Stop the program", within: "live-act" });
    // To stop a program means to start Python again.
    await chartSays(browser, "Adam m 6.23 GB", START_LIMIT_MS);
    assert.equal(await browser.text(trouble), "");
  });

  fully("snippets: await works; input(), a second loop and a missing module are a plain sentence each; a figure is a picture in which nothing runs", async (all) => {
    const { browser } = all;
    const { first } = await openTwo(all);
    await first.write("import asyncio\nprint(await asyncio.sleep(0.01, 'slept'))\nawait asyncio.sleep(0, 42)");
    assert.match(await first.run(), /^slept\s+42$/);
    for (const [code, said] of [
      ["name = input('Who? ')", 'input() has no keyboard to read from here. Write the answer into the code: name = "…".'],
      ["import asyncio; asyncio.run(asyncio.sleep(0))", "asyncio.run() would start a second event loop, and here one runs already. Write: await main()."],
      ["import torch", "There is no module torch here: the page's Python has its own library, this book's library and a few packages. Install Python on your machine to use others."],
    ]) {
      await first.write(code ?? "");
      assert.equal(await first.run(), said);
    }

    await first.write(FIGURE);
    assert.equal(await first.run(), "");
    const image = `${first.host} [data-slot="figures"] img`;
    await browser.waitFor(
      () => /** @type {HTMLImageElement | null} */ (document.querySelector('[data-slot="figures"] img'))?.naturalWidth === 40,
      WAIT_MS,
      "the picture",
    );
    assert.equal(await browser.eval(() => "ran" in window), false, "a script in a figure does not run");
    await browser.click(first.button("Reset"));
    assert.equal(await browser.has(image), false);
  });

  full("snippets: in a notebook, one button runs all below, and stops at the first that fails", async (all) => {
    const { browser, server } = all;
    const page = pagesWith(all, 'data-action="run-below"')[0];
    assert.ok(page !== undefined, "a notebook runs in the page");
    await browser.open(server.base + page);
    const names = await browser.eval(() => [...document.querySelectorAll("live-snippet")].map((host) => /** @type {HTMLElement} */ (host).dataset.name ?? ""));
    assert.ok(names.length > 2);
    const [first, second, third] = names.map((name) => new Snippet(browser, name));
    assert.ok(first && second && third);
    await first.ready();
    await second.ready();
    await first.write("known = 1");
    await second.write("known + unknown");
    await browser.click(first.button("Run all below"));
    await browser.waitFor(`${second.host} [data-slot="error"]:not([hidden])`, START_LIMIT_MS, "the second to fail");
    assert.match(await browser.text(`${second.host} [data-slot="error"]`), /NameError/);
    assert.match(await browser.of(`${first.host} [data-slot="announce"]`, (place) => place.textContent), /^Stopped after 1 of \d+ programs\.$/);
    assert.equal(await browser.text(`${third.host} [data-slot="state"]`), "Python ready");
  });

  once("snippets: the keyboard gets into the editor with Tab and out of it again", async (all) => {
    const { browser } = all;
    const { first } = await openTwo(all);
    const inside = () =>
      browser.eval((host) => Boolean(document.activeElement?.closest(`${host} .cm-editor`)), first.host);
    await browser.focus(first.button("Reset"));
    for (let press = 0; press < 5 && !(await inside()); press += 1) {
      await browser.press("Tab");
      await browser.waitFor(() => document.activeElement?.getAttribute("role") !== "textbox" || document.activeElement.matches(".cm-content"));
    }
    assert.equal(await inside(), true, "Tab leads into the code, which becomes an editor");
    await browser.press("Tab");
    assert.equal(await inside(), false, "Tab walks on from an editor in which nothing was typed");
    await browser.press("Shift+Tab");
    assert.equal(await inside(), true);
    await browser.type("x");
    await browser.press("Tab");
    assert.equal(await inside(), true, "after typing, Tab indents");
    await browser.press("Escape");
    await browser.press("Tab");
    assert.equal(await inside(), false, "Escape, then Tab leaves");
  });

  once(
    "snippets: a package from another host is loaded after the reader agreed, and a closed network is said plainly",
    async (all) => {
      const { browser, proxy } = all;
      // The page that sweeps a million configurations with NumPy.
      await browser.open(`${all.server.base}reference/sweep/`);
      const first = new Snippet(browser, "sweep");
      await first.ready();
      const baked = await first.output();
      if (readdirSync(all.site, { recursive: true, encoding: "utf8" }).some((file) => /numpy-[^/]*\.whl$/.test(file))) {
        // The build had a network, so the site has the wheel, and the page asks no other host.
        assert.equal(await first.run(), baked);
        assert.deepEqual(askedByTheSite(proxy.asked()), []);
        return;
      }
      await first.run();
      assert.match(await browser.text(`${first.host} [data-slot="ask"]`), /does not have NumPy.* from cdn\.jsdelivr\.net/);
      assert.deepEqual(askedByTheSite(proxy.asked()), [], "nobody is asked before the reader agrees");
      await browser.click({ role: "button", name: "Load and run", within: first.host });
      await first.ended();
      assert.match(await first.output(), /NumPy could not be downloaded/);
      const hosts = new Set(askedByTheSite(proxy.asked()).map((address) => new URL(address).hostname));
      assert.deepEqual([...hosts], ["cdn.jsdelivr.net"], "only Pyodide's own distribution was asked");
      const before = askedByTheSite(proxy.asked());
      await first.write("import js; await js.fetch('https://cdn.jsdelivr.net/pyodide/?secret')");
      assert.match(await first.run(), /cannot be asked from here/, "what the reader agreed to is the packages alone");
      assert.deepEqual(askedByTheSite(proxy.asked()), before);
      await first.write("print('Python lives on')");
      assert.equal(await first.run(), "Python lives on");
    },
    { foreign: true },
  );

  full("snippets: one inside content tabs runs after its tab is opened", async (all) => {
    const { browser, server } = all;
    const page = pagesWith(all, "tabbed-block").find((one) => /tabbed-block[\s\S]*<live-snippet/.test(htmlOf(all, one)));
    assert.ok(page !== undefined, "a page of the site has a snippet inside content tabs");
    await browser.open(server.base + page);
    const name = await browser.eval(() => {
      const inTabs = [...document.querySelectorAll(".tabbed-block live-snippet")];
      return /** @type {HTMLElement} */ (inTabs.at(-1))?.dataset.name ?? "";
    });
    const snippet = new Snippet(browser, name);
    await openTabAround(browser, snippet.host);
    await snippet.ready();
    await snippet.write("print('in a tab')");
    assert.equal(await snippet.run(), "in a tab");
  });
}

/** The two snippets of the act's page. @param {World} world */
async function openTwo({ browser, server }) {
  await browser.open(server.base + ACT);
  const names = await browser.eval(() =>
    [...document.querySelectorAll("live-snippet")].map((host) => /** @type {HTMLElement} */ (host).dataset.name ?? ""),
  );
  assert.ok(names.length >= 2, "the act's page has two snippets");
  const [first, second] = [new Snippet(browser, names[0] ?? ""), new Snippet(browser, names[1] ?? "")];
  await first.ready();
  await second.ready();
  return { first, second };
}

/** Opens the content tab that holds an element, if one does. @param {import("../harness/browser.mjs").Browser} browser @param {string} selector */
async function openTabAround(browser, selector) {
  const label = await browser.eval((inside) => {
    const block = document.querySelector(inside)?.closest(".tabbed-block");
    if (!block) return null;
    const index = [...(block.parentElement?.children ?? [])].indexOf(block);
    const set = block.closest(".tabbed-set");
    return [...(set?.querySelectorAll(":scope > .tabbed-labels > label") ?? [])][index]?.getAttribute("for") ?? null;
  }, selector);
  if (label) await browser.click(`label[for="${label}"]`);
}
