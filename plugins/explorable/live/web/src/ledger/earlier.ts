// What stays of an act's memory when it is reset: earlier attempts, and what was reached.
import { DEFINITIONS } from "./schema";
import type { Memory, Value } from "./types";

export type Earlier = NonNullable<Memory["earlier"]>;

const MOST_ATTEMPTS = DEFINITIONS.memory.properties.earlier.properties.attempts.maximum;

/** What is known of earlier attempts once this memory is reset; nothing where nothing was ever locked in. */
export function earlierOf(memory: Memory, words: (prediction: Value) => string): Earlier | undefined {
  const { prediction, earlier, revealed } = memory;
  if (prediction === null) return earlier;
  return {
    attempts: Math.min(MOST_ATTEMPTS, (earlier?.attempts ?? 0) + 1),
    first: earlier?.first ?? words(prediction),
    revealed: revealed || (earlier?.revealed ?? false),
  };
}

/** What a reset of this memory takes, and what the ledger keeps of it all the same. */
export function lostByReset({ prediction, earlier, revealed, hints, best, argument }: Memory): string {
  const goes = `Your ${prediction === null ? "" : "prediction, "}answers and settings here will be gone.`;
  if (prediction === null && !earlier) return goes;
  const seen = revealed || earlier?.revealed;
  const besides = [
    ...(seen ? ["that you saw the answer"] : []),
    ...(hints ? ["how many hints you asked for"] : []),
    ...(best ? ["the best that you reached"] : []),
    ...(argument ? ["what you wrote in its defense"] : []),
  ];
  return `${goes} The ledger keeps ${["your first prediction as an earlier attempt", ...besides].join(", and ")}.`;
}

/** What stays of a memory after a reset, or where it answers an earlier question of its act: what was predicted and reached. */
export function askedAnew(memory: Memory, fresh: Memory, words: (prediction: Value) => string): Memory {
  const { first, best, hints, argument } = memory;
  const earlier = earlierOf(memory, words);
  return { ...fresh, ...(first && { first }), ...(best && { best }), ...(hints && { hints }), ...(argument && { argument }), ...(earlier && { earlier }) };
}
