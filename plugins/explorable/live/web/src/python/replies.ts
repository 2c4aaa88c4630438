// What comes from the worker, checked: a reader's program can say anything in Python's name, and as much of it as it likes.
// Of what Python itself lets through, `limits.json` says how much: characters, which are up to two each here, elements, figures.
import { repeatsTooOften } from "./drawing";
import limits from "./limits.json";
import type { Response as Reply } from "./protocol";

/** Throws a `Fault` for a value that is none of its kind. */
type Shape = (value: unknown) => void;

/** Why a reply is not heard: half a sentence. */
export class Fault extends Error {}

/** It is more than a page can show. */
export class Excess extends Fault {}

const CUT = `output cut after ${limits.output.toLocaleString("en-US")} characters`;
const REPEATS = "a figure shows parts of itself too often to be drawn here";
/** Characters of one text here: some of Python's are two, and the sentence of a cut comes on top. */
const MOST = 2 * limits.output + 1000;
/** Of all that one run prints: an exercise and its tests are counted apart there. */
const MOST_PRINTED = 2 * MOST;
const MOST_HTML = 2 * limits.html;
const MOST_SVG = 2 * limits.svg;
/** Those that are open, and the last value. */
const MOST_FIGURES = limits.figures + 1;
/** Of everything else that is listed. */
const MOST_LISTED = 1000;
/** Replies at once, and in each second after: output and downloads are told 25 times a second, or in large pieces. */
const BURST = 1000;
const EACH_SECOND = 100;

const odd = (): never => {
  throw new Fault("it said something that this page does not understand");
};

const text =
  (most = MOST): Shape =>
  (value) => {
    if (typeof value !== "string") odd();
    else if (value.length > most) throw new Excess(CUT);
  };
const oneOf =
  (kind: "number" | "boolean"): Shape =>
  (value) => {
    if (typeof value !== kind || Number.isNaN(value)) odd();
  };
const orNull =
  (shape: Shape): Shape =>
  (value) => {
    if (value !== null) shape(value);
  };
const maybe =
  (shape: Shape): Shape =>
  (value) => {
    if (value !== undefined) shape(value);
  };
const list =
  (shape: Shape, most = MOST_LISTED): Shape =>
  (value) => {
    if (!Array.isArray(value)) return odd();
    if (value.length > most) throw new Excess(CUT);
    for (const item of value) shape(item);
  };
const has =
  (shapes: Record<string, Shape>): Shape =>
  (value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return odd();
    for (const [name, shape] of Object.entries(shapes)) shape((value as Record<string, unknown>)[name]);
  };

/** No more than so many signs that begin an element: browsers take long for many that stand in each other. */
const html: Shape = (value) => {
  text(MOST_HTML)(value);
  const count = (sign: string): number => String(value).split(sign).length;
  if (count("<") - count("</") > limits.elements) throw new Excess(CUT);
};

const drawing: Shape = (value) => {
  text(MOST_SVG)(value);
  if (repeatsTooOften(String(value))) throw new Excess(REPEATS);
};

const number = oneOf("number");
const truth = oneOf("boolean");
const line = orNull(number);

const SHAPES: Record<Reply["kind"], Shape> = {
  alive: has({}),
  progress: has({ label: text(), loaded: number, total: number }),
  ready: has({ copied: truth }),
  copied: has({}),
  failed: has({ message: text(), broken: truth }),
  output: has({ id: number, text: text() }),
  ran: has({
    id: number,
    result: orNull(text()),
    error: orNull(has({ text: text(), line })),
    figures: list(has({ svg: drawing, name: text() }), MOST_FIGURES),
    html: maybe(orNull(html)),
    checks: maybe(list(has({ label: text(), hidden: truth, passed: truth, said: text(), line }))),
  }),
  asks: has({ id: number, packages: list(text()), hosts: list(text()) }),
  completed: has({
    id: number,
    completed: has({ from: number, options: list(has({ label: text(), kind: text() })), call: orNull(has({ signature: text(), about: text() })) }),
  }),
  answer: has({ id: number, answer: has({}) }),
  problem: has({ id: number, message: text() }),
};

/** Hears one worker, until it says what it may not. */
export class Replies {
  #since = 0;
  #heard = 0;
  #printed = 0;

  /** A task begins: what it says is counted anew. */
  begin(now: number): void {
    this.#since = now;
    this.#heard = 0;
    this.#printed = 0;
  }

  /** The reply, or a `Fault`. */
  checked(data: unknown, now: number): Reply {
    this.#heard += 1;
    if (this.#heard > BURST + (EACH_SECOND * (now - this.#since)) / 1000) throw new Excess(CUT);
    const { kind } = (data ?? {}) as { kind?: unknown };
    if (typeof kind !== "string" || !Object.hasOwn(SHAPES, kind)) return odd();
    SHAPES[kind as Reply["kind"]](data);
    const reply = data as Reply;
    if (reply.kind === "output") this.#printed += reply.text.length;
    if (this.#printed > MOST_PRINTED) throw new Excess(CUT);
    return reply;
  }
}
