// Signs that a browser adds to the one before: it takes a time by the square of their number for them, minutes for what one run may
// print. No language has fifty in a row.

/** In a row; the rest is left out. */
const MOST = 50;
/** Marks, signs without a shape, halves of signs, tones of skin, two vowels that act as marks; what Myanmar's stacker puts under a letter. */
const SIGN = String.raw`(?:\u1039(?:(?![\u0e33\u0eb3])\p{Lo})?|(?!\u1039)[\p{M}\p{Cf}\p{Cs}\p{Emoji_Modifier}\u0e33\u0eb3])`;
const LONG = new RegExp(`(${SIGN}{${MOST}})${SIGN}+`, "gu");
const LAST = new RegExp(`${SIGN}{1,${MOST}}$`, "u");
/** Characters that hold the signs in which a text ends. */
const END = 4 * MOST;

/** Signs that move others, wherever they stand: Thai's and Lao's am, what Myanmar joins, letters of flags. */
const MOVER = /[\u0e33\u0eb3]|[\u1039-\u103e]|[\u{e0020}-\u{e007f}]/gu;
/** Of those in one text: what a hundred thousand characters of these languages have. */
const MOST_MOVERS = 10_000;

/** Characters without a blank between; of more, with one that a browser shapes by what stands beside it, the rest is left out. */
const MOST_JOINED = 1000;
/** A part of so many letters is a word, and of any script. */
const WORD = 100;
/** Of shaped parts that are longer, the letters in all texts of one JSON value: a browser lays out a thousand in some milliseconds. */
const MOST_LONG_IN_VALUE = 10_000;
const PARTS = /\s+|\S+/gu;
/** Letters of scripts that are joined, and signs of which pictures are made: all but what is set sign by sign. */
const SHAPED =
  /(?![\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}\p{P}\p{S}]|[\u2500-\u259f])\P{ASCII}|\u200d|\ufe0f|\u20e3/u;

/** A stranger's words where no element can stand around them: without the marks that turn the direction of text. */
export const undirected = (text: string): string => text.replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "");

/** The text, with "…" for what is too much. */
export function bounded(text: string): string {
  return new Pieces().bounded(text);
}

/** Any other sign takes a browser a time that its length bounds. */
// eslint-disable-next-line no-control-regex -- of ASCII, all of them
const PLAIN = /^[\u0000-\u007f]*$/;

/** Of signs that move others, those in all texts of one JSON value. A hundred such values may be shown together. */
const MOST_IN_VALUE = 1000;

/** The same for all texts in a JSON value. */
export function boundedIn<T>(value: T, pieces = new Pieces(MOST_IN_VALUE, MOST_LONG_IN_VALUE)): T {
  if (typeof value === "string") return (PLAIN.test(value) ? value : pieces.apart(value)) as T;
  if (Array.isArray(value)) return value.map((one: unknown) => boundedIn(one, pieces)) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, boundedIn<unknown>(one, pieces)])) as T;
}

/** The same for a text that comes in pieces. */
export class Pieces {
  #last = "";
  #movers = 0;
  /** Of the part without blanks in which the text ends, how long it is and whether it is shaped. */
  #length = 0;
  #shaped = false;
  /** Letters in shaped parts that are no words. */
  #long = 0;
  readonly #most: number;
  readonly #mostLong: number;

  constructor(mostMovers = MOST_MOVERS, mostLong = Number.POSITIVE_INFINITY) {
    [this.#most, this.#mostLong] = [mostMovers, mostLong];
  }

  /** A piece that stands apart from the one before. */
  apart(piece: string): string {
    [this.#last, this.#length, this.#shaped] = ["", 0, false];
    return this.bounded(piece);
  }

  bounded(piece: string): string {
    const whole = (this.#last + piece).replace(LONG, "$1…");
    const rest = whole.slice(this.#last.length);
    this.#last = LAST.exec(whole.slice(-END))?.[0] ?? "";
    return this.#parted(rest).replace(MOVER, (sign) => {
      this.#movers += 1;
      return this.#movers <= this.#most ? sign : this.#movers === this.#most + 1 ? "…" : "";
    });
  }

  #parted(text: string): string {
    return text.replace(PARTS, (part) => {
      if (/^\s/u.test(part)) {
        [this.#length, this.#shaped] = [0, false];
        return part;
      }
      const before = this.#length;
      const cut = this.#shaped && before > MOST_JOINED;
      this.#length += part.length;
      this.#shaped ||= SHAPED.test(part);
      if (this.#shaped && this.#length > WORD) {
        this.#long += Math.min(part.length, MOST_JOINED);
        if (this.#long > this.#mostLong) return before ? "" : "…";
      }
      if (!this.#shaped || this.#length <= MOST_JOINED) return part;
      // No half of a sign stays behind.
      return cut ? "" : `${part.slice(0, Math.max(MOST_JOINED - before, 0)).replace(/[\ud800-\udbff]$/, "")}…`;
    });
  }
}
