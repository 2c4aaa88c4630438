// The ledger of a browser: two tabs, a page that ends early, an update of the site, storage that fails.
import { beforeEach, describe, expect, test, vi } from "vitest";
import { LATEST, type Account, type Entry } from "../src/ledger/entry";
import { fileOf } from "../src/ledger/file";
import { Ledger } from "../src/ledger/ledger";
import { openStorage } from "../src/storage";
import { settle } from "./fake-worker";
import { account, blockedStorage, entry, FakeChannels, FakeDatabase, memory, SmallArea } from "./ledger-kit";

const ACT = "mfu-gap";
const storage = () => openStorage(() => localStorage);
const never = () => new Promise<never>(() => undefined);

async function tab(database: FakeDatabase, channels?: FakeChannels): Promise<Ledger> {
  const store = new Ledger(database.open, storage(), channels?.open() ?? null);
  await store.ready;
  return store;
}

beforeEach(() => localStorage.clear());

describe("the ledger of a browser", () => {
  test("what the reader did is there at the next visit, and the journal is empty", async () => {
    const database = new FakeDatabase();
    (await tab(database)).write(ACT, "predicted", memory, account);
    await settle();
    expect(localStorage.length).toBe(0);
    expect((await tab(database)).entry(ACT)).toMatchObject({ stage: "predicted", memory, account });
  });

  test("a page that ends before the database has answered loses nothing", async () => {
    const early = new Ledger(never, storage(), null);
    early.write(ACT, "predicted", memory, account);
    const database = new FakeDatabase();
    expect((await tab(database)).entry(ACT)?.memory).toEqual(memory);
    expect(database.rows.size).toBe(1);
    expect(localStorage.length).toBe(0);
  });

  test("two tabs on two acts: neither loses the other's writes", async () => {
    const database = new FakeDatabase();
    const [one, other] = [await tab(database), await tab(database)];
    one.write("a", "predicted", memory, account);
    other.write("b", "done", memory, account);
    await settle();
    expect((await tab(database)).entries().map(({ act }) => act)).toEqual(["a", "b"]);
  });

  test("a tab hears at once what another one wrote, and says that it came from elsewhere", async () => {
    const [database, channels] = [new FakeDatabase(), new FakeChannels()];
    const [one, other] = [await tab(database, channels), await tab(database, channels)];
    const heard: [string, boolean][] = [];
    other.subscribe((acts, elsewhere) => heard.push([[...acts].join(), elsewhere]));
    one.write(ACT, "revealed", memory, account);
    await settle();
    expect(other.entry(ACT)?.stage).toBe("revealed");
    expect(heard).toEqual([[ACT, true]]);
  });

  test("a tab that heard nothing learns what is newer when it writes, and on a second look", async () => {
    const database = new FakeDatabase();
    const [one, deaf] = [await tab(database), await tab(database)];
    one.write(ACT, "done", memory, account);
    await settle();
    await deaf.reread();
    expect(deaf.entry(ACT)?.stage).toBe("done");
  });

  test("a reset stays a reset, whatever older copies there are", async () => {
    const database = new FakeDatabase();
    const [one, other] = [await tab(database), await tab(database)];
    one.write(ACT, "done", memory, account);
    await settle();
    one.reset(ACT);
    await settle();
    await other.reread();
    expect([other.entries(), (await tab(database)).entries()]).toEqual([[], []]);
  });

  test("what Python adds does not make an entry newer, and a reset act gets no additions", async () => {
    const store = await tab(new FakeDatabase());
    store.write(ACT, "done", memory, account);
    const written = store.entry(ACT)?.updated;
    store.annotate(ACT, "done", memory, { ...account, failure: "Out of memory" });
    expect([store.entry(ACT)?.updated, store.entry(ACT)?.account?.failure]).toEqual([written, "Out of memory"]);
    store.reset(ACT);
    store.annotate(ACT, "done", memory, account);
    expect(store.entry(ACT)?.memory).toBeNull();
  });

  test("code that came with an import is marked until the reader's own takes its place", async () => {
    const coded = (code: string, tries = 1) => ({ ...memory, exercise: { tries, code } });
    const database = new FakeDatabase();
    const store = await tab(database);
    const marked = async () => [store.entry(ACT)?.brought, (await tab(database)).entry(ACT)?.brought];
    store.write(ACT, "predicted", coded("mine"), account);
    store.merge([entry({ updated: 2e12, memory: coded("mine", 2) })]);
    await settle();
    expect(await marked()).toEqual([undefined, undefined]);
    store.merge([entry({ updated: 3e12, memory: coded("theirs", 2) })]);
    await settle();
    expect(await marked()).toEqual([true, true]);
    expect(JSON.stringify(fileOf(store.entries()))).not.toContain("brought");
    // A hint, and another copy of the same.
    store.write(ACT, "predicted", { ...coded("theirs", 2), hints: 1 }, account);
    store.merge([entry({ updated: 4e12, memory: coded("theirs", 2) })]);
    await settle();
    expect(await marked()).toEqual([true, true]);
    store.write(ACT, "predicted", coded("theirs", 3), account);
    await settle();
    expect(await marked()).toEqual([undefined, undefined]);
  });

  test("what Python says again, with its fields in another order, is no change", async () => {
    const store = await tab(new FakeDatabase());
    store.write(ACT, "done", memory, account);
    const told = vi.fn();
    store.subscribe(told);
    const reversed = Object.fromEntries(Object.entries(account).reverse()) as unknown as Account;
    store.annotate(ACT, "done", memory, reversed);
    expect(told).not.toHaveBeenCalled();
  });

  test("every write is newer than the one before it, even when the clock stands still", async () => {
    const database = new FakeDatabase();
    database.rows.set(ACT, entry({ updated: Date.now() + 86_400_000 }));
    const store = await tab(database);
    store.write(ACT, "predicted", memory, account);
    await settle();
    expect((await tab(database)).entry(ACT)?.stage).toBe("predicted");
  });

  test("damaged records are left out and counted, and the others are there", async () => {
    const database = new FakeDatabase();
    database.rows.set("a", { act: "a", updated: "yesterday" });
    database.rows.set(ACT, entry());
    localStorage.setItem("a-book/ledger/b/tab", "{not json");
    const store = await tab(database);
    expect([store.damaged, store.entries().map(({ act }) => act)]).toEqual([2, [ACT]]);
  });

  test("without a database the journal is what lasts, and visits do not pile up in it", async () => {
    const open = () => Promise.reject(new Error("blocked"));
    for (const stage of ["predicted", "revealed"] as const) {
      const store = new Ledger(open, storage(), null);
      await store.ready;
      store.write(ACT, stage, memory, account);
      expect(store.lasting).toBe(true);
    }
    const third = new Ledger(open, storage(), null);
    await third.ready;
    expect([third.entry(ACT)?.stage, localStorage.length]).toEqual(["revealed", 1]);
  });

  test.each([0, 1])("a visit without room deletes nothing that earlier visits kept (database %i)", async (database) => {
    const area = new SmallArea(100_000);
    area.setItem(`a-book/ledger/${ACT}/old`, JSON.stringify(entry()));
    area.room = area.used + 100;
    const broken = new FakeDatabase();
    for (let visit = 0; visit < 2; visit += 1) {
      broken.failing = database === 1;
      const open = database ? broken.open : () => Promise.reject(new Error("blocked"));
      const store = new Ledger(open, openStorage(() => area as unknown as Storage), null);
      await store.ready;
      await settle();
      expect(store.entry(ACT), `visit ${visit}`).toEqual(entry());
    }
  });

  test("an act that found no room is told until it is kept, also when a smaller one did", async () => {
    const area = new SmallArea(100_000);
    const store = new Ledger(() => Promise.reject(new Error("blocked")), openStorage(() => area as unknown as Storage), null);
    await store.ready;
    store.write("small", "done", memory, account);
    area.room = area.used + 60;
    store.write(ACT, "done", memory, account);
    store.reset("small");
    expect(store.lasting).toBe(false);
    area.room = 100_000;
    store.write(ACT, "done", memory, account);
    expect(store.lasting).toBe(true);
  });

  test("where nothing can be kept it works for the page, and says so", async () => {
    const store = new Ledger(() => Promise.reject(new Error("blocked")), blockedStorage(), null);
    await store.ready;
    store.write(ACT, "done", memory, account);
    expect([store.lasting, store.entry(ACT)?.stage]).toEqual([false, "done"]);
  });

  test("a database that fails on the way: the journal takes over with everything there is", async () => {
    const database = new FakeDatabase();
    database.rows.set("a", entry({ act: "a" }));
    const store = await tab(database);
    database.failing = true;
    store.write(ACT, "done", memory, account);
    await settle();
    const later = new Ledger(() => Promise.reject(new Error("gone")), storage(), null);
    await later.ready;
    expect(later.entries().map(({ act }) => act)).toEqual(["a", ACT]);
  });

  test("a merge and a reset of many acts tell this tab and the others once", async () => {
    const [database, channels] = [new FakeDatabase(), new FakeChannels()];
    const [one, other] = [await tab(database, channels), await tab(database, channels)];
    const heard: [string, number][] = [];
    one.subscribe((acts) => heard.push(["here", acts.size]));
    other.subscribe((acts) => heard.push(["there", acts.size]));
    one.merge(Array.from({ length: 80 }, (_, index) => entry({ act: `act-${index}` })));
    await settle();
    one.resetAll();
    await settle();
    expect(heard).toEqual([["here", 80], ["there", 80], ["here", 80], ["there", 80]]);
  });

  test("an entry from the end of time does not keep the reader from playing on", async () => {
    const database = new FakeDatabase();
    database.rows.set(ACT, entry({ updated: LATEST }));
    const store = await tab(database);
    store.write(ACT, "predicted", memory, account);
    await settle();
    const kept = (await tab(database)).entry(ACT);
    expect([kept?.stage, kept?.updated]).toEqual(["predicted", LATEST]);
  });

  test("what no ledger can hold is not kept, and what was there stays", async () => {
    const told = vi.spyOn(console, "error").mockImplementation(() => undefined);
    const store = await tab(new FakeDatabase());
    store.write(ACT, "done", memory, account);
    store.write(ACT, "done", { ...memory, controls: { batch: Number.NaN } }, account);
    expect(store.entry(ACT)?.memory).toEqual(memory);
    expect(told).toHaveBeenCalledOnce();
    told.mockRestore();
  });

  test("an attempt that was reset and comes back is no earlier one", async () => {
    const store = await tab(new FakeDatabase());
    const played = entry({ act: "tax", updated: 10 });
    store.merge([played]);
    const earlier = { attempts: 1, first: account.prediction ?? "", revealed: true };
    const { prediction: _, ...rest } = memory;
    store.write("tax", "none", { ...rest, prediction: null, explored: false, revealed: false, earlier }, account);
    store.merge([played]);
    expect(store.entries().map((one) => [one.memory?.prediction, one.memory?.earlier])).toEqual([[memory.prediction, undefined]]);
  });

  test("merging takes what is newer or was reset here, and says what it kept", async () => {
    const store = await tab(new FakeDatabase());
    store.merge(["old", "new", "gone", "again", "moved"].map((act) => entry({ act, updated: 10 })));
    store.reset("gone");
    // An act that is reset on its page keeps what was predicted before.
    const reset = { ...memory, prediction: null, explored: false, revealed: false, earlier: { attempts: 1, first: "40 %", revealed: true } };
    store.write("again", "none", reset, account);
    store.write("moved", "none", { ...reset, explored: true }, account);
    const merged = store.merge([
      entry({ act: "old", updated: 5, stage: "predicted" }),
      entry({ act: "new", updated: 20, stage: "predicted" }),
      ...["gone", "again", "moved"].map((act) => entry({ act, updated: 10 })),
    ]);
    expect(merged).toEqual({ taken: ["new", "gone", "again"], kept: ["old", "moved"] });
    // What came back is as old as it was, so that a later record of it is the newer one; the attempts before are not forgotten.
    const [back] = store.entries().filter(({ act }) => act === "again");
    expect(fileOf([back as Entry]).acts["again"]?.updated).toBe(10);
    expect(back?.memory?.earlier?.attempts).toBe(1);
    expect(store.merge([entry({ act: "again", updated: 12 })])).toEqual({ taken: ["again"], kept: [] });
    expect(Object.fromEntries(store.entries().map(({ act, stage }) => [act, stage]))).toEqual({
      old: "done",
      new: "predicted",
      gone: "done",
      again: "done",
      moved: "none",
    });
  });
});
