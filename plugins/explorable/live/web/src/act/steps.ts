// The four steps under an act's title: which are done, and which is next.
import { all, setText, slot } from "../dom";
import { allRight, type Memory } from "../ledger/entry";

/** Step -> done. `reflections` are the names of those the act has. */
export function stepsOf(memory: Memory, reflections: readonly string[]): Record<string, boolean> {
  const { prediction, explored, revealed } = memory;
  return {
    predict: prediction !== null,
    explore: explored,
    reveal: revealed,
    reflect: revealed && allRight(memory, reflections),
  };
}

/** Marks the steps of the page. The first that is not done is the current one. */
export function showSteps(host: HTMLElement, done: Record<string, boolean>): void {
  let current = true;
  for (const step of all(host, "[data-step]")) {
    const isDone = done[step.dataset.step ?? ""] ?? false;
    step.dataset.done = String(isDone);
    setText(slot(step, "done"), isDone ? " done" : "");
    if (!isDone && current) step.setAttribute("aria-current", "step");
    else step.removeAttribute("aria-current");
    current &&= isDone;
  }
}
