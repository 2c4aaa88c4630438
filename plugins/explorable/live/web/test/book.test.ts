// The list of a kept book, which comes from the network or from storage: the right shape, and files of the site only.
import { afterEach, describe, expect, test, vi } from "vitest";
import { keptContents, servedContents } from "../src/offline/book";

const ROOT = "https://example.org/book/";
const HASH = "0123456789abcdef";
const good = { release: "abc", files: { "index.html": [5, HASH], "assets/live/a-1.js": [7, HASH], "Z%C3%BCrich.csv": [1, HASH], "data%20%281%29.csv": [1, HASH], "100%25.csv": [1, HASH], "two words.csv": [1, HASH] } };
const bad: unknown[] = [
  null, 5, [], {}, { release: 1, files: {} }, { release: "abc" }, { release: "abc", files: null },
  ...["../other/index.html", "a/../../b", "//elsewhere.example/a", "/a", "https://elsewhere.example/", "", "a/%2e%2e/b", "a?b", "a#b", "a\\b", "a//b", "a/"].map((path) => ({ release: "abc", files: { [path]: [5, HASH] } })),
  ...[[], [5], ["5", HASH], [5, "x"], [5, null], null].map((file) => ({ release: "abc", files: { "index.html": file } })),
];

/** A browser that keeps one book with this list. */
function keeps(list: unknown): void {
  const cache = { match: () => Promise.resolve(new Response(JSON.stringify(list), { headers: { "x-kept": "1" } })) };
  vi.stubGlobal("caches", { keys: () => Promise.resolve(["a-book-book /book/ abc"]), open: () => Promise.resolve(cache) });
}

afterEach(() => void vi.unstubAllGlobals());

describe("the list of a book", () => {
  test("is taken as it is", async () => {
    vi.stubGlobal("fetch", () => Promise.resolve(new Response(JSON.stringify(good))));
    keeps(good);
    expect(await servedContents(ROOT)).toEqual(good);
    expect(await keptContents(ROOT)).toEqual(good);
  });

  test.each(bad.map((list) => [JSON.stringify(list), list]))("%s is none", async (text, list) => {
    vi.stubGlobal("fetch", () => Promise.resolve(new Response(text as string)));
    keeps(list);
    await expect(servedContents(ROOT)).rejects.toThrow(/something else came instead of the list/);
    expect(await keptContents(ROOT)).toBeNull();
  });

  test("a sign-in page is none", async () => {
    vi.stubGlobal("fetch", () => Promise.resolve(new Response("<!doctype html>")));
    await expect(servedContents(ROOT)).rejects.toThrow(/does this network want you to sign in/);
  });
});
