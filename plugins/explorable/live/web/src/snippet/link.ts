// A snippet's code in a link. Whoever wrote it is unknown: it is text until the reader runs it, and is never kept of itself.
import { packed, Unpackable, unpacked } from "../packed";

/** How the fragment begins, with the version of what follows: the snippet's name, a point, the packed code. */
export const FRAGMENT = "#code=1.";
const SHAPE = /^#code=(\d{1,9})\.([a-z0-9-]{1,100})\.([A-Za-z0-9_-]{1,60000})$/;
const VERSION = "1";
/** Characters of code that a link holds. */
export const MOST_CODE = 20_000;
/** What an editor would not show: controls other than line ends and tabs, fillers, and marks that turn text around or vary it. */
// eslint-disable-next-line no-control-regex -- that is what it looks for
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\ufff9-\uffff]|\p{Default_Ignorable_Code_Point}/u;

/** Code that came with the page's address, or in a sentence why it cannot be opened. */
type Linked = { code: string } | { problem: string };

/** The address of the page with the code. Null where it could not be opened again. */
export async function linkTo(page: string, name: string, code: string): Promise<string | null> {
  if (code.length > MOST_CODE || UNSEEN.test(code)) return null;
  return `${page.replace(/#.*$/, "")}${FRAGMENT}${name}.${await packed(code)}`;
}

/** What the fragment of an address carries for this snippet; null where it is for another, or for none. */
export async function linkedCode(fragment: string, name: string): Promise<Linked | null> {
  const [, version, wanted, letters] = SHAPE.exec(fragment) ?? [];
  if (wanted !== name || letters === undefined) return null;
  if (version !== VERSION) return { problem: "The code in the link is of another version of this site." };
  try {
    const code = await unpacked(letters, MOST_CODE);
    return UNSEEN.test(code) ? { problem: "The code in the link has characters that no editor shows." } : { code };
  } catch (error) {
    const long = error instanceof Unpackable && error.because === "too long";
    return { problem: long ? "The code in the link is longer than a link may hold." : "The link is damaged: a part of it may be missing." };
  }
}
