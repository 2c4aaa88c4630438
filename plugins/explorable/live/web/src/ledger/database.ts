// The ledger in the browser's database: one record per act, and the newer record always stays.
import { openDB } from "idb";
import { bookId } from "../release";
import { keptEntry, newer, type Entry } from "./entry";

export interface Database {
  /** Every record, as it is stored: whoever reads it checks it. */
  all(): Promise<unknown[]>;
  /** Stores the entry unless a newer one is there, in one transaction. Resolves to what stands there afterwards. */
  put(entry: Entry): Promise<Entry>;
}

export type OpenDatabase = (closed: () => void) => Promise<Database>;

/** `closed` is called when the database goes away: a newer version of the site wants to change it, or the browser drops it. */
export const openDatabase: OpenDatabase = async (closed) => {
  const database = await openDB(bookId(), 1, {
    upgrade: (fresh) => void fresh.createObjectStore("acts", { keyPath: "act" }),
    blocking: () => {
      database.close();
      closed();
    },
    terminated: closed,
  });
  return {
    all: () => database.getAll("acts"),
    async put(entry) {
      const transaction = database.transaction("acts", "readwrite");
      const stands = newer(entry, keptEntry(await transaction.store.get(entry.act)));
      if (stands === entry) await transaction.store.put(entry);
      await transaction.done;
      return stands;
    },
  };
};
