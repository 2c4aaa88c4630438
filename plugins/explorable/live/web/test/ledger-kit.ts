// What the ledger's tests share: entries, and a shelf that two stores can stand before, as two tabs do.
import core from "../src/ledger/ledger.schema.json";
import fields from "./fields.json";
import type { Database, OpenDatabase } from "../src/ledger/database";
import { keptEntry, newer, type Account, type Entry, type Mark, type Memory } from "../src/ledger/entry";
import type { SafeStorage } from "../src/storage";
import type { Channel } from "../src/ledger/ledger";

/** The whole schema of a ledger with these tests' own fields, as the build publishes it. */
export const schema = structuredClone(core);
schema.properties.chapter.const = fields.chapter;
Object.assign(schema.$defs.decisions.properties, fields.properties);

export const memory: Memory = {
  prediction: 75,
  context: "a100",
  controls: { prefetch: true },
  explored: true,
  revealed: true,
  answers: { fix: { lever: "prefetch" } },
  checked: ["fix"],
  moves: [{ control: "prefetch", from: false, to: true, before: { value: "35", unit: "%" }, after: null }],
};

export const account: Account = {
  title: "The MFU Gap",
  page: "lab/act3/",
  engine: "0.1.0+abc",
  question: "What part of the time?",
  prediction: "75 %",
  context: "",
  controls: [{ label: "Prefetching", value: "on" }],
  headline: { label: "GPU utilization", value: "58", unit: "%" },
  failure: null,
  verdict: { correct: false, headline: "2.1 times less.", gap: { answer: 35, difference: -40, factor: 75 / 35 } },
  moves: ["Prefetching off → on"],
  reflections: [{ text: "The best lever is “prefetching”.", correct: true }],
  fields: { baseline_mfu_estimate_pct: 75, final_mfu_pct: 31.5 },
};

/** The best of a search's best: what a reader reached and defends. */
export const reached: Mark = {
  at: 900,
  score: 41,
  share: 0.953,
  headline: { label: "MFU", value: "41", unit: "%" },
  controls: [{ label: "Prefetching", value: "on" }],
  fields: {},
};
export const defended: Memory = { ...memory, first: reached, best: reached, argument: "The network\nwas the limit." };

export const entry = (change: Partial<Entry> = {}): Entry => ({
  act: "mfu-gap",
  updated: 1000,
  stage: "done",
  memory,
  account,
  ...change,
});

/** A database in memory, which any number of stores may open. */
export class FakeDatabase {
  readonly rows = new Map<string, unknown>();
  failing = false;

  readonly open: OpenDatabase = () => Promise.resolve(this.#shelf);

  readonly #shelf: Database = {
    all: () => (this.failing ? Promise.reject(new Error("gone")) : Promise.resolve([...this.rows.values()])),
    put: (added) => {
      if (this.failing) return Promise.reject(new Error("gone"));
      const kept = newer(added, keptEntry(this.rows.get(added.act)));
      this.rows.set(added.act, structuredClone(kept));
      return Promise.resolve(kept);
    },
  };
}

/** Tabs that hear each other. */
export class FakeChannels {
  readonly #all: Channel[] = [];

  open(): Channel {
    const channel: Channel = {
      onmessage: null,
      postMessage: () => {
        for (const other of this.#all) if (other !== channel) other.onmessage?.();
      },
    };
    this.#all.push(channel);
    return channel;
  }
}

/** A storage area in memory that holds so many characters. */
export class SmallArea {
  readonly #items = new Map<string, string>();
  constructor(public room: number) {}
  getItem = (key: string): string | null => this.#items.get(key) ?? null;
  removeItem = (key: string): boolean => this.#items.delete(key);
  setItem = (key: string, value: string): void => {
    const others = [...this.#items].filter(([name]) => name !== key);
    const used = [...others, [key, value]].reduce((sum, [name = "", text = ""]) => sum + name.length + text.length, 0);
    if (used > this.room) throw new DOMException("full", "QuotaExceededError");
    this.#items.set(key, value);
    this.#list();
  };
  /** The used characters. */
  get used(): number {
    return [...this.#items].reduce((sum, [name, text]) => sum + name.length + text.length, 0);
  }
  /** Its keys are its properties, as those of the browser's own. */
  #list(): void {
    for (const key of this.#items.keys()) Object.defineProperty(this, key, { enumerable: true, configurable: true, get: () => this.getItem(key) });
  }
}

/** Where site data is blocked: works for the page, and nothing lasts. */
export function blockedStorage(): SafeStorage {
  const values = new Map<string, unknown>();
  return {
    lasting: false,
    read: (key) => values.get(key) ?? null,
    write: (key, value) => {
      values.set(key, value);
      return false;
    },
    remove: (key) => void values.delete(key),
    keys: () => [...values.keys()],
  };
}
