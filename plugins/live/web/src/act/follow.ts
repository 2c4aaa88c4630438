// Follows a moving hand: one computation at a time, each of the state as it is then, each shown before the next begins.
import type { State, View } from "../python/protocol";

export class Follower {
  readonly #state: () => State;
  /** The view of a state; null when nobody waits for it any more. */
  readonly #compute: (state: State) => Promise<View | null>;
  readonly #show: (view: View) => Promise<void>;
  #following = false;
  #rests = false;

  constructor(state: () => State, compute: (state: State) => Promise<View | null>, show: (view: View) => Promise<void>) {
    this.#state = state;
    this.#compute = compute;
    this.#show = show;
  }

  /** The hand rests. A whole view is asked for now, and a late frame must not replace it. */
  rest(): void {
    this.#rests = true;
  }

  /** The hand has moved. Frames are dropped while Python computes, and those that are shown come in order. */
  async follow(): Promise<void> {
    this.#rests = false;
    if (this.#following) return;
    this.#following = true;
    try {
      let drawn = "";
      for (let state = this.#state(); !this.#rests && JSON.stringify(state) !== drawn; state = this.#state()) {
        const view = await this.#compute(state);
        if (!view) return;
        drawn = JSON.stringify(state);
        await this.#show(view);
      }
    } catch (error) {
      // A lasting failure is reported by the computation that follows when the hand lets go.
      if (!(error instanceof Error)) throw error;
    } finally {
      this.#following = false;
    }
  }
}
