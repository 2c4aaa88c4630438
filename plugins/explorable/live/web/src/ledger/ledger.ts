// The ledger of this browser: every act's entry, kept through reloads, updates of the site and other tabs.
//
// A change is written at once to a journal in local storage, because a page may end before IndexedDB has answered; the
// journal is cleared when the database has it. Where there is no database the journal is what lasts.
import { LATEST, keptEntry, newer, playedAt, untouched, type Account, type Entry, type Memory, type Stage } from "./entry";
import { openDatabase, type Database, type OpenDatabase } from "./database";
import { equal } from "../equal";
import { bookId } from "../release";
import { attempt, openStorage, type SafeStorage } from "../storage";

const journalOf = (): string => `${bookId()}/ledger/`;
/** Some browsers never answer; the acts do not wait for them. */
const PATIENCE_MS = 1500;

/** What tells other tabs that something changed: a BroadcastChannel. */
export interface Channel {
  onmessage: (() => void) | null;
  postMessage(message: string): void;
}

let shown: Ledger | undefined;

/** The ledger of this browser, as this document sees it. It outlives instant navigation, because the module does. */
export function documentLedger(): Ledger {
  if (shown) return shown;
  const channel = attempt(() => new BroadcastChannel(`${bookId()}/ledger`) as unknown as Channel) ?? null;
  const ledger = new Ledger(openDatabase, openStorage(() => localStorage), channel);
  shown = ledger;
  // A tab that slept may have missed what another one said.
  addEventListener("focus", () => void ledger.reread());
  addEventListener("pageshow", () => void ledger.reread());
  return ledger;
}

export interface Merged {
  taken: string[];
  kept: string[];
}

/** The attempts that are known of here, where an entry from elsewhere knows of fewer. One that was reset here and comes back is no earlier one. */
function moreAttempts(present: Entry | undefined, { memory, account }: Entry): Memory["earlier"] {
  const [here, there] = [present?.memory?.earlier, memory?.earlier];
  const back = Number(here?.first === (there?.first ?? account?.prediction));
  return here && here.attempts > (there?.attempts ?? 0) + back ? here : undefined;
}

export class Ledger {
  /** Settles when what was kept is there; never rejects. */
  readonly ready: Promise<void>;
  readonly #storage: SafeStorage;
  readonly #channel: Channel | null;
  readonly #own: string;
  readonly #entries = new Map<string, Entry>();
  readonly #listeners = new Set<(acts: ReadonlySet<string>, elsewhere: boolean) => void>();
  #database: Database | null = null;
  /** Acts whose last change found no room in a journal. */
  readonly #unkept = new Set<string>();
  #damaged = 0;

  constructor(open: OpenDatabase, storage: SafeStorage, channel: Channel | null, tab = Math.random().toString(36).slice(2)) {
    this.#storage = storage;
    this.#channel = channel;
    this.#own = tab;
    if (channel) channel.onmessage = () => void this.reread();
    const opened = this.#open(open);
    this.ready = Promise.race([opened, new Promise<void>((late) => setTimeout(late, PATIENCE_MS))]);
  }

  /** False where something that the reader did or may do now does not outlive the page. */
  get lasting(): boolean {
    return this.#database !== null || (this.#storage.lasting && !this.#unkept.size);
  }

  /** Records that could not be read and are left out. */
  get damaged(): number {
    return this.#damaged;
  }

  entry(act: string): Entry | null {
    return this.#entries.get(act) ?? null;
  }

  /** Every act the reader has played and not reset, the one played longest ago first. */
  entries(): Entry[] {
    return [...this.#entries.values()].filter((entry) => entry.memory).sort((one, other) => playedAt(one) - playedAt(other));
  }

  /** Calls the listener once at every change, of however many acts; `elsewhere`: by another tab or an import. */
  subscribe(listener: (acts: ReadonlySet<string>, elsewhere: boolean) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Keeps what the reader did. */
  write(act: string, stage: Stage, memory: Memory, account: Account): void {
    const present = this.#entries.get(act);
    const { code, tries } = present?.memory?.exercise ?? {};
    // To ask for a hint makes nobody the author of code; to check it as one's own does.
    const brought = present?.brought && memory.exercise?.code === code && memory.exercise?.tries === tries;
    this.#put([{ act, updated: this.#now(act), stage, memory, account, ...(brought && { brought }) }], false);
  }

  /** Adds what became known without the reader doing anything: the entry does not get newer by it. */
  annotate(act: string, stage: Stage, memory: Memory, account: Account): void {
    const entry = this.#entries.get(act);
    if (!entry?.memory) return;
    const noted = { ...entry, stage, memory, account };
    if (!equal(noted, entry)) this.#put([noted], false);
  }

  /** Keeps why the reader chose what they chose; of an act that was reset there is nothing to say. */
  argue(act: string, argument: string): void {
    const entry = this.#entries.get(act);
    if (!entry?.memory) return;
    const { stage, account, memory, brought } = entry;
    this.#put([{ act, updated: this.#now(act), stage, account, memory: { ...memory, argument }, ...(brought && { brought }) }], false);
  }

  reset(act: string): void {
    this.#put([this.#cleared(act)], false);
  }

  resetAll(): void {
    this.#put(this.entries().map(({ act }) => this.#cleared(act)), true);
  }

  /** Takes every entry that was played later than the one here. An act that was reset here and not played since makes way for any. */
  merge(entries: readonly Entry[]): Merged {
    const takes = (entry: Entry): boolean => {
      const present = this.#entries.get(entry.act);
      return !present?.memory || untouched(present.memory) || playedAt(entry) > playedAt(present);
    };
    const taken = entries.filter(takes);
    const kept = entries.filter((entry) => !taken.includes(entry));
    this.#put(taken.map((entry) => this.#brought(entry)), true);
    return { taken: taken.map(({ act }) => act), kept: kept.map(({ act }) => act) };
  }

  /** An entry from elsewhere as it stands here: newer than what it takes the place of, and with all attempts that either knows of. */
  #brought(entry: Entry): Entry {
    const { act, memory } = entry;
    const updated = this.#after(act, entry.updated);
    const present = this.#entries.get(act);
    const earlier = moreAttempts(present, entry);
    const code = memory?.exercise?.code;
    const brought = Boolean(code) && (code !== present?.memory?.exercise?.code || present?.brought);
    return {
      ...entry,
      updated,
      ...(brought && { brought: true }),
      ...(updated !== entry.updated && { played: playedAt(entry) }),
      ...(earlier && memory && { memory: { ...memory, earlier } }),
    };
  }

  /** Looks whether another tab has written. */
  async reread(): Promise<void> {
    const stored = this.#database ? await this.#database.all().catch(() => []) : [];
    const read = [...stored, ...this.#journal().map(([, one]) => one)].map(keptEntry);
    this.#adopt(read.filter((entry) => entry !== null));
    this.#damaged = Math.max(this.#damaged, read.filter((entry) => entry === null).length);
  }

  async #open(open: OpenDatabase): Promise<void> {
    try {
      this.#database = await open(() => this.#lose());
    } catch {
      this.#database = null;
    }
    await this.reread();
    for (const [key, raw] of this.#journal()) {
      const entry = keptEntry(raw);
      const present = entry && this.#entries.get(entry.act);
      // Without a database the journals of earlier visits become this one's. They stay where there is no room for another, and
      // what this release cannot read stays for another one.
      const kept = present ? (await this.#flush(entry)) || (key !== this.#key(entry.act) && this.#write(present)) : !raw;
      // Only what was read is removed: its tab may have written more since.
      if (kept && equal(this.#storage.read(key), raw)) this.#storage.remove(key);
    }
    this.#tell([...this.#entries.keys()], true);
  }

  /** Keeps what the schema allows, because only that could be read again. */
  #put(given: readonly Entry[], elsewhere: boolean): void {
    const entries = given.flatMap((one) => keptEntry(one) ?? []);
    if (entries.length < given.length) console.error("explorable: a ledger cannot hold what an act wanted to keep.");
    for (const entry of entries) {
      this.#entries.set(entry.act, entry);
      this.#write(entry);
    }
    void Promise.all(entries.map((entry) => this.#flush(entry))).then(() => this.#channel?.postMessage("changed"));
    this.#tell(entries.map(({ act }) => act), elsewhere);
  }

  /** Brings an entry to the database, and says whether it is there. Its journal goes once nothing newer waits there. */
  async #flush(entry: Entry): Promise<boolean> {
    if (!this.#database) return false;
    try {
      const stands = await this.#database.put(entry);
      if (this.#entries.get(entry.act) === entry) this.#storage.remove(this.#key(entry.act));
      if (stands !== entry) this.#adopt([stands]);
      return true;
    } catch {
      this.#lose();
      return false;
    }
  }

  /** The database is gone: from here the journal is what lasts. */
  #lose(): void {
    this.#database = null;
    for (const entry of this.#entries.values()) this.#write(entry);
    this.#tell([...this.#entries.keys()], false);
  }

  #adopt(entries: readonly Entry[]): void {
    const adopted = entries.filter((entry) => {
      const present = this.#entries.get(entry.act);
      const noted = present?.updated === entry.updated && !equal(present, entry);
      const takes = !present || newer(present, entry) !== present || noted;
      if (takes) this.#entries.set(entry.act, entry);
      return takes;
    });
    this.#tell(adopted.map(({ act }) => act), true);
  }

  #write(entry: Entry): boolean {
    const { act } = entry;
    const written = this.#storage.write(this.#key(act), entry);
    this.#unkept[written ? "delete" : "add"](act);
    return written;
  }

  #journal(): [string, unknown][] {
    return this.#storage
      .keys()
      .filter((key) => key.startsWith(journalOf()))
      .map((key) => [key, this.#storage.read(key)]);
  }

  #key(act: string): string {
    return `${journalOf()}${act}/${this.#own}`;
  }

  /** Later than anything known of the act, whatever the clock says. */
  #now(act: string): number {
    return this.#after(act, Date.now());
  }

  #after(act: string, moment: number): number {
    return Math.min(LATEST, Math.max(moment, (this.#entries.get(act)?.updated ?? 0) + 1));
  }

  /** Stays in the place of what was reset, so that no older copy comes back. */
  #cleared(act: string): Entry {
    return { act, updated: this.#now(act), stage: "none", memory: null, account: null };
  }

  #tell(acts: readonly string[], elsewhere: boolean): void {
    if (acts.length) for (const listener of [...this.#listeners]) listener(new Set(acts), elsewhere);
  }
}
