// What the states between a reader's moves came to: computed afterwards, for a reader who moved faster than Python.
import { equal } from "../equal";
import type { State, View } from "../python/protocol";
import { missing, withAmount, type Amount, type Move } from "./moves";

export class Amounts {
  /** The view of a state; null when nobody waits for it any more. */
  readonly #compute: (state: State) => Promise<View | null>;
  /** The numbers of states, as far as they were computed on this page. */
  readonly #known: { state: State; amount: Amount }[] = [];

  constructor(compute: (state: State) => Promise<View | null>) {
    this.#compute = compute;
  }

  /** Keeps the number that matters in a state, and the others that a move may change. */
  note(state: State, { headline: { value, unit }, readings }: View): Amount {
    const others = Object.entries(readings).map(([label, value]) => ({ label, value }));
    const amount = { value, unit, ...(others.length && { readings: others }) };
    if (!this.#of(state)) this.#known.push({ state, amount });
    return amount;
  }

  /** The moves that led to a state, with what was not known of them. Newer ones are completed after their own view. */
  async completed(state: State, moves: Move[]): Promise<Move[]> {
    let filled = moves;
    for (let next = missing(state.controls, filled); next; next = missing(state.controls, filled)) {
      const { index, side, controls } = next;
      const between: State = { ...state, controls, moves: side === "after" ? index + 1 : index };
      let amount = this.#of(between);
      if (!amount) {
        const view = await this.#compute(between);
        if (!view) break;
        amount = this.note(between, view);
      }
      filled = withAmount(filled, index, side, amount);
    }
    return filled;
  }

  #of(state: State): Amount | undefined {
    return this.#known.find((one) => equal(one.state, state))?.amount;
  }
}
