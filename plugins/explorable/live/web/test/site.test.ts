// The document's one Python, and the addresses of the site, which may be served under any path beside other projects.
import { expect, test, vi } from "vitest";
import { PythonClient } from "../src/python/client";
import { documentPython } from "../src/python/interpreter";
import { siteUrl } from "../src/site";

test("a page's address stays inside of the site", () => {
  expect(siteUrl("lab/act1/")).toMatch(/^file:.*\/lab\/act1\/$/);
  for (const page of ["javascript:alert(1)", "//example.org/", "/elsewhere/", "lab/../../other/", "https://example.org/"]) {
    expect(siteUrl(page), page).toBeNull();
  }
});

test("however many acts and snippets ask for the document's Python, one listener waits for its failure", () => {
  const subscribe = vi.spyOn(PythonClient.prototype, "subscribe");
  for (let act = 0; act < 5; act += 1) documentPython();
  expect(subscribe).toHaveBeenCalledTimes(1);
});
