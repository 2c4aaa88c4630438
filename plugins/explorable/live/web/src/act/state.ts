// What an act is at a moment, and what follows from an event: one state, one reducer, no page and no Python in it.
//
// Every change of what Python's answer depends on raises the revision. What stands on the page has the revision that it is of: a lower
// one is out of date, and an answer of a lower one comes too late.
import { equal } from "../equal";
import { withHint, withMark, type Mark, type Memory } from "../ledger/entry";
import type { Feedback, State, Value, Verdict, View } from "../python/protocol";
import type { Instruments } from "./controls";
import { undo, type Move } from "./moves";
import { NO_RESULTS, type Results, type Wanted } from "./results";

/** What the act's page says of itself, for good. */
export interface Facts {
  /** Whether locking in shows the answer. */
  revealFirst: boolean;
  /** Whether the reveal is played. */
  staged: boolean;
  /** Whether the baked page is not enough: grips need a live picture, and what stands around the act a view. */
  needed: boolean;
  around: boolean;
}

/** What stands on the page. `frame`: number, verdict and picture, and what stands beside them is of another state. `view`: a whole
 * view whose verdict and feedback are on their way. */
export interface Standing extends Results {
  level: "baked" | "frame" | "view" | "all";
  rev: number;
  of: Wanted;
  /** Whether the tables and the spoken summary are on the page too. */
  rest: boolean;
}

/** Null: the page is of the reader's state. `late`: another view is being computed, and nobody is told yet. `baked`: what matters
 * is of the reader's state. `halted`: nobody computes any more. */
export type Stale = "late" | "baked" | "true" | "halted" | null;

export interface ActState {
  readonly facts: Facts;
  readonly memory: Memory;
  /** What the reader has typed or dragged and not locked in. */
  readonly held: number | null;
  /** Controls under a moving hand, which the memory gets when it lets go. */
  readonly moving: Record<string, Value>;
  /** Whether a hint was asked for where the instruments stand, and whether that one is counted. */
  readonly hint: boolean;
  readonly counted: boolean;
  readonly rev: number;
  /** Everything that Python's answers depend on, at this revision. */
  readonly at: Wanted;
  /** Null where an earlier visit left what nobody knows. */
  readonly page: Standing | null;
  /** Whether a whole view has taken the place of what is baked. Of an act with nothing around it a frame is enough. */
  readonly whole: boolean;
  readonly stale: Stale;
  /** Whether Python can answer at once. */
  readonly ready: boolean;
  /** Whether the reader can see the act: nobody computes for an act that is out of sight. */
  readonly visible: boolean;
  /** Whether the page's address holds a state that nobody has read yet. */
  readonly unread: boolean;
  /** How many times Python hears texts now that may change the reader's state, and how many whole views are asked for. */
  readonly hearing: number;
  readonly computing: number;
  /** Is a moving hand followed, and does it rest by now? */
  readonly following: boolean;
  readonly rests: boolean;
  /** Has the reader asked for the answer just now: is it to be played, and the verdict brought into view? */
  readonly plays: boolean;
  readonly seeks: boolean;
}

interface Events {
  // What the reader does
  locked: { prediction: Memory["prediction"] };
  /** An answer in the box or under the handle; with the switches that added up to it. */
  held: { held: number | null; by: "draft" | "drag" | "typing"; instruments?: Instruments };
  slid: { controls: Record<string, Value> };
  /** A hand let go. `moves`: the list of moves with what it did. */
  moved: { instruments: Instruments; moves: Move[] };
  undone: { said: string };
  /** `controls`: where the reveal puts them. `late`: those that come with it. */
  revealed: { controls: Record<string, Value>; late: readonly string[] };
  hinted: object;
  chose: Pick<Memory, "answers" | "checked" | "right">;
  checked: { name: string; answers: Record<string, Value> };
  /** `keeps`: something stays known. */
  reset: { memory: Memory; keeps: boolean };
  retried: object;
  halted: object;
  // What comes from elsewhere
  kept: { memory: Memory };
  /** Another tab or an import has changed the act; `cleared`: has reset it. */
  elsewhere: { memory: Memory; cleared: boolean };
  opened: { unread: boolean };
  read: object;
  /** The act is in the reader's sight, or out of it. */
  sighted: { visible: boolean };
  python: { ready: boolean };
  // What Python says
  framed: { rev: number; of: Wanted; view: View };
  /** The hand is not followed any more; `late`: Python was not ready when it moved. */
  followed: { late: boolean };
  late: object;
  /** A whole view; with verdict and feedback where this tab showed it last. */
  answered: { rev: number; results: Results };
  drawn: { rev: number };
  /** The view of a state was seen. */
  seen: { state: State; view: View; mark: Mark | null };
  /** The reveal begins to play. */
  staged: object;
  judged: { rev: number; verdict: Verdict };
  fedback: { name: string; answers: Record<string, Value>; feedback: Feedback; at: number };
  /** All that is to be said of the revision is on the page. */
  told: { rev: number };
  /** What the moves came to. */
  completed: { before: readonly Move[]; moves: Move[] };
  /** A whole view is not awaited any more, whatever became of it. */
  ended: object;
  /** The act's Python is given texts, and has answered. */
  hears: object;
  heard: object;
  /** What this tab showed last is on the page again, if anything could be. */
  started: object;
}

export type Event = { [Kind in keyof Events]: { kind: Kind } & Events[Kind] }[keyof Events];

export type Effect =
  | { kind: "start" | "frame" | "save" | "saveSoon" | "seek" }
  | { kind: "ask"; rev: number; of: Wanted }
  | { kind: "announce"; text: string }
  | { kind: "focus"; where: "explore" | "reveal" | "verdict" | "question" };

/** Who holds the state, and hears what happens. */
export interface Store {
  readonly state: ActState;
  dispatch(event: Event): void;
}

type Step = [ActState, Effect[]];

/** The act as it is baked; `live`: an earlier visit has changed the page. */
export function initial(facts: Facts, memory: Memory, live: boolean, stale: Stale): ActState {
  const state: ActState = {
    facts, memory, stale, held: null, moving: {}, hint: false, counted: false, rev: 0, at: { state: {} as State, checked: [] }, page: null, whole: live || !facts.around,
    ready: false, visible: false, unread: false, hearing: 0, computing: 0, following: false, rests: false, plays: false, seeks: false,
  };
  const at = dependsOn(state);
  return { ...state, at, page: live ? null : { ...NO_RESULTS, level: "baked", rev: 0, of: at, rest: true } };
}

export function reduce(state: ActState, event: Event): Step {
  const step = STEPS[event.kind] as (state: ActState, event: Event) => Step;
  const [next, effects] = step(state, event);
  return [settled(next), effects];
}

/** Whether the page shows the whole of the reader's state. */
export const isShown = ({ page, rev, facts }: ActState): boolean => page?.rev === rev && (page.level === "all" || (page.level === "baked" && !facts.needed));

/** Whether the page shows the whole view of this revision, and the reader is still there. */
export const stands = ({ page, rev: now }: ActState, rev: number): boolean => now === rev && page?.level === "view" && page.rev === rev;

/** Whether the hand is elsewhere than the last frame. */
export function leads(state: ActState): boolean {
  const { page, rev, rests } = state;
  return !rests && !isShown(state) && !(page?.level === "frame" && page.rev === rev);
}

/** What Python said of the reader's state; nothing while it has not answered. */
export function resultsOf(state: ActState): Results {
  const { view, verdict, feedback, engine } = isShown(state) && state.page ? state.page : NO_RESULTS;
  return { view, verdict, feedback, engine };
}

const isMarked = (stale: Stale): boolean => stale !== null && stale !== "late";

function dependsOn({ memory, held, moving, hint }: ActState): Wanted {
  const { context, controls, prediction, revealed, moves, checked, answers } = memory;
  return {
    state: { context, controls: { ...controls, ...moving }, prediction, revealed, held, moves: moves.length, hint },
    checked: checked.map((name) => [name, answers[name] ?? {}]),
  };
}

/** A change: with another revision where Python's answer depends on it. What the page shows of that state is not out of date, as
 * where the reader has come back. */
function changed(before: ActState, change: Partial<ActState>): ActState {
  const state = { ...before, ...change };
  const at = dependsOn(state);
  if (equal(at, before.at)) return state;
  const { page } = state;
  const same = page !== null && page.level !== "view" && (page.level === "frame" ? equal(page.of.state, at.state) : equal(page.of, at));
  return { ...state, at, ...raised(state, same) };
}

function raised({ rev, page }: ActState, same: boolean): Pick<ActState, "rev" | "page"> {
  return { rev: rev + 1, page: page && same ? { ...page, rev: rev + 1 } : page };
}

/** Where nothing is awaited and the page shows the reader's state, it is not out of date, whatever was asked for meanwhile. */
function settled(state: ActState): ActState {
  const { computing, hearing, unread, stale } = state;
  return stale !== null && !computing && !hearing && !unread && isShown(state) ? { ...state, stale: null } : state;
}

/** Whether the page still shows what was baked, and that is of the reader's state: only grips are missing then. */
const isUnchanged = ({ page, rev, unread, hearing }: ActState): boolean => !unread && !hearing && page?.level === "baked" && page.rev === rev;

function markOf(state: ActState): Stale {
  const { page, rev, unread, whole } = state;
  return isUnchanged(state) || (!unread && whole && page?.level === "frame" && page.rev === rev) ? "baked" : "true";
}

/** Another view is being computed: what is shown fades after a while, or at once where nobody can compute yet. */
function faded(state: ActState): ActState {
  const { ready, whole, stale } = state;
  return { ...state, stale: !ready || !whole || isMarked(stale) ? markOf(state) : "late" };
}

/** Asks for the whole view, also where the page may still show frames of another state. A late frame must not take its place. */
function asked(state: ActState): Step {
  const { page, rev, hint, counted, computing } = state;
  const same = page?.rev === rev && page.level !== "view";
  const next = faded({ ...state, ...raised(state, same), rests: true, counted: counted && hint, computing: computing + 1 });
  return [next, [{ kind: "ask", rev: next.rev, of: next.at }]];
}

const again = (state: ActState): Step => (state.visible && !state.unread ? asked(state) : [state, []]);
const needed = (state: ActState): Step => (isShown(state) ? [state, []] : again(state));

/** A reader who uses the act sees it, even if the observer has not reported that yet. */
const used = (state: ActState, change: Partial<ActState>): Step => needed(changed(state, { ...change, visible: true }));

function remembered(state: ActState, memory: Partial<Memory>, change: Partial<ActState> = {}, ...then: Effect[]): Step {
  const [next, effects] = used(state, { ...change, memory: { ...state.memory, ...memory } });
  return [next, [...effects, { kind: "save" }, ...then]];
}

/** A moving hand is followed: one frame at a time, each of the state as it is then. */
function follows(state: ActState): Step {
  const next = { ...state, rests: false, following: true };
  return [!state.ready || !state.whole ? faded(next) : next, state.following ? [] : [{ kind: "frame" }]];
}

const say = (text: string): Effect => ({ kind: "announce", text });
const focus = (where: (Effect & { kind: "focus" })["where"]): Effect => ({ kind: "focus", where });

/** The reflections that were judged and are right. What was not so was judged where the instruments stood: a move must not make it right,
 * so that the reader presses Check again. */
const standing = ({ checked, right }: Memory): string[] => checked.filter((name) => Object.hasOwn(right ?? {}, name));

const EMPTY = { held: null, hint: false, moving: {} };

const STEPS: { [Kind in keyof Events]: (state: ActState, event: Events[Kind]) => Step } = {
  locked: (state, { prediction }) => {
    const { revealFirst: revealed, staged } = state.facts;
    const change = { held: null, seeks: revealed, plays: revealed && staged };
    return remembered(state, { prediction, revealed }, change, say("Locked in. The instruments are open."), focus(revealed ? "reveal" : "explore"));
  },

  held: (state, { held, by, instruments }) => {
    const change = { held, ...(instruments && { memory: { ...state.memory, ...instruments } }) };
    if (by === "typing") return used(state, change);
    const next = changed(state, change);
    // The chart follows a handle where Python is ready, and nothing waits for it.
    return by === "drag" && state.ready ? follows(next) : [next, []];
  },

  slid: (state, { controls }) => follows(changed(state, { moving: controls })),

  moved: (state, { instruments, moves }) => {
    const { context, controls } = state.memory;
    const held = Object.keys(state.moving).length > 0;
    // A finger that scrolled the page over a slider moved nothing; the page may have followed it.
    if (equal(instruments, { context, controls })) return held ? again(changed(state, { moving: {} })) : [state, []];
    const next = changed(state, { moving: {}, hint: false, visible: true, memory: { ...state.memory, ...instruments, explored: true, moves, checked: standing(state.memory) } });
    // What stands around an act makes its whole view slow: the eye has a frame of it first.
    const [led, first] = state.facts.around && state.ready ? follows(next) : [next, []];
    const [last, then] = needed(led);
    return [last, [...first, ...then, { kind: "saveSoon" }]];
  },

  undone: (state, { said }) => {
    const { controls, moves } = state.memory;
    return moves.length ? remembered(state, { ...undo(controls, moves), checked: standing(state.memory) }, { hint: false }, say(`Undone: ${said}`)) : [state, []];
  },

  revealed: (state, { controls, late }) => {
    const news = late.length ? [say(`New among the instruments: ${late.join(", ")}.`)] : [];
    return remembered(state, { revealed: true, controls }, { seeks: true, plays: state.facts.staged }, ...news, focus("verdict"));
  },

  hinted: (state) => remembered(state, {}, { hint: true }),
  chose: (state, { answers, checked, right }) => remembered(state, { answers, checked, ...(right && { right }) }),

  checked: (state, { name, answers }) => {
    const { memory } = state;
    return remembered(state, { checked: [...new Set([...memory.checked, name])], answers: { ...memory.answers, [name]: answers } });
  },

  reset: (state, { memory, keeps }) => {
    const [next, effects] = used(state, { ...EMPTY, memory });
    return [next, [...effects, ...(keeps ? [{ kind: "save" } as const] : []), say("The act starts again."), focus("question")]];
  },

  retried: (state) => asked(state),
  halted: (state) => [{ ...state, stale: isUnchanged(state) ? null : "halted" }, []],

  kept: (state, { memory }) => [changed(state, { memory }), []],

  elsewhere: (state, { memory, cleared }) => {
    const [next, effects] = needed(changed(state, { memory, ...(cleared && EMPTY) }));
    return [next, [say("This act changed in another tab."), ...effects]];
  },

  // What is baked fades at once where it is not of the reader's state, or the address holds another.
  opened: (before, { unread }) => {
    const state = { ...before, unread };
    return [isUnchanged(state) || isShown(state) ? state : faded(state), []];
  },

  read: (before) => {
    const state = { ...before, unread: false };
    return [state.computing ? state : faded(state), state.visible ? [{ kind: "start" }] : []];
  },

  sighted: (state, { visible }) => [{ ...state, visible }, visible ? [{ kind: "start" }] : []],
  started: needed,
  python: (state, { ready }) => (ready && !state.computing ? needed({ ...state, ready }) : [{ ...state, ready }, []]),

  // A reader who is back where the whole page stands needs no frame, and a late one must not take its place.
  framed: (state, { rev, of, view }) => {
    if (isShown(state)) return [state, []];
    const now = equal(of.state, state.at.state) ? state.rev : rev;
    const next: ActState = { ...state, page: { ...NO_RESULTS, level: "frame", rev: now, of, view, rest: false } };
    return [isMarked(state.stale) ? faded(next) : next, []];
  },

  // A hand that is back where it was asks for nothing more.
  followed: (before, { late }) => {
    const state = { ...before, following: false };
    return late || !state.whole ? needed(state) : [state, []];
  },

  late: (state) => [state.stale === "late" ? { ...state, stale: markOf(state) } : state, []],

  answered: (state, { rev, results }) => {
    if (rev !== state.rev) return [state, []];
    // The eye has the picture first; but tables do not wait while what draws the first picture is still on its way.
    const rest = state.page?.level === "baked";
    return [{ ...state, whole: true, page: { ...results, level: "view", rev, of: state.at, rest } }, []];
  },

  // Tables of a state that another has followed by now are not shown any more.
  drawn: (state, { rev }) => [state.page?.level === "view" && state.page.rev === rev ? { ...state, page: { ...state.page, rest: true } } : state, []],

  seen: (state, { state: { hint }, view: { failure }, mark }) => {
    // A hint counts once it is shown.
    const counts = hint && failure?.remedy && !state.counted;
    const memory = mark ? withMark(state.memory, mark) : state.memory;
    return [{ ...state, ...(counts && { counted: true }), memory: counts ? withHint(memory) : memory }, []];
  },

  staged: (state) => [{ ...state, plays: false, stale: null }, []],

  judged: (state, { rev, verdict }) => {
    if (!stands(state, rev) || !state.page) return [state, []];
    return [{ ...state, seeks: false, page: { ...state.page, verdict } }, state.seeks ? [{ kind: "seek" }] : []];
  },

  fedback: (state, { name, answers, feedback, at }) => {
    const { memory, page } = state;
    // Other answers have been chosen meanwhile: this judgement is not theirs.
    if (!page || !memory.checked.includes(name) || !equal(memory.answers[name], answers)) return [state, []];
    // Answers that were once right count as right, wherever the instruments stand now.
    const learns = Object.values(feedback).every((blank) => blank.correct) && !Object.hasOwn(memory.right ?? {}, name);
    const said = { ...page, feedback: new Map([...page.feedback, [name, feedback]]) };
    return [{ ...state, page: said, ...(learns && { memory: { ...memory, right: { ...memory.right, [name]: at } } }) }, []];
  },

  // What is shown again from an earlier visit was not computed: it is of the reader's state once nothing else is awaited.
  told: (state, { rev }) => {
    const { page, computing, stale } = state;
    return [stands(state, rev) && page ? { ...state, stale: computing ? null : stale, page: { ...page, level: "all" } } : state, []];
  },
  completed: (state, { before, moves }) => [state.memory.moves === before ? { ...state, memory: { ...state.memory, moves } } : state, []],
  ended: (state) => [{ ...state, computing: state.computing - 1 }, []],

  hears: (before) => {
    const state = { ...before, hearing: before.hearing + 1 };
    // Before Python's first answer what is shown is not of the texts that it is to hear.
    return [state.ready && state.whole ? state : faded(state), []];
  },
  heard: (state) => [{ ...state, hearing: state.hearing - 1 }, []],
};
