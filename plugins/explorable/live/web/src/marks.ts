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

/** The text, with "…" for what is too much. */
export function bounded(text: string): string {
  return new Pieces().bounded(text);
}

/** The same for a text that comes in pieces. */
export class Pieces {
  #last = "";
  #movers = 0;

  bounded(piece: string): string {
    const whole = (this.#last + piece).replace(LONG, "$1…");
    const rest = whole.slice(this.#last.length);
    this.#last = LAST.exec(whole.slice(-END))?.[0] ?? "";
    return rest.replace(MOVER, (sign) => {
      this.#movers += 1;
      return this.#movers <= MOST_MOVERS ? sign : this.#movers === MOST_MOVERS + 1 ? "…" : "";
    });
  }
}
