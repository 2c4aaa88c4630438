// A snippet as a reader handles it: its editor, its buttons, its output.
// @ts-check
import { WAIT_MS } from "../harness/browser.mjs";
import { ACT, START_LIMIT_MS } from "./act_page.mjs";

/** @typedef {import("../harness/browser.mjs").Browser} Browser */

/** One snippet of a page, by its name. */
export class Snippet {
  /** @param {Browser} browser @param {string} name */
  constructor(browser, name) {
    this.browser = browser;
    this.host = `live-snippet[data-name="${name}"]`;
  }

  /** @param {"Run" | "Run all below" | "Retry" | "Stop" | "Reset"} name */
  button(name) {
    return { role: "button", name, exact: true, within: this.host };
  }

  ready() {
    return this.browser.waitFor(`${this.host}[data-ready="true"]`, WAIT_MS, "the snippet's code");
  }

  /** Puts a text in place of the code, through the editor, with the keyboard. @param {string} code */
  async write(code) {
    await this.focusEditor();
    await this.browser.press("Control+a");
    await this.browser.type(code);
  }

  /** Opens the editor as a reader does: by a click into the code. */
  async focusEditor() {
    const editor = `${this.host} .cm-content`;
    await this.browser.click((await this.browser.has(editor)) ? editor : `${this.host} [data-slot="code"] pre`);
    await this.browser.waitFor(editor, WAIT_MS, "the editor");
    await this.browser.waitFor(() => document.activeElement?.classList.contains("cm-content"), WAIT_MS, "the editor's focus");
  }

  code() {
    return this.browser.of(`${this.host} .cm-content`, (content) =>
      [...content.querySelectorAll(".cm-line")].map((line) => line.textContent).join("\n"),
    );
  }

  /** Runs by the button and waits for the end; returns the output. A click that starts nothing is an error: the output would be an older one. */
  async run() {
    await this.ready();
    await this.browser.of(this.#announcement, (place) => (place.textContent = ""));
    await this.browser.click(this.button("Run"));
    await this.ended();
    await this.browser.waitFor(`${this.#announcement}:not(:empty)`, WAIT_MS, "word that the code ran");
    return this.output();
  }

  get #announcement() {
    return `${this.host} [data-slot="announce"]`;
  }

  /** Waits until no run is under way: Stop has nothing to stop. */
  ended() {
    return this.browser.waitFor(
      `${this.host} [data-action="stop"][aria-disabled="true"]`,
      START_LIMIT_MS,
      "the run to end",
    );
  }

  running() {
    return this.browser.waitFor(`${this.host} [data-slot="state"][data-phase="running"]`, START_LIMIT_MS, "the run");
  }

  /** What stands under the code: printed text, result and error. */
  output() {
    return this.browser.of(this.host, (host) =>
      [...host.querySelectorAll('[data-slot="output"], [data-slot="result"], [data-slot="error"]')]
        .filter((element) => !element.hidden)
        .map((element) => element.textContent.trim())
        .join("\n"),
    );
  }
}

/** Opens a page whose snippet has this code. Not typed, because the editor would indent it a second time.
 * @param {import("../harness/world.mjs").World} world @param {string} code */
export async function snippetWith({ browser, server }, code) {
  await browser.open(server.base + ACT);
  return snippetHere(browser, code);
}

/** The same in the page that is open, whose Python lives on. @param {Browser} browser @param {string} code */
export async function snippetHere(browser, code) {
  const snippet = new Snippet(browser, await browser.of("live-snippet", (host) => host.dataset.name));
  await snippet.ready();
  await browser.eval((text) => {
    const host = /** @type {HTMLElement} */ (document.querySelector("live-snippet"));
    host.dataset["source"] = text;
    const fresh = /** @type {HTMLElement} */ (host.cloneNode(true));
    // A clone has the mark of the first one: without this, `ready` would not wait for the new one's program.
    delete fresh.dataset["ready"];
    host.replaceWith(fresh);
  }, code);
  await snippet.ready();
  return snippet;
}
