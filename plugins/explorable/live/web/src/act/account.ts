// An act's account, its entry in words: read from the page the reader saw and from Python's answers.
import { find } from "../dom";
import type { Account, Memory } from "../ledger/entry";
import { contextWords, controlWords, displayOnly, waiting, words } from "./controls";
import { moveText } from "./moves";
import type { Question } from "./question";
import { formsOf, nameOf, sentence } from "./reflections";
import type { Results } from "./results";

/** `page` is the act's home page, relative to the site's root. */
export function accountOf(host: HTMLElement, page: string, question: Question | null, memory: Memory, results: Results): Account {
  const unsaid = new Set([...waiting(host), ...displayOnly(host)]);
  const open = memory.revealed || (question === null && memory.explored);
  const { view, verdict } = results;
  return {
    title: words(find(host, ".il-act__title")),
    page,
    engine: results.engine,
    question: question?.prompt ?? "",
    prediction: question && memory.prediction !== null ? question.words(memory.prediction) : null,
    context: contextWords(host),
    controls: Object.entries(memory.controls).flatMap(([control, value]) =>
      unsaid.has(control) ? [] : (controlWords(host, control, value) ?? []),
    ),
    headline: view?.headline ?? null,
    failure: view?.failure?.title ?? null,
    verdict: verdict && { correct: verdict.correct, headline: verdict.headline, gap: verdict.gap },
    moves: memory.moves.flatMap((move) => moveText(move, (...of) => controlWords(host, ...of)) ?? []),
    reflections: formsOf(host).flatMap((form) => {
      const name = nameOf(form);
      if (!Object.keys(memory.answers[name] ?? {}).length) return [];
      const judged = results.feedback.get(name);
      const now = judged ? Object.values(judged).every((blank) => blank.correct) : null;
      // Answers that were once right count as right, wherever the instruments stand now.
      return { text: sentence(form), correct: Object.hasOwn(memory.right ?? {}, name) ? true : now };
    }),
    // Fields of the best state that was reached replace those of the present state.
    fields: open && view ? { ...view.ledger, ...memory.best?.fields } : {},
  };
}
