// What stands around an act's instruments: what a link asks for and the page does not offer, texts that are read, a comparison.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Controls } from "../src/act/controls";
import { textOf } from "../src/desk/reader";
import { addressOf } from "../src/desk/address";
import { Around, type Desk, notOffered } from "../src/desk/desk";
import type { Value, View } from "../src/python/protocol";

/** Ends when the page is left, as a test is behind its last line. */
let left = new AbortController();

beforeEach(() => {
  left = new AbortController();
  document.body.innerHTML = `
    <fieldset data-choice="model"><legend>Model</legend>
      <label><input type="radio" name="m" data-value='"small"' checked>Small</label>
      <label><input type="radio" name="m" data-value='"large"'>Large</label></fieldset>
    <label><input type="checkbox" data-toggle="flash" checked><span>Fused attention</span></label>
    <input data-note="config" maxlength="4">`;
});

// Whatever waits for a hand to rest would go on in the next test, or where there is no page any more.
afterEach(() => left.abort());

/** As the page brings it. */
const READER = `
  <textarea class="il-reader__box" disabled></textarea><button data-action="read" disabled>Read it</button><input type="file" disabled>
  <p class="il-problem"></p><ul class="il-reader__texts"></ul><div class="il-reader__said"></div><details class="il-reader__changes" hidden></details>`;

const opened = (asked: Record<string, Value>): string =>
  notOffered(document.body, asked, new Controls(document.body, "run").write({ context: "run", controls: asked }).controls);

test("nothing is said of a link that is taken", () => {
  expect(opened({ model: "large", flash: false, config: "{}" })).toBe("");
});

test("each value that is not taken is said by name", () => {
  expect(opened({ model: "huge" })).toBe("Model: huge is not offered here; Small stands instead.");
  expect(opened({ model: "large", flash: 3 })).toBe("Fused attention: 3 is not offered here; on stands instead.");
  expect(opened({ colour: "red" })).toBe("The link sets colour, which is not here.");
  expect(opened({ config: "{ long }" })).toBe("The link's config is not taken.");
  expect(opened({ model: "\u202ehuge\u2066" })).toBe("Model: huge is not offered here; Small stands instead.");
  expect(opened({ model: "x".repeat(900) })).toContain(`${"x".repeat(40)}… is not offered`);
});

/** A desk around the controls of this page, whose Python hears what `hear` says. */
function desk(hear: (text: string) => Promise<unknown>): Desk & { at: Record<string, Value> } {
  const host = document.createElement("div");
  host.dataset.linked = "";
  host.innerHTML = `
    <p data-slot="headline"></p><div data-slot="reader">${READER}</div><ol data-slot="suggestions"></ol><div data-slot="comparison"></div><p data-slot="link"></p>`;
  host.append(...document.body.childNodes);
  document.body.append(host);
  const made = {
    host,
    name: "plan",
    signal: left.signal,
    at: { model: "small", flash: true } as Record<string, Value>,
    state: () => ({ context: "run", controls: { ...made.at }, prediction: null }) as unknown as ReturnType<Desk["state"]>,
    defaults: () => ({ context: "run", controls: {} }),
    tell: async (what: string, texts: readonly string[]) => (what === "hear" ? await hear(texts.at(-1) ?? "") : { next: null }),
    set: () => undefined,
    announce: () => undefined,
  };
  return made;
}

const seen = (weights: string, success = true): View =>
  ({ headline: { label: "Peak", value: "3", unit: "GB" }, readings: { Weights: weights }, command: "", success: success ? { title: "Fits", what: "", marked: true } : null }) as unknown as View;

test("a damaged link is told before the answer", async () => {
  const here = desk(async () => null);
  const around = new Around(here);
  location.hash = "#state=1.plan.AA!";
  await around.open();
  const problem = here.host.querySelector('[data-slot="link-problem"]');
  expect(problem?.textContent).toContain("damaged");
  expect(problem?.nextElementSibling).toBe(here.host.querySelector('[data-slot="headline"]'));
  location.hash = "";
});

/** A desk whose controls can be set, and what it says of a link. */
function settable() {
  const here = desk(async () => null);
  here.defaults = () => ({ context: "run", controls: { model: "small", flash: true } });
  here.set = (controls) => Object.assign(here.at, controls);
  const around = new Around(here);
  const said = here.host.querySelector<HTMLElement>(".il-link__changed") as HTMLElement;
  const follow = async (controls: Record<string, Value>): Promise<void> => {
    const before = here.at.model;
    location.hash = new URL(await addressOf("https://example.org/", "plan", { context: "run", controls }, here.defaults())).hash;
    await vi.waitFor(() => expect(here.at.model).not.toBe(before));
  };
  return { here, around, said, follow };
}

afterEach(() => void (location.hash = ""));

test.each([0, 390, 410])("a link that is followed %i ms after an answer is opened, whatever the page writes into the address then", async (after) => {
  // The event that tells of a followed link comes late here: not before the page has written.
  const late = new AbortController();
  addEventListener("hashchange", (event) => event.stopImmediatePropagation(), { capture: true, signal: late.signal });
  const { here, around } = settable();
  const link = new URL(await addressOf("https://example.org/", "plan", { context: "run", controls: { model: "large" } }, here.defaults())).hash;
  around.told(here.state(), seen("1 GB"));
  await new Promise((done) => setTimeout(done, after));
  history.replaceState(null, "", link);
  await new Promise((done) => setTimeout(done, 600));
  expect(location.hash).toBe(link);
  late.abort();
  await around.open(true);
  expect(here.at.model).toBe("large");
});

test("a link that comes later and changes what the reader has set says so, with a way back and to and fro", async () => {
  const { here, around, said, follow } = settable();
  here.at.flash = false; // A hand.
  await follow({ model: "large" });
  expect(here.at).toEqual({ model: "large", flash: true });
  expect(said.hidden).toBe(false);
  expect(said.querySelector('[role="status"]')?.textContent).toBe("A link changed the settings.");
  const button = said.querySelector("button");
  button?.click();
  expect(here.at).toEqual({ model: "small", flash: false });
  expect(said.textContent).toBe("The settings stand as before the link. Take the link's");
  button?.click();
  expect(here.at).toEqual({ model: "large", flash: true });
  around.clear();
  expect(said.hidden).toBe(true);
});

test("after several links what the reader had set before the first comes back", async () => {
  const { here, said, follow } = settable();
  here.at.flash = false;
  await follow({ model: "large" });
  await follow({ flash: true, model: "small", config: "x" });
  await follow({ model: "large", config: "y" });
  said.querySelector("button")?.click();
  expect(here.at).toMatchObject({ model: "small", flash: false });
});

test("a link that finds the settings as the page has them changes them without a word", async () => {
  const { said, follow } = settable();
  await follow({ model: "large" });
  expect(said.hidden).toBe(true);
});

test("what cannot be read comes back into the box, also after another text was read; nothing to read clears the error", async () => {
  const waiting: ((heard: boolean) => void)[] = [];
  const here = desk(
    () =>
      new Promise((done, fail) =>
        waiting.push((heard) => (heard ? done({ labels: ["a log"], controls: {}, said: [] }) : fail(new Error("of no known kind")))),
      ),
  );
  new Around(here);
  const box = here.host.querySelector("textarea") as HTMLTextAreaElement;
  const button = here.host.querySelector<HTMLButtonElement>('[data-action="read"]');
  const problem = (): string => here.host.querySelector('[data-slot="reader"] .il-problem')?.textContent ?? "";
  const read = (text: string): void => {
    box.value = text;
    button?.click();
  };
  read("good");
  read("nonsense");
  await vi.waitFor(() => expect(waiting).toHaveLength(1));
  waiting[0]?.(true);
  await vi.waitFor(() => expect(here.host.querySelector(".il-reader__texts li")).not.toBeNull());
  await vi.waitFor(() => expect(waiting).toHaveLength(2));
  waiting[1]?.(false);
  await vi.waitFor(() => expect(problem()).toBe("of no known kind"));
  expect(box.value).toBe("nonsense");
  read(" ");
  await vi.waitFor(() => expect(problem()).toBe(""));
});

test("texts that are given while another is read are read after it, and none is lost", async () => {
  const heard: string[] = [];
  const here = desk(async (text) => {
    await new Promise((done) => setTimeout(done, 5));
    heard.push(text);
    return { labels: [...heard], controls: {}, said: [] };
  });
  new Around(here);
  const box = here.host.querySelector("textarea") as HTMLTextAreaElement;
  for (const text of ["first", "second", "third"]) {
    box.value = text;
    here.host.querySelector<HTMLButtonElement>('[data-action="read"]')?.click();
  }
  await vi.waitFor(() => expect(here.host.querySelectorAll(".il-reader__texts li")).toHaveLength(3));
  expect(heard).toEqual(["first", "second", "third"]);
});

test("a Python that ends before a text is read is told, and the text comes back", async () => {
  const here = desk(async () => null);
  new Around(here);
  const box = here.host.querySelector("textarea") as HTMLTextAreaElement;
  box.value = "a log";
  here.host.querySelector<HTMLButtonElement>('[data-action="read"]')?.click();
  await vi.waitFor(() => expect(here.host.querySelector('[data-slot="reader"] .il-problem')?.textContent).toBe("Python ended before all was read: give it again."));
  expect(box.value).toBe("a log");
});

test.each(["\u0301".repeat(150_000), "model: gpt2\n"])("a pasted text goes into the box without more marks than a browser can lay out", async (text) => {
  const heard: string[] = [];
  const here = desk(async (one) => void heard.push(one));
  new Around(here);
  const box = here.host.querySelector(".il-reader__box") as HTMLTextAreaElement;
  const paste = Object.assign(new Event("paste", { cancelable: true }), { clipboardData: { getData: () => text } });
  box.dispatchEvent(paste);
  const long = text.length > 1000;
  expect(paste.defaultPrevented).toBe(long);
  expect(box.value.length).toBe(long ? 51 : 0);
  if (long) await vi.waitFor(() => expect(heard).toEqual([box.value]));
});

test("while a text was not read, the answer beside it is marked as one without it", async () => {
  const here = desk(async (text) => (text === "nonsense" ? Promise.reject(new Error("of no known kind")) : { labels: ["a log", "a model"], controls: {}, said: [] }));
  here.host.insertAdjacentHTML("beforeend", '<div data-slot="failure"></div>');
  const around = new Around(here);
  const box = here.host.querySelector("textarea") as HTMLTextAreaElement;
  const unread = here.host.querySelector<HTMLElement>(".il-reader__unread");
  expect(unread?.nextElementSibling).toBe(here.host.querySelector('[data-slot="failure"]'));
  const marked = (): boolean => !unread?.hidden && here.host.hasAttribute("data-unread");
  const read = (text: string): void => {
    box.value = text;
    here.host.querySelector<HTMLButtonElement>('[data-action="read"]')?.click();
  };
  read("a log");
  await vi.waitFor(() => expect(here.host.querySelector(".il-reader__texts li")).not.toBeNull());
  expect(marked()).toBe(false);
  read("nonsense");
  await vi.waitFor(() => expect(marked()).toBe(true));
  // The text mended is read, taken out of the box, or goes with all others.
  read("config.json");
  await vi.waitFor(() => expect(marked()).toBe(false));
  read("nonsense");
  await vi.waitFor(() => expect(marked()).toBe(true));
  box.value = "";
  box.dispatchEvent(new Event("input"));
  expect(marked()).toBe(false);
  read("nonsense");
  await vi.waitFor(() => expect(marked()).toBe(true));
  around.clear();
  expect(marked()).toBe(false);
});

test("where nothing was read, it is said whose the verdict is, until the next change; a part that was not read stays open", async () => {
  const here = desk(async () => null);
  here.tell = async (what, texts) => {
    if (what === "hear" && texts.includes("nonsense")) throw new Error("of no known kind");
    return what === "hear" ? { labels: texts, controls: {}, said: [] } : { next: null };
  };
  here.host.insertAdjacentHTML("beforeend", '<div data-slot="failure"></div>');
  const around = new Around(here);
  const unread = here.host.querySelector<HTMLElement>(".il-reader__unread") as HTMLElement;
  const marked = (): string => (here.host.hasAttribute("data-unread") && !unread.hidden ? unread.textContent : "");
  const drop = (...texts: string[]): void => {
    const files = texts.map((text) => new File([text], `${text}.yaml`));
    here.host.dispatchEvent(Object.assign(new Event("drop"), { dataTransfer: { types: ["Files"], files, getData: () => "" } }));
  };
  drop("nonsense");
  await vi.waitFor(() => expect(marked()).toBe("This is still the plan as it stood before: what you gave was not read."));
  around.told(here.state(), seen("1 GB"));
  expect(marked()).toContain("as it stood before");
  here.at.model = "large";
  around.told(here.state(), seen("2 GB"));
  expect(marked()).toBe("");
  drop("a model", "nonsense");
  await vi.waitFor(() => expect(marked()).toContain("the answer is without it"));
  here.at.model = "small";
  around.told(here.state(), seen("1 GB"));
  expect(marked()).toContain("the answer is without it");
});

test("of files without a text it is said that there is nothing to read, and the others are read", async () => {
  const here = desk(async () => ({ labels: ["a log"], controls: {}, said: [] }));
  new Around(here);
  const problem = here.host.querySelector('[data-slot="reader"] .il-problem');
  const drop = (...files: File[]): void => {
    here.host.dispatchEvent(Object.assign(new Event("drop"), { dataTransfer: { types: ["Files"], files, getData: () => "" } }));
  };
  drop(new File([], "empty.yaml"), new File([" \n"], "blank.log"));
  await vi.waitFor(() => expect(problem?.textContent).toBe("There is nothing to read in empty.yaml, blank.log."));
  drop(new File(["text"], "full.log"), new File([], "empty.yaml"));
  await vi.waitFor(() => expect(problem?.textContent).toBe("There is nothing to read in empty.yaml."));
  expect(here.host.querySelectorAll(".il-reader__texts li")).toHaveLength(1);
});

test("of several files each is taken that can be read, in whatever order, and each that cannot is named with its error", async () => {
  const hear = vi.fn((texts: readonly string[]) => {
    if (texts.includes("broken")) throw new Error("this is broken JSON: in line 1, column 7, a value is expected");
    return { labels: texts.map((text) => text), controls: { model: "large" }, said: [] };
  });
  const here = desk(async () => null);
  here.tell = async (what, texts) => (what === "hear" ? hear(texts) : { next: null });
  here.set = (controls) => void Object.assign(here.at, controls);
  const around = new Around(here);
  const problem = (): string | undefined => here.host.querySelector('[data-slot="reader"] .il-problem')?.textContent ?? undefined;
  const texts = (): (string | null)[] => [...here.host.querySelectorAll(".il-reader__texts li")].map((one) => one.textContent);
  const drop = (...files: File[]): void => {
    here.host.dispatchEvent(Object.assign(new Event("drop"), { dataTransfer: { types: ["Files"], files, getData: () => "" } }));
  };
  const [good, other, bad] = [new File(["a model"], "config.json"), new File(["a log"], "train.log"), new File(["broken"], "ds_config.json")];
  for (const files of [[good, bad], [bad, good]]) {
    here.at.model = "small";
    drop(...files);
    await vi.waitFor(() => expect(texts()).toEqual(["a model ×"]));
    expect(problem()).toBe("ds_config.json: this is broken JSON: in line 1, column 7, a value is expected.");
    expect([here.at.model, here.host.hasAttribute("data-unread")]).toEqual(["large", true]);
    around.clear();
  }
  hear.mockClear();
  drop(good, other);
  await vi.waitFor(() => expect(texts()).toEqual(["a model ×", "a log ×"]));
  expect([problem(), hear.mock.calls.length]).toEqual(["", 1]);
  around.clear();
  drop(new File(["short"], "a.safetensors"), bad, good);
  await vi.waitFor(() => expect(texts()).toEqual(["a model ×"]));
  expect(problem()).toMatch(/^a\.safetensors cannot be read: .* ds_config\.json: this is broken/);
  around.clear();
  drop(...Array.from({ length: 9 }, (_, index) => new File([`text ${index}`], `${index}.log`)));
  await vi.waitFor(() => expect(texts()).toHaveLength(8));
  expect(problem()).toBe("8.log: At most 8 texts are read together: take one away first.");
});

test("who reads a text is told where the controls stood after the text before", async () => {
  const here = desk(async () => null);
  const stood: unknown[] = [];
  here.tell = async (what, texts, state) => {
    if (what === "hear") stood.push(state.stood);
    return what === "hear" ? { labels: [...texts], controls: { model: "large" }, said: [] } : { next: null };
  };
  here.set = (controls) => void Object.assign(here.at, controls);
  new Around(here);
  for (const [count, text] of ["a file", "a log", "a table"].entries()) {
    here.host.dispatchEvent(Object.assign(new Event("drop"), { dataTransfer: { types: ["text/plain"], files: [], getData: () => text } }));
    await vi.waitFor(() => expect(here.host.querySelectorAll(".il-reader__texts li")).toHaveLength(count + 1));
    here.at.flash = false;
  }
  // What the reader moved after the first text stays moved, however many follow.
  expect(stood).toEqual([undefined, { model: "large", flash: true }, { model: "large", flash: true }]);
});

test("the text to post carries the link of its plan", async () => {
  const here = desk(async () => null);
  here.host.insertAdjacentHTML("beforeend", '<details data-slot="exports" open></details>');
  here.tell = async (what) => (what === "exports" ? { torchrun: "torchrun train.py", "For an issue (Markdown)": "**Plan**\n" } : { next: null });
  new Around(here).told(here.state(), seen("1 GB"));
  await vi.waitFor(() => expect(here.host.querySelectorAll(".il-export pre")).toHaveLength(2));
  const [line, posted] = [...here.host.querySelectorAll(".il-export pre")].map((one) => one.textContent);
  expect(line).toBe("torchrun train.py");
  expect(posted).toMatch(/^\*\*Plan\*\*\n\n\[This plan\]\(http.*#state=1\.plan\.[\w-]+\)\n$/);
});

test("a comparison leaves to its rows what its first label says behind a semicolon", () => {
  const here = desk(async () => null);
  const around = new Around(here);
  const at = (label: string): View => ({ ...seen("1 GB"), headline: { label, value: "3", unit: "GB" } });
  around.told(here.state(), at("Peak; expect 5 GB, 1 s a step"));
  [...here.host.querySelectorAll("button")].find((one) => one.textContent === "Keep this to compare")?.click();
  around.told(here.state(), at("Peak; expect 5 GB, 2 s a step"));
  const first = [...(here.host.querySelector("tbody tr")?.children ?? [])].map((cell) => cell.textContent);
  expect(first).toEqual(["Peak", "3 GB", "3 GB"]);
});

test("a comparison has a row for every part and for every setting that differs", () => {
  const here = desk(async () => null);
  const around = new Around(here);
  around.told(here.state(), seen("1 GB"));
  [...here.host.querySelectorAll("button")].find((one) => one.textContent === "Keep this to compare")?.click();
  here.at = { model: "large", flash: true };
  around.told(here.state(), seen("2 GB"));
  const rows = [...here.host.querySelectorAll("tbody tr")].map((row) => [...row.children].map((cell) => cell.textContent));
  expect(rows).toEqual([
    ["Peak", "3 GB", "3 GB"],
    ["Weights", "1 GB", "2 GB"],
    ["Model", "Small", "Large"],
  ]);
});

test("where nothing helps, a plan that fits is not told that it needs help", async () => {
  for (const [fits, said] of [
    [true, "No single change that can be counted here makes it faster."],
    [false, "No single change that can be counted here helps."],
  ] as const) {
    document.body.innerHTML = "";
    const here = desk(async () => null);
    new Around(here).told(here.state(), seen("1 GB", fits));
    await vi.waitFor(() => expect(here.host.querySelector('[data-slot="suggestions"] .il-help')?.textContent).toContain(said));
  }
});

test("a hand that moves ends the search, and what was found fades; when all is told, work goes on ahead of the hand", async () => {
  const here = desk(async () => null);
  const asked: string[] = [];
  const change = (title: string, worth: number): object => ({ title, text: "", controls: {}, worth, group: "" });
  const told = [change("Less", 1), change("", 0), change("Other", -900), change("", -1), change("", 0)];
  here.tell = async (what) => ({ next: told[asked.push(what) - 1] ?? null });
  const around = new Around(here);
  const place = here.host.querySelector('[data-slot="suggestions"]') as HTMLElement;
  around.told(here.state(), seen("1 GB"));
  around.moving();
  await new Promise((done) => setTimeout(done, 400));
  expect(asked).toEqual([]);
  around.told(here.state(), seen("1 GB"));
  await vi.waitFor(() => expect(asked).toEqual(["suggest", "more", "more", "more", "more", "more"]));
  expect(place.querySelectorAll("li")).toHaveLength(2);
  expect(place.querySelector(".il-help")?.textContent).not.toContain("Looking");
  expect(place.querySelector("[data-past]")).toBeNull();
  const set = vi.spyOn(here, "set");
  const press = (): void => place.querySelector("button")?.click();
  press();
  expect(set).toHaveBeenCalledOnce();
  around.moving();
  expect(place.querySelector("[data-past]")).not.toBeNull();
  expect(place.querySelector("li button")?.getAttribute("aria-disabled")).toBe("true");
  press();
  expect(set).toHaveBeenCalledOnce();
});

test("a change that was made can be taken back and made again, until the controls move otherwise", async () => {
  const here = desk(async () => null);
  const told = [{ title: "Large", text: "", controls: { model: "large" }, worth: 1, group: "" }];
  here.tell = async () => ({ next: told.pop() ?? null });
  here.set = (controls) => void Object.assign(here.at, controls);
  const around = new Around(here);
  around.told(here.state(), seen("1 GB"));
  const back = here.host.querySelector('[data-slot="suggestions"] > button') as HTMLButtonElement;
  await vi.waitFor(() => expect(here.host.querySelector("li button")).not.toBeNull());
  expect(back.hidden).toBe(true);
  here.host.querySelector<HTMLButtonElement>("li button")?.click();
  around.told(here.state(), seen("1 GB"));
  expect([here.at.model, back.hidden, back.textContent]).toEqual(["large", false, "Undo: Large"]);
  back.click();
  expect([here.at.model, back.textContent]).toEqual(["small", "Redo: Large"]);
  back.click();
  expect([here.at.model, back.textContent]).toEqual(["large", "Undo: Large"]);
  here.at.flash = false;
  around.told(here.state(), seen("1 GB"));
  expect(back.hidden).toBe(true);
});

test("a page that is left waits for nothing", async () => {
  vi.useFakeTimers();
  try {
    const here = desk(async () => null);
    new Around(here).told(here.state(), seen("1 GB"));
    expect(vi.getTimerCount()).toBeGreaterThan(1);
    left.abort();
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});

test("of a safetensors file the header alone is read, of a long text its end; what has no header is refused in a line", async () => {
  const header = '{"wte":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}}';
  const length = new DataView(new ArrayBuffer(8));
  length.setBigUint64(0, BigInt(header.length), true);
  const named = (name: string, ...parts: BlobPart[]): File => new File(parts, name);
  expect(await textOf(named("model.safetensors", length.buffer, header, "\0".repeat(16)))).toBe(header);
  expect(await textOf(named("log.txt", "x".repeat(1_000_000), "end"))).toMatch(/^x+end$/);
  expect((await textOf(named("log.txt", "x".repeat(1_000_000), "end"))).length).toBe(1_000_000);
  for (const bad of [named("a.safetensors", "short"), named("a.safetensors", length.buffer, "{"), named("a.safetensors", "not a header at all")])
    await expect(textOf(bad)).rejects.toThrow("a.safetensors cannot be read: it does not begin with a safetensors header of at most 1 MB.");
});

test("what is not exported is told, and cannot be copied", async () => {
  const here = desk(async () => null);
  here.host.insertAdjacentHTML("beforeend", '<details data-slot="exports" open></details>');
  here.tell = async (what) => (what === "exports" ? { torchrun: "torchrun train.py", "": "No fsdp.yaml: one card.\nNo accelerate.yaml: groups." } : { next: null });
  new Around(here).told(here.state(), seen("1 GB"));
  const place = here.host.querySelector('[data-slot="exports"]') as HTMLElement;
  const said = (): (string | null)[] => [...place.querySelectorAll(".il-help p")].map((one) => one.textContent);
  await vi.waitFor(() => expect(said()).toEqual(["No fsdp.yaml: one card.", "No accelerate.yaml: groups."]));
  expect(place.querySelectorAll("a[download]")).toHaveLength(1);
});

test("what was told of a text says so once the settings have changed, and no more when they are back", async () => {
  const here = desk(async () => ({ labels: ["command"], controls: { model: "large" }, said: ["One card: nothing says how many."] }));
  here.set = (controls) => void Object.assign(here.at, controls);
  const around = new Around(here);
  (here.host.querySelector("textarea") as HTMLTextAreaElement).value = "torchrun";
  here.host.querySelector<HTMLButtonElement>('[data-action="read"]')?.click();
  await vi.waitFor(() => expect(here.host.querySelector(".il-reader__said li")).not.toBeNull());
  const since = here.host.querySelector(".il-reader__said p") as HTMLElement;
  const stale = (): boolean => {
    around.told(here.state(), seen("1 GB"));
    return !since.hidden;
  };
  expect(stale()).toBe(false);
  here.at.flash = false;
  expect(stale()).toBe(true);
  expect(since.textContent).toBe("Before you moved the settings, when this was read:");
  here.at.flash = true;
  expect(stale()).toBe(false);
});

test("a text that a later one replaces goes, and a reset takes all texts away, also one that is being read", async () => {
  const waiting: (() => void)[] = [];
  const here = desk((text) => new Promise((done) => waiting.push(() => done({ labels: text === "second" ? ["", "command"] : ["command"], controls: {}, said: ["told"] }))));
  const around = new Around(here);
  const box = here.host.querySelector("textarea") as HTMLTextAreaElement;
  const read = async (text: string): Promise<void> => {
    const before = waiting.length;
    box.value = text;
    here.host.querySelector<HTMLButtonElement>('[data-action="read"]')?.click();
    await vi.waitFor(() => expect(waiting).toHaveLength(before + 1));
  };
  const texts = (): (string | null)[] => [...here.host.querySelectorAll(".il-reader__texts li")].map((one) => one.textContent);
  await read("first");
  waiting[0]?.();
  await vi.waitFor(() => expect(texts()).toEqual(["command ×"]));
  await read("second");
  waiting[1]?.();
  await vi.waitFor(() => expect(box.value).toBe(""));
  expect(texts()).toEqual(["command ×"]);
  await read("third");
  around.clear();
  expect([texts(), here.host.querySelector(".il-reader__said")?.textContent, box.value]).toEqual([[], "", ""]);
  const set = vi.spyOn(here, "set");
  waiting[2]?.();
  await new Promise((done) => setTimeout(done));
  expect(set).not.toHaveBeenCalled();
  expect(texts()).toEqual([]);
});
