// What is kept in the browser, with and without a storage that works.
import { describe, expect, test } from "vitest";
import { fingerprint, openStorage } from "../src/storage";
import { SmallArea } from "./ledger-kit";

const blocked = (): Storage => {
  throw new DOMException("denied", "SecurityError");
};

describe("storage", () => {
  test("keeps a value for the next visit", () => {
    openStorage(() => localStorage).write("a-book/a", { batch: 8 });
    expect(openStorage(() => localStorage).read("a-book/a")).toEqual({ batch: 8 });
  });

  test("forgets what is removed", () => {
    const keep = openStorage(() => localStorage);
    keep.write("a-book/a", 1);
    keep.remove("a-book/a");
    expect(keep.read("a-book/a")).toBeNull();
  });

  test("blocked: works for this page and says that it will not last", () => {
    const keep = openStorage(blocked);
    keep.write("a-book/a", "edit");
    expect(keep.lasting).toBe(false);
    expect(keep.read("a-book/a")).toBe("edit");
    expect(openStorage(blocked).read("a-book/a")).toBeNull();
  });

  test("what someone else left there is nothing, not an error", () => {
    localStorage.setItem("a-book/a", "{not json");
    expect(openStorage(() => localStorage).read("a-book/a")).toBeNull();
  });

  test("full: the value is there for this page", () => {
    const full = { getItem: () => null, removeItem: () => undefined, setItem: (key: string) => {
      if (key !== "explorable/probe") throw new DOMException("full", "QuotaExceededError");
    } } as unknown as Storage;
    const keep = openStorage(() => full);
    keep.write("a-book/a", 7);
    expect(keep.read("a-book/a")).toBe(7);
  });

  test("full to the last character: what was kept is read, and nothing new lasts", () => {
    const area = new SmallArea(1000);
    area.setItem("a-book/a", '"mine"');
    area.room = area.used;
    const keep = openStorage(() => area as unknown as Storage);
    expect([keep.read("a-book/a"), keep.lasting, keep.write("a-book/b", 1)]).toEqual(["mine", false, false]);
  });

  test("a changed source has another fingerprint", () => {
    expect(fingerprint("a = 1")).not.toBe(fingerprint("a = 2"));
    expect(fingerprint("a = 1")).toBe(fingerprint("a = 1"));
  });
});
