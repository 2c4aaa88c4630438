// What is defended: the parts that a page lists, what was chosen there, and the reader's reasons.
import { expect, test, vi } from "vitest";
import { chosen, groupsIn, mount } from "../src/ledger/defense";
import { Ledger } from "../src/ledger/ledger";
import { account, defended, entry, FakeDatabase, blockedStorage } from "./ledger-kit";

const { documentLedger } = vi.hoisted(() => ({ documentLedger: vi.fn() }));
vi.mock("../src/ledger/ledger", async (original) => ({ ...(await original<object>()), documentLedger }));

test("a page's list names groups, parts and what each of them asks", () => {
  const list = document.createElement("ul");
  list.innerHTML = '<li><strong>Cloud</strong> <a href="/a/" data-act="mfu-gap" data-asks="Why?">1. The gap</a> <a href="/b/">no act</a></li>';
  expect(groupsIn(list)).toEqual([
    { title: "Cloud", parts: [{ act: "mfu-gap", title: "1. The gap", href: new URL("/a/", location.href).href, asks: "Why?" }] },
  ]);
});

test("what was chosen stands with what it reached and its share of the best", () => {
  expect(Object.fromEntries(chosen(entry({ memory: defended })))).toEqual({
    Chosen: "Prefetching on",
    Reached: "MFU: 41 %",
    "Of the best found": "95 %",
  });
  const { best: _, ...none } = defended;
  expect(chosen(entry({ memory: none, account: { ...account, failure: "Too slow" } }))).toEqual([
    ["Chosen", "Nothing yet that keeps every limit."],
    ["Last", "Too slow"],
  ]);
});

test("an argument is kept with its act, makes it newer, and is refused beyond its room or without an act", async () => {
  const store = new Ledger(new FakeDatabase().open, blockedStorage(), null);
  await store.ready;
  store.argue("mfu-gap", "Nobody played this.");
  expect(store.entries()).toEqual([]);
  store.merge([entry({ memory: defended })]);
  const before = store.entry("mfu-gap")?.updated ?? 0;
  store.argue("mfu-gap", "Prefetching hides the disk.");
  expect(store.entry("mfu-gap")?.memory).toEqual({ ...defended, argument: "Prefetching hides the disk." });
  expect(store.entry("mfu-gap")?.updated).toBeGreaterThan(before);
  vi.spyOn(console, "error").mockImplementation(() => {});
  store.argue("mfu-gap", "x".repeat(1201));
  expect(store.entry("mfu-gap")?.memory?.argument).toBe("Prefetching hides the disk.");
  store.reset("mfu-gap");
  store.argue("mfu-gap", "Too late.");
  expect(store.entry("mfu-gap")?.memory).toBeNull();
});

test("while the reader writes, the boxes show what another tab wrote, and a key keeps that too", async () => {
  const shelf = new FakeDatabase();
  const [here, there] = [new Ledger(shelf.open, blockedStorage(), null), new Ledger(shelf.open, blockedStorage(), null)];
  await Promise.all([here.ready, there.ready]);
  documentLedger.mockReturnValue(here);
  here.merge([entry({ act: "one", memory: defended }), entry({ act: "two", memory: defended })]);
  document.body.innerHTML = '<ul data-parts><li><strong>Cloud</strong> <a href="/a/" data-act="one" data-asks="Why?">1</a> <a href="/b/" data-act="two" data-asks="Why?">2</a></li></ul><div id="host"></div>';
  const part = mount(document.querySelector("#host") as HTMLElement);
  const boxes = [...document.querySelectorAll<HTMLTextAreaElement>("textarea")] as [HTMLTextAreaElement, HTMLTextAreaElement];
  const write = (box: HTMLTextAreaElement, text: string): void => {
    box.value += text;
    box.dispatchEvent(new Event("input"));
  };
  boxes[0].focus();
  await there.reread();
  there.argue("one", "A long argument.");
  there.argue("two", "Another one.");
  await vi.waitFor(async () => {
    await here.reread();
    expect(boxes.map(({ value }) => value)).toEqual(["A long argument.", "Another one."]);
  });
  expect(document.activeElement, "the box stays").toBe(boxes[0]);
  write(boxes[0], " X");
  write(boxes[1], " Y");
  part.gone();
  expect(["one", "two"].map((act) => here.entry(act)?.memory?.argument)).toEqual(["A long argument. X", "Another one. Y"]);
});
