// Code in a link is untrusted: it opens as text or not at all, and nothing of it runs or is kept without the reader.
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { packed } from "../src/packed";
import { FRAGMENT, linkedCode, linkTo, MOST_CODE } from "../src/snippet/link";
import { LinkedCode, type Linkable } from "../src/snippet/linked";

const PAGE = "https://book.example/chapter/memory/";
const fragmentOf = (address: string | null): string => address?.slice(PAGE.length) ?? "";

describe("code in a link", () => {
  test("comes back as it was, for its own snippet and no other", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "grapheme-ascii", maxLength: 500 }), async (text) => {
        const code = `${text}\n\tλ = "ü"\n`.replaceAll("\r", "");
        const fragment = fragmentOf(await linkTo(`${PAGE}#old`, "sum", code));
        expect(await linkedCode(fragment, "sum")).toEqual({ code });
        expect(await linkedCode(fragment, "other")).toBeNull();
      }),
    );
  });

  test("a hostile fragment is nothing or one sentence", async () => {
    const good = fragmentOf(await linkTo(PAGE, "sum", "print(1)"));
    const bomb = `${FRAGMENT}sum.${await packed("x".repeat(30_000_000))}`;
    expect(await linkedCode(bomb, "sum")).toEqual({ problem: "The code in the link is longer than a link may hold." });
    expect(await linkedCode(`${FRAGMENT}sum.${"A".repeat(70_000)}`, "sum")).toBeNull();
    for (const [hidden, name] of [["\u202e", "turned"], ["\u0000", "null"], ["\u200b", "empty"], ["\u3164", "filler"], ["\u061c", "turned too"], ["\u{e0061}", "tag"], ["\r", "return"]]) {
      const fragment = `${FRAGMENT}sum.${await packed(`x = 1${hidden} # ${name}`)}`;
      expect(await linkedCode(fragment, "sum")).toEqual({ problem: "The code in the link has characters that no editor shows." });
      expect(await linkTo(PAGE, "sum", `x = 1${hidden}`)).toBeNull();
    }
    expect(await linkedCode(good.replace("#code=1.", "#code=2."), "sum")).toHaveProperty("problem");
    for (const one of ["", "#", "#code=", "#code=1.sum.", "#code=1.sum", "#ledger=abc", "#code=1.<img>.AAAA", `${good}<script>`, "#code=1.sum.%00"]) {
      expect(await linkedCode(one, "sum")).toBeNull();
    }
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: FRAGMENT.length + 4, max: good.length - 1 }), fc.constantFrom(..."ABCxyz019-_"), async (at, letter) => {
        const found = await linkedCode(good.slice(0, at) + letter + good.slice(at + 1), "sum");
        expect(found).not.toBeNull();
        expect(Object.values(found ?? {})).toHaveLength(1);
      }),
    );
    expect(await linkTo(PAGE, "sum", "x".repeat(MOST_CODE + 1))).toBeNull();
  });
});

describe("a snippet whose code came with a link", () => {
  let text: string;
  let kept: string | null;
  let host: HTMLElement;
  let gone: AbortController;

  beforeEach(() => {
    [text, kept, gone] = ["mine = 1", null, new AbortController()];
    host = document.createElement("live-snippet");
    host.innerHTML = '<span class="il-snippet__buttons"></span><div data-slot="code"></div><p data-slot="announce"></p>';
    host.scrollIntoView = () => undefined;
    document.body.replaceChildren(host);
    history.replaceState(null, "", "/");
  });

  // A snippet that is not gone opens the next test's link too.
  afterEach(() => gone.abort());

  const snippet = (): Linkable => ({
    host,
    name: "sum",
    text: () => text,
    show: (code) => ((text = code), Promise.resolve(true)),
    keep: () => (kept = text),
  });
  const press = (action: string): void => host.querySelector<HTMLButtonElement>(`[data-action="${action}"]`)?.click();
  const open = async (code: string): Promise<LinkedCode> => {
    history.replaceState(null, "", fragmentOf(await linkTo(PAGE, "sum", code)));
    const linked = new LinkedCode(snippet(), gone.signal);
    // The sentence and its buttons come after the code.
    await vi.waitFor(() => expect(host.querySelector('[role="alert"]')).not.toBeNull());
    expect(text).toBe(code);
    return linked;
  };

  test("shows it as text with a sentence, and what runs without the reader's word stays the reader's own", async () => {
    const linked = await open("<img src=x onerror=alert(1)>");
    expect(host.querySelector('[role="alert"]')?.textContent).toMatch(/came with a link.* runs only when you press Run/);
    expect(host.querySelector("img")).toBeNull();
    expect([linked.shown, linked.free, linked.own, kept]).toEqual([true, false, "mine = 1", null]);
    linked.agree();
    expect([linked.free, linked.own]).toEqual([true, "<img src=x onerror=alert(1)>"]);
  });

  test("gives the reader's own back, and forgets the link", async () => {
    const linked = await open("theirs = 2");
    press("back");
    expect([text, kept, linked.shown, location.hash]).toEqual(["mine = 1", null, false, ""]);
  });

  test("keeps it when the reader says so", async () => {
    await open("theirs = 2");
    press("keep");
    expect([text, kept, location.hash]).toEqual(["theirs = 2", "theirs = 2", ""]);
  });

  test("code of a merged ledger is shown in the same way, and leaves the page's address as it is", async () => {
    history.replaceState(null, "", "/#exercise");
    const linked = new LinkedCode(snippet(), gone.signal);
    await linked.offer("theirs = 2", "a ledger that you merged into yours");
    expect(host.querySelector('[role="alert"]')?.textContent).toMatch(/^This code came with a ledger .* runs only when you press Run/);
    expect([text, linked.shown, linked.free, linked.own, kept]).toEqual(["theirs = 2", true, false, "mine = 1", null]);
    press("back");
    expect([text, linked.shown, location.hash]).toEqual(["mine = 1", false, "#exercise"]);
    await linked.offer("theirs = 2", "a ledger that you merged into yours");
    press("keep");
    expect([text, kept, linked.shown]).toEqual(["theirs = 2", "theirs = 2", false]);
  });

  test("a damaged link is said, and changes nothing", async () => {
    history.replaceState(null, "", `${FRAGMENT}sum.AAAA`);
    new LinkedCode(snippet(), gone.signal);
    await vi.waitFor(() => expect(host.querySelector('[role="alert"]')?.textContent).toMatch(/damaged.*What you see is your own/));
    expect(text).toBe("mine = 1");
  });
});
