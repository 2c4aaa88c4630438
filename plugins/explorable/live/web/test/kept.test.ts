// An edit is kept, or it is said that it is not; what another tab makes of it is told.
import { afterEach, expect, test, vi } from "vitest";
import { KeptCode } from "../src/snippet/kept";
import { SmallArea } from "./ledger-kit";

const KEY = "a-book/snippet/page/count/1";
const gone = new AbortController();
afterEach(() => void vi.unstubAllGlobals());

function kept(): { host: HTMLElement; code: KeptCode; told: string[] } {
  const host = document.createElement("div");
  host.innerHTML = '<div data-slot="code"></div>';
  const told: string[] = [];
  return { host, told, code: new KeptCode(host, KEY, "page()", (text) => told.push(text), gone.signal) };
}

const note = (host: HTMLElement): string => [...host.querySelectorAll("p")].filter((one) => !one.hidden).map((one) => one.textContent).join();

test("an edit is there at the next visit, and the page's own code is kept by nothing", () => {
  kept().code.keep("mine()");
  const { host, code } = kept();
  expect([code.text, note(host)]).toEqual(["mine()", ""]);
  code.keep("page()");
  expect([code.text, localStorage.getItem(KEY)]).toEqual(["page()", null]);
});

test("an edit for which there is no room is said, and is there while the page is", () => {
  vi.stubGlobal("localStorage", new SmallArea(20));
  const { host, code } = kept();
  code.keep("mine()");
  expect(code.text).toBe("mine()");
  expect(note(host)).toMatch(/does not keep this edit/);
  code.keep("page()");
  expect(note(host)).toBe("");
});

test("what another tab wrote is told, and so is what it wrote while this one slept", () => {
  const { told } = kept();
  localStorage.setItem(KEY, '"theirs()"');
  dispatchEvent(new StorageEvent("storage", { key: "another" }));
  expect(told).toEqual([]);
  dispatchEvent(new StorageEvent("storage", { key: KEY }));
  localStorage.removeItem(KEY);
  dispatchEvent(new Event("pageshow"));
  expect(told).toEqual(["theirs()", "page()"]);
});
