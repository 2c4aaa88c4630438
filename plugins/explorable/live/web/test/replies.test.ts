// What a reader's program says in Python's name: in another shape, or without measure, it ends the run.
import { expect, test } from "vitest";
import type { Response } from "../src/python/protocol";
import { bench, ignore, snippet } from "./fake-worker";

const ran = { kind: "ran" as const, id: 1, result: null, error: null, figures: [] };
const CUT = "Python was ended: output cut after 100,000 characters.";
const ODD = "Python broke down: it said something that this page does not understand.";

/** A run in a Python that is ready, and what it printed. */
function running() {
  const all = bench();
  const run = all.client.run(snippet("hostile"), [], ignore);
  all.worker().ready();
  const says = (...replies: unknown[]): void => {
    for (const reply of replies) all.worker().reply(reply as Response);
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

test("as a figure that shows parts of itself without measure ends the run before a browser draws it", async () => {
  const { run, says, workers, id } = running();
  const levels = Array.from({ length: 20 }, (_, at) => `<g id="a${at + 1}">${`<use href="#a${at}"/>`.repeat(2)}</g>`).join("");
  says({ ...ran, id, figures: [{ svg: `<svg><g id="a0"><path/></g>${levels}</svg>`, name: "" }] });
  expect(await run.outcome).toEqual({ kind: "problem", message: "Python was ended: a figure shows parts of itself too often to be drawn here.", lost: true });
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

test("is counted anew for each run", async () => {
  const { client, worker, run, says } = running();
  for (const one of [run, client.run(snippet("next"), [], ignore)]) {
    const { id } = worker().last;
    says(...Array.from({ length: 900 }, () => ({ kind: "output", id, text: "x".repeat(400) })), { ...ran, id });
    expect(await one.outcome).toMatchObject({ kind: "ran" });
  }
});
