// What is kept in the browser, with and without a storage that works.
import { describe, expect, test } from "vitest";
import { fingerprint, openStorage } from "../src/storage";

const blocked = (): Storage => {
  throw new DOMException("denied", "SecurityError");
};

describe("storage", () => {
  test("keeps a value for the next visit", () => {
    openStorage(() => localStorage).write("iron-law/a", { batch: 8 });
    expect(openStorage(() => localStorage).read("iron-law/a")).toEqual({ batch: 8 });
  });

  test("forgets what is removed", () => {
    const keep = openStorage(() => localStorage);
    keep.write("iron-law/a", 1);
    keep.remove("iron-law/a");
    expect(keep.read("iron-law/a")).toBeNull();
  });

  test("blocked: works for this page and says that it will not last", () => {
    const keep = openStorage(blocked);
    keep.write("iron-law/a", "edit");
    expect(keep.lasting).toBe(false);
    expect(keep.read("iron-law/a")).toBe("edit");
    expect(openStorage(blocked).read("iron-law/a")).toBeNull();
  });

  test("what someone else left there is nothing, not an error", () => {
    localStorage.setItem("iron-law/a", "{not json");
    expect(openStorage(() => localStorage).read("iron-law/a")).toBeNull();
  });

  test("full: the value is there for this page", () => {
    const full = { getItem: () => null, removeItem: () => undefined, setItem: (key: string) => {
      if (key !== "iron-law/probe") throw new DOMException("full", "QuotaExceededError");
    } } as unknown as Storage;
    const keep = openStorage(() => full);
    keep.write("iron-law/a", 7);
    expect(keep.read("iron-law/a")).toBe(7);
  });

  test("a changed source has another fingerprint", () => {
    expect(fingerprint("a = 1")).not.toBe(fingerprint("a = 2"));
    expect(fingerprint("a = 1")).toBe(fingerprint("a = 1"));
  });
});
