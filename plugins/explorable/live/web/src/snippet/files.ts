// The data files of a snippet, and the one that the reader opens: it goes to the page's Python and to nobody else.
import { h, setText } from "../dom";
import type { DataFile } from "../python/protocol";

/** Bytes of a file that a page's Python can well hold beside what it computes. */
const MOST_BYTES = 50_000_000;
const STAYS = "It stays in this browser: the page sends nothing of it, and keeps nothing.";

export class SnippetFiles {
  readonly #given: readonly DataFile[];
  #own: DataFile | null = null;

  /** `place` is where the reader chooses, or null; `changed` is called after a choice. */
  constructor(host: HTMLElement, place: HTMLElement | null, changed: () => void, signal: AbortSignal) {
    const listed = JSON.parse(host.dataset.files ?? "[]") as { name: string; url: string }[];
    this.#given = listed.map(({ name, url }) => ({ name, url: new URL(url, document.baseURI).href }));
    if (place) this.#offer(place, place.dataset.opens ?? "", changed, signal);
  }

  /** What the code finds when it runs. */
  get all(): readonly DataFile[] {
    return this.#given.map((file) => (this.#own?.name === file.name ? this.#own : file));
  }

  #offer(place: HTMLElement, name: string, changed: () => void, signal: AbortSignal): void {
    const id = `${place.closest("live-snippet")?.getAttribute("data-name") ?? ""}-file`;
    const input = h("input", { type: "file", class: "il-vh", id });
    const label = h("label", { class: "il-button", for: id }, `Open your own ${name}`);
    const back = h("button", { type: "button", class: "il-button il-button--quiet", hidden: true }, "Use the page's file");
    const said = h("span", { class: "il-help", role: "status" }, STAYS);
    const told = (text: string, own: DataFile | null): void => {
      this.#own = own;
      back.hidden = own === null;
      setText(said, text);
      changed();
    };
    input.addEventListener(
      "change",
      () => {
        const file = input.files?.[0];
        input.value = "";
        if (!file) return;
        if (file.size > MOST_BYTES) return setText(said, `${file.name} has ${inMegabytes(file.size)}, and ${inMegabytes(MOST_BYTES)} can be opened.`);
        void file.arrayBuffer().then(
          (bytes) => told(`${file.name}, ${inMegabytes(file.size)}, is read as ${name} when you press Run. ${STAYS}`, { name, data: new Uint8Array(bytes) }),
          () => setText(said, `${file.name} could not be read.`),
        );
      },
      { signal },
    );
    back.addEventListener("click", () => told(STAYS, null), { signal });
    place.replaceChildren(h("span", { class: "il-ledger__file" }, input, label), " ", back, " ", said);
  }
}

const inMegabytes = (bytes: number): string => `${(bytes / 1e6).toLocaleString("en-US", { maximumSignificantDigits: 2 })} MB`;
