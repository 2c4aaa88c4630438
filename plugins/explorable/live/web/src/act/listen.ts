// What a reader does beside moving the instruments, told as events: answers, locks in, reveals, asks for a hint, reflects, starts again.
import { stagingOf } from "../chart/specs";
import { confirmInline } from "../confirm";
import { all, slot } from "../dom";
import { askedAnew, lostByReset, type Memory } from "../ledger/entry";
import type { Controls } from "./controls";
import { keepDraft, type Draft } from "./draft";
import type { Page } from "./page";
import { answered, nameOf, readBlanks } from "./reflections";
import type { Store } from "./state";

export interface Listening {
  readonly host: HTMLElement;
  readonly page: Page;
  readonly controls: Controls;
  readonly store: Store;
  /** Empties the page of what is the reader's, and the ledger too where the act is `reset`. Returns the memory of an act that starts. */
  cleared(reset: boolean): Memory;
  readonly signal: AbortSignal;
}

export function listen(act: Listening): void {
  const { host, page, store, signal } = act;
  const { question, adding, reflections } = page;
  const pressed = (action: string, then: (button: Element) => void): void => {
    const button = host.querySelector(`[data-action="${action}"]`);
    button?.addEventListener("click", () => then(button), { signal });
  };
  question?.onLock((prediction) => store.dispatch({ kind: "locked", prediction }), signal);
  const held = (by: "drag" | "typing") => (): void => store.dispatch({ kind: "held", held: question?.held ?? null, by });
  question?.onHeld(held("typing"), held("drag"), signal);
  adding?.addEventListener("change", () => addUp(act), { signal });
  pressed("reveal", () => reveal(act));
  // A hint is given once where the instruments stand, and not where what helps is said already.
  pressed("hint", (button) => !store.state.hint && button.getAttribute("aria-disabled") !== "true" && store.dispatch({ kind: "hinted" }));
  const warning = (): string => (question ? lostByReset(store.state.memory) : "The instruments go back to where they started.");
  confirmInline(slot(host, "reset"), warning, () => reset(act), signal);
  reflections.listen(
    (form) => store.dispatch({ kind: "chose", ...answered(form, store.state.memory) }),
    (form) => store.dispatch({ kind: "checked", name: nameOf(form), answers: readBlanks(form) }),
    signal,
  );
}

/** Keeps the answer that is not locked in yet, and goes on with the one that stood here when the page was left. */
export function takeUpDraft({ host, page: { question, adding }, controls, store, signal }: Listening): void {
  const present = (): Draft | null => {
    const { memory } = store.state;
    const answer = memory.prediction === null ? (question?.answer ?? null) : null;
    return answer === null ? null : { answer, controls: adding ? memory.controls : {} };
  };
  const draft = keepDraft(host.dataset.name ?? "", present, signal);
  const { prediction, context } = store.state.memory;
  if (!draft || prediction !== null || !question?.offers(draft.answer)) return;
  const instruments = adding && controls.write({ context, controls: draft.controls });
  question.hold(draft.answer);
  store.dispatch({ kind: "held", held: question.held, by: "draft", ...(instruments && { instruments }) });
}

/** A switch that adds to the prediction was moved: the prediction is the sum of those that are on. */
function addUp({ page: { question }, controls, store }: Listening): void {
  question?.hold(question.sumOf(all<HTMLInputElement>(controls.root, "input[data-adds]:checked")));
  store.dispatch({ kind: "held", held: question?.held ?? null, by: "typing", instruments: controls.read() });
}

function reveal({ host, page, store }: Listening): void {
  const { memory } = store.state;
  if (memory.prediction === null) return page.question?.insist();
  const { controls } = page.fit({ ...memory, controls: { ...memory.controls, ...stagingOf(host)?.setting } });
  store.dispatch({ kind: "revealed", controls, late: page.lateNames() });
}

function reset({ page: { question }, store, cleared }: Listening): void {
  const before = store.state.memory;
  const fresh = cleared(true);
  // What was locked in before stays known: whoever has seen the answer does not predict it any more. So does what was reached.
  const kept = askedAnew(before, fresh, (prediction) => question?.words(prediction) ?? "");
  const keeps = Boolean(kept.earlier ?? kept.best ?? kept.argument);
  store.dispatch({ kind: "reset", memory: keeps ? kept : fresh, keeps });
}
