// What a reader's program says in Python's name: in another shape, or without measure, it ends the run.
import { expect, test } from "vitest";
import type { Response } from "../src/python/protocol";
import { bench, ignore, release, snippet, state, view as good } from "./fake-worker";

const ran = { kind: "ran" as const, id: 1, result: null, error: null, figures: [] };
const CUT = "Python was ended: output cut after 100,000 characters.";
const ODD = "Python broke down: it said something that this page does not understand.";
const MUCH = "Python was ended: an act's answer holds more than can be shown here.";

/** A run in a Python that is ready, and what it printed. */
function running() {
  const all = bench();
  const run = all.client.run(snippet("hostile"), [], ignore);
  all.worker().ready();
  const says = (...replies: unknown[]): void => {
    for (const reply of replies) all.worker().onmessage?.({ data: JSON.stringify(reply) });
  };
  return { ...all, run, says, id: all.worker().last.id };
}

test.each([
  ["nothing", null],
  ["a text", "x"],
  ["no kind", {}],
  ["a kind of every object", { kind: "toString" }],
  ["figures missing", { ...ran, figures: undefined }],
  ["a figure without a name", { ...ran, figures: [{ svg: "" }] }],
  ["a result that is no text", { ...ran, result: { a: 1 } }],
  ["an error that is a number", { ...ran, error: 5 }],
  ["tests that are no list", { ...ran, checks: 7 }],
  ["output that is no text", { kind: "output", id: 1, text: 5 }],
  ["progress that is no number", { kind: "progress", label: "x", loaded: Number.NaN, total: 1 }],
  ["an answer that is a list", { kind: "answer", id: 1, answer: [] }],
  ["names that are no list", { kind: "completed", id: 1, completed: { from: 0, options: {}, call: null } }],
  ["packages that are no list", { kind: "asks", id: 1, packages: "x", hosts: [] }],
])("in another shape, as %s, ends the run with one sentence", async (_, reply) => {
  const { run, says, workers, client } = running();
  says(reply);
  expect(await run.outcome).toEqual({ kind: "problem", message: ODD, lost: true });
  expect(workers[0]?.terminated).toBe(true);
  expect(client.status).toMatchObject({ phase: "error", label: ODD });
});

test.each([
  ["one text", (id: number) => [{ kind: "output", id, text: "x".repeat(1_000_000) }]],
  ["texts of another run", () => [{ kind: "output", id: -1, text: "x".repeat(1_000_000) }]],
  ["many texts", (id: number) => Array.from({ length: 50 }, () => ({ kind: "output", id, text: "x".repeat(10_000) }))],
  ["a result", (id: number) => [{ ...ran, id, result: "x".repeat(1_000_000) }]],
  ["HTML", (id: number) => [{ ...ran, id, html: "x".repeat(1_000_000) }]],
  ["elements", (id: number) => [{ ...ran, id, html: "<i>".repeat(20_000) }]],
  ["a figure", (id: number) => [{ ...ran, id, figures: [{ svg: "x".repeat(5_000_000), name: "" }] }]],
  ["figures", (id: number) => [{ ...ran, id, figures: Array.from({ length: 100 }, () => ({ svg: "", name: "" })) }]],
  ["tests", (id: number) => [{ ...ran, id, checks: Array.from({ length: 100_000 }, () => ({})) }]],
  ["small pieces", (id: number) => Array.from({ length: 10_000 }, () => ({ kind: "output", id, text: "x" }))],
  ["progress", () => Array.from({ length: 10_000 }, (_, number) => ({ kind: "progress", label: "x", loaded: number, total: 0 }))],
])("without measure, as %s, ends the run with the sentence of the limit, and its worker", async (_, replies) => {
  const { run, says, workers, id } = running();
  says(...replies(id));
  expect(await run.outcome).toEqual({ kind: "problem", message: CUT, lost: true });
  expect(workers[0]).toMatchObject({ terminated: true, onmessage: null });
});

test.each([
  ["objects", { kind: "alive" }, ODD],
  ["no JSON", "{", ODD],
  ["more objects than a reply has", `[${"{},".repeat(2_000_000)}{}]`, CUT],
])("as a message that is %s ends the run before anything is made of it", async (_, data, sentence) => {
  const { run, worker } = running();
  worker().onmessage?.({ data });
  expect(await run.outcome).toEqual({ kind: "problem", message: sentence, lost: true });
});

test("as a figure that shows parts of itself without measure ends the run before a browser draws it", async () => {
  const { run, says, workers, id } = running();
  const levels = Array.from({ length: 20 }, (_, at) => `<g id="a${at + 1}">${`<use href="#a${at}"/>`.repeat(2)}</g>`).join("");
  says({ ...ran, id, figures: [{ svg: `<svg><g id="a0"><path/></g>${levels}</svg>`, name: "" }] });
  expect(await run.outcome).toEqual({ kind: "problem", message: "Python was ended: a figure holds more than can be drawn here.", lost: true });
  expect(workers[0]?.terminated).toBe(true);
});

test("is heard as far as Python itself goes: its whole output, also of signs that are two characters here, and as much of its tests", async () => {
  let printed = 0;
  const { client, worker } = bench();
  const run = client.run(snippet("long"), [], (text) => (printed += text.length));
  worker().ready();
  const { id } = worker().last;
  const whole = `${"😀".repeat(100_000)}\n… output cut after 100,000 characters\n`;
  for (const text of [whole, whole]) worker().reply({ kind: "output", id, text });
  worker().reply({ ...ran, id, html: `${"<b>1</b>".repeat(12_500)}${"😀".repeat(100_000)}` });
  expect(await run.outcome).toMatchObject({ kind: "ran" });
  expect(printed).toBe(2 * whole.length);
});

test("has no more marks in a row than any language has: in a text, in pieces of one, in HTML", async () => {
  let printed = "";
  const { client, worker } = bench();
  const run = client.run(snippet("marks"), [], (text) => (printed += text));
  worker().ready();
  const { id } = worker().last;
  const marks = "\u0300\u0316";
  for (let piece = 0; piece < 100; piece += 1) worker().reply({ kind: "output", id, text: marks.repeat(20) });
  worker().reply({ ...ran, id, result: `a${marks.repeat(40_000)}`, html: `<p>${"\u0e33".repeat(40_000)}`, error: { text: marks.repeat(40_000), line: 1 } });
  const { result, html, error } = (await run.outcome) as Extract<Response, { kind: "ran" }>;
  for (const text of [printed, result, html, error?.text]) expect(text).not.toMatch(/[\p{M}\u0e33]{51}/u);
  expect(printed.length).toBeLessThan(4100);
  expect([result?.length, html?.length, error?.text.length]).toEqual([52, 54, 51]);
});

test("keeps nothing that does not belong to it", async () => {
  const { run, says, id } = running();
  says({ ...ran, id, more: "x".repeat(1_000_000), figures: [{ svg: "", name: "", more: 1 }] });
  expect(await run.outcome).toEqual({ kind: "ran", result: null, error: null, figures: [{ svg: "", name: "" }] });
});

/** An act's question in a Python that is ready. */
function asking() {
  const all = bench();
  const view = all.client.compute("tax", "act.py", state(8));
  all.worker().ready();
  const answers = (answer: object): void => all.worker().reply({ kind: "answer", id: all.worker().last.id, answer });
  return { ...all, view, answers };
}

const rows = (count: number) => Array.from({ length: count }, () => ({ x: "1" }));
const table = { caption: "", columns: [], rows: rows(3000), links: {} };

test.each([
  ["none", { data: 5 }, ODD],
  ["one with a member too many", { ...good("x"), more: 1 }, ODD],
  ["a text for a number", { ...good("x"), score: "9" }, ODD],
  ["more rows than a chart has", { ...good("x"), data: { a: rows(6000), b: rows(6000) } }, MUCH],
  ["more rows than a table has", { ...good("x"), tables: { a: table } }, MUCH],
])("as an act's answer that is %s ends Python before the page shows it", async (_, answer, sentence) => {
  const { client, view, answers, workers } = asking();
  answers(answer);
  expect(await view).toBeNull();
  expect(client.status).toMatchObject({ phase: "error", label: sentence });
  expect(workers[0]?.terminated).toBe(true);
});

test("as an act's answer has no more marks in a row either", async () => {
  const { view, answers } = asking();
  answers(good("\u0e33".repeat(10_000)));
  expect((await view)?.summary).toBe(`${"\u0e33".repeat(50)}…`);
});

test("as an answer to what nobody asked ends the run", async () => {
  const { run, says, id } = running();
  says({ kind: "answer", id, answer: good("x") });
  expect(await run.outcome).toMatchObject({ message: ODD });
});

test.each([
  ["hear", { labels: ["a"], controls: { gpus: 8 }, said: [] }, { labels: ["a"], controls: { gpus: {} }, said: [] }],
  ["rewrite", { "run.sh": "+1" }, { "run.sh": 5 }],
  ["suggest", { next: { title: "", text: "", controls: {}, worth: -1, group: "" } }, { next: { title: "<b>" } }],
  ["more", { next: null }, {}],
  ["exports", {}, { plan: "x".repeat(300_000) }],
] as const)("is held against the rule of what was asked: %s", async (what, right, wrong) => {
  for (const [answer, heard] of [[right, right], [wrong, null]] as const) {
    const { client, worker } = bench();
    const told = client.tell("plan", "act.py", what, [], state(8));
    worker().ready();
    worker().reply({ kind: "answer", id: worker().last.id, answer });
    expect(await told).toEqual(heard);
  }
});

test("is held against the rule of what was asked: a judgment of each blank of one reflection", async () => {
  const right = { largest: { correct: true, why: "" } };
  for (const [answer, heard] of [[right, right], [{ why: right }, null]] as const) {
    const { client, worker } = bench();
    const told = client.check("plan", "act.py", "why", {}, state(8));
    worker().ready();
    worker().reply({ kind: "answer", id: worker().last.id, answer });
    expect(await told).toEqual(heard);
  }
});

test("is counted anew for each run", async () => {
  const { client, worker, run, says } = running();
  for (const one of [run, client.run(snippet("next"), [], ignore)]) {
    const { id } = worker().last;
    says(...Array.from({ length: 900 }, () => ({ kind: "output", id, text: "x".repeat(400) })), { ...ran, id });
    expect(await one.outcome).toMatchObject({ kind: "ran" });
  }
});

/** A run in a Python whose release names two packages of one host and one of another, and what comes of a question. */
function questioned() {
  const one = (host: string, ...packages: string[]) => ({ packages, hosts: [host], urls: packages.map((name) => `https://${host}/${name}.whl`) });
  const elsewhere = { numpy: one("a.example", "numpy"), matplotlib: one("a.example", "matplotlib", "numpy"), tides: one("b.example", "tides") };
  const { client, worker } = bench(() => ({ ...release, runtime: { ...release.runtime, elsewhere } }));
  const run = client.run(snippet("asks"), [], ignore);
  worker().ready();
  const asks = (packages: string[], hosts: string[]): void => worker().reply({ kind: "asks", id: worker().last.id, packages, hosts });
  return { client, worker, run, asks };
}

test("as a question is one for packages of the release, with their hosts", async () => {
  for (const [packages, hosts] of [[["numpy"], ["a.example"]], [["matplotlib", "numpy"], ["a.example"]], [["numpy", "tides"], ["a.example", "b.example"]]] as const) {
    const { run, asks } = questioned();
    asks([...packages].reverse(), [...hosts].reverse());
    expect(await run.outcome).toMatchObject({ kind: "asks", packages, hosts });
  }
});

test.each([
  ["a package that nobody knows", ["your password"], ["a.example"]],
  ["one more", ["numpy", "your password"], ["a.example"]],
  ["a part of what comes together", ["matplotlib"], ["a.example"]],
  ["another host", ["numpy"], ["b.example"]],
  ["a host that nobody knows", ["numpy"], ["a.example, which is safe"]],
  ["no host", ["numpy"], []],
  ["one host too many", ["numpy"], ["a.example", "b.example"]],
  ["nothing", [], []],
  ["the same twice", ["numpy", "numpy"], ["a.example"]],
])("as a question for %s ends the run, and is not shown", async (_, packages, hosts) => {
  const { run, asks } = questioned();
  asks(packages, hosts);
  expect(await run.outcome).toEqual({ kind: "problem", message: ODD, lost: true });
});

test("as a question that no program asks ends Python", () => {
  const { client, worker, asks } = questioned();
  worker().ran();
  void client.compute("tax", "act.py", state(8));
  asks(["numpy"], ["a.example"]);
  expect(client.status).toMatchObject({ phase: "error", label: ODD });
});
