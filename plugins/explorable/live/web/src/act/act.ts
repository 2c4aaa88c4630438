// <live-act>: prediction, instruments, reveal and reflection on the baked markup. What the reader does, and what the act remembers of it.
import { Chart } from "../chart/chart";
import { takeInHand } from "../chart/hands";
import { stagingOf } from "../chart/specs";
import { confirmInline } from "../confirm";
import { all, containKeys, find, h, slot } from "../dom";
import type { Part } from "../element";
import { equal } from "../equal";
import { askedAnew, lostByReset, MOST_MOVES, stageOf, type Account, type Memory, type Stage } from "../ledger/entry";
import { documentLedger } from "../ledger/ledger";
import type { State, Value } from "../python/protocol";
import { accountOf } from "./account";
import { Answers } from "./answers";
import type { Around } from "../desk/desk";
import { Bench } from "./bench";
import { keepDraft, type Draft } from "./draft";
import { bringIntoView, keepAtHand, keepFocusVisible } from "./focus";
import { Controls, type Instruments } from "./controls";
import { changes, undo, withMove } from "./moves";
import { Paint } from "./paint";
import { keepPlace } from "./place";
import { answered, nameOf, readBlanks } from "./reflections";
import type { Results } from "./results";
import { Saving } from "./saving";

export const mount = (host: HTMLElement): Part => new ActPart(host);

class ActPart implements Part {
  readonly #host: HTMLElement;
  readonly #name: string;
  readonly #ledger = documentLedger();
  readonly #gone = new AbortController();
  readonly #controls: Controls;
  readonly #bench: Bench;
  readonly #charts: Chart[];
  readonly #paint: Paint;
  readonly #answers: Answers;
  readonly #saving: Saving;
  readonly #unsubscribe: (() => void)[];
  readonly #defaults: Instruments;
  /** What stands around the instruments; null for an act without, and until its code is there. */
  #around: Around | null = null;
  #memory: Memory;
  /** What the reader has typed or dragged and not locked in. */
  #held: number | null = null;
  /** Whether a hint was asked for where the instruments stand. */
  #hint = false;
  /** Controls under a moving hand, which the memory gets when it lets go. */
  #moving: Record<string, Value> = {};

  constructor(host: HTMLElement) {
    this.#host = host;
    this.#name = host.dataset.name ?? "";
    const { signal } = this.#gone;
    const putBack = keepPlace(host, this.#name, signal);
    this.#controls = new Controls(find(host, ".il-bench__hand"), host.dataset.onlyContext ?? "");
    this.#bench = new Bench(host, () => this.#undo(), signal);
    this.#charts = all(host, "[data-chart]").map((figure) => new Chart(figure));
    this.#paint = new Paint(host, () => this.#answers.retry());
    this.#bench.grips = takeInHand({
      host,
      controls: this.#controls.root,
      charts: this.#charts,
      hand: {
        open: (sets) => this.#bench.open(sets),
        hold: (sets, value) => this.#hold(sets, value),
        drop: (sets, value) => this.#drop(sets, value),
      },
      signal,
    });
    this.#defaults = this.#controls.reset();
    this.#memory = this.#fresh(this.#defaults);
    const asking = {
      host,
      name: this.#name,
      url: new URL(host.dataset.actUrl ?? "", document.baseURI).href,
      state: () => this.#state(),
      memory: () => this.#memory,
      learn: (change: Partial<Memory>) => void (this.#memory = { ...this.#memory, ...change }),
      apply: () => this.#apply(),
      moved: () => this.#bench.history?.show(this.#memory.moves),
      account: (results: Results) => this.#account(results),
      asked: () => this.#around?.moving(),
      told: () => this.#annotate(),
    };
    this.#answers = new Answers(asking, this.#charts, this.#paint, signal);
    this.#saving = new Saving(() => this.#save(), signal);
    this.#memory = this.#kept() ?? this.#memory;
    this.#apply();
    this.#takeUp(keepDraft(this.#name, () => this.#draft(), signal));
    putBack();

    this.#listen(signal);
    this.#unsubscribe = [
      this.#answers.subscribe(),
      this.#ledger.subscribe((acts, elsewhere) => this.#ledgerChanged(acts.has(this.#name) && elsewhere)),
    ];
    this.#ledgerChanged(false);
    const around = host.querySelector("[data-desk]") !== null;
    // What is baked is not what the link says: it fades until that is computed.
    this.#answers.opened(around && this.#linked && location.hash.startsWith("#state="));
    if (around) void this.#standAround().finally(() => this.#answers.read());
  }

  onscreen(): void {
    this.#answers.start();
    for (const chart of this.#charts) chart.prepare();
  }

  offscreen(): void {
    this.#answers.visible = false;
  }

  gone(): void {
    this.#saving.flush();
    this.#gone.abort();
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#paint.gone();
    for (const chart of this.#charts) chart.gone();
  }

  #listen(signal: AbortSignal): void {
    const { question, controls, adding, reflections } = this.#bench;
    containKeys(this.#host, signal);
    keepAtHand(this.#host, signal);
    keepFocusVisible(find(this.#host, '[data-part="explore"]'), signal);
    question?.onLock((prediction) => this.#lock(prediction), signal);
    question?.onHeld(
      () => this.#typed(),
      () => this.#dragged(),
      signal,
    );
    controls.addEventListener("change", () => this.#instrumentsMoved(), { signal });
    adding?.addEventListener("change", () => this.#addedUp(), { signal });
    controls.addEventListener("input", (event) => this.#slid(event), { signal });
    this.#host.querySelector('[data-action="reveal"]')?.addEventListener("click", () => this.#reveal(), { signal });
    const hint = this.#host.querySelector('[data-action="hint"]');
    hint?.addEventListener("click", () => this.#askHint(hint), { signal });
    const warning = (): string => (question ? lostByReset(this.#memory) : "The instruments go back to where they started.");
    confirmInline(slot(this.#host, "reset"), warning, () => this.#reset(), signal);
    find(this.#host, '[data-action="stop"]').addEventListener("click", () => this.#answers.stopLoading(), { signal });
    reflections.listen(
      (form) => this.#remember(answered(form, this.#memory)),
      (form) => this.#check(form),
      signal,
    );
  }

  /** Fetches and makes what stands around the instruments. */
  async #standAround(): Promise<void> {
    const { Around } = await import("../desk/desk");
    const { signal } = this.#gone;
    if (signal.aborted) return;
    const around = new Around({
      host: this.#host,
      name: this.#name,
      signal,
      state: () => this.#state(),
      defaults: () => this.#defaults,
      tell: (what, texts, state) => this.#answers.tell(what, texts, state),
      set: (controls) => this.#put(controls),
      announce: (text) => this.#paint.announce(text),
    });
    await around.open();
    this.#around = around;
    this.#annotate();
  }

  /** Moves controls as the reader's hand does. */
  #put(controls: Record<string, Value>): void {
    this.#controls.write({ context: this.#memory.context, controls: { ...this.#memory.controls, ...controls } });
    this.#instrumentsMoved();
  }

  // What the reader does

  #lock(prediction: Memory["prediction"]): void {
    this.#held = null;
    // In an act that reveals first, locking in shows the answer.
    const revealed = this.#host.dataset.revealFirst !== undefined;
    this.#answers.judge.asked(revealed);
    this.#remember({ prediction, revealed });
    this.#paint.announce("Locked in. The instruments are open.");
    const opened = find(this.#host, revealed ? '[data-part="reveal"]' : '[data-part="explore"]');
    const heading = find(opened, ".il-act__label");
    heading.tabIndex = -1;
    heading.focus({ preventScroll: true });
    bringIntoView(opened);
  }

  #hold(sets: string, value: Value): void {
    this.#moving = { ...this.#moving, [sets]: value };
    this.#controls.write({ context: this.#memory.context, controls: { ...this.#memory.controls, ...this.#moving } });
    void this.#answers.follow();
  }

  #drop(sets: string, value: Value): void {
    this.#hold(sets, value);
    this.#instrumentsMoved();
  }

  /** A switch that adds to the prediction was moved: the prediction is the sum of those that are on. */
  #addedUp(): void {
    this.#memory = { ...this.#memory, ...this.#controls.read() };
    const { question } = this.#bench;
    question?.hold(question.sumOf(all<HTMLInputElement>(this.#controls.root, "input[data-adds]:checked")));
    this.#typed();
  }

  #typed(): void {
    this.#showHeld();
    // A reader who uses the act sees it.
    this.#answers.visible = true;
    this.#answers.refreshIfNeeded();
  }

  /** The handle of the question's scale moves: the chart follows where Python is ready, and nothing waits for it. */
  #dragged(): void {
    this.#showHeld();
    if (this.#answers.ready) void this.#answers.follow();
  }

  #showHeld(): void {
    this.#held = this.#bench.question?.held ?? null;
    this.#bench.showHeld(this.#memory.prediction, this.#held);
  }

  /** The answer that is not locked in yet. */
  #draft(): Draft | null {
    const answer = this.#memory.prediction === null ? (this.#bench.question?.answer ?? null) : null;
    return answer === null ? null : { answer, controls: this.#bench.adding ? this.#memory.controls : {} };
  }

  /** Goes on with the answer that stood here when the page was left. */
  #takeUp(draft: Draft | null): void {
    const { question, adding } = this.#bench;
    if (!draft || this.#memory.prediction !== null || !question?.offers(draft.answer)) return;
    if (adding) this.#memory = { ...this.#memory, ...this.#controls.write({ context: this.#memory.context, controls: draft.controls }) };
    question.hold(draft.answer);
    this.#showHeld();
  }

  #slid({ target }: Event): void {
    if (target instanceof HTMLInputElement && (target.dataset.slider ?? target.dataset.typed)) {
      this.#moving = this.#controls.read().controls;
      this.#around?.moving();
      void this.#answers.follow();
    }
  }

  #instrumentsMoved(): void {
    const instruments = this.#controls.read();
    const { context, controls } = this.#memory;
    const held = Object.keys(this.#moving).length > 0;
    this.#moving = {};
    // A finger that scrolled the page over a slider moved nothing; the page may have followed it.
    if (equal(instruments, { context, controls })) return held ? this.#answers.again() : undefined;
    this.#hint = false;
    const made = this.#bench.history ? changes(this.#memory.controls, instruments.controls) : [];
    const moves = made.reduce(withMove, this.#memory.moves);
    // What stands around an act makes its whole view slow: the eye has a frame of it first.
    if (this.#around) {
      this.#memory = { ...this.#memory, ...instruments };
      if (this.#answers.ready) void this.#answers.follow();
    }
    this.#change({ ...instruments, explored: true, moves: moves.slice(-MOST_MOVES) });
    this.#saving.soon();
  }

  #undo(): void {
    const last = this.#memory.moves.at(-1);
    if (!last) return;
    this.#hint = false;
    this.#paint.announce(`Undone: ${this.#bench.history?.text(last) ?? ""}`);
    this.#remember(undo(this.#memory.controls, this.#memory.moves));
  }

  #reveal(): void {
    if (this.#memory.prediction === null) return this.#bench.question?.insist();
    this.#answers.judge.asked(true);
    const controls = { ...this.#memory.controls, ...(stagingOf(this.#host)?.setting ?? {}) };
    this.#remember({ revealed: true, controls });
    const late = this.#bench.lateNames();
    if (late.length) this.#paint.announce(`New among the instruments: ${late.join(", ")}.`);
    const verdict = slot(this.#host, "verdict");
    if (!this.#answers.ready) verdict.replaceChildren(h("p", {}, "The answer follows when Python is ready."));
    verdict.tabIndex = -1;
    verdict.focus({ preventScroll: true });
  }

  /** Asks for a hint, once where the instruments stand, and not where what helps is said already. */
  #askHint(button: Element): void {
    if (this.#hint || button.getAttribute("aria-disabled") === "true") return;
    this.#hint = true;
    this.#remember({});
  }

  #check(form: HTMLFormElement): void {
    const name = nameOf(form);
    const checked = [...new Set([...this.#memory.checked, name])];
    this.#remember({ checked, answers: { ...this.#memory.answers, [name]: readBlanks(form) } });
  }

  #reset(): void {
    const before = this.#memory;
    this.#saving.drop();
    this.#ledger.reset(this.#name);
    this.#startAgain();
    // What was locked in before stays known: whoever has seen the answer does not predict it any more. So does what was reached.
    const kept = askedAnew(before, this.#memory, (prediction) => this.#bench.question?.words(prediction) ?? "");
    if (kept.earlier ?? kept.best ?? kept.argument) this.#remember(kept);
    this.#paint.announce("The act starts again.");
    if (this.#bench.question) this.#bench.question.focus();
    else this.#bench.controls.querySelector<HTMLElement>("input:checked, input")?.focus();
  }

  #startAgain(): void {
    this.#held = null;
    this.#hint = false;
    this.#moving = {};
    this.#memory = this.#fresh(this.#controls.reset());
    this.#bench.question?.clear();
    this.#around?.clear();
    this.#apply();
    this.#answers.refreshIfNeeded();
  }

  // What the act remembers

  /** The memory before the lock: nothing is predicted or answered, and the instruments are where they are. */
  #fresh({ context, controls } = this.#controls.read()): Memory {
    return { prediction: null, context, controls, explored: false, revealed: false, answers: {}, checked: [], moves: [] };
  }

  /** What the ledger holds of this act. A prediction that is no answer any more is one of an earlier attempt. */
  #kept(): Memory | null {
    if (this.#linked) return null;
    const { memory = null, account = null } = this.#ledger.entry(this.#name) ?? {};
    if (!memory || memory.prediction === null) return structuredClone(memory);
    const said = account?.prediction ?? undefined;
    const { question } = this.#bench;
    if (question?.offers(memory.prediction, said)) return structuredClone(memory);
    return askedAnew(memory, this.#fresh(this.#defaults), (prediction) => said ?? question?.words(prediction) ?? "");
  }

  /** `mine`: this act was played or reset elsewhere, in another tab or by an import. */
  #ledgerChanged(mine: boolean): void {
    slot(this.#host, "unsaved").hidden = this.#ledger.lasting;
    if (!mine) return;
    // What the reader did here is the newer.
    if (this.#saving.waiting) return this.#saving.now();
    const kept = this.#kept();
    if (equal(kept ?? this.#fresh(), this.#memory)) return;
    this.#paint.announce("This act changed in another tab.");
    if (!kept) return this.#startAgain();
    this.#memory = kept;
    this.#apply();
    this.#answers.refreshIfNeeded();
  }

  #remember(change: Partial<Memory>): void {
    this.#change(change);
    this.#saving.now();
  }

  /** Shows a change, and asks for what follows from it; writing it down is the caller's. */
  #change(change: Partial<Memory>): void {
    this.#memory = { ...this.#memory, ...change };
    // A reader who uses the act sees it, even if the observer has not reported that yet.
    this.#answers.visible = true;
    this.#apply();
    this.#answers.refreshIfNeeded();
  }

  #save(): void {
    if (!this.#linked) this.#ledger.write(this.#name, this.#stage, structuredClone(this.#memory), this.#account());
  }

  /** Whether the state stands in the address, and not in the ledger. */
  get #linked(): boolean {
    return this.#host.dataset.linked !== undefined;
  }

  /** Adds to the ledger what Python has said since. */
  #annotate(): void {
    const { view } = this.#answers.results;
    if (view) this.#around?.told(this.#state(), view);
    if (this.#saving.waiting) this.#saving.now();
    else if (this.#ledger.entry(this.#name)?.memory) this.#ledger.annotate(this.#name, this.#stage, structuredClone(this.#memory), this.#account());
  }

  #account(results = this.#answers.results): Account {
    // The page to which the act belongs; it may stand on others too.
    return accountOf(this.#host, this.#host.dataset.home ?? "", this.#bench.question, this.#memory, results);
  }

  get #stage(): Stage {
    return stageOf(this.#memory, this.#bench.question !== null, this.#bench.reflections.names);
  }

  #apply(): void {
    this.#memory = this.#bench.show({ ...this.#memory, ...this.#controls.write(this.#memory) }, this.#held);
  }

  #state(): State {
    const { context, controls, prediction, revealed, moves } = this.#memory;
    return { context, controls: { ...controls, ...this.#moving }, prediction, revealed, held: this.#held, moves: moves.length, hint: this.#hint };
  }
}
