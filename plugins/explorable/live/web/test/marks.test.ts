// Rows of signs that a browser adds to the one before.
import { describe, expect, test } from "vitest";
import { bounded, boundedIn, Pieces, undirected } from "../src/marks";

const longest = (text: string): number => Math.max(0, ...(text.match(/[\p{M}\p{Cf}\p{Cs}\p{Emoji_Modifier}\u0e33\u0eb3]+/gu) ?? []).map((row) => [...row].length));

describe("a text", () => {
  test.each([
    ["accents", `${"a\u0300\u0316".repeat(300)} `.repeat(60)],
    ["Vietnamese, in parts", "Vi\u0065\u0323\u0302t Nam ".repeat(1000)],
    ["Thai", "น้ำใจ กำลัง ทำ ".repeat(1000)],
    ["Devanagari", "क्षत्रिय संस्कृत ".repeat(1000)],
    ["Myanmar", "မြန်မာ သတ္တ ဗုဒ္ဓ ".repeat(1000)],
    ["Hebrew with points", "בְּרֵאשִׁית בָּרָא ".repeat(1000)],
    ["emoji", "👩🏽‍👩🏽‍👧🏽‍👦🏽🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f} ".repeat(1000)],
    ["Chinese without a blank", "訓練的鐵律，".repeat(20_000)],
    ["letters and digits without a blank", "QWxhZGRpbjpvcGVuIHNlc2FtZQ".repeat(20_000)],
    ["Latin, Greek and Cyrillic without a blank", "déjàvuΑθήναМосква".repeat(2000)],
    ["bars that are drawn of blocks", "████▌░░ ".repeat(3) + "█".repeat(5000)],
    ["forty marks on a letter", `Z${"\u0300".repeat(40)}algo`],
    ["nothing", ""],
  ])("of %s stays as it is", (_, text) => {
    expect(bounded(text)).toBe(text);
  });

  test.each([
    ["marks", "\u0300\u0316"],
    ["Thai's am", "\u0e33"],
    ["Lao's am", "\u0eb3"],
    ["am with joiners", "\u0e33\u200d"],
    ["tones of skin", "\u{1f3fb}"],
    ["halves of signs", "\ud834"],
  ])("has at most fifty in a row of %s", (_, sign) => {
    const text = bounded(`a${sign.repeat(49_000)}b`);
    expect([longest(text), text.at(-2), text.at(-1)]).toEqual([50, "…", "b"]);
  });

  test("has at most fifty letters stacked", () => {
    expect(bounded("\u1000\u1039".repeat(49_000)).length).toBeLessThan(300);
  });

  test.each([["Thai", "ก\u0e33"], ["Myanmar", "\u1000\u103b"], ["flags", "🏴\u{e0067}"]])("has a bounded number of signs that move others, of %s", (_, pair) => {
    const words = (times: number): string => `${pair.repeat(100)} `.repeat(times / 100);
    expect(bounded(words(10_000))).toBe(words(10_000));
    expect(bounded(words(49_000)).split([...pair].at(-1) ?? "").length).toBe(10_001);
  });

  test.each([["a picture without end", "\u2764\ufe0f\u200d"], ["N'Ko", "\u07ca\u07df"], ["Arabic", "\u0627\u0628"], ["Arabic and digits", "\u06271"], ["keycaps", "1\ufe0f\u20e3"]])(
    "has at most a thousand characters without a blank of %s",
    (_, sign) => {
      const text = bounded(`x ${sign.repeat(33_000)} y`);
      expect([text.length <= 1010, text.includes("…"), text.at(-1)]).toEqual([true, true, "y"]);
      const pieces = new Pieces();
      const whole = Array.from({ length: 3000 }, () => pieces.bounded(sign)).join("");
      expect(whole.length).toBeLessThanOrEqual(1001);
    },
  );

  test("takes a time that the length bounds", () => {
    const started = performance.now();
    for (const one of ["\u1039", "\u1039\u1000", "\u0300", `${"\u1039".repeat(50)}b`, `${"\u0300".repeat(50)}b`]) bounded(one.repeat(200_000 / one.length));
    expect(performance.now() - started).toBeLessThan(10_000);
  });

  test.each([["marks", "\u0300"], ["halves", "\ud834\u0300\u0301\u0302"], ["of am and joiners", "\u0e33\u200d"]])("in pieces has no more, of %s", (_, piece) => {
    const pieces = new Pieces();
    const whole = Array.from({ length: 2000 }, () => pieces.bounded(piece)).join("");
    expect(longest(whole)).toBeLessThanOrEqual(50);
  });

  test("in pieces stays as it is otherwise", () => {
    const pieces = new Pieces();
    const text = "a\u0300 น้ำ 👩🏽‍👦🏽 x".repeat(50);
    expect([...text].map((one) => pieces.bounded(one)).join("")).toBe(text);
  });
});

test("all texts of a JSON value are bounded, once and for all, and nothing else of it changes", () => {
  const kept = { name: "กำ", list: ["a".repeat(9000), 1, null, true], within: { code: "𝛼 ".repeat(900), empty: "" } };
  expect(boundedIn(kept)).toEqual(kept);
  for (const sign of ["\u0e33", "\u0301", "\u0628", "\u1000\u103c", "\u{1f3fb}"]) {
    const text = sign.repeat(10_000 / sign.length);
    const shown = boundedIn([{ text }]);
    expect(shown).toEqual([{ text: bounded(text) }]);
    expect(shown[0]?.text.length).toBeLessThan(1002);
    expect(boundedIn(shown)).toEqual(shown);
  }
});

test("all texts of a JSON value together have few signs that move others", () => {
  const value = { words: Array.from({ length: 20 }, () => "กำ ".repeat(100)), last: "ก".repeat(60) };
  const shown = boundedIn(value);
  expect(shown.words.slice(0, 10)).toEqual(value.words.slice(0, 10));
  expect(JSON.stringify(shown).split("\u0e33").length - 1).toBe(1000);
  expect([shown.last, boundedIn(shown)]).toEqual([value.last, shown]);
});

test("signs that move others are counted in short texts too", () => {
  const shown = boundedIn(Array.from({ length: 100 }, () => "\u0e33".repeat(50))).join("");
  expect(shown.match(/\u0e33/gu)?.length).toBe(1000);
});

test("all texts of a JSON value together have few letters in shaped parts that are no words", () => {
  const line = "\u0633\u0644".repeat(400);
  const words = "\u0633\u0644\u0627\u0645 ".repeat(3000);
  const shown = boundedIn({ words, lines: Array.from({ length: 100 }, () => line), plain: "a".repeat(50_000) });
  expect(shown.words).toBe(words);
  expect(shown.plain.length).toBe(50_000);
  expect(shown.lines.join("").replaceAll("…", "").length).toBe(9600);
  expect(boundedIn(line)).toBe(line);
});

test("marks that turn the direction of text are left out where no element can stand around it", () => {
  expect(undirected("\u202eevil\u2066 a\u200f")).toBe("evil a");
});
