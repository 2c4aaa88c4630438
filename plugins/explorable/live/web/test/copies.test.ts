// A copy of Python's memory: a start begins with it, and goes on without it.
import { expect, test, vi } from "vitest";
import type { Request } from "../src/python/protocol";
import { bench, ignore, settle, state, view } from "./fake-worker";

function kept() {
  let copy: ArrayBuffer | null = new ArrayBuffer(8);
  const asked: string[] = [];
  const copies = {
    find: () => Promise.resolve(copy),
    make: (acts: () => [string, string][]) => void asked.push(`make with ${acts().length} acts`),
    forget: () => ((copy = null), void asked.push("forget")),
  };
  const begun = (worker: { requests: Request[] }) => worker.requests.map((request) => request.kind === "start" && request.copy !== null);
  return { ...bench(undefined, copies), asked, begun };
}

test("a start begins with it, and one is asked for when Python has nothing to do", async () => {
  const { client, worker, begun, asked } = kept();
  void client.compute("tax", "act.py", state(1));
  expect(worker().requests).toEqual([]);
  await settle();
  expect(begun(worker())).toEqual([true]);
  worker().ready();
  expect(asked).toEqual([]);
  worker().reply({ kind: "answer", id: worker().last.kind === "compute" ? worker().last.id : -1, answer: view("there") });
  expect(asked).toEqual(["make with 1 acts"]);
});

test.each(["an error", "a crash", "a worker that does not load"])("%s at a start from it: it goes, Python starts without it, and who waits gets an answer", async (what) => {
  vi.spyOn(console, "warn").mockImplementation(ignore);
  const { client, workers, worker, begun, asked } = kept();
  const answer = client.compute("tax", "act.py", state(1));
  await settle();
  if (what === "an error") worker().reply({ kind: "failed", message: "the copy is damaged", broken: false });
  if (what === "a crash") worker().reply({ kind: "failed", message: "null function", broken: true });
  if (what === "a worker that does not load") worker().onerror?.({ message: "no worker" });
  await settle();
  expect(asked).toEqual(["forget"]);
  expect(workers.map(begun)).toEqual([[true], [false]]);
  worker().ready();
  worker().reply({ kind: "answer", id: worker().last.kind === "compute" ? worker().last.id : -1, answer: view("there") });
  expect(await answer).toEqual(view("there"));
});

test("a program in Python's own worker that says it has made one is not heard", async () => {
  const { client, worker } = kept();
  client.start();
  await settle();
  worker().ready();
  worker().onmessage?.({ data: JSON.stringify({ kind: "copied", bytes: "x" }) });
  expect(client.status.phase).toBe("ready");
});
