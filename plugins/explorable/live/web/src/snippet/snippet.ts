// <live-snippet>: the baked code becomes an editor on the first touch, and Run, Stop and Reset work on it.
import { bookId } from "../release";
import type { Outcome, Run, Snippet } from "../python/client";
import { all, containKeys, find, h, setText, slot } from "../dom";
import type { CodeMetrics, Editor } from "./editor";
import type { Part } from "../element";
import type { Check, Drawing, Tests } from "../python/protocol";
import { SnippetFiles } from "./files";
import { followFrame, frameIn, showFrame } from "./frame";
import { KeptCode } from "./kept";
import { LinkedCode } from "./linked";
import { perhapsTooOld } from "../release";
import { proper } from "../python/elsewhere";
import { documentPython } from "../python/interpreter";
import { describe, showChip, type Phase, type Status } from "../python/status";
import { fingerprint } from "../storage";

const HINT =
  "Press Control and Enter to run, Control and Space to complete a name. After you type, Tab indents; press Escape and then Tab to leave the editor.";

/** How this snippet's last run ended; `static` shows the page's own output. */
type State = "static" | "ran" | "failed" | "stopped";

export const mount = (host: HTMLElement): Part => new SnippetPart(host);

class SnippetPart implements Part {
  readonly #host: HTMLElement;
  readonly #python = documentPython();
  readonly #gone = new AbortController();
  readonly #baked: Snippet;
  readonly #bakedOutput: Output;
  readonly #code: HTMLElement;
  readonly #unsubscribe: () => void;
  #editor: Promise<Editor | null> | null = null;
  #text: string;
  #run: Run | null = null;
  #state: State = "static";
  #line: number | null = null;
  /** Python did not start, or broke down: Run tries again, and is called so. */
  #lost = false;
  /** The code whose output is shown. */
  #ranText: string;
  /** What became of the tests of an exercise, when it was tested last. */
  #checks: Check[] | null = null;
  readonly #kept: KeptCode;
  readonly #linked: LinkedCode;
  readonly #files: SnippetFiles;

  constructor(host: HTMLElement) {
    this.#host = host;
    const { page = "", name = "", source = "" } = host.dataset;
    this.#baked = { page, name, source };
    this.#bakedOutput = readOutput(host);
    this.#code = slot(host, "code");
    const { signal } = this.#gone;
    this.#kept = new KeptCode(host, `${bookId()}/snippet/${page}/${name}/${fingerprint(source)}`, source, (text) => this.#elsewhere(text), signal);
    this.#text = this.#kept.text;
    this.#ranText = source;

    containKeys(host, signal);
    this.#button("run").addEventListener("click", () => void this.#start(), { signal });
    this.#button("stop").addEventListener("click", () => this.#stop(), { signal });
    this.#button("reset").addEventListener("click", () => this.#reset(), { signal });
    host.querySelector('[data-action="run-below"]')?.addEventListener("click", () => void this.#runBelow(), { signal });
    this.#enhanceCode(signal);
    followFrame(slot(host, "html"), signal);
    this.#unsubscribe = this.#python.subscribe((status) => this.#show(status));
    // Edits from an earlier visit are shown at once: the page must not pretend that the baked code is what would run.
    if (this.#text !== source) void this.#open();
    this.#files = new SnippetFiles(host, host.querySelector('[data-slot="file"]'), () => this.#show(this.#python.status), signal);
    this.#linked = new LinkedCode(
      {
        host,
        name,
        text: () => this.#text,
        show: async (code) => {
          const editor = await this.#open();
          if (editor) editor.text = code;
          return editor !== null;
        },
        keep: () => this.#kept.keep(this.#text),
      },
      signal,
    );
    pageSnippets.set(host, {
      present: () => ({ ...this.#baked, source: this.#linked.own, linked: this.#linked.strange, files: this.#files.all }),
      run: () => (this.#linked.free ? this.#start() : Promise.resolve("stopped")),
      check: (tests) => this.#check(tests),
      write: (text) => void this.#open().then((editor) => editor && (editor.text = text)),
      offer: (text, source) => void this.#linked.offer(text, source),
    });
  }

  onscreen(): void {}
  offscreen(): void {}

  gone(): void {
    this.#gone.abort();
    this.#unsubscribe();
    this.#run?.stop();
    pageSnippets.delete(this.#host);
    // The element may be shown again later: it goes back to the baked code, from which a new editor is made.
    void this.#editor?.then((editor) => {
      editor?.destroy();
      for (const node of all(this.#code, ".il-editor, .il-vh")) node.remove();
      delete this.#code.dataset.editing;
    });
    this.#editor = null;
  }

  #enhanceCode(signal: AbortSignal): void {
    const code = this.#code;
    code.setAttribute("role", "textbox");
    code.setAttribute("aria-multiline", "true");
    code.setAttribute("aria-label", this.#label);
    code.addEventListener(
      "click",
      (event) => {
        // A reader who selects text to copy it is not asking for an editor.
        if (document.getSelection()?.isCollapsed !== false) this.#edit({ x: event.clientX, y: event.clientY });
      },
      { signal },
    );
    let pointer = false;
    code.addEventListener("pointerdown", () => (pointer = true), { signal });
    code.addEventListener(
      "focus",
      () => {
        if (!pointer) this.#edit();
        pointer = false;
      },
      { signal },
    );
  }

  #edit(point?: { x: number; y: number }): void {
    if (this.#code.dataset.editing) return;
    // The editor first: on a slow line it would share that with Python, which is needed later and forty times as large.
    void this.#open().then((editor) => {
      const at = document.activeElement;
      // On a slow line the reader may have gone on meanwhile.
      if (at === document.body || this.#code.contains(at)) editor?.focus(point);
      this.#python.start();
    });
  }

  /** The editor, made on the first call. Null when its code could not be fetched: Run works without it. */
  #open(): Promise<Editor | null> {
    this.#editor ??= import("./editor").then(
      ({ Editor }) => this.#makeEditor(Editor),
      (error: unknown) => {
        this.#editor = null;
        void perhapsTooOld();
        slot(this.#host, "announce").textContent = "The editor did not load.";
        console.error("explorable: the editor did not load; the code can be run but not edited.", error);
        return null;
      },
    );
    return this.#editor;
  }

  #makeEditor(Kind: typeof Editor): Editor {
    const baked = find(this.#code, "pre");
    const hint = h("p", { class: "il-vh", id: `${elementId(this.#host)}-hint` }, HINT);
    const parent = h("div", { class: "il-editor highlight" });
    const metrics = measure(baked);
    this.#code.append(parent, hint);
    const editor = new Kind(
      {
        parent,
        text: this.#text,
        label: this.#label,
        hintId: hint.id,
        changed: (text) => this.#changed(text),
        run: () => void this.#start(),
        complete: (text, at) => this.#python.complete(this.#baked.page, text, at),
      },
      metrics,
    );
    this.#code.dataset.editing = "true";
    for (const name of ["role", "aria-multiline", "aria-label", "tabindex"]) this.#code.removeAttribute(name);
    this.#showButtons();
    return editor;
  }

  get #label(): string {
    return `Python code: ${this.#baked.name}`;
  }

  #changed(text: string): void {
    this.#text = text;
    // It was asked for other code.
    slot(this.#host, "ask").replaceChildren();
    if (!this.#linked.shown) this.#kept.keep(text);
    this.#show(this.#python.status);
  }

  /** Another tab has written: what stands here follows, so that no edit takes the place of one that nobody saw. */
  #elsewhere(text: string): void {
    if (text === this.#text || this.#linked.shown) return;
    this.#text = text;
    // The editor may have to be fetched first, and the other tab may have gone on meanwhile.
    void this.#open().then((editor) => editor?.follow(this.#text));
    this.#show(this.#python.status);
  }

  /** Runs this snippet and all below it, one after the other, until one of them fails or is stopped. */
  async #runBelow(): Promise<void> {
    this.#linked.agree();
    const chain = fromHere(this.#host);
    for (const [count, host] of chain.entries()) {
      const ended = await pageSnippets.get(host)?.run();
      if (ended === "ran" || (ended === "failed" && isMeantToFail(host))) continue;
      host.scrollIntoView({ block: "center", behavior: "instant" });
      slot(this.#host, "announce").textContent = `Stopped after ${count} of ${chain.length} programs.`;
      return;
    }
    slot(this.#host, "announce").textContent = `All ${chain.length} programs ran.`;
  }

  /** Tests the code, alone. Null where it did not come to the tests: the snippet says why. */
  async #check(tests: Tests): Promise<Tested | null> {
    if (this.#run) return null;
    this.#checks = null;
    const source = this.#text;
    const linked = this.#linked.shown;
    await this.#start(tests);
    return this.#checks && { source, checks: this.#checks, linked };
  }

  /** Runs the code and says how that ended; what runs already is waited for. */
  async #start(tests?: Tests): Promise<State> {
    if (this.#run) {
      await this.#run.outcome;
      return this.#state;
    }
    this.#lost = false;
    this.#linked.agree();
    void this.#open().then((editor) => editor?.markLine(null));
    this.#ranText = this.#text;
    const output = slot(this.#host, "output");
    let fresh = true;
    const said = (text: string): void => {
      if (fresh) writeOutput(this.#host, NO_OUTPUT);
      fresh = false;
      output.hidden = false;
      output.append(text);
    };
    const program = { ...this.#baked, source: this.#text, linked: this.#linked.strange, files: this.#files.all };
    this.#run = this.#python.run(program, tests ? [] : before(this.#host), said, tests);
    slot(this.#host, "ask").replaceChildren();
    slot(this.#host, "announce").textContent = "";
    this.#host.dataset.stale = "true";
    this.#show(this.#python.status);
    this.#finish(program, await framed(await this.#run.outcome), fresh);
    return this.#state;
  }

  #finish(program: Snippet, outcome: Outcome, silent: boolean): void {
    this.#run = null;
    // Where a stopped run has written nothing, what stands there is still an older run's.
    if (outcome.kind !== "stopped" || !silent) delete this.#host.dataset.stale;
    const output = silent ? "" : (slot(this.#host, "output").textContent ?? "");
    if (outcome.kind === "stopped") {
      if (!silent) writeOutput(this.#host, { ...NO_OUTPUT, output });
      this.#become("stopped");
      return;
    }
    if (outcome.kind === "asks") return this.#ask(program, outcome);
    if (outcome.kind === "ran" && outcome.checks) this.#checks = outcome.checks;
    const { result, error, figures, html = null } =
      outcome.kind === "ran" ? outcome : { result: null, error: { text: outcome.message, line: null }, figures: [] };
    this.#lost = outcome.kind === "problem" && outcome.lost;
    writeOutput(this.#host, { output, result, error, pictures: figures.map(pictureOf), html });
    void this.#open().then((editor) => editor?.markLine(error?.line ?? null));
    this.#become(error ? "failed" : "ran", error?.line ?? null);
  }

  /** The code needs a package that this site does not have: the reader decides whether another host is asked. */
  #ask(program: Snippet, { packages, hosts }: Extract<Outcome, { kind: "asks" }>): void {
    writeOutput(this.#host, NO_OUTPUT);
    this.#become("stopped");
    // Meanwhile other code may stand here, perhaps a link's: the button would run that.
    if (this.#text !== program.source) return;
    const place = slot(this.#host, "ask");
    const load = h("button", { type: "button", class: "il-button il-button--primary", "data-action": "load" }, "Load and run");
    const leave = h("button", { type: "button", class: "il-button", "data-action": "leave" }, "Do not load");
    load.addEventListener("click", () => {
      this.#python.agree(program, packages);
      void this.#start();
    });
    leave.addEventListener("click", () => place.replaceChildren());
    const needs = `This site does not have ${proper(packages.join(", "))}. It can be loaded from ${hosts.join(", ")}, which then learns your network address.`;
    place.replaceChildren(h("p", { role: "alert" }, needs), h("p", {}, load, " ", leave));
  }

  #stop(): void {
    this.#run?.stop();
  }

  #reset(): void {
    if (this.#button("reset").getAttribute("aria-disabled") === "true") return;
    // Later snippets use this one's names: as in the page again, not as the edited code left them.
    this.#python.forget(this.#baked.page, fromHere(this.#host).map((host) => host.dataset.name ?? ""));
    if (this.#linked.shown) return this.#linked.back();
    this.#run?.stop();
    this.#text = this.#baked.source;
    this.#ranText = this.#text;
    this.#kept.keep(this.#text);
    slot(this.#host, "ask").replaceChildren();
    void this.#editor?.then((editor) => {
      if (!editor) return;
      editor.text = this.#baked.source;
      editor.markLine(null);
    });
    writeOutput(this.#host, this.#bakedOutput);
    delete this.#host.dataset.stale;
    this.#become("static");
    slot(this.#host, "announce").textContent = "Reset to the code of the page.";
  }

  #become(state: State, line: number | null = null): void {
    this.#state = state;
    this.#line = line;
    this.#show(this.#python.status);
    const said = { static: "", ran: "The code ran.", failed: `The code failed${at(line)}.`, stopped: "Stopped." }[state];
    if (said) slot(this.#host, "announce").textContent = said;
  }

  #show(status: Status): void {
    const chip = slot(this.#host, "state");
    if (this.#run) showChip(chip, status);
    else showChip(chip, { ...status, phase: this.#ownPhase(status) }, this.#ownWords(status));
    this.#showButtons();
  }

  #ownPhase(status: Status): Phase {
    if (this.#state === "failed") return "error";
    return this.#state === "stopped" ? "stopped" : status.phase;
  }

  #ownWords(status: Status): string {
    if (this.#text !== this.#ranText) return "edited, not run";
    if (this.#state === "failed") return `error${at(this.#line)}`;
    if (this.#state === "stopped") return status.phase === "stopped" ? "stopped, restarting" : "stopped";
    if (this.#state === "ran") return "ran";
    return status.phase === "running" ? "" : describe(status);
  }

  #showButtons(): void {
    const pristine = this.#text === this.#baked.source && this.#state === "static";
    setText(this.#button("run"), this.#lost ? "Retry" : "Run");
    this.#button("run").setAttribute("aria-disabled", String(this.#run !== null));
    this.#button("stop").setAttribute("aria-disabled", String(this.#run === null));
    this.#button("reset").setAttribute("aria-disabled", String(pristine));
  }

  #button(action: string): HTMLButtonElement {
    return find<HTMLButtonElement>(this.#host, `[data-action="${action}"]`);
  }
}

/** Every live snippet of the document: its present source, and the way to run it. */
const pageSnippets = new Map<HTMLElement, Handle>();

/** What others may do with a snippet. */
export interface Handle {
  present(): Snippet;
  run(): Promise<State>;
  check(tests: Tests): Promise<Tested | null>;
  write(text: string): void;
  /** Shows code that may be anybody's, as that of a link. */
  offer(text: string, source: string): void;
}

/** Code and what became of its tests; of code that failed before them, none. */
export interface Tested {
  source: string;
  checks: Check[];
  /** Whether the code came with a link. */
  linked: boolean;
}

/** The snippet's handle; undefined until its code has arrived. */
export const handleOf = (host: HTMLElement): Handle | undefined => pageSnippets.get(host);

/** All snippets of the page that this one is on, in order. */
function ofPage(host: HTMLElement): HTMLElement[] {
  return all(document, "live-snippet").filter((other) => other.dataset.page === host.dataset.page);
}

/** The snippet and all below it on its page, in order. */
function fromHere(host: HTMLElement): HTMLElement[] {
  const snippets = ofPage(host);
  return snippets.slice(snippets.indexOf(host));
}

/** Whether the page shows this code for its error. */
const isMeantToFail = (host: HTMLElement): boolean => slot(host, "error").dataset.line !== undefined;

/** The snippets above this one on its page whose code is meant to succeed, in order. */
function before(host: HTMLElement): Snippet[] {
  const snippets = ofPage(host);
  return snippets
    .slice(0, snippets.indexOf(host))
    .filter((other) => !isMeantToFail(other))
    .flatMap((other) => pageSnippets.get(other)?.present() ?? []);
}

/** The outcome with its HTML as a document for a frame, which the page makes, or as text, where a browser would take long for it: what Python says may be any program's word. */
async function framed(outcome: Outcome): Promise<Outcome> {
  if (outcome.kind !== "ran" || !outcome.html) return outcome;
  const { html } = outcome;
  try {
    const { documentOf } = await import("./sanitize");
    const page = documentOf(html);
    return page === null ? { ...outcome, html: null, result: html } : { ...outcome, html: page };
  } catch (error) {
    void perhapsTooOld();
    console.error("explorable: the part of the page that shows HTML did not load.", error);
    return { ...outcome, html: null, result: html };
  }
}

interface Output {
  output: string;
  result: string | null;
  error: { text: string; line: number | null } | null;
  pictures: Picture[];
  /** A document for a frame. */
  html: string | null;
}

/** A figure as a picture: nothing in it can run, and nothing be loaded by it. */
interface Picture {
  src: string;
  alt: string;
}

const NO_OUTPUT: Output = { output: "", result: null, error: null, pictures: [], html: null };

function pictureOf({ svg, name }: Drawing): Picture {
  return { src: `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`, alt: name || "Figure" };
}

function readOutput(host: HTMLElement): Output {
  const result = slot(host, "result");
  const error = slot(host, "error");
  const line = Number(error.dataset.line);
  return {
    output: slot(host, "output").textContent ?? "",
    result: result.hidden ? null : result.textContent,
    error: error.hidden ? null : { text: error.textContent ?? "", line: line || null },
    pictures: all<HTMLImageElement>(slot(host, "figures"), "img").map(({ src, alt }) => ({ src, alt })),
    html: frameIn(slot(host, "html"))?.srcdoc ?? null,
  };
}

function writeOutput(host: HTMLElement, { output, result, error, pictures, html }: Output): void {
  const put = (name: string, text: string | null): void => {
    const element = slot(host, name);
    setText(element, text ?? "");
    element.hidden = !text;
  };
  put("output", output);
  put("result", result);
  put("error", error?.text ?? null);
  const figures = slot(host, "figures");
  figures.replaceChildren(...pictures.map(({ src, alt }) => h("img", { src, alt })));
  figures.hidden = !pictures.length;
  showFrame(slot(host, "html"), html, `Result of ${host.dataset.name ?? ""}`);
}

function at(line: number | null): string {
  return line === null ? "" : ` on line ${line}`;
}

function measure(baked: HTMLElement): CodeMetrics {
  const code = baked.querySelector("code") ?? baked;
  const style = getComputedStyle(code);
  return {
    fontFamily: style.fontFamily,
    fontSize: style.fontSize,
    lineHeight: style.lineHeight,
    padding: {
      top: style.paddingTop,
      right: style.paddingRight,
      bottom: style.paddingBottom,
      left: style.paddingLeft,
    },
  };
}

function elementId(host: HTMLElement): string {
  const { page = "", name = "" } = host.dataset;
  return `il-${fingerprint(`${page}#${name}`)}`;
}
