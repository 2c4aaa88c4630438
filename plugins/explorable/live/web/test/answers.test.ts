// An act is never left out of date where the page shows the reader's state and nothing is awaited.
import { beforeEach, expect, test, vi } from "vitest";
import { Answers, type Asking } from "../src/act/answers";
import { Paint } from "../src/act/paint";
import { rememberShown, NO_RESULTS } from "../src/act/results";
import type { State } from "../src/python/protocol";
import { bench, settle, state, view, type Bench } from "./fake-worker";

let python: Bench = bench();
vi.mock("../src/python/interpreter", () => ({ documentPython: () => python.client }));

beforeEach(() => {
  python = bench();
  sessionStorage.clear();
});

const SLOTS = ["headline", "headline-label", "headline-value", "headline-unit", "headline-flag", "failure", "wait", "state", "trouble", "summary", "command"];

/** An act at `batch`, as the page brings it; with a desk something stands around it. */
function act(desk: boolean): { host: HTMLElement; answers: Answers; batch: (value: number) => void } {
  const host = document.createElement("div");
  host.innerHTML = `${SLOTS.map((name) => `<p data-slot="${name}"></p>`).join("")}<p class="il-command"></p><button data-action="stop"></button>${desk ? "<i data-desk></i>" : ""}`;
  let at: State = state(1);
  const nothing = (): undefined => undefined;
  const asking: Asking = {
    host,
    name: "plan",
    url: "plan.json",
    state: () => at,
    memory: () => ({ prediction: null, context: "node", controls: at.controls, explored: false, revealed: false, answers: {}, checked: [], moves: [] }),
    learn: nothing,
    apply: nothing,
    moved: nothing,
    account: () => ({}) as ReturnType<Asking["account"]>,
    asked: nothing,
    told: nothing,
  };
  const answers = new Answers(asking, [], new Paint(host, nothing), new AbortController().signal);
  answers.subscribe();
  const batch = (value: number): void => {
    at = state(value);
    answers.refreshIfNeeded();
  };
  return { host, answers, batch };
}

/** The worker answers what it holds: a view of the state that was asked about, or `text` as a problem. */
async function answered(problem = ""): Promise<void> {
  const { id, kind, ...asked } = python.worker().last;
  const batch = "state" in asked ? String(asked.state.controls.batch) : "";
  python.worker().reply(problem ? { kind: "problem", id, message: problem } : { kind: "answer", id, answer: kind === "tell" ? { labels: [], controls: {}, said: [] } : view(batch) });
  await settle();
}

async function started({ answers }: ReturnType<typeof act>): Promise<void> {
  answers.opened(false);
  answers.read();
  answers.start();
  await settle();
}

test.each(["this text is of no known kind", ""])("texts that change nothing leave what was recalled on a reload as it is: %s", async (problem) => {
  rememberShown("plan", { program: "plan.json", python: "", state: state(1), checked: [] }, { ...NO_RESULTS, view: view("1") });
  const made = act(true);
  const { host, answers } = made;
  await started(made);
  expect(host.dataset.stale).toBeUndefined();
  const heard = answers.tell("hear", ["hello"], state(1)).catch(() => null);
  expect(host.dataset.stale).toBe("true");
  python.worker().ready();
  await settle();
  await answered(problem);
  await heard;
  expect(host.dataset.stale).toBeUndefined();
});

test("what is recalled while texts are heard stays out of date until they are", async () => {
  rememberShown("plan", { program: "plan.json", python: "", state: state(1), checked: [] }, { ...NO_RESULTS, view: view("1") });
  const made = act(true);
  const heard = made.answers.tell("hear", ["hello"], state(1));
  await started(made);
  expect(made.host.dataset.stale).toBe("true");
  python.worker().ready();
  await answered();
  await heard;
  expect(made.host.dataset.stale).toBeUndefined();
});

test("what stands around an act may come after its first view", async () => {
  const { host, answers } = act(true);
  answers.opened(false);
  answers.start();
  await settle();
  python.worker().ready();
  await answered();
  expect(host.dataset.stale).toBeUndefined();
  vi.useFakeTimers();
  answers.read();
  vi.runAllTimers();
  vi.useRealTimers();
  await settle();
  expect(host.dataset.stale).toBeUndefined();
});

test("a reader who is back where the page stands waits for nothing", async () => {
  const made = act(false);
  await started(made);
  made.batch(2);
  expect(made.host.dataset.stale).toBe("true");
  made.batch(1);
  python.worker().ready();
  await answered();
  expect(made.host.dataset.stale).toBeUndefined();
});

test("what was recalled is of the reader's settings, also where Python is stopped while it loads", async () => {
  rememberShown("plan", { program: "plan.json", python: "", state: state(1), checked: [] }, { ...NO_RESULTS, view: view("1") });
  const made = act(true);
  await started(made);
  made.answers.stopLoading();
  expect(made.host.dataset.stale).toBeUndefined();
  expect(made.host.querySelector('[data-slot="wait"]')?.textContent).toBe("");
});

test("what is of another state stays out of date", async () => {
  const made = act(false);
  await started(made);
  made.batch(2);
  python.worker().ready();
  await settle();
  expect(made.host.dataset.stale).toBe("true");
  await answered();
  expect(made.host.dataset.stale).toBeUndefined();
  expect(made.host.querySelector('[data-slot="headline-value"]')?.textContent).toBe("2");
});
