// The state as texts for other programs: made when they are asked for, to copy or to save.
import { h, setText } from "../dom";
import type { State } from "../python/protocol";
import { addressOf } from "./address";
import type { Desk } from "./desk";

const COPIED_MS = 2500;

export class Exports {
  readonly #desk: Desk;
  readonly #place: HTMLDetailsElement;
  readonly #texts = h("div");

  constructor(place: HTMLElement, desk: Desk) {
    this.#desk = desk;
    this.#place = place as HTMLDetailsElement;
    place.append(this.#texts);
    place.addEventListener("toggle", () => this.follow(desk.state()), { signal: desk.signal });
  }

  follow(state: State): void {
    if (this.#place.open) void this.#show(state);
  }

  async #show(state: State): Promise<void> {
    const texts = (await this.#desk.tell("exports", [], state).catch((error: unknown) => ({ "": error instanceof Error ? error.message : "" }))) as Record<string, string> | null;
    if (!texts) return;
    await this.#addLink(texts, state);
    this.#texts.replaceChildren(
      ...Object.entries(texts).map(([name, text]) =>
        // What has no name is told: why there is nothing, or not all.
        !name ? h("div", { class: "il-help" }, ...text.split("\n").map((line) => h("p", {}, line))) : h("div", { class: "il-export" }, h("p", {}, h("b", {}, name), " ", this.#copy(name, text), " ", this.#save(name, text)), h("pre", { tabindex: "0" }, h("code", {}, text)))),
    );
  }

  /** A text to post says where its plan stands, on a page whose address holds it. */
  async #addLink(texts: Record<string, string>, { context, controls }: State): Promise<void> {
    const { host, name, defaults } = this.#desk;
    const posted = Object.keys(texts).find((one) => one.endsWith("(Markdown)"));
    if (!posted || host.dataset.linked === undefined) return;
    const address = await addressOf(location.href, name, { context, controls }, defaults());
    texts[posted] = `${texts[posted]?.trimEnd() ?? ""}\n\n[This plan](${address})\n`;
  }

  #copy(name: string, text: string): HTMLElement {
    const button = h("button", { type: "button", class: "il-button il-button--quiet", "aria-label": `Copy ${name}` }, "Copy");
    const copied = (said: string): void => {
      setText(button, said);
      this.#desk.announce(`${name}: ${said}.`);
      window.setTimeout(() => setText(button, "Copy"), COPIED_MS);
    };
    button.addEventListener("click", () => void navigator.clipboard.writeText(text).then(() => copied("Copied"), () => copied("Not copied")), { signal: this.#desk.signal });
    return button;
  }

  #save(name: string, text: string): HTMLElement {
    const address = `data:text/plain;charset=utf-8,${encodeURIComponent(text)}`;
    return h("a", { href: address, download: name.includes(".") ? name : `${name}.txt`, "aria-label": `Save ${name}` }, "Save");
  }
}
