// The content security policy: the site works under it, and Python in a snippet reaches nothing that it should not.
// @ts-check
import assert from "node:assert/strict";
import { ACT, openAct, predict, set } from "./act_page.mjs";
import { Snippet } from "./snippet_page.mjs";

/** Prints which of the browser's interfaces Python can reach. */
const PROBE = `
import js
names = ["indexedDB", "caches", "cookieStore", "BroadcastChannel", "Worker", "SharedWorker", "WebSocket", "localStorage"]
print([name for name in names if getattr(js, name, None) is not None])
print([name for name in ["storage", "locks", "serviceWorker"] if getattr(js.navigator, name, None) is not None])
for address in ["https://elsewhere.example/", js.location.origin + "/"]:
    request = js.XMLHttpRequest.new()
    try:
        request.open("GET", address, False)
        request.send()
        print("asked", request.status)
    except Exception as error:
        print("refused")
try:
    js.eval("1 + 1")
    print("evaluated")
except Exception as error:
    print("not evaluated")
`;

/** @param {import("../harness/world.mjs").Facts} facts */
export function policyTests({ everywhere, once }) {
  everywhere("policy: a snippet reaches no storage, no other worker, no foreign host, and runs no text as a script", async ({ browser, server }) => {
    await browser.open(server.base + ACT);
    const snippet = new Snippet(browser, await browser.of("live-snippet", (host) => host.dataset.name));
    await snippet.ready();
    // Not typed, because the editor would indent it a second time.
    await browser.eval((code) => {
      const host = /** @type {HTMLElement} */ (document.querySelector("live-snippet"));
      host.dataset["source"] = code;
      const copy = /** @type {HTMLElement} */ (host.cloneNode(true));
      host.replaceWith(copy);
    }, PROBE);
    await snippet.ready();
    assert.equal(await snippet.run(), "[]\n[]\nrefused\nasked 404\nnot evaluated");
    // Firefox reports what it refuses as errors of the page.
  }, { pageErrors: true });

  once("policy: acts, snippets and instant navigation do nothing that it forbids, and an injected script does nothing", async (all) => {
    const { browser, server } = all;
    await browser.open(server.base);
    await browser.eval(() => {
      const broken = /** @type {string[]} */ ([]);
      Object.assign(window, { broken });
      addEventListener("securitypolicyviolation", (event) => broken.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
    });
    const link = { role: "link", name: "Play the first act" };
    await browser.click(link);
    await browser.waitFor('live-act[data-ready="true"]');
    await predict(browser, "3");
    await set(browser, "Optimizer", "Adam");
    assert.deepEqual(await browser.eval(() => Reflect.get(window, "broken")), []);

    await openAct(all);
    await browser.eval(() => {
      document.body.insertAdjacentHTML("beforeend", `<img alt="" src="missing.png" onerror="document.title = 'injected'"><a id="lure" href="javascript:document.title='injected'">x</a>`);
      const script = document.createElement("script");
      script.textContent = "document.title = 'injected'";
      document.body.append(script);
      document.getElementById("lure")?.click();
    });
    await new Promise((done) => setTimeout(done, 300));
    assert.notEqual(await browser.eval(() => document.title), "injected");
  });
}
