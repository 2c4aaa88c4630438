// The conversation with Python: intent, progress, latest wins, stop and replay, failure and retry.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ActProblem, type PythonClient, type Snippet } from "../src/python/client";
import type { Status } from "../src/python/status";
import { bench, ignore, release, settle, snippet, state, view } from "./fake-worker";

describe("start", () => {
  test("no worker exists before the reader shows intent", () => {
    const { client, workers } = bench();
    client.subscribe(ignore);
    expect(workers).toHaveLength(0);
    expect(client.status.phase).toBe("static");
  });

  test("two intents start one Python", () => {
    const { client, workers, worker } = bench();
    client.start();
    client.start();
    expect(workers).toHaveLength(1);
    expect(worker().requests).toEqual([{ kind: "start", release, base: "https://example.org/assets/live/", copy: null }]);
  });

  test("every start asks anew what it may fetch early: the book may have been kept since the last one", () => {
    let now = release;
    const { client, worker } = bench(() => now);
    client.start();
    client.stopLoading();
    now = { ...release, runtime: { ...release.runtime, first: [] } };
    client.start();
    expect(worker().requests).toEqual([{ kind: "start", release: now, base: "https://example.org/assets/live/", copy: null }]);
  });

  test("progress is told in percent, and not as 99 % while Python itself starts", () => {
    const { client, worker } = bench();
    const seen: Status[] = [];
    client.subscribe((status) => seen.push(status));
    client.start();
    worker().reply({ kind: "progress", label: "Python loads", loaded: 421, total: 1000 });
    worker().reply({ kind: "progress", label: "Python loads", loaded: 995, total: 1000 });
    worker().ready();
    expect(seen.map(({ phase, label, percent }) => [phase, label, percent])).toEqual([
      ["static", "", null],
      ["loading", "Python loads", 0],
      ["loading", "Python loads", 42],
      ["loading", "Python starts", null],
      ["ready", "Python ready", null],
    ]);
  });

  test("nothing is asked of Python before it is ready", () => {
    const { client, worker } = bench();
    void client.compute("tax", "act.py", state(1));
    expect(worker().requests.map(({ kind }) => kind)).toEqual(["start"]);
    worker().ready();
    expect(worker().last.kind).toBe("compute");
  });
});

describe("latest wins", () => {
  test("of states asked for while one is computed only the newest is computed, and only its view is shown", async () => {
    const { client, worker } = bench();
    client.start();
    worker().ready();
    const views = [1, 8, 64].map((batch) => client.compute("tax", "act.py", state(batch)));
    const first = worker().last;
    worker().reply({ kind: "answer", id: first.id, answer: view("first") });
    const newest = worker().last;
    if (newest.kind !== "compute") throw new Error("not a computation");
    expect(newest.state.controls.batch).toBe(64);
    worker().reply({ kind: "answer", id: newest.id, answer: view("newest") });
    expect(await Promise.all(views)).toEqual([null, null, view("newest")]);
    expect(worker().requests).toHaveLength(3);
  });

  test("two acts do not supersede each other", async () => {
    const { client, worker } = bench();
    client.start();
    worker().ready();
    const one = client.compute("tax", "a.py", state(1));
    const other = client.compute("gap", "b.py", state(1));
    for (let answered = 0; answered < 2; answered += 1) {
      const request = worker().last;
      if (request.kind !== "compute") throw new Error("not a computation");
      worker().reply({ kind: "answer", id: request.id, answer: view(request.act) });
    }
    expect([(await one)?.summary, (await other)?.summary]).toEqual(["tax", "gap"]);
  });

  test("an answer to another request is not taken for this one's", async () => {
    const { client, worker } = bench();
    client.start();
    worker().ready();
    let shown: unknown = "nothing yet";
    void client.compute("tax", "act.py", state(1)).then((got) => (shown = got));
    worker().reply({ kind: "answer", id: worker().last.id + 1, answer: view("stray") });
    await settle();
    expect(shown).toBe("nothing yet");
  });

  test("what the act says is wrong reaches the caller", async () => {
    const { client, worker } = bench();
    const answer = client.compute("tax", "act.py", state(3));
    worker().ready();
    worker().reply({ kind: "problem", id: worker().last.id, message: "batch is 3; allowed: 1, 8" });
    await expect(answer).rejects.toThrow(ActProblem);
    await expect(answer).rejects.toThrow("allowed: 1, 8");
  });
});

describe("completion", () => {
  const completed = { from: 0, options: [{ label: "model", kind: "function" }], call: null };

  test("starts no Python, waits for none, and the latest question is answered", async () => {
    const { client, workers, worker } = bench();
    expect(await client.complete("p", "mo", 2)).toBeNull();
    expect(workers).toHaveLength(0);
    client.start();
    expect(await client.complete("p", "mo", 2)).toBeNull();
    worker().ready();
    const answers = [client.complete("p", "m", 1), client.complete("p", "mo", 2), client.complete("p", "mod", 3)];
    for (const _ of [1, 2]) worker().reply({ kind: "completed", id: worker().last.id, completed });
    expect(await Promise.all(answers)).toEqual([null, null, completed]);
  });

  test("is not asked of a Python that runs a program", async () => {
    const { client, worker } = bench();
    void client.run(snippet("count"), [], ignore);
    worker().ready();
    expect(await client.complete("p", "mo", 2)).toBeNull();
  });
});

describe("an exercise", () => {
  const tests = { tests: "assert f() == 1", hidden: "" };
  const checks = [{ label: "f() == 1", hidden: false, passed: true, said: "", line: null }];

  test("is tested alone, and is no part of what a restart brings back", async () => {
    const { client, workers, worker } = bench();
    const run = client.run(snippet("exercise"), [], ignore, tests);
    worker().ready();
    expect(worker().last).toMatchObject({ kind: "run", name: "exercise", tests });
    worker().reply({ kind: "ran", id: worker().last.id, result: null, error: null, figures: [], checks });
    expect(await run.outcome).toMatchObject({ kind: "ran", checks });
    const endless = client.run(snippet("endless"), [], ignore);
    endless.stop();
    expect(await endless.outcome).toEqual({ kind: "stopped" });
    expect(workers).toHaveLength(2);
    worker().ready();
    expect(worker().requests.map(({ kind }) => kind)).toEqual(["start"]);
  });

  test("a restart puts the data files of earlier snippets back", async () => {
    const { client, worker } = bench();
    const files = [{ name: "runs.csv", url: "https://example.org/runs.csv" }];
    void client.run({ ...snippet("read"), files }, [], ignore);
    worker().ready();
    worker().reply({ kind: "ran", id: worker().last.id, result: null, error: null, figures: [] });
    await settle();
    const endless = client.run(snippet("endless"), [], ignore);
    endless.stop();
    worker().ready();
    expect(worker().last).toMatchObject({ kind: "run", name: "read", files });
  });
});

describe("snippets", () => {
  test("output arrives while the snippet runs, the outcome when it ends", async () => {
    const { client, worker } = bench();
    let output = "";
    const run = client.run(snippet("count"), [], (text) => (output += text));
    worker().ready();
    worker().reply({ kind: "output", id: worker().last.id, text: "1\n" });
    expect(output).toBe("1\n");
    expect(client.status.phase).toBe("running");
    worker().reply({ kind: "ran", id: worker().last.id, result: "3", error: null, figures: [] });
    expect(await run.outcome).toEqual({ kind: "ran", result: "3", error: null, figures: [] });
    expect(client.status.phase).toBe("ready");
  });

  test("the snippets above run first, once, and say nothing", async () => {
    const { client, worker } = bench();
    let output = "";
    const above = [snippet("first"), snippet("second")];
    client.run(snippet("third"), above, (text) => (output += text));
    worker().ready();
    worker().reply({ kind: "output", id: worker().last.id, text: "noise" });
    worker().ran();
    worker().ran();
    worker().ran();
    await settle();
    client.run(snippet("third"), above, ignore);
    expect(worker().snippets).toEqual(["first", "second", "third", "third"]);
    expect(output).toBe("");
  });

  test("a snippet that is forgotten runs again, and so do those below it, in their order", async () => {
    const { client, worker } = bench();
    const above = [snippet("first", "a = 2"), snippet("second")];
    client.run(snippet("third"), above, ignore);
    worker().ready();
    for (const _ of above) worker().ran();
    worker().ran();
    await settle();
    client.forget(snippet("first").page, ["first", "second", "third"]);
    client.run(snippet("third"), [snippet("first", "a = 1"), snippet("second")], ignore);
    expect(worker().last).toMatchObject({ name: "first", source: "a = 1" });
    worker().ran();
    worker().ran();
    expect(worker().snippets).toEqual(["first", "second", "third", "first", "second", "third"]);
  });

  test("a snippet above that fails does not keep this one from running", async () => {
    const { client, worker } = bench();
    client.run(snippet("second"), [snippet("first")], ignore);
    worker().ready();
    worker().reply({ kind: "ran", id: worker().last.id, result: null, error: { text: "NameError", line: 1 }, figures: [] });
    await settle();
    expect(worker().snippets).toEqual(["first", "second"]);
  });
});

describe("stop", () => {
  test("ends the worker, starts another and replays the page's snippets that had succeeded", async () => {
    const { client, workers, worker } = bench();
    client.start();
    worker().ready();
    client.run(snippet("names", "a = 1"), [], ignore);
    worker().ran();
    client.run({ page: "other.md", name: "elsewhere", source: "b = 2" }, [], ignore);
    worker().ran();
    client.run(snippet("broken", "1 / 0"), [], ignore);
    worker().reply({ kind: "ran", id: worker().last.id, result: null, error: { text: "ZeroDivisionError", line: 1 }, figures: [] });
    await settle();
    const endless = client.run(snippet("endless", "while True: pass"), [], ignore);
    endless.stop();

    expect(await endless.outcome).toEqual({ kind: "stopped" });
    expect(workers[0]?.terminated).toBe(true);
    expect(workers).toHaveLength(2);
    expect(client.status.phase).toBe("stopped");
    worker().ready();
    expect(worker().snippets).toEqual(["names"]);
    worker().ran();
    await settle();
    expect(worker().snippets).toEqual(["names"]);
    expect(client.status.phase).toBe("ready");
  });

  const benchWithTask = async () => {
    const made = bench();
    made.client.start();
    made.worker().ready();
    made.client.run(snippet("leaves a task"), [], ignore);
    made.worker().ran();
    await settle();
    return made;
  };

  test("of a replay brings nothing back: a task that an earlier snippet left behind would have to be stopped for ever", async () => {
    const { client, worker } = await benchWithTask();
    client.run(snippet("endless"), [], ignore).stop();
    worker().ready();
    expect(worker().snippets).toEqual(["leaves a task"]);
    client.stopRunning();
    worker().ready();
    expect(worker().snippets).toEqual([]);
  });

  test("of an exercise's tests brings nothing back: they need nothing of the page", async () => {
    const { client, worker } = await benchWithTask();
    client.run(snippet("exercise"), [], ignore, { tests: "assert True", hidden: "" }).stop();
    worker().ready();
    expect(worker().snippets).toEqual([]);
    client.run(snippet("below"), [snippet("leaves a task")], ignore);
    expect(worker().snippets).toEqual(["leaves a task"]);
  });

  test("a state that an act is waiting for outlives it", async () => {
    const { client, worker } = bench();
    client.start();
    worker().ready();
    const endless = client.run(snippet("endless"), [], ignore);
    const waiting = client.compute("tax", "act.py", state(8));
    endless.stop();
    worker().ready();
    const request = worker().last;
    if (request.kind !== "compute") throw new Error("not a computation");
    worker().reply({ kind: "answer", id: request.id, answer: view("after") });
    expect((await waiting)?.summary).toBe("after");
  });

  test("a snippet that is still in the queue is taken out without ending Python", async () => {
    const { client, workers, worker } = bench();
    client.start();
    worker().ready();
    client.run(snippet("slow"), [], ignore);
    const queued = client.run(snippet("queued"), [], ignore);
    queued.stop();
    expect(await queued.outcome).toEqual({ kind: "stopped" });
    worker().ran();
    await settle();
    expect(workers).toHaveLength(1);
    expect(worker().snippets).toEqual(["slow"]);
  });

  test("works while a snippet above is what runs endlessly", async () => {
    const { client, workers, worker } = bench();
    client.start();
    worker().ready();
    const run = client.run(snippet("second"), [snippet("endless")], ignore);
    run.stop();
    expect(await run.outcome).toEqual({ kind: "stopped" });
    expect(workers).toHaveLength(2);
  });

  test("the ended worker is not listened to any more", async () => {
    const { client, workers } = bench();
    client.start();
    workers[0]?.ready();
    const endless = client.run(snippet("endless"), [], ignore);
    endless.stop();
    workers[0]?.reply({ kind: "failed", message: "too late", broken: false });
    await settle();
    expect(client.status.phase).toBe("stopped");
  });
});

describe("a program that came with a link", () => {
  const linked = (name: string) => ({ ...snippet(name), linked: true });
  const tests = { tests: "assert f() == 1", hidden: "" };

  /** A Python in which a reader's own program and a link's have run. */
  async function used() {
    const all = bench();
    all.client.start();
    all.worker().ready();
    all.client.run(snippet("own"), [], ignore);
    all.worker().ran();
    all.client.run(linked("strange"), [], ignore);
    all.worker().ran();
    await settle();
    return all;
  }

  test("has no say in what an act tells: it is asked of a Python that runs the page's own programs alone", async () => {
    const { client, workers, worker } = await used();
    const answer = client.compute("tax", "act.py", state(8));
    expect([workers.length, workers[0]?.terminated]).toEqual([2, true]);
    expect(client.status).toMatchObject({ phase: "stopped", label: "Python restarts" });
    worker().ready();
    expect(worker().last).toMatchObject({ kind: "run", name: "own" });
    worker().ran();
    worker().reply({ kind: "answer", id: worker().last.id, answer: view("true") });
    expect((await answer)?.summary).toBe("true");
    // Once is enough.
    void client.reveal("tax", "act.py", state(8));
    expect(workers).toHaveLength(2);
  });

  test.each([
    ["a verdict", (client: PythonClient) => client.reveal("tax", "act.py", state(8))],
    ["feedback", (client: PythonClient) => client.check("tax", "act.py", "floor", {}, state(8))],
    ["a suggestion", (client: PythonClient) => client.tell("tax", "act.py", "suggest", [], state(8))],
    ["an exercise", (client: PythonClient) => client.run(snippet("exercise"), [], ignore, tests)],
  ])("has none in %s", async (_, asks) => {
    const { client, workers } = await used();
    void asks(client);
    expect(workers).toHaveLength(2);
  });

  test("has none either where it ran to prepare another, or was stopped", async () => {
    const { client, workers, worker } = bench();
    client.run(snippet("below"), [linked("strange")], ignore);
    worker().ready();
    worker().ran();
    worker().ran();
    await settle();
    void client.compute("tax", "act.py", state(8));
    expect(workers).toHaveLength(2);
    worker().ready();
    worker().ran();
    client.run(linked("strange"), [], ignore).stop();
    expect(worker().snippets).not.toContain("strange");
  });

  test("is not asked for names and other programs anew", async () => {
    const { client, workers, worker } = await used();
    void client.complete("p", "mo", 2);
    worker().reply({ kind: "completed", id: worker().last.id, completed: { from: 0, options: [], call: null } });
    client.run(snippet("next"), [], ignore);
    expect([workers.length, worker().snippets]).toEqual([1, ["own", "strange", "next"]]);
  });
});

describe("the reader's word for packages of another host", () => {
  const linked = (name: string, source = name) => ({ ...snippet(name, source), linked: true });
  /** The packages that a run may ask for, of a client whose reader has agreed. */
  function allowed(agreed: [program: Snippet, packages: string[]][], program: Snippet) {
    const { client, worker } = bench();
    client.start();
    worker().ready();
    for (const [one, packages] of agreed) client.agree(one, packages);
    client.run(program, [], ignore);
    const { last } = worker();
    return last.kind === "run" ? last.foreign : null;
  }

  test("is not there before it is given, and holds for other code of the reader, for the same packages", () => {
    expect(allowed([], snippet("own"))).toEqual([]);
    expect(allowed([[snippet("own"), ["numpy"]]], snippet("another"))).toEqual(["numpy"]);
    expect(allowed([[snippet("own"), ["numpy"]], [snippet("own"), ["numpy", "pandas"]]], snippet("own"))).toEqual(["numpy", "pandas"]);
  });

  test("does not hold for code that came with a link, nor a word for that for any other code", () => {
    expect(allowed([[snippet("own"), ["numpy"]]], linked("own"))).toEqual([]);
    expect(allowed([[linked("a"), ["numpy"]]], linked("a"))).toEqual(["numpy"]);
    expect(allowed([[linked("a"), ["numpy"]]], linked("a", "import matplotlib"))).toEqual([]);
    expect(allowed([[linked("a"), ["numpy"]]], linked("b", "a"))).toEqual([]);
    expect(allowed([[linked("a"), ["numpy"]]], snippet("a"))).toEqual([]);
  });

  test("holds for code that prepares another as if it ran alone", () => {
    const { client, worker } = bench();
    client.agree(snippet("own"), ["numpy"]);
    client.run(snippet("own"), [linked("above")], ignore);
    worker().ready();
    worker().ran();
    expect(worker().requests.flatMap((request) => (request.kind === "run" ? [request.foreign] : []))).toEqual([[], ["numpy"]]);
  });
});

describe("every state ends", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());
  const pass = (seconds: number) => vi.advanceTimersByTimeAsync(1000 * seconds);

  test("a start of which nothing is heard is given up; a slow one that moves is not", async () => {
    const { client, worker } = bench();
    client.start();
    for (let percent = 1; percent <= 10; percent += 1) {
      await pass(25);
      worker().reply({ kind: "progress", label: "Python loads", loaded: percent, total: 100 });
    }
    expect(client.status).toMatchObject({ phase: "loading", percent: 10 });
    await pass(32);
    expect(client.status).toMatchObject({ phase: "error", label: "Python did not start: it said nothing for 31 seconds." });
    expect(worker().terminated).toBe(true);
  });

  test("a slow machine may take its time once every byte is there, but not for ever", async () => {
    const { client, worker } = bench();
    client.start();
    worker().reply({ kind: "progress", label: "Python loads", loaded: 100, total: 100 });
    await pass(120);
    expect(client.status).toMatchObject({ phase: "loading", label: "Python starts" });
    await pass(12);
    expect(client.status.phase).toBe("error");
  });

  test("an act's answer that does not come is given up, a reader's endless loop is not", async () => {
    const { client, worker } = bench();
    client.start();
    worker().ready();
    client.run(snippet("endless"), [], ignore);
    await pass(300);
    expect(client.status.phase).toBe("running");
    worker().ran();
    const lost = client.compute("tax", "act.py", state(1));
    await pass(32);
    expect(await lost).toBeNull();
    expect(client.status.phase).toBe("error");
  });

  test("Stop while Python loads ends the downloads, and Run begins them anew", async () => {
    const { client, workers, worker } = bench();
    const run = client.run(snippet("count"), [], ignore);
    run.stop();
    expect(await run.outcome).toEqual({ kind: "stopped" });
    expect([workers[0]?.terminated, client.status.phase]).toEqual([true, "static"]);
    client.run(snippet("count"), [], ignore);
    worker().ready();
    expect(worker().snippets).toEqual(["count"]);
    expect(workers).toHaveLength(2);
  });

  test("Stop of one snippet leaves the start to who else waits for it; stopping the start stops all", async () => {
    const { client, workers } = bench();
    const view = client.compute("tax", "act.py", state(1));
    client.run(snippet("count"), [], ignore).stop();
    expect(workers[0]?.terminated).toBe(false);
    client.stopLoading();
    expect(await view).toBeNull();
    expect([workers[0]?.terminated, client.status.phase]).toEqual([true, "static"]);
    await pass(100);
    expect(client.status.phase).toBe("static");
  });
});

describe("failure", () => {
  test("a start that fails is told to the waiting snippet, and the next intent tries again", async () => {
    const { client, workers, worker } = bench();
    const first = client.run(snippet("count"), [], ignore);
    worker().reply({ kind: "failed", message: "pyodide.asm.wasm could not be downloaded (HTTP 503)", broken: false });
    expect(await first.outcome).toEqual({
      kind: "problem",
      message: "Python did not start: pyodide.asm.wasm could not be downloaded (HTTP 503).",
      lost: true,
    });
    expect(client.status.phase).toBe("error");

    const second = client.run(snippet("count"), [], ignore);
    expect(workers).toHaveLength(2);
    worker().ready();
    worker().ran();
    expect((await second.outcome).kind).toBe("ran");
  });

  test("a Python whose own program breaks down while it starts is started once more, and who waits goes on waiting", async () => {
    const said = vi.spyOn(console, "warn").mockImplementation(ignore);
    const { client, workers, worker } = bench();
    const asked = client.compute("tax", "act.py", state(1));
    const broken = { kind: "failed", message: "null function", broken: true } as const;
    worker().reply(broken);
    expect(workers).toHaveLength(2);
    expect(client.status).toMatchObject({ phase: "loading", label: "Python starts again" });
    expect(said).toHaveBeenCalledOnce();
    worker().ready();
    worker().reply({ kind: "answer", id: worker().last.kind === "compute" ? worker().last.id : -1, answer: view("there") });
    expect(await asked).toEqual(view("there"));
  });

  test("a Python that breaks down twice is told", () => {
    vi.spyOn(console, "warn").mockImplementation(ignore);
    const { client, workers, worker } = bench();
    client.start();
    const broken = { kind: "failed", message: "null function", broken: true } as const;
    worker().reply(broken);
    worker().reply(broken);
    expect(workers).toHaveLength(2);
    expect(client.status).toMatchObject({ phase: "error", label: "Python did not start: null function." });
    // Retry gets its own second try.
    client.start();
    worker().reply(broken);
    expect(workers).toHaveLength(4);
  });

  test("a Python that breaks down over an act's answer is started once more and asked again; over a reader's program it is told", async () => {
    vi.spyOn(console, "warn").mockImplementation(ignore);
    const { client, workers, worker } = bench();
    const broken = { kind: "failed", message: "Out of bounds memory access", broken: true } as const;
    const asked = client.compute("tax", "act.py", state(1));
    worker().ready();
    worker().reply(broken);
    expect(workers).toHaveLength(2);
    worker().ready();
    worker().reply({ kind: "answer", id: worker().last.kind === "compute" ? worker().last.id : -1, answer: view("there") });
    expect(await asked).toEqual(view("there"));
    // An answer ends the one try; an act that breaks Python down each time is told at the second.
    const fatal = client.compute("tax", "act.py", state(2));
    worker().reply(broken);
    worker().ready();
    worker().reply(broken);
    expect(await fatal).toBeNull();
    expect([workers.length, client.status.label]).toEqual([3, "Python broke down."]);

    const program = client.run(snippet("count"), [], ignore);
    worker().ready();
    worker().reply(broken);
    expect(await program.outcome).toMatchObject({ kind: "problem", lost: true });
    expect(workers).toHaveLength(4);
  });

  test("a program that nests too deep for the browser's stack is told so", () => {
    vi.spyOn(console, "warn").mockImplementation(ignore);
    const { client, worker } = bench();
    client.start();
    worker().ready();
    worker().reply({ kind: "failed", message: "RangeError: Maximum call stack size exceeded, says your bank", broken: false });
    expect(client.status.label).toBe("Python broke down: a program nests deeper than this browser follows.");
  });

  test("a worker that cannot be loaded is a failure with a message", () => {
    const { client, worker } = bench();
    client.start();
    worker().onerror?.({ message: "" });
    expect(client.status.label).toBe("Python did not start: its worker could not be loaded.");
  });

  test("an act that was waiting gets nothing and can ask again", async () => {
    const { client, worker } = bench();
    const lost = client.compute("tax", "act.py", state(1));
    worker().reply({ kind: "failed", message: "offline", broken: false });
    expect(await lost).toBeNull();
    void client.compute("tax", "act.py", state(1));
    worker().ready();
    expect(worker().last.kind).toBe("compute");
  });

  test.each(["reply", "error"])("a Python that dies after it was ready is said to have broken down, in the page's words: its own, by %s, may be a reader's program's", (how) => {
    const said = vi.spyOn(console, "warn").mockImplementation(ignore);
    const { client, worker } = bench();
    client.start();
    worker().ready();
    if (how === "reply") worker().reply({ kind: "failed", message: "Your password has expired.", broken: false });
    else worker().onerror?.({ message: "Your password has expired." });
    expect(client.status.label).toBe("Python broke down.");
    expect(said.mock.lastCall?.[0]).toContain("Your password has expired.");
  });
});
