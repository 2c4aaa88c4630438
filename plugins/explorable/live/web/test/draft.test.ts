// An answer that is not locked in yet outlives a reload, and nothing else does.
import { afterEach, beforeEach, expect, test } from "vitest";
import { keepDraft, type Draft } from "../src/act/draft";

let page: AbortController;
const typed: Draft = { answer: 12.5, controls: { weights: true } };
const leave = (): boolean => dispatchEvent(new Event("pagehide"));

beforeEach(() => {
  page = new AbortController();
});

afterEach(() => {
  page.abort();
  sessionStorage.clear();
});

test("what was typed when the page goes is there when it is back, for its act alone", () => {
  expect(keepDraft("tax", () => typed, page.signal)).toBeNull();
  leave();
  expect(keepDraft("tax", () => typed, page.signal)).toEqual(typed);
  expect(keepDraft("gap", () => null, page.signal)).toBeNull();
});

test("an act that goes without its page keeps it too", () => {
  keepDraft("tax", () => typed, page.signal);
  page.abort();
  expect(keepDraft("tax", () => null, page.signal)).toEqual(typed);
});

test("an answer that is locked in or taken back is forgotten", () => {
  let now: Draft | null = typed;
  keepDraft("tax", () => now, page.signal);
  leave();
  now = null;
  leave();
  expect(keepDraft("tax", () => now, page.signal)).toBeNull();
});

test.each([7, { answer: null, controls: {} }, { answer: [], controls: {} }, { answer: 1, controls: { a: {} } }, { answer: 1 }])("what is no draft is none: %j", (odd) => {
  keepDraft("tax", () => odd as Draft, page.signal);
  leave();
  expect(keepDraft("tax", () => null, page.signal)).toBeNull();
});
