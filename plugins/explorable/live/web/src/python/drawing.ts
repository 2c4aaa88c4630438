// What a drawing asks of a browser: how often it shows parts of itself, its rules of style, its rows of marks. An element that refers to another shows it once more, so that twenty levels of two make
// a million: browsers take minutes for a drawing of a thousand characters, and the page stands still meanwhile.
import { bounded } from "../marks";

/** Parts that a drawing may show once more; matplotlib's largest, a marker for each point, has a quarter of them. */
const MOST_REPEATED = 100_000;
/** Elements with a name in each other; parsers of browsers allow fewer elements. */
const DEEPEST = 1000;
/** What stands for a text elsewhere, a drawing within a drawing, and a page within one: they hide what they hold. */
const HIDES = /<!entity|<\?xml-stylesheet|data:\s*image\/svg|<(?:[^\s<>/:]*:)?foreignobject/i;
const TAG = /<(\/?)([^\s/<>!?"'=]+)((?:[^<>"']|"[^"<]*"|'[^'<]*')*)>/y;
const ENDS: readonly (readonly [string, string])[] = [["<!--", "-->"], ["<![CDATA[", "]]>"], ["<?", "?>"], ["<!", ">"]];
/** A name and its value. A name without one is passed over at once, however long it is. */
const ATTRIBUTE = /([^\s="']+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'))?/g;
/** What no style sheet of a drawing needs: a reference to a part, a sign that is spelled, an element, a rule that looks around, or holds others. */
const IN_SHEET = /url\(|@import|\\|<(?!!\[CDATA\[)|(?:has|is|not|where|any|matches|child|type|of)\(|~|(?<!\de)\+|&(?!quot;|apos;|gt;)/i;
/** Rules times elements times how deep these stand in each other: to so many a browser holds a rule in a second or two. */
const MOST_RULED = 20_000_000;
const SHEET = /(^|:)style$/i;
const PAINTS = /url\(\s*(?:["']|&quot;|&apos;)?#([^)"'&\s]*)/g;

/** An element with a name, or the whole: how many elements it has without those of `inside`, and to which it refers. */
interface Part {
  elements: number;
  inside: Part[];
  refers: string[];
  shown?: number;
}

/** Whether a browser needs longer than a second or two for a drawing, as far as it shows its own parts, has rules of style, or rows of marks. */
export function tooMuch(svg: string): boolean {
  const text = svg.includes("&#") ? svg.replace(/&#(?:x([\da-f]{1,6})|(\d{1,7}));/gi, spelled) : svg;
  if (HIDES.test(text)) return true;
  const { whole, named, elements, deepest, rules, said, unbounded } = partsOf(text);
  return unbounded || shown(whole, named) - elements > MOST_REPEATED || rules * elements * deepest > MOST_RULED || bounded(said) !== said;
}

/** The sign of a reference by number; none that is markup, which such a sign never is. */
function spelled(_: string, hexadecimal: string | undefined, decimal: string): string {
  const code = hexadecimal ? Number.parseInt(hexadecimal, 16) : Number(decimal);
  return code <= 0x10ffff && !'<>&"\''.includes(String.fromCodePoint(code)) ? String.fromCodePoint(code) : " ";
}

interface Parts {
  whole: Part;
  named: Map<string, Part>;
  elements: number;
  /** Elements in each other. */
  deepest: number;
  /** Of style sheets. */
  rules: number;
  /** Its texts, one after the other. */
  said: string;
  unbounded: boolean;
}

function partsOf(svg: string): Parts {
  const whole: Part = { elements: 0, inside: [], refers: [] };
  const named = new Map<string, Part>();
  /** Open elements: the part to which each belongs. */
  const open: Part[] = [whole];
  let [elements, deepest, rules] = [0, 0, 0];
  const said: string[] = [];
  let over = 0;
  const parts = (unbounded: boolean): Parts => ({ whole, named, elements, deepest, rules, said: said.join(""), unbounded });
  for (let at = svg.indexOf("<"); at >= 0; at = svg.indexOf("<", over)) {
    said.push(svg.slice(over, at));
    const end = endOfRest(svg, at);
    if (end === null) break;
    if (end > at) {
      over = end;
      said.push(charactersIn(svg.slice(at, end)));
      continue;
    }
    TAG.lastIndex = at;
    const [tag, closes, kind = "", attributes = ""] = TAG.exec(svg) ?? [];
    over = at + (tag?.length ?? 1);
    if (!tag) continue;
    if (closes) {
      open.splice(Math.max(1, open.length - 1));
      continue;
    }
    elements += 1;
    const { id, refers } = read(attributes);
    const part = partNamed(id, open.at(-1) ?? whole, named);
    part.elements += 1;
    // A link leads to a part and shows nothing.
    if (!/(^|:)a$/.test(kind)) part.refers.push(...refers);
    if (!attributes.endsWith("/")) open.push(part);
    deepest = Math.max(deepest, open.length);
    if (SHEET.test(kind) && !attributes.endsWith("/")) {
      const begins = over;
      over = afterSheet(svg, begins);
      rules += svg.slice(begins, Math.max(begins, over)).split(/[{,]/).length - 1;
    }
    if (open.length > DEEPEST || over < 0) return parts(true);
  }
  return parts(false);
}

/** The part to which an element of this name belongs, within another. */
function partNamed(id: string | undefined, around: Part, named: Map<string, Part>): Part {
  if (id === undefined) return around;
  const part: Part = { elements: 0, inside: [], refers: [] };
  around.inside.push(part);
  if (!named.has(id)) named.set(id, part);
  return part;
}

/** The text of character data; of a comment, none. */
const charactersIn = (rest: string): string => (rest.startsWith("<![CDATA[") ? rest.slice(9, -3) : "");

/** Where a comment, an instruction or character data that begins here ends: here, where it is none of them. Null where it does not end. */
function endOfRest(svg: string, at: number): number | null {
  const [, end] = ENDS.find(([begin]) => svg.startsWith(begin, at)) ?? [];
  if (!end) return at;
  const over = svg.indexOf(end, at + 2);
  return over < 0 ? null : over + end.length;
}

/** Where a style sheet that begins here ends; -1 where it may refer to a part. */
function afterSheet(svg: string, at: number): number {
  const end = svg.indexOf("</", at);
  return end < 0 || IN_SHEET.test(svg.slice(at, end)) ? -1 : end;
}

/** The name that an element's attributes give it, and the parts to which they refer. */
function read(attributes: string): { id: string | undefined; refers: string[] } {
  let id: string | undefined;
  const refers: string[] = [];
  for (const [, name = "", double, single] of attributes.matchAll(ATTRIBUTE)) {
    const value = (double ?? single ?? "").trim();
    if (name === "id") id = value;
    // An animation can set an address, too. Colors begin so as well, and name no part.
    else if (value.startsWith("#")) refers.push(plain(value.slice(1)));
    else for (const [, part = ""] of value.matchAll(PAINTS)) refers.push(plain(part));
  }
  return { id, refers };
}

/** A name as browsers read it in an address. */
function plain(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    return id;
  }
}

/** Elements that a part shows, with those of the parts to which it refers. What refers to itself shows nothing more. */
function shown(part: Part, named: ReadonlyMap<string, Part>, depth = 0): number {
  if (part.shown !== undefined) return part.shown;
  if (depth > DEEPEST) return Number.POSITIVE_INFINITY;
  part.shown = 0;
  let sum = part.elements;
  for (const inner of part.inside) sum += shown(inner, named, depth + 1);
  for (const id of part.refers) {
    const other = named.get(id);
    if (other) sum += shown(other, named, depth + 1);
  }
  part.shown = sum;
  return sum;
}
