import { afterEach, expect, it } from "vitest";
import { wrongNumber } from "../src/number";

afterEach(() => document.body.replaceChildren());

it("fills the page's form with the number and its origin, and keeps what the build has filled in", () => {
  document.body.innerHTML =
    '<a data-wrong-number href="https://example.org/x/issues/new?template=wrong-number.yml&amp;page=https%3A%2F%2Fexample.org%2Fa%2F&amp;version=1">x</a>';
  const { origin, pathname, searchParams } = new URL(wrongNumber("12.5 GB", "Computed: 4 & 8 = 12") ?? "");
  expect(origin + pathname).toBe("https://example.org/x/issues/new");
  expect(Object.fromEntries(searchParams)).toEqual({
    template: "wrong-number.yml",
    page: "https://example.org/a/",
    version: "1",
    number: "12.5 GB",
    origin: "Computed: 4 & 8 = 12",
  });
});

it("has no address on a site that names no repository", () => {
  expect(wrongNumber("1", "2")).toBeNull();
});
