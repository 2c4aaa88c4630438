// What the states between a reader's moves came to: computed afterwards, for a reader who moved faster than Python.
import type { State, View } from "../python/protocol";
import type { Asking } from "./answers";
import { missing, withAmount, type Amount } from "./moves";

export class Amounts {
  readonly #act: Asking;
  /** The view of a state; null when nobody waits for it any more. */
  readonly #compute: (state: State) => Promise<View | null>;
  /** State -> the number that matters there, as far as it was computed on this page. */
  readonly #known = new Map<string, Amount>();

  constructor(act: Asking, compute: (state: State) => Promise<View | null>) {
    this.#act = act;
    this.#compute = compute;
  }

  /** Keeps the number that matters in a state. */
  note(state: State, { headline: { value, unit } }: View): Amount {
    const amount = { value, unit };
    this.#known.set(JSON.stringify(state), amount);
    return amount;
  }

  /** Fills in what is not known of the moves. */
  async complete(): Promise<void> {
    for (let next = this.#missing(); next; next = this.#missing()) {
      const { index, side, controls } = next;
      const state: State = { ...this.#act.state(), controls, moves: side === "after" ? index + 1 : index };
      let amount = this.#known.get(JSON.stringify(state));
      if (!amount) {
        const view = await this.#compute(state);
        // Newer moves are completed after their own view.
        if (!view) return;
        amount = this.note(state, view);
        if (JSON.stringify(this.#missing()) !== JSON.stringify(next)) continue;
      }
      this.#act.learn({ moves: withAmount(this.#act.memory().moves, index, side, amount) });
    }
    this.#act.moved();
  }

  #missing(): ReturnType<typeof missing> {
    const { controls, moves } = this.#act.memory();
    return missing(controls, moves);
  }
}
