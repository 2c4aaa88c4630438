// What the states between a reader's moves came to: computed afterwards, for a reader who moved faster than Python.
import { equal } from "../equal";
import type { State, View } from "../python/protocol";
import type { Asking } from "./answers";
import { missing, withAmount, type Amount } from "./moves";

export class Amounts {
  readonly #act: Asking;
  /** The view of a state; null when nobody waits for it any more. */
  readonly #compute: (state: State) => Promise<View | null>;
  /** The numbers of states, as far as they were computed on this page. */
  readonly #known: { state: State; amount: Amount }[] = [];

  constructor(act: Asking, compute: (state: State) => Promise<View | null>) {
    this.#act = act;
    this.#compute = compute;
  }

  /** Keeps the number that matters in a state, and the others that a move may change. */
  note(state: State, { headline: { value, unit }, readings }: View): Amount {
    const others = Object.entries(readings).map(([label, value]) => ({ label, value }));
    const amount = { value, unit, ...(others.length && { readings: others }) };
    if (!this.#of(state)) this.#known.push({ state, amount });
    return amount;
  }

  /** Fills in what is not known of the moves. */
  async complete(): Promise<void> {
    for (let next = this.#missing(); next; next = this.#missing()) {
      const { index, side, controls } = next;
      const state: State = { ...this.#act.state(), controls, moves: side === "after" ? index + 1 : index };
      let amount = this.#of(state);
      if (!amount) {
        const view = await this.#compute(state);
        // Newer moves are completed after their own view.
        if (!view) return;
        amount = this.note(state, view);
        if (!equal(this.#missing(), next)) continue;
      }
      this.#act.learn({ moves: withAmount(this.#act.memory().moves, index, side, amount) });
    }
    this.#act.moved();
  }

  #of(state: State): Amount | undefined {
    return this.#known.find((one) => equal(one.state, state))?.amount;
  }

  #missing(): ReturnType<typeof missing> {
    const { controls, moves } = this.#act.memory();
    return missing(controls, moves);
  }
}
