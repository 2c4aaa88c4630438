// Nodes put into the page: what is there already stays, because a screen reader reads what is new.
import { beforeEach, expect, test } from "vitest";
import { unbroken } from "../src/act/render";
import { h, putChildren } from "../src/dom";

const lines = (...texts: string[]) => texts.map((text) => h("p", {}, text));
let place: HTMLElement;

beforeEach(() => {
  place = h("div");
});

test("the same nodes again change nothing", () => {
  putChildren(place, lines("gap", "why"));
  const before = [...place.childNodes];
  putChildren(place, lines("gap", "why"));
  expect([...place.childNodes]).toEqual(before);
  expect(place.firstChild).toBe(before[0]);
});

test("only a line that differs is put in anew", () => {
  putChildren(place, lines("gap", "5 % of an H100", "why"));
  const [first, second, third] = place.children;
  putChildren(place, lines("gap", "62 % of a laptop", "why"));
  expect(place.children[0]).toBe(first);
  expect(place.children[1]).not.toBe(second);
  expect(place.children[2]).toBe(third);
  expect(place.textContent).toBe("gap62 % of a laptopwhy");
});

test("lines are added and taken away at the end", () => {
  putChildren(place, lines("a"));
  putChildren(place, lines("a", "b", "c"));
  putChildren(place, lines("a", "b"));
  expect(place.textContent).toBe("ab");
  putChildren(place, []);
  expect(place.childNodes.length).toBe(0);
});

test("keeps a number and its unit on one line, and nothing else", () => {
  expect(unbroken("12.46 GB, 40 % of 3 GiB in 5 s")).toBe("12.46\u00a0GB, 40\u00a0% of 3\u00a0GiB in 5\u00a0s");
  expect(unbroken("16 samples, 8 settings, 3 GBs, 2 layers")).toBe("16 samples, 8 settings, 3 GBs, 2 layers");
});
