// Many ledgers side by side: who predicted what in which act.
import { expect, test, vi } from "vitest";
import { csvOf, median, mount, named, playedBy } from "../src/ledger/class";
import { typedWords } from "../src/ledger/numbers";
import { fileName, fileOf, MOST_CHARACTERS, textOf } from "../src/ledger/file";
import { settle } from "./fake-worker";
import { account, defended, entry, memory } from "./ledger-kit";

/** What the build says of the act. */
const ASKED = { "mfu-gap": { title: "The MFU Gap", question: "What part of the time?", unit: "%" } };

const mine = { name: "Ada", entries: [entry()] };
const other = { name: "Bob", entries: [entry({ memory: { ...memory, prediction: 40 }, account: { ...account, prediction: "40 %", verdict: null } })] };

test("the predictions of an act come together, with the answer that one of them has seen", () => {
  const [played, ...more] = playedBy([other, mine], [], ASKED);
  expect(more).toEqual([]);
  expect(played).toMatchObject({ act: "mfu-gap", title: "The MFU Gap", predictions: [40, 75], answer: 35, unit: " %" });
});

test("a number in another unit answers an earlier question of its act: it is told in its own words", () => {
  const old = { name: "Eve", entries: [entry({ memory: { ...memory, prediction: 350 }, account: { ...account, prediction: "350 MB" } })] };
  const acts = playedBy([mine, old], [], ASKED);
  expect(acts[0]).toMatchObject({ predictions: [75], answer: 35, unit: " %" });
  expect([...(acts[0]?.chosen ?? [])]).toEqual([["350 MB", { readers: 1, correct: new Set() }]]);
  expect(csvOf([mine, old], acts).split("\r\n").slice(1, 3).map((line) => line.split(",").slice(2, 4))).toEqual([['"75 %"', '"35 %"'], ['"350 MB"', '""']]);
});

test("the picture has each reader's first prediction, also where it was an earlier attempt or nothing is locked in since", () => {
  const seen = { attempts: 2, first: "12.5 %", revealed: true };
  const again = { name: "Eve", entries: [entry({ memory: { ...memory, prediction: 35, earlier: seen }, account: { ...account, prediction: "35 %" } })] };
  const away = { name: "Fay", entries: [entry({ memory: { ...memory, prediction: null, earlier: { ...seen, first: "20 %" } }, account: { ...account, prediction: "", verdict: null } })] };
  const [played] = playedBy([mine, again, away], [], ASKED);
  expect(played).toMatchObject({ predictions: [75, 12.5, 20], answer: 35, unit: " %" });
  expect(median(played?.predictions ?? [])).toBe(20);
  const lines = csvOf([again, away], playedBy([again, away], [], ASKED)).split("\r\n").slice(1, 3);
  expect(lines.map((line) => line.split(",").slice(2, 8))).toEqual([
    ['"35 %"', '"35 %"', '"false"', '"2"', '"12.5 %"', '"true"'],
    ['""', '""', '""', '"2"', '"20 %"', '"true"'],
  ]);
});

test("of words that were chosen first, the verdict on the later ones says nothing", () => {
  const earlier = { attempts: 1, first: "The chip", revealed: true };
  const verdict = { correct: true, headline: "It is the link.", gap: { answer: 1, difference: 0, factor: 1, unit: "" } };
  const eve = { name: "Eve", entries: [entry({ memory: { ...memory, prediction: "link", earlier }, account: { ...account, prediction: "The link", verdict } })] };
  expect([...(playedBy([eve])[0]?.chosen ?? [])]).toEqual([["The chip", { readers: 1, correct: new Set() }]]);
});

test("words that were chosen are counted, also where they stand for a number", () => {
  const eve = { name: "Eve", entries: [entry({ memory: { ...memory, prediction: 2 }, account: { ...account, prediction: "It doubles." } })] };
  const [played] = playedBy([eve, eve]);
  expect(played).toMatchObject({ predictions: [], unit: "" });
  expect([...(played?.chosen ?? [])]).toEqual([["It doubles.", { readers: 2, correct: new Set([false]) }]]);
});

test("of the words that were chosen it is told which are right, as far as the files agree", async () => {
  const said = (name: string, prediction: string, correct: boolean | null): File => {
    const verdict = correct === null ? null : { correct, headline: "It is the link.", gap: { answer: 1, difference: 0, factor: 1, unit: "" } };
    return new File([textOf(fileOf([entry({ memory: { ...memory, prediction }, account: { ...account, prediction, verdict } })]))], `${name}.json`);
  };
  const host = document.createElement("div");
  mount(host);
  const files = [said("a", "The link", true), said("b", "The link", null), said("c", "The chip", false), said("d", "Both", true), said("e", "Both", false), said("f", "None", null)];
  Object.defineProperty(host.querySelector("input"), "files", { value: files });
  host.querySelector("input")?.dispatchEvent(new Event("change"));
  await expect.poll(() => host.querySelectorAll("tbody tr").length).toBe(files.length);
  expect([...host.querySelectorAll(".il-class__tally li")].map((line) => line.textContent)).toEqual([
    "“The link” 2 ●● ✓ right",
    "“Both” 2 ●●",
    "“The chip” 1 ● ≠ not so",
    "“None” 1 ●",
  ]);
});

test("an answer has its unit and the digits of the act, also where words were chosen", () => {
  const verdict = { correct: true, headline: "It becomes 0.021 times what it was.", gap: { answer: 0.0208, difference: -0.98, factor: 48, unit: "times" } };
  const eve = { name: "Eve", entries: [entry({ memory: { ...memory, prediction: 0.02 }, account: { ...account, prediction: "A fiftieth.", verdict } })] };
  const tax = { correct: true, headline: "You said 12.5 GB: 12.46 GB.", gap: { answer: 12.4608896, difference: -0.04, factor: 1, unit: "GB" } };
  const ada = { name: "Ada", entries: [entry({ memory: { ...memory, prediction: 12.5 }, account: { ...account, prediction: "12.5 GB", verdict: tax } })] };
  const found = (hand: typeof eve): string | undefined => csvOf([hand], playedBy([hand])).split("\r\n")[1]?.split(",")[3];
  expect([found(eve), found(ada)]).toEqual(['"0.021 times"', '"12.46 GB"']);
});

test("two files with one name are both counted, each can be removed, and the same one again is no other", async () => {
  const host = document.createElement("div");
  document.body.replaceChildren(host);
  mount(host);
  const input = host.querySelector("input") as HTMLInputElement;
  const choose = async (...texts: string[]): Promise<void> => {
    Object.defineProperty(input, "files", { configurable: true, value: texts.map((text) => new File([text], "Kim-Lee.json")) });
    input.dispatchEvent(new Event("change"));
    for (let turn = 0; turn < 10; turn += 1) await settle();
  };
  const rows = (): (string | null)[] => [...host.querySelectorAll("tbody tr")].map((row) => [...row.children].slice(0, 2).map((cell) => cell.textContent).join(": "));
  const trouble = (): string => host.querySelector(".il-trouble")?.textContent ?? "";
  const removes = (): HTMLButtonElement[] => [...host.querySelectorAll<HTMLButtonElement>("tbody button")];
  const [first, last] = [mine, other].map(({ entries }) => textOf({ ...fileOf(entries), player: "Kim Lee" })) as [string, string];
  await choose(first);
  await choose(first);
  expect([rows(), trouble()]).toEqual([["Kim Lee: ≠ 75 %"], ""]);
  await choose(last);
  expect(rows()).toEqual(["Kim Lee (Kim-Lee (2)): 40 %", "Kim Lee (Kim-Lee): ≠ 75 %"]);
  expect(trouble()).toBe("Kim-Lee.json is the name of 2 files: all are counted. Remove one that a later one of the same reader replaces.");
  await choose(last);
  expect(trouble(), "as long as both are there").toMatch(/is the name of 2 files/);
  expect(removes().map((button) => button.getAttribute("aria-label"))).toEqual(["Remove Kim Lee (Kim-Lee (2))", "Remove Kim Lee (Kim-Lee)"]);
  removes()[1]?.click();
  expect([rows(), trouble()]).toEqual([["Kim Lee: 40 %"], ""]);
  expect(document.activeElement).toBe(removes()[0]);
  removes()[0]?.click();
  expect(rows()).toEqual([]);
  expect(document.activeElement).toBe(input);
  await choose(first, last);
  expect(rows().length, "in one choice too").toBe(2);
});

test("an act without a prediction is left out", () => {
  expect(playedBy([{ name: "Eve", entries: [entry({ memory: { ...memory, prediction: null } })] }])).toEqual([]);
});

test("files become one table and a picture for each act; what is no ledger is refused by name", async () => {
  const host = document.createElement("div");
  host.dataset.asked = JSON.stringify(ASKED);
  mount(host);
  const offered = (): string[] => [...host.querySelectorAll<HTMLButtonElement>("button:not([hidden])")].map((button) => button.textContent);
  expect(offered(), "nothing is read yet").toEqual([]);
  const input = host.querySelector("input") as HTMLInputElement;
  const files = [mine, other].map(({ name, entries }) => new File([textOf(fileOf(entries))], `${name}.json`));
  Object.defineProperty(input, "files", { value: [...files, new File(["{}"], "odd.json")] });
  input.dispatchEvent(new Event("change"));
  await expect.poll(() => host.querySelectorAll("tbody tr").length).toBe(2);
  const rows = [...host.querySelectorAll("tbody tr")].map((row) => [...row.children].map((cell) => cell.textContent));
  expect(rows).toEqual([
    ["Ada", "≠ 75 %", "Remove"],
    ["Bob", "40 %", "Remove"],
  ]);
  expect(host.querySelector(".il-class__chosen")).toBeNull();
  expect(host.querySelectorAll("circle").length).toBe(2);
  expect(host.querySelector("svg")?.getAttribute("aria-label")).toBe("The MFU Gap: 2 first predictions, from 40 to 75, the median 57.5; the answer is 35 %.");
  expect(host.querySelector(".il-trouble")?.textContent).toMatch(/^odd\.json: .*no "schema_version"/);
  expect(offered()).toEqual(["Download CSV", "Clear", "Remove", "Remove"]);
  host.querySelectorAll("button")[1]?.click();
  expect(offered()).toEqual([]);
});

test("two files that hold the same ledger are both counted, and named", async () => {
  const host = document.createElement("div");
  mount(host);
  const input = host.querySelector("input") as HTMLInputElement;
  const text = textOf(fileOf(mine.entries));
  Object.defineProperty(input, "files", { value: ["Ada", "copy"].map((name) => new File([text], `${name}.json`)) });
  input.dispatchEvent(new Event("change"));
  await expect.poll(() => host.querySelectorAll("tbody tr").length).toBe(2);
  expect(host.querySelector(".il-trouble")?.textContent).toBe("copy.json holds the same as Ada.json: both are counted.");
});

test("of acts that the book does not have twenty are shown, and the rest is counted", async () => {
  const host = document.createElement("div");
  host.dataset.asked = JSON.stringify(ASKED);
  mount(host);
  const input = host.querySelector("input") as HTMLInputElement;
  const hostile = Array.from({ length: 60 }, (_, index) => entry({ act: `act-${index}` }));
  Object.defineProperty(input, "files", { value: [new File([textOf(fileOf([...hostile, ...mine.entries]))], "odd.json")] });
  input.dispatchEvent(new Event("change"));
  await expect.poll(() => host.querySelectorAll("thead th").length).toBe(1 + 1 + 20);
  expect(host.querySelector(".il-ledger__status")?.textContent).toBe("1 ledger, 21 acts. 40 more acts of other books: left out.");
});

test("a file that is larger than any ledger is refused by its size, and never read", async () => {
  const host = document.createElement("div");
  mount(host);
  const input = host.querySelector("input") as HTMLInputElement;
  const large = new File([""], "large.json");
  const text = vi.spyOn(large, "text");
  Object.defineProperty(large, "size", { value: 3 * MOST_CHARACTERS + 1 });
  Object.defineProperty(input, "files", { value: [large, new File([textOf(fileOf(mine.entries))], "Ada.json")] });
  input.dispatchEvent(new Event("change"));
  await expect.poll(() => host.querySelectorAll("tbody tr").length).toBe(1);
  expect(host.querySelector(".il-trouble")?.textContent).toBe("large.json: The file is larger than any ledger.");
  expect(text).not.toHaveBeenCalled();
});

test("what a reader chose, how far it is from the best, and why, stand in a table of the act", async () => {
  const host = document.createElement("div");
  mount(host);
  const eve = textOf(fileOf([entry({ memory: { ...defended, argument: "<b>Because</b>" } })]));
  const input = host.querySelector("input") as HTMLInputElement;
  Object.defineProperty(input, "files", { value: [new File([eve], "Eve.json"), new File([textOf(fileOf([entry()]))], "Ada.json")] });
  input.dispatchEvent(new Event("change"));
  await expect.poll(() => host.querySelector(".il-class__chosen")).not.toBeNull();
  const rows = [...host.querySelectorAll(".il-class__chosen tbody tr")].map((row) => [...row.children].map((cell) => cell.textContent));
  expect(rows).toEqual([["Eve", "95 %", "Prefetching on. MFU: 41 %<b>Because</b>"]]);
  expect(host.querySelector("b")).toBeNull();
});

test("the acts stand in the order of the lab, whoever played what first", () => {
  const early = entry({ act: "optimizer-memory-tax" });
  const acts = playedBy([{ name: "Ada", entries: [entry({ act: "of-another-site" }), entry(), early] }], ["optimizer-memory-tax", "mfu-gap"]);
  expect(acts.map(({ act }) => act)).toEqual(["optimizer-memory-tax", "mfu-gap", "of-another-site"]);
});

/** What the page shows of these files. */
async function shownOf(asked: object, ...files: [name: string, entries: ReturnType<typeof entry>[]][]): Promise<HTMLElement> {
  const host = document.createElement("div");
  host.dataset.asked = JSON.stringify(asked);
  mount(host);
  const input = host.querySelector("input") as HTMLInputElement;
  Object.defineProperty(input, "files", { value: files.map(([name, entries]) => new File([textOf(fileOf(entries))], `${name}.json`)) });
  input.dispatchEvent(new Event("change"));
  await expect.poll(() => host.querySelectorAll(".il-table tbody tr").length).toBeGreaterThanOrEqual(files.length);
  return host;
}

/** A file that speaks for the class: it has another title, question, unit and answer, and turns the text behind it. */
const SLY = "\u202eThe answer is 99";
const sly = entry({
  account: {
    ...account,
    title: `${SLY}, says the title`,
    question: `${SLY}, says the question`,
    prediction: "75 % (the answer is 99 %)",
    verdict: { correct: true, headline: "99", gap: { answer: 99, difference: 0, factor: 1, unit: `% ${SLY}` } },
  },
});

test("a file that comes first changes neither title, question and unit of an act nor the answer of the others", async () => {
  const host = await shownOf(ASKED, ["Sly", [sly]], ["Ada", mine.entries], ["Bob", other.entries]);
  expect(host.querySelector("figcaption")?.textContent).toBe("The MFU Gap What part of the time? Median of the first predictions: 57.5 %. The answer: 35 %.");
  expect(host.querySelector("svg")?.getAttribute("aria-label")).toBe("The MFU Gap: 2 first predictions, from 40 to 75, the median 57.5; the answer is 35 %.");
  expect(host.querySelector("li")?.textContent).toBe("“75 % (the answer is 99 %)” 1 ●");
  expect(host.querySelector("li > bdi")).not.toBeNull();
  expect(host.textContent).not.toContain(SLY);
  expect([...host.querySelectorAll("thead th")].map((cell) => cell.textContent)).toEqual(["Ledger", "The MFU Gap"]);
});

test("where files differ in the answer none is drawn, that is said, and each has its own in the CSV", async () => {
  const wrong = entry({ account: { ...account, verdict: { correct: true, headline: "99", gap: { answer: 99, difference: 0, factor: 1, unit: "%" } } } });
  const host = await shownOf(ASKED, ["Sly", [wrong]], ["Tom", mine.entries], ["Uma", mine.entries]);
  expect(host.querySelector("figcaption")?.textContent).toBe("The MFU Gap What part of the time? Median of the first predictions: 75 %. The files differ in the answer: 99 % in 1, 35 % in 2.");
  expect(host.querySelector("svg")?.textContent).not.toContain("answer");
  expect(host.querySelector("svg")?.getAttribute("aria-label")).not.toContain("answer");
  const hands = [{ name: "Sly", entries: [wrong] }, mine, other];
  const lines = csvOf(hands, playedBy(hands, [], ASKED)).split("\r\n").slice(1, 4);
  expect(lines.map((line) => line.split(",")[3])).toEqual(['"99 %"', '"35 %"', '""']);
});

test("an act that the build does not know is told in the words of a file, which stand apart and are said to be its words", async () => {
  const host = await shownOf({}, ["\u202eSly", [sly]], ["Tom", mine.entries]);
  const caption = host.querySelector("figcaption");
  expect(caption?.querySelector("strong")?.textContent).toBe("mfu-gap");
  expect(caption?.textContent).toBe(
    `mfu-gap is no act of this site. The file of \u202eSly calls it “${SLY}, says the title” and asks “${SLY}, says the question”. Median of the first predictions: 75 %. The answer: 35 %.`,
  );
  // Outside of what is isolated nothing turns the text.
  for (const foreign of host.querySelectorAll("bdi")) foreign.remove();
  expect(host.textContent).not.toContain("\u202e");
  expect([...host.querySelectorAll("[aria-label]")].map((one) => one.getAttribute("aria-label")).join("")).not.toContain("\u202e");
});

test("predictions are told with the digits that were typed, and their middle with all of its own", () => {
  expect([12.46, 12, -500, 1234.5, 2 / 3].map(typedWords)).toEqual(["12.46", "12", "−500", "1,234.5", "0.667"]);
  expect(typedWords(median([12.46, 12.5]))).toBe("12.48");
});

test("the median of an even number of predictions is the mean of the two in the middle", () => {
  expect(median([40, 1, 3])).toBe(3);
  expect(median([40, 1, 3, 4])).toBe(3.5);
});

test("readers stand in the order of the names that they gave; where two share one, and where there is none, the file says whose it is", () => {
  const read = (file: string, player: string) => ({ file, text: "", player, entries: [] });
  const hands = named([read("e10", ""), read("e9", ""), read("c", "Bob"), read("b", "Bob"), read("a", "Ada")]);
  expect(hands.map(({ name }) => name)).toEqual(["Ada", "Bob (b)", "Bob (c)", "e9", "e10"]);
});

test.each(["=1", " +1", "@a", "-1", "\t1", "\r=1", "＝1", "＠a", "\0=1", "\u200b@a"])("a name that a spreadsheet would take for a formula is a text: %j", (name) => {
  const [, line] = csvOf([{ name, entries: [entry()] }], playedBy([mine])).split(/\r\n(?=")/);
  expect(line?.startsWith(`"'`)).toBe(true);
});

test.each(["x;=1+1;y", 'x;"=1+1";y', "x\t=1+1\ty", "x\n=1+1", "x\r\n@a"])("a prediction is one cell also where lines are divided at semicolons or tabs: %j", (prediction) => {
  const sly = { name: "Ada", entries: [entry({ account: { ...account, prediction } })] };
  const lines = csvOf([sly], playedBy([sly])).split("\r\n");
  expect(lines).toHaveLength(3);
  expect(lines.join("")).not.toMatch(/[;\t\r\n]/);
  expect(lines[1]).toMatch(/^"Ada","mfu-gap","x[ ,]/);
});

test("a spreadsheet gets a line for each reader and act, and no formula", () => {
  const before = { attempts: 2, first: "-1 %", revealed: true };
  const sly = { name: '=HYPERLINK("x")', entries: [entry({ memory: { ...memory, hints: 3, earlier: before } })] };
  const [head, line, end] = csvOf([sly], playedBy([sly], [], ASKED)).split("\r\n");
  expect(head?.startsWith("\ufeff"), "a spreadsheet is told that it is UTF-8").toBe(true);
  expect(head?.split(",")).toHaveLength(13);
  expect(line).toBe(`"'=HYPERLINK(""x"")","The MFU Gap","75 %","35 %","${String(entry().account?.verdict?.correct)}","2","'-1 %","true","3","","-1","35","%"`);
  expect(end).toBe("");
});

test("files of several readers, or of several days, have names of their own", () => {
  expect(fileName("iron-law-ledger", "Ada L. / B", "json")).toBe("iron-law-ledger-Ada-L-B.json");
  expect(fileName("iron-law-ledger", "", "json")).toMatch(/^iron-law-ledger-\d{4}-\d\d-\d\d\.json$/);
});
