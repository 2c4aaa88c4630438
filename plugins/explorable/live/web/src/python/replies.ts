// What comes from the worker, checked: a reader's program can say anything in Python's name, and as much of it as it likes.
// Of what Python itself lets through, `limits.json` says how much: characters, which are up to two each here, elements, figures.
import { bounded, Pieces } from "../marks";
import { tooMuch } from "./drawing";
import { known } from "./elsewhere";
import { wrongWith } from "./answers";
import { MOST_SAID } from "./post";
import limits from "./limits.json";
import type { Asked, Elsewhere, Response as Reply } from "./protocol";

/** The value without what does not belong to it; throws a `Fault` for one that is none of its kind. */
type Shape = (value: unknown) => unknown;

/** Why a reply is not heard: half a sentence. */
export class Fault extends Error {}

/** It is more than a page can show. */
export class Excess extends Fault {}

const CUT = `output cut after ${limits.output.toLocaleString("en-US")} characters`;
const MUCH = "a figure holds more than can be drawn here";
const MUCH_SAID = "an act's answer holds more than can be shown here";
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
/** Signs that begin an object or a list, in one message; texts have some, too. */
const MOST_OBJECTS = 1_000_000;
const [BRACE, BRACKET] = [123, 91];
/** Replies at once, and in each second after: output and downloads are told 25 times a second, or in large pieces. */
const BURST = 1000;
const EACH_SECOND = 100;

const odd = (): never => {
  throw new Fault("it said something that this page does not understand");
};

const text =
  (most = MOST): Shape =>
  (value) => {
    if (typeof value !== "string") return odd();
    if (value.length > most) throw new Excess(CUT);
    return bounded(value);
  };
const oneOf =
  (kind: "number" | "boolean"): Shape =>
  (value) =>
    typeof value !== kind || Number.isNaN(value) ? odd() : value;
const orNull =
  (shape: Shape): Shape =>
  (value) =>
    value === null ? null : shape(value);
const maybe =
  (shape: Shape): Shape =>
  (value) =>
    value === undefined ? undefined : shape(value);
const list =
  (shape: Shape, most = MOST_LISTED): Shape =>
  (value) => {
    if (!Array.isArray(value)) return odd();
    if (value.length > most) throw new Excess(CUT);
    return value.map(shape);
  };
/** With these members and no others. */
const has =
  (shapes: Record<string, Shape>): Shape =>
  (value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return odd();
    const members = Object.entries(shapes).map(([name, shape]) => [name, shape((value as Record<string, unknown>)[name])] as const);
    return Object.fromEntries(members.filter(([, member]) => member !== undefined));
  };

/** No more than so many signs that begin an element: browsers take long for many that stand in each other. */
const html: Shape = (value) => {
  const said = text(MOST_HTML)(value) as string;
  const count = (sign: string): number => said.split(sign).length;
  if (count("<") - count("</") > limits.elements) throw new Excess(CUT);
  return said;
};

const drawing: Shape = (value) => {
  const said = text(MOST_SVG)(value) as string;
  if (tooMuch(said)) throw new Excess(MUCH);
  return said;
};

const number = oneOf("number");
const truth = oneOf("boolean");
const line = orNull(number);
/** A text that comes in pieces, which are looked at together. */
const piece: Shape = (value) => (typeof value === "string" ? value : odd());
const plain: Shape = (value) => (typeof value === "object" && value !== null && !Array.isArray(value) ? value : odd());

const SHAPES: Record<Reply["kind"], Shape> = {
  alive: has({}),
  progress: has({ label: text(), loaded: number, total: number }),
  ready: has({ copied: truth }),
  copied: has({}),
  failed: has({ message: text(), broken: truth }),
  output: has({ id: number, text: piece }),
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
  answer: has({ id: number, answer: plain }),
  problem: has({ id: number, message: text() }),
};

/** An answer that is held against its rule, with each of its texts as a browser shows it in time. */
function calm(value: unknown): unknown {
  if (typeof value === "string") return bounded(value);
  if (typeof value !== "object" || value === null) return value;
  return Array.isArray(value) ? value.map(calm) : Object.fromEntries(Object.entries(value).map(([name, one]) => [name, calm(one)]));
}

/** What a message says, which is one text: objects in it are made only where they are not too many. */
function read(data: unknown): unknown {
  if (typeof data !== "string") return odd();
  let objects = 0;
  for (let at = 0; at < data.length && objects <= MOST_OBJECTS; at += 1) {
    const sign = data.charCodeAt(at);
    if (sign === BRACE || sign === BRACKET) objects += 1;
  }
  if (objects > MOST_OBJECTS) throw new Excess(CUT);
  try {
    return JSON.parse(data);
  } catch {
    return odd();
  }
}

/** Hears one worker, until it says what it may not. */
export class Replies {
  readonly #elsewhere: Elsewhere;
  #since = 0;
  #heard = 0;
  #printed = 0;
  #said = 0;
  #pieces = new Pieces();
  #asked: Omit<Asked, "id"> | null = null;

  /** `elsewhere` is what the release names: the reader is asked for nothing else. */
  constructor(elsewhere: Elsewhere = {}) {
    this.#elsewhere = elsewhere;
  }

  /** A task begins: what it says is counted anew, and an answer is one to what is asked. */
  begin(now: number, asked: Omit<Asked, "id"> | null = null): void {
    this.#since = now;
    this.#heard = 0;
    this.#printed = 0;
    this.#said = 0;
    this.#pieces = new Pieces();
    this.#asked = asked;
  }

  /** The reply, or a `Fault`. */
  checked(data: unknown, now: number): Reply {
    this.#heard += 1;
    if (this.#heard > BURST + (EACH_SECOND * (now - this.#since)) / 1000) throw new Excess(CUT);
    this.#said += typeof data === "string" ? data.length : 0;
    if (this.#said > MOST_SAID) throw new Excess(CUT);
    const said = read(data);
    const { kind } = (said ?? {}) as { kind?: unknown };
    if (typeof kind !== "string" || !Object.hasOwn(SHAPES, kind)) return odd();
    const reply = { kind, ...(SHAPES[kind as Reply["kind"]](said) as object) } as Reply;
    if (reply.kind === "output") {
      this.#printed += reply.text.length;
      if (reply.text.length > MOST || this.#printed > MOST_PRINTED) throw new Excess(CUT);
      reply.text = this.#pieces.bounded(reply.text);
    }
    if (reply.kind === "asks") {
      const asks = known(this.#elsewhere, reply.packages, reply.hosts);
      return asks && this.#asked?.kind === "run" ? { ...reply, ...asks } : odd();
    }
    if (reply.kind === "answer") {
      const wrong = wrongWith(reply.answer, this.#asked);
      if (wrong === "much") throw new Excess(MUCH_SAID);
      if (wrong) return odd();
      reply.answer = calm(reply.answer) as object;
    }
    return reply;
  }
}
