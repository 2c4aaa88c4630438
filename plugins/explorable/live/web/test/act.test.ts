// An act is never left out of date where the page shows the reader's state and nothing is awaited.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { mount } from "../src/act/act";
import { rememberShown, NO_RESULTS } from "../src/act/results";
import type { Part } from "../src/element";
import type { State } from "../src/python/protocol";
import { bench, settle, view, type Bench } from "./fake-worker";

let python: Bench = bench();
vi.mock("../src/python/interpreter", () => ({ documentPython: () => python.client }));

let part: Part | null = null;

beforeEach(() => {
  python = bench();
  sessionStorage.clear();
  localStorage.clear();
});

afterEach(() => {
  part?.gone();
  part = null;
});

const SLOTS = ["headline", "headline-label", "headline-value", "headline-unit", "headline-flag", "failure", "wait", "state", "trouble", "summary", "command", "announce", "unsaved", "stage"];
const READER = `<div data-slot="reader"><textarea class="il-reader__box" disabled></textarea><button data-action="read" disabled></button><input type="file" disabled>
  <p class="il-problem"></p><ul class="il-reader__texts"></ul><div class="il-reader__said"></div><details class="il-reader__changes"></details></div>`;
const RATE = `<input type="range" data-slider="rate" data-range='{"minimum":1,"maximum":9,"step":1,"integer":true,"scale":"linear","default":1,"unit":""}'>`;
const choice = (batch: number): string => `<input type="radio" name="batch" data-value="${batch}" ${batch === 1 ? "checked" : ""}>`;

interface Made {
  host: HTMLElement;
  part: Part;
  batch(value: number): void;
  /** A reader gives a text. */
  give(text: string): void;
  said(slot: string): string;
}

/** An act at batch 1, as the page brings it; with a desk texts are read around it. */
function act(desk: boolean): Made {
  const host = document.createElement("div");
  Object.assign(host.dataset, { name: "plan", actUrl: "https://example.org/plan.json", onlyContext: "node", linked: "" });
  host.innerHTML = `${SLOTS.map((name) => `<p data-slot="${name}"></p>`).join("")}<p class="il-command"></p><button data-action="stop"></button>
    <p data-slot="reset"><button data-action="reset"></button></p><section data-part="explore"><div class="il-bench__hand">
    <fieldset data-slot="controls"><div data-choice="batch">${choice(1)}${choice(2)}</div>${RATE}</fieldset></div></section>${desk ? `<i data-desk></i>${READER}` : ""}`;
  part = mount(host);
  const batch = (value: number): void => {
    const radio = host.querySelector<HTMLInputElement>(`input[data-value="${value}"]`);
    if (!radio) throw new Error(`no batch of ${value}`);
    radio.checked = true;
    radio.dispatchEvent(new Event("change", { bubbles: true }));
  };
  const give = (text: string): void => {
    const box = host.querySelector<HTMLTextAreaElement>(".il-reader__box");
    if (box) box.value = text;
    host.querySelector<HTMLButtonElement>('[data-action="read"]')?.click();
  };
  return { host, part, batch, give, said: (slot) => host.querySelector(`[data-slot="${slot}"]`)?.textContent ?? "" };
}

const state: State = { context: "node", controls: { batch: 1, rate: 1 }, prediction: null, revealed: false, held: null, moves: 0, hint: false };
const recalled = (): void => rememberShown("plan", { program: "https://example.org/plan.json", python: "", state, checked: [] }, { ...NO_RESULTS, view: view("1") });

/** The worker answers what it holds: a view of the state that was asked about, or `text` as a problem. */
async function answered(problem = ""): Promise<void> {
  const { id, kind, ...asked } = python.worker().last;
  const batch = "state" in asked ? String(asked.state.controls.batch) : "";
  python.worker().reply(problem ? { kind: "problem", id, message: problem } : { kind: "answer", id, answer: kind === "tell" ? { labels: [], controls: {}, said: [] } : view(batch) });
  await settle();
}

/** The reader has come to the act, and all that belongs to it is there. */
async function started({ part, host }: Made): Promise<void> {
  part.onscreen();
  await vi.waitFor(() => expect(host.querySelector("[data-action=read]:disabled")).toBeNull());
  await settle();
}

test.each(["this text is of no known kind", ""])("texts that change nothing leave what was recalled on a reload as it is: %s", async (problem) => {
  recalled();
  const made = act(true);
  await started(made);
  await vi.waitFor(() => expect(made.host.dataset.stale).toBeUndefined());
  made.give("hello");
  await settle();
  expect(made.host.dataset.stale).toBe("true");
  python.worker().ready();
  await settle();
  expect(python.worker().last).toMatchObject({ kind: "tell", what: "hear" });
  await answered(problem);
  await settle();
  expect(made.host.dataset.stale).toBeUndefined();
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
  recalled();
  const made = act(true);
  await started(made);
  made.host.querySelector<HTMLButtonElement>('[data-action="stop"]')?.click();
  await settle();
  expect(made.host.dataset.stale).toBeUndefined();
  expect(made.said("wait")).toBe("");
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
  expect(made.said("headline-value")).toBe("2");
});

test("a hand that moves writes nothing into the page but its own place, until the frame comes", async () => {
  const made = act(false);
  await started(made);
  python.worker().ready();
  await settle();
  const slider = made.host.querySelector<HTMLInputElement>("input[data-slider]");
  const written: Node[] = [];
  const observer = new MutationObserver((records) => written.push(...records.map(({ target }) => target)));
  observer.observe(made.host, { subtree: true, childList: true, attributes: true, characterData: true });
  if (slider) slider.value = "4";
  slider?.dispatchEvent(new Event("input", { bubbles: true }));
  await settle();
  expect(python.worker().last).toMatchObject({ kind: "compute", frame: true, state: { controls: { batch: 1, rate: 5 } } });
  expect(new Set(written)).toEqual(new Set([slider]));
  await answered();
  expect(made.said("headline-value")).toBe("1");
  observer.disconnect();
});

test("an act that is gone asks nothing any more", async () => {
  const made = act(false);
  await started(made);
  python.worker().ready();
  made.batch(2);
  const asked = python.worker().requests.length;
  made.part.gone();
  await answered();
  expect(python.worker().requests).toHaveLength(asked);
  expect(made.said("headline-value")).toBe("");
});
