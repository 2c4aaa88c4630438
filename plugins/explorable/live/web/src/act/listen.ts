// What a reader does beside moving the instruments, told as events: answers, locks in, reveals, asks for a hint, reflects, starts again.
import { stagingOf } from "../chart/specs";
import { confirmInline } from "../confirm";
import { all, containKeys, find, slot } from "../dom";
import { lostByReset } from "../ledger/earlier";
import { keepDraft, type Draft } from "./draft";
import { keepAtHand, keepFocusVisible } from "./focus";
import type { Page } from "./page";
import { answered, nameOf, readBlanks } from "./reflections";

/** What is more than an event: `reset` the act, and `stop` Python while it loads. */
export function listen(page: Page, { reset, stop }: Record<"reset" | "stop", () => void>): void {
  const { question, adding, reflections, parts: { host, store, signal } } = page;
  const pressed = (action: string, then: (button: Element) => void): void => {
    const button = host.querySelector(`[data-action="${action}"]`);
    button?.addEventListener("click", () => then(button), { signal });
  };
  containKeys(host, signal);
  keepAtHand(host, signal);
  keepFocusVisible(find(host, '[data-part="explore"]'), signal);
  question?.onLock((prediction) => store.dispatch({ kind: "locked", prediction }), signal);
  const held = (by: "drag" | "typing") => (): void => store.dispatch({ kind: "held", held: question?.held ?? null, by });
  question?.onHeld(held("typing"), held("drag"), signal);
  adding?.addEventListener("change", () => addUp(page), { signal });
  pressed("reveal", () => reveal(page));
  // A hint is given once where the instruments stand, and not where what helps is said already.
  pressed("hint", (button) => !store.state.hint && button.getAttribute("aria-disabled") !== "true" && store.dispatch({ kind: "hinted" }));
  pressed("stop", stop);
  const warning = (): string => (question ? lostByReset(store.state.memory) : "The instruments go back to where they started.");
  confirmInline(slot(host, "reset"), warning, reset, signal);
  reflections.listen(
    (form) => store.dispatch({ kind: "chose", ...answered(form, store.state.memory) }),
    (form) => store.dispatch({ kind: "checked", name: nameOf(form), answers: readBlanks(form) }),
    signal,
  );
}

/** Keeps the answer that is not locked in yet, and goes on with the one that stood here when the page was left. */
export function takeUpDraft({ question, adding, parts: { host, controls, store, signal } }: Page): void {
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
function addUp({ question, parts: { controls, store } }: Page): void {
  question?.hold(question.sumOf(all<HTMLInputElement>(controls.root, "input[data-adds]:checked")));
  store.dispatch({ kind: "held", held: question?.held ?? null, by: "typing", instruments: controls.read() });
}

function reveal(page: Page): void {
  const { host, store } = page.parts;
  const { memory } = store.state;
  if (memory.prediction === null) return page.question?.insist();
  const { controls } = page.fit({ ...memory, controls: { ...memory.controls, ...stagingOf(host)?.setting } });
  store.dispatch({ kind: "revealed", controls, late: page.lateNames() });
}
