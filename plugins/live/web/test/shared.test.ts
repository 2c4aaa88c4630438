// The addresses of the site, which may be served under any path beside other projects.
import { expect, test } from "vitest";
import { siteUrl } from "../src/shared";

test("a page's address stays inside of the site", () => {
  expect(siteUrl("lab/act1/")).toMatch(/^file:.*\/lab\/act1\/$/);
  for (const page of ["javascript:alert(1)", "//example.org/", "/elsewhere/", "lab/../../other/", "https://example.org/"]) {
    expect(siteUrl(page), page).toBeNull();
  }
});
