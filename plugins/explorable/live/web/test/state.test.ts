// The act's reducer: what is out of date, what is asked, and which answers come too late.
import fc from "fast-check";
import { expect, test } from "vitest";
import { initial, isShown, leads, reduce, resultsOf, type ActState, type Effect, type Event, type Facts } from "../src/act/state";
import type { Memory } from "../src/ledger/entry";
import type { Verdict } from "../src/python/protocol";
import { view } from "./fake-worker";

const PLAIN: Facts = { revealFirst: false, staged: false, needed: false, around: false };
const DESK: Facts = { ...PLAIN, needed: true, around: true };
const FRESH: Memory = { prediction: null, context: "node", controls: { batch: 1 }, explored: false, revealed: false, answers: {}, checked: [], moves: [] };
const VERDICT: Verdict = { correct: true, headline: "Right.", paragraphs: [], tables: {}, gap: { answer: 1, difference: 0, factor: 1 } };
const RIGHT = { gap: { correct: true, why: "" } };

/** An act in which events happen, with the effects that followed. */
class Act {
  state: ActState;
  readonly effects: Effect[] = [];

  constructor(facts: Facts = PLAIN, ...events: Event[]) {
    this.state = initial(facts, FRESH, false, null);
    this.tell(...events);
  }

  tell(...events: Event[]): this {
    for (const event of events) {
      const [state, effects] = reduce(this.state, event);
      this.state = state;
      this.effects.push(...effects);
    }
    return this;
  }

  batch(batch: number): this {
    return this.tell({ kind: "moved", instruments: { context: "node", controls: { batch } }, moves: [] });
  }

  get asked(): number[] {
    return this.effects.flatMap((effect) => (effect.kind === "ask" ? [effect.rev] : []));
  }

  /** Python answers what was asked last, or at `rev`, as far as to the end. */
  answer(text: string, rev = this.asked.at(-1) ?? -1): this {
    return this.tell(answered(text, rev), { kind: "drawn", rev }, { kind: "told", rev }, { kind: "ended" });
  }

  get kinds(): string[] {
    return this.effects.map(({ kind }) => kind);
  }

  get number(): string | undefined {
    return this.state.page?.view?.headline.value;
  }
}

const answered = (text: string, rev: number): Event => ({ kind: "answered", rev, results: { view: view(text), verdict: null, feedback: new Map(), engine: "" } });
const opened: Event = { kind: "opened", unread: false };
const visible: Event = { kind: "sighted", visible: true };
const hidden: Event = { kind: "sighted", visible: false };
const started: Event = { kind: "started" };
const ready: Event = { kind: "python", ready: true };
const slid = (batch: number): Event => ({ kind: "slid", controls: { batch } });
const framed = (act: Act, text: string): Event => ({ kind: "framed", rev: act.state.rev, of: act.state.at, view: view(text) });
/** This tab shows again what it showed last. */
const recalled = (act: Act): Act => act.tell(answered("1", act.state.rev), { kind: "drawn", rev: act.state.rev }, { kind: "told", rev: act.state.rev });

test("texts that change nothing leave what was recalled on a reload as it is", () => {
  const act = recalled(new Act(DESK, opened, visible));
  expect(act.state.stale).toBeNull();
  expect(act.tell({ kind: "hears" }).state.stale).toBe("true");
  expect(act.tell(ready, { kind: "heard" }).state.stale).toBeNull();
  expect(act.asked).toEqual([]);
});

test("what is recalled while texts are heard stays out of date until they are", () => {
  const act = recalled(new Act(DESK, { kind: "hears" }, opened, visible));
  expect(act.state.stale).toBe("true");
  expect(act.tell(ready, { kind: "heard" }).state.stale).toBeNull();
});

test("what stands around an act may come after its first view", () => {
  const act = new Act(DESK, opened, visible, started, ready).answer("1");
  expect(act.state.stale).toBeNull();
  expect(act.tell({ kind: "read" }).state.stale).toBeNull();
});

test("nobody computes for an act that is out of sight, or whose address nobody has read", () => {
  const act = new Act(DESK, { kind: "opened", unread: true }, ready, visible, started);
  expect(act.asked).toEqual([]);
  expect(act.state.stale).toBe("true");
  act.tell(hidden, { kind: "read" }, started);
  expect(act.asked).toEqual([]);
  expect(act.tell(visible, started).asked).toHaveLength(1);
});

test("a reader who is back where the page stands waits for nothing", () => {
  const act = new Act(PLAIN, opened, visible).batch(2);
  expect(act.state.stale).toBe("true");
  const asked = act.asked.length;
  act.batch(1);
  expect(act.asked).toHaveLength(asked);
  act.tell(ready).answer("2");
  expect(act.state.stale).toBeNull();
  expect(act.number).toBeUndefined();
});

test("what was recalled is of the reader's settings, also where Python is stopped while it loads", () => {
  const act = recalled(new Act(DESK, opened, visible));
  expect(act.tell({ kind: "halted" }).state.stale).toBeNull();
  expect(new Act(DESK, opened, visible).batch(2).tell({ kind: "halted" }).state.stale).toBe("halted");
});

test("what is of another state stays out of date, and an answer of an earlier revision comes too late", () => {
  const act = new Act(PLAIN, opened, visible).batch(2).tell(ready).batch(3);
  const [first = 0, last = 0] = act.asked;
  expect(last).toBeGreaterThan(first);
  act.answer("2", first);
  expect([act.number, act.state.stale]).toEqual([undefined, "true"]);
  act.answer("3", last);
  expect([act.number, act.state.stale, resultsOf(act.state).view?.summary]).toEqual(["3", null, "3"]);
});

test("a computation that takes long marks what it will replace, a short one nothing", () => {
  const act = new Act(PLAIN, opened, visible, ready).batch(2);
  expect(act.state.stale).toBe("late");
  expect(new Act(PLAIN, opened, visible, ready).batch(2).answer("2").tell({ kind: "late" }).state.stale).toBeNull();
  expect(act.tell({ kind: "late" }).state.stale).toBe("true");
});

test("a hand is followed one frame at a time, and asks for the whole view when it rests", () => {
  const act = new Act(PLAIN, opened, visible, ready, slid(2), slid(3));
  expect(act.kinds).toEqual(["start", "frame"]);
  const early: Event = { ...framed(act, "2"), rev: act.state.rev - 1, of: { ...act.state.at, state: { ...act.state.at.state, controls: { batch: 2 } } } } as Event;
  expect(leads(act.tell(early).state)).toBe(true);
  expect(leads(act.tell(framed(act, "3")).state)).toBe(false);
  act.tell({ kind: "followed", late: false }).batch(3);
  expect(act.kinds).toEqual(["start", "frame", "ask", "saveSoon"]);
  // The picture is of the reader's state by then: it does not fade.
  expect(act.tell({ kind: "late" }).state.stale).toBe("baked");
  expect(resultsOf(act.state).view).toBeNull();
});

test("a late frame does not take the place of the whole view that is asked for", () => {
  const act = new Act(PLAIN, opened, visible, ready, slid(2)).batch(2);
  expect(leads(act.state)).toBe(false);
  act.tell(framed(act, "2"), { kind: "followed", late: false }).answer("2");
  expect([isShown(act.state), act.state.stale]).toEqual([true, null]);
});

test("a hand that is back where it was asks again where a frame has taken the view's place", () => {
  const act = new Act(PLAIN, opened, visible, ready, slid(2));
  act.tell(framed(act, "2"), slid(1), { kind: "followed", late: false }).batch(1);
  expect(act.asked).toHaveLength(1);
  expect(new Act(PLAIN, opened, visible, ready).batch(1).effects).toEqual([{ kind: "start" }]);
});

test("a reader who is back where the whole page stands keeps it, whatever frame comes late", () => {
  const act = new Act(PLAIN, opened, visible, ready).batch(3).answer("3").tell(slid(2));
  const late = framed(act, "2");
  act.batch(2).tell(slid(3)).batch(3).tell(late, { kind: "followed", late: false }, { kind: "ended" });
  expect([act.number, isShown(act.state), act.state.stale, leads(act.state)]).toEqual(["3", true, null, false]);
});

test("a picture of the reader's state brightens while the rest of a late view is awaited", () => {
  const act = new Act(PLAIN, opened, visible, slid(2));
  expect(act.state.stale).toBe("true");
  expect(act.tell(ready, framed(act, "2")).state.stale).toBe("baked");
});

test("the handle of a question is followed where Python is ready, and nothing waits for it", () => {
  const dragged: Event = { kind: "held", held: 4, by: "drag" };
  expect(new Act(PLAIN, opened, visible, dragged).kinds).toEqual(["start"]);
  expect(new Act(PLAIN, opened, visible, ready, dragged).kinds).toEqual(["start", "frame"]);
  expect(new Act(PLAIN, opened, visible, ready, { ...dragged, by: "typing" }).kinds).toEqual(["start", "ask"]);
});

test("tables of a view that still stands come after its picture, also where the reader has gone and come back", () => {
  const act = new Act(PLAIN, opened, visible, ready).batch(2).answer("2").batch(3);
  const rev = act.asked.at(-1) ?? 0;
  act.tell(answered("3", rev)).batch(2).batch(3);
  expect(act.state.page?.rest).toBe(false);
  act.tell({ kind: "drawn", rev }, { kind: "told", rev });
  expect([act.state.page?.rest, isShown(act.state)]).toEqual([true, false]);
});

test("what stands around an act gets a frame first", () => {
  expect(new Act(DESK, opened, visible, ready).answer("1").batch(2).kinds.slice(-3)).toEqual(["frame", "ask", "saveSoon"]);
});

test("locking in, revealing and checking are written down at once, and the focus goes on", () => {
  const act = new Act(PLAIN, opened, visible, ready, { kind: "locked", prediction: 7 });
  expect(act.effects.slice(-3)).toEqual([{ kind: "save" }, { kind: "announce", text: "Locked in. The instruments are open." }, { kind: "focus", where: "explore" }]);
  act.tell({ kind: "revealed", controls: { batch: 1 }, late: ["Prefetch"] });
  expect(act.effects.slice(-3)).toEqual([{ kind: "save" }, { kind: "announce", text: "New among the instruments: Prefetch." }, { kind: "focus", where: "verdict" }]);
  const rev = act.asked.at(-1) ?? 0;
  act.tell(answered("1", rev), { kind: "drawn", rev }, { kind: "judged", rev, verdict: VERDICT });
  expect(act.kinds.at(-1)).toBe("seek");
  act.tell({ kind: "told", rev }, { kind: "ended" }, { kind: "checked", name: "why", answers: { gap: "a" } });
  expect(act.kinds.slice(-2)).toEqual(["ask", "save"]);
});

test("a verdict on a state that the reader has left is not shown", () => {
  const act = new Act({ ...PLAIN, staged: true }, opened, visible, ready, { kind: "locked", prediction: 7 }, { kind: "revealed", controls: { batch: 1 }, late: [] });
  const rev = act.asked.at(-1) ?? 0;
  act.tell(answered("1", rev), { kind: "drawn", rev }, { kind: "staged" }).batch(2).tell({ kind: "judged", rev, verdict: VERDICT });
  expect(act.state.page?.verdict).toBeNull();
});

test("feedback counts for the answers that were given, wherever the instruments stand now", () => {
  const fedback = (answers: Record<string, string>): Event => ({ kind: "fedback", name: "why", answers, feedback: RIGHT, at: 5 });
  const act = new Act(PLAIN, opened, visible, ready, { kind: "checked", name: "why", answers: { gap: "a" } });
  expect(act.tell(fedback({ gap: "b" })).state.memory.right).toBeUndefined();
  expect(act.tell(fedback({ gap: "a" })).state.memory.right).toEqual({ why: 5 });
});

test("no move makes right what was not so: it waits for another Check", () => {
  const fedback = (correct: boolean): Event => ({ kind: "fedback", name: "why", answers: { gap: "a" }, feedback: { gap: { correct, why: "" } }, at: 5 });
  const check: Event = { kind: "checked", name: "why", answers: { gap: "a" } };
  const act = new Act(PLAIN, opened, visible, ready, check).tell(fedback(false)).batch(2).tell(fedback(true));
  expect([act.state.memory.right, act.state.memory.checked]).toEqual([undefined, []]);
  act.tell(check, fedback(true)).batch(1).tell(fedback(false));
  expect([act.state.memory.right, act.state.memory.checked]).toEqual([{ why: 5 }, ["why"]]);
});

test("a hint counts once where it is shown, and again where the instruments have moved", () => {
  const failing = { ...view("1"), failure: { title: "Too slow", what: "", excess: "", remedy: "Fewer." } };
  const act = new Act(PLAIN, opened, visible, ready, { kind: "hinted" });
  const seen = (): Event => ({ kind: "seen", state: act.state.at.state, view: failing, mark: null });
  expect(act.tell(seen(), seen()).state.memory.hints).toBe(1);
  act.batch(2).tell({ kind: "hinted" });
  act.tell(seen(), seen());
  expect(act.state.memory.hints).toBe(2);
});

test("another tab's reset takes what is held too; a change of it leaves it", () => {
  const act = new Act(PLAIN, opened, visible, { kind: "held", held: 4, by: "drag" });
  expect(act.tell({ kind: "elsewhere", memory: { ...FRESH, controls: { batch: 2 } }, cleared: false }).state.held).toBe(4);
  act.tell({ kind: "elsewhere", memory: FRESH, cleared: true });
  expect([act.state.held, act.kinds.includes("save")]).toEqual([null, false]);
});

/** Anything that can happen, with answers of any revision. */
const anything = fc.oneof(
  fc.integer({ min: 1, max: 3 }).map((batch): Event => slid(batch)),
  fc.integer({ min: 1, max: 3 }).map((batch): Event => ({ kind: "moved", instruments: { context: "node", controls: { batch } }, moves: [] })),
  fc.integer({ min: 0, max: 12 }).map((rev): Event => answered(`${rev}`, rev)),
  fc.integer({ min: 0, max: 12 }).map((rev): Event => ({ kind: "told", rev })),
  fc.constantFrom<Event>(visible, hidden, ready, { kind: "python", ready: false }, started, { kind: "late" }, { kind: "read" }, { kind: "halted" }, { kind: "hinted" }, { kind: "retried" }, { kind: "locked", prediction: 3 }),
);

test("whatever happens, a revision never falls, a late answer changes no page, and asks follow changes", () => {
  fc.assert(
    fc.property(fc.boolean(), fc.array(anything, { maxLength: 40 }), (desk, events) => {
      const act = new Act(desk ? DESK : PLAIN, opened);
      for (const event of events) {
        const { state: before } = act;
        const told = act.effects.length;
        const { state } = act.tell(event);
        const asks = act.effects.slice(told).filter(({ kind }) => kind === "ask").length;
        expect(state.rev).toBeGreaterThanOrEqual(before.rev);
        expect(state.page?.rev ?? 0).toBeLessThanOrEqual(state.rev);
        expect(state.computing - before.computing).toBe(asks);
        if (event.kind === "answered" && event.rev !== before.rev) expect(state.page).toBe(before.page);
        if (asks) expect([state.visible || event.kind === "retried", state.rests]).toEqual([true, true]);
      }
      // Once all is answered, the page is of the reader's state, and says so.
      act.tell(visible, ready, started);
      const last = act.asked.at(-1);
      if (last !== undefined && last === act.state.rev && !isShown(act.state)) act.tell(answered("last", last), { kind: "told", rev: last });
      while (act.state.computing) act.tell({ kind: "ended" });
      expect([isShown(act.state), act.state.stale]).toEqual([true, null]);
    }),
    { numRuns: 300 },
  );
});
