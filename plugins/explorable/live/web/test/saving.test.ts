// A move of the instruments is written down after its answer, soon, or before the page goes: once.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Saving } from "../src/act/saving";

let gone: AbortController;
const write = vi.fn<() => void>();
const leave = (): boolean => dispatchEvent(new Event("pagehide"));

beforeEach(() => {
  vi.useFakeTimers();
  write.mockReset();
  gone = new AbortController();
});

afterEach(() => {
  gone.abort();
  vi.useRealTimers();
});

test("many moves are written once, also where no answer follows", () => {
  const saving = new Saving(write, gone.signal);
  for (let move = 0; move < 5; move += 1) saving.soon();
  expect(write).not.toHaveBeenCalled();
  expect(saving.waiting).toBe(true);
  vi.runAllTimers();
  expect(write).toHaveBeenCalledTimes(1);
  expect(saving.waiting).toBe(false);
});

test("what an answer has written is not written again", () => {
  const saving = new Saving(write, gone.signal);
  saving.soon();
  saving.now();
  leave();
  vi.runAllTimers();
  expect(write).toHaveBeenCalledTimes(1);
});

test("a page that goes writes what waits, and nothing else", () => {
  const saving = new Saving(write, gone.signal);
  leave();
  expect(write).not.toHaveBeenCalled();
  saving.soon();
  leave();
  expect(write).toHaveBeenCalledTimes(1);
});

test("so does a page that is put into the background", () => {
  const saving = new Saving(write, gone.signal);
  const hidden = vi.spyOn(document, "hidden", "get").mockReturnValue(true);
  saving.soon();
  document.dispatchEvent(new Event("visibilitychange"));
  expect(write).toHaveBeenCalledTimes(1);
  hidden.mockRestore();
});

test("what was reset is not written, and an act that is gone hears no page go", () => {
  const saving = new Saving(write, gone.signal);
  saving.soon();
  saving.drop();
  vi.runAllTimers();
  saving.soon();
  gone.abort();
  leave();
  expect(write).not.toHaveBeenCalled();
});
