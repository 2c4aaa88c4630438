// What the ledger has of an act: read when it comes, written when the reader has done something and when Python has answered.
import { askedAnew } from "../ledger/earlier";
import { stageOf, type Account, type Memory, type Stage } from "../ledger/entry";
import { equal } from "../equal";
import { documentLedger } from "../ledger/ledger";
import { accountOf } from "./account";
import type { Instruments } from "./controls";
import type { Page } from "./page";
import { NO_RESULTS, type Results } from "./results";
import { resultsOf, type ActState } from "./state";

/** The memory before the lock: nothing is predicted or answered. */
export function freshMemory({ context, controls }: Instruments): Memory {
  return { prediction: null, context, controls, explored: false, revealed: false, answers: {}, checked: [], moves: [] };
}

export class ActRecord {
  readonly ledger = documentLedger();
  readonly #name: string;
  readonly #page: Page;

  constructor(name: string, page: Page) {
    this.#name = name;
    this.#page = page;
  }

  /** Whether the state stands in the address, and not in the ledger. */
  get linked(): boolean {
    return this.#page.parts.host.dataset.linked !== undefined;
  }

  /** What the ledger holds of this act. A prediction that is no answer any more is one of an earlier attempt before `fresh`. */
  kept(fresh: Memory): Memory | null {
    if (this.linked) return null;
    const { memory = null, account = null } = this.ledger.entry(this.#name) ?? {};
    if (!memory || memory.prediction === null) return structuredClone(memory);
    const said = account?.prediction ?? undefined;
    const { question } = this.#page;
    if (question?.offers(memory.prediction, said)) return structuredClone(memory);
    return askedAnew(memory, fresh, (prediction) => said ?? question?.words(prediction) ?? "");
  }

  save(state: ActState): void {
    if (!this.linked) this.ledger.write(this.#name, this.#stage(state), structuredClone(state.memory), this.#account(state));
  }

  /** Adds what Python has said since. */
  annotate(state: ActState): void {
    if (this.ledger.entry(this.#name)?.memory) this.ledger.annotate(this.#name, this.#stage(state), structuredClone(state.memory), this.#account(state));
  }

  /** The controls in words. */
  controls(state: ActState): Account["controls"] {
    return this.#account(state, NO_RESULTS).controls;
  }

  #account(state: ActState, results: Results = resultsOf(state)): Account {
    const { question, parts: { host } } = this.#page;
    // The page to which the act belongs; it may stand on others too.
    const said = accountOf(host, host.dataset.home ?? "", question, state.memory, results);
    const before = results.engine ? null : this.ledger.entry(this.#name)?.account;
    // Whoever leaves before an answer comes leaves what was answered for the same controls.
    const { engine, headline, failure } = before && before.context === said.context && equal(before.controls, said.controls) ? before : said;
    return { ...said, engine, headline, failure };
  }

  #stage({ memory }: ActState): Stage {
    return stageOf(memory, this.#page.question !== null, this.#page.reflections.names);
  }
}
