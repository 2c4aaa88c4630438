// What an act's page shows of Python's answers beside its charts: number, tables, verdict, feedback, and how Python is.
import { all, find, h, putChildren, setText, slot } from "../dom";
import { showBelow } from "./focus";
import { blanks } from "./reflections";
import type { Feedback, Verdict, View } from "../python/protocol";
import { renderFailure, renderFeedback, renderSuccess, renderTable, renderVerdict, unbroken } from "./render";
import type { Stale } from "./state";
import { showChip, showTrouble, type Status } from "../python/status";

/** What is dimmed then. */
const ANSWER =
  ".il-headline__label, .il-headline__figure, .il-headline__flag, .il-chart, .il-failure-slot, .il-suggestions, .il-beside, .il-bench__tables, .il-reveal__verdict, .il-feedback";
/** Beside the number while it is of other settings; and where nobody computes for these. */
const NOT_YET = "Not yet for your settings";
const NOT = "Not for your settings";
/** The spoken summary waits until the reader's hand rests. */
const SUMMARY_MS = 500;

export class Paint {
  readonly #host: HTMLElement;
  readonly #retry: () => void;
  #failing: boolean;
  /** Null before the first view: a goal that was reached on an earlier visit is not announced again. */
  #winning: boolean | null = null;
  /** Whether a goal was reached whose message the reader has not had before them: it waits until the hand rests. */
  #toShow = false;
  #summaryTimer = 0;
  #status: Status | null = null;

  /** `retry` is what a reader asks for when something went wrong. */
  constructor(host: HTMLElement, retry: () => void) {
    this.#host = host;
    this.#retry = retry;
    this.#failing = slot(host, "headline").dataset.failed === "true";
  }

  gone(): void {
    clearTimeout(this.#summaryTimer);
  }

  /** Says something to a screen reader that others see. */
  announce(text: string): void {
    slot(this.#host, "announce").textContent = text;
  }

  /** A frame of a moving hand: what the eye follows. Tables and the spoken summary wait until it rests. `asked`: for a hint. */
  frame(view: View, asked: boolean): void {
    this.#host.dataset.live = "true";
    // Until the whole view comes, what stands beside the picture is of the state before.
    this.#host.toggleAttribute("data-framed", true);
    const { label, value, unit } = view.headline;
    setText(slot(this.#host, "headline-label"), unbroken(label));
    setText(slot(this.#host, "headline-value"), value);
    setText(slot(this.#host, "headline-unit"), unit);
    setText(slot(this.#host, "headline-flag"), view.failure?.title ?? view.success?.title ?? "");
    slot(this.#host, "headline").dataset.failed = String(view.failure !== null);
    slot(this.#host, "headline").dataset.reached = String(view.success?.marked ?? false);
    const judged = view.failure ? [renderFailure(view.failure, !this.#failing)] : view.success ? [renderSuccess(view.success, !this.#winning)] : [];
    putChildren(slot(this.#host, "failure"), judged);
    this.#hint(view.failure, asked);
    if (view.success?.marked && this.#winning === false) this.#toShow = true;
    this.#failing = view.failure !== null;
    this.#winning = view.success?.marked ?? false;
  }

  /** The button for a hint stands where a setting fails and the remedy waits for it; once it was pressed the remedy says what helps. */
  #hint(failure: View["failure"], asked: boolean): void {
    const place = this.#host.querySelector<HTMLElement>('[data-slot="hint"]');
    if (!place) return;
    const given = failure !== null && failure.remedy !== "";
    place.hidden = failure === null || (given && !asked);
    const button = find<HTMLButtonElement>(place, "button");
    // It keeps the focus of whoever pressed it, and says aloud what now stands above it.
    if (given && asked && button.getAttribute("aria-disabled") !== "true") {
      this.announce(failure.remedy);
      showBelow(slot(this.#host, "failure"), this.#host);
    }
    button.setAttribute("aria-disabled", String(given));
  }

  /** What a whole view says besides: tables, the command line, the spoken summary. */
  rest(view: View): void {
    this.#host.toggleAttribute("data-framed", false);
    if (this.#toShow && view.success?.marked) showBelow(slot(this.#host, "failure"), this.#host);
    this.#toShow = false;
    this.#makeRoom(view);
    for (const place of all(this.#host, "[data-table]")) {
      const table = view.tables[place.dataset.table ?? ""];
      putChildren(place, table ? [renderTable(table)] : []);
    }
    const command = find(this.#host, ".il-command");
    command.hidden = view.command === "";
    setText(slot(this.#host, "command"), view.command);
    clearTimeout(this.#summaryTimer);
    this.#summaryTimer = window.setTimeout(() => setText(slot(this.#host, "summary"), view.summary), SUMMARY_MS);
  }

  /** A place for every table that the baked view did not have. */
  #makeRoom({ tables }: View): void {
    const known = new Set(all(this.#host, "[data-table]").map((place) => place.dataset.table));
    const command = find(this.#host, ".il-command");
    for (const name of Object.keys(tables)) if (!known.has(name)) command.before(h("div", { class: "il-extra-table", "data-table": name }));
  }

  verdict(verdict: Verdict): void {
    putChildren(slot(this.#host, "verdict"), renderVerdict(verdict));
  }

  /** `right` names the reflections whose answers were right before. */
  feedback(form: HTMLFormElement, feedback: Feedback, right: object = {}): void {
    const chosen = new Map(blanks(form).map((one) => [one.dataset.blank ?? "", one.selectedOptions[0]?.text ?? ""]));
    putChildren(slot(form, "feedback"), renderFeedback(feedback, chosen, Object.hasOwn(right, form.dataset.reflection ?? "")));
    // Whoever has just pressed Check looks for what it says.
    if (form.contains(document.activeElement)) showBelow(slot(form, "feedback"), this.#host);
  }

  /** Whether what is shown is of other settings: it fades then, unless what matters is of these, and says so. */
  mark(stale: Stale): void {
    const fades = stale === "true" || stale === "halted";
    if (stale) this.#host.dataset.stale = fades ? "true" : stale;
    else delete this.#host.dataset.stale;
    // What is dimmed is not to be read yet. The words are no part of it: they are spoken.
    for (const part of all(this.#host, ANSWER)) {
      if (fades) part.setAttribute("aria-busy", "true");
      else part.removeAttribute("aria-busy");
    }
    setText(slot(this.#host, "wait"), stale === "halted" ? NOT : fades ? NOT_YET : "");
    this.#chip();
  }

  /** Python that is ready and still computes what is shown here has not done it. */
  #chip(): void {
    const status = this.#status;
    if (status) showChip(slot(this.#host, "state"), status, status.phase === "ready" && this.#host.dataset.stale ? "Python computes" : undefined);
  }

  /** How Python is. */
  status(status: Status): void {
    const changed = slot(this.#host, "state").dataset.phase !== status.phase;
    this.#status = status;
    this.#chip();
    find<HTMLButtonElement>(this.#host, '[data-action="stop"]').hidden = status.phase !== "loading";
    if (status.phase === "error") this.trouble(`${status.label} What you see stays as it was computed.`);
    else if (changed) this.trouble(null);
  }

  /** Python does one thing at a time: an act that waits for a reader's own program says so, and can stop it. */
  whoRuns({ phase, snippet }: Status, stop: () => void): void {
    if (phase !== "running" || !this.#host.dataset.stale) return;
    const message = `This act waits: the program “${snippet}” on this page is still running.`;
    showTrouble(slot(this.#host, "trouble"), message, stop, "Stop the program");
  }

  /** Says what went wrong, with a button to try again; null takes it back. */
  trouble(message: string | null): void {
    showTrouble(slot(this.#host, "trouble"), message, this.#retry);
  }
}
