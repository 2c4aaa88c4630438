// <live-exercise>: the reader completes a function; tests say how far it is, hints come on request, the solution after a try.
import { containKeys, find, h, putChildren, setText, slot } from "../dom";
import type { Part } from "../element";
import { documentLedger } from "../ledger/ledger";
import { documentPython } from "../python/interpreter";
import type { Tests } from "../python/protocol";
import { showTrouble } from "../python/status";
import { perhapsTooOld } from "../release";
import { sitePath } from "../site";
import { handleOf, type Handle, type Tested } from "../snippet/snippet";
import { accountOf, attemptsOf, entryName, memoryWith, outcomeWords, stageOfExercise, type Attempts } from "./attempts";

/** What a reader gets who checks, or asks for a hint: the tests, and the hints as HTML. */
interface GivenLater extends Tests {
  hints: string[];
}

const NOT_KEPT = "This is code that came from elsewhere, so your ledger does not keep it.";

export const mount = (host: HTMLElement): Part => new ExercisePart(host);

class ExercisePart implements Part {
  readonly #host: HTMLElement;
  readonly #ledger = documentLedger();
  readonly #gone = new AbortController();
  readonly #unsubscribe: () => void;
  readonly #entry: string;
  readonly #check: HTMLButtonElement;
  readonly #hint: HTMLButtonElement | null;
  readonly #solution: HTMLButtonElement;
  readonly #last = h("button", { type: "button", class: "il-button il-button--quiet", "data-action": "last" }, "Your last attempt");
  #given: Promise<GivenLater> | null = null;
  #shownHints = 0;

  constructor(host: HTMLElement) {
    this.#host = host;
    this.#entry = entryName(host.dataset.exercise ?? "");
    this.#check = find(host, '[data-action="run-tests"]');
    this.#hint = host.querySelector('[data-action="hint"]');
    this.#solution = find(host, '[data-action="solution"]');
    const { signal } = this.#gone;
    containKeys(host, signal);
    this.#check.addEventListener("click", () => void this.#tests(), { signal });
    this.#hint?.addEventListener("click", () => void this.#nextHint(), { signal });
    this.#solution.addEventListener("click", () => void this.#open(), { signal });
    this.#last.addEventListener("click", () => this.#recall(), { signal });
    this.#solution.after(" ", this.#last);
    this.#unsubscribe = this.#ledger.subscribe((acts) => acts.has(this.#entry) && this.#show());
    this.#show();
  }

  onscreen(): void {}
  offscreen(): void {}

  gone(): void {
    this.#gone.abort();
    this.#unsubscribe();
  }

  get #attempts(): Attempts {
    return attemptsOf(this.#ledger.entry(this.#entry));
  }

  get #snippet(): HTMLElement {
    return find(this.#host, "live-snippet");
  }

  get #handle(): Handle | undefined {
    return handleOf(this.#snippet);
  }

  async #tests(): Promise<void> {
    const handle = this.#handle;
    if (this.#check.getAttribute("aria-disabled") === "true") return;
    if (!handle) return this.#say("The editor has not arrived yet. Try again in a moment.");
    this.#busy(true);
    this.#say("");
    try {
      const { tests, hidden } = await this.#later();
      const tested = await handle.check({ tests, hidden });
      if (this.#gone.signal.aborted) return;
      if (tested) this.#judge(tested);
      else this.#say("The tests did not run; see above.");
    } catch (error) {
      this.#missing("The tests", error, () => void this.#tests());
    } finally {
      this.#busy(false);
    }
  }

  #judge({ source, checks, linked }: Tested): void {
    const solved = checks.length > 0 && checks.every(({ passed }) => passed);
    const list = slot(this.#host, "checks");
    const rows = checks.map(({ label, hidden, passed, said, line }) => {
      const where = line === null ? "" : ` (line ${line} of your code)`;
      const words = h("span", {}, h("span", { class: "il-vh" }, passed ? "Passed: " : "Failed: "), hidden ? label : h("code", {}, label));
      const row = h("li", { "data-passed": String(passed) }, words);
      if (said) row.append(" ", h("span", { class: "il-exercise__gave" }, `${said}${where}`));
      return row;
    });
    putChildren(list, rows);
    list.hidden = !rows.length;
    // A stranger's program can say of itself what it likes.
    if (linked) return this.#say(`${outcomeWords(checks)} ${NOT_KEPT}`);
    this.#say(outcomeWords(checks));
    const before = this.#attempts;
    this.#keep({
      ...before,
      tries: before.tries + 1,
      code: source,
      passed: checks.filter(({ passed }) => passed).length,
      of: checks.length,
      ...(solved ? { solved: before.solved ?? Date.now() } : {}),
    });
  }

  async #nextHint(): Promise<void> {
    try {
      const { hints } = await this.#later();
      if (this.#gone.signal.aborted) return;
      const place = slot(this.#host, "hints");
      const next = hints[this.#shownHints];
      if (next === undefined) return;
      this.#shownHints += 1;
      const item = h("li", { tabindex: "-1" });
      // The build has made it, from the author's words.
      item.innerHTML = next;
      place.append(item);
      place.hidden = false;
      item.focus();
      const before = this.#attempts;
      // Who comes again and asks for the same hint has not asked for another.
      if (this.#shownHints > before.hints) this.#keep({ ...before, hints: this.#shownHints });
      this.#hint?.toggleAttribute("hidden", this.#shownHints >= hints.length);
    } catch (error) {
      this.#missing("The hint", error, () => void this.#nextHint());
    }
  }

  async #open(): Promise<void> {
    const before = this.#attempts;
    if (!before.tries) return setText(slot(this.#host, "note"), "The solution opens after your first check.");
    try {
      const { html } = await fetched<{ html: string }>(this.#host.dataset.solution);
      if (this.#gone.signal.aborted) return;
      const place = slot(this.#host, "solution");
      place.innerHTML = html;
      // On a narrow screen it scrolls sideways.
      place.querySelector("code")?.setAttribute("tabindex", "0");
      place.prepend(h("p", { class: "il-help" }, "One solution. Yours may differ and pass as well."));
      place.hidden = false;
      place.focus();
      this.#keep({ ...before, opened: before.opened ?? Date.now() });
    } catch (error) {
      this.#missing("The solution", error, () => void this.#open());
    }
  }

  /** Puts what was tested last, perhaps in another browser, into the editor. */
  #recall(): void {
    const { code } = this.#attempts;
    if (this.#ledger.entry(this.#entry)?.brought) this.#handle?.offer(code, "a ledger that you merged into yours");
    else this.#handle?.write(code);
    this.#last.hidden = true;
    this.#check.focus();
  }

  #keep(attempts: Attempts): void {
    const account = accountOf(this.#host, attempts, sitePath(location.href) ?? "", documentPython().engine);
    this.#ledger.write(this.#entry, stageOfExercise(attempts), memoryWith(attempts), account);
  }

  #show(): void {
    const { tries, opened, code, hints } = this.#attempts;
    this.#solution.setAttribute("aria-disabled", String(!tries));
    if (tries) setText(slot(this.#host, "note"), "");
    if (!tries && !opened) {
      const place = slot(this.#host, "solution");
      place.replaceChildren();
      place.hidden = true;
    }
    if (!tries && !hints) {
      this.#shownHints = 0;
      slot(this.#host, "hints").replaceChildren();
      slot(this.#host, "hints").hidden = true;
      this.#hint?.removeAttribute("hidden");
    }
    const { source } = this.#snippet.dataset;
    const present = this.#handle?.present().source ?? source;
    this.#last.hidden = !code || code === present || present !== source;
  }

  #later(): Promise<GivenLater> {
    this.#given ??= fetched<GivenLater>(this.#host.dataset.tests).catch((error: unknown) => {
      this.#given = null;
      throw error;
    });
    return this.#given;
  }

  #busy(busy: boolean): void {
    this.#check.setAttribute("aria-disabled", String(busy));
    this.#check.setAttribute("aria-busy", String(busy));
  }

  #say(text: string): void {
    setText(slot(this.#host, "said"), text);
    showTrouble(slot(this.#host, "trouble"), null, () => undefined);
  }

  #missing(what: string, error: unknown, again: () => void): void {
    if (!(error instanceof Error)) throw error;
    void perhapsTooOld();
    showTrouble(slot(this.#host, "trouble"), `${what} could not be downloaded.`, again);
  }
}

async function fetched<T>(address: string | undefined): Promise<T> {
  const answer = await fetch(new URL(address ?? "", document.baseURI));
  if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
  return (await answer.json()) as T;
}
