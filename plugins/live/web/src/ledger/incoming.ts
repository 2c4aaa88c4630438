// A ledger that comes from elsewhere, a file or a link: checked against the schema before anything is done with it.
import { FRAGMENT, MOST_CHARACTERS, SCHEMA_VERSION, through, type LedgerDocument } from "./document";
import { parseEntry, type Entry } from "./entry";
import { faultOf, LEDGER } from "./schema";

/** Of what somebody else wrote, an error message repeats so many characters. */
const ECHO = 40;

/** What is wrong with a document, in one line. */
export class LedgerProblem extends Error {
  override readonly name = "LedgerProblem";
}

/** The entries of a document. Raises `LedgerProblem` with one line for anything that is not one. */
export function entriesOf(text: string): Entry[] {
  const parsed = parse(text);
  const version = typeof parsed === "object" && parsed !== null ? (parsed as { schema_version?: unknown }).schema_version : undefined;
  if (version === undefined) throw new LedgerProblem('This is not a design ledger: it has no "schema_version".');
  if (version !== SCHEMA_VERSION) {
    const newer = typeof version === "number" && version > SCHEMA_VERSION;
    throw new LedgerProblem(
      `Its schema_version is ${echo(version)}; this site reads ${SCHEMA_VERSION}.${newer ? " Reload the site and try again." : ""}`,
    );
  }
  const fault = faultOf(parsed, LEDGER);
  if (fault) throw new LedgerProblem(`The ledger is damaged at ${fault.path.map(cut).join(" › ") || "its top level"}: ${fault.allowed}.`);
  return Object.entries((parsed as LedgerDocument).acts).flatMap(([act, one]) => parseEntry({ act, ...one }) ?? []);
}

/** The entries that the fragment of a link carries. Rejects with `LedgerProblem`. */
export async function entriesInLink(fragment: string): Promise<Entry[]> {
  let text: string;
  try {
    const base = fragment.slice(FRAGMENT.length).replaceAll("-", "+").replaceAll("_", "/");
    const bytes = Uint8Array.from(atob(base), (character) => character.charCodeAt(0));
    text = await readAll(through(new Blob([bytes]), new DecompressionStream("deflate-raw")));
  } catch (error) {
    if (error instanceof LedgerProblem) throw error;
    throw new LedgerProblem("The link is damaged: a part of it may be missing.");
  }
  return entriesOf(text);
}

async function readAll(stream: ReadableStream<Uint8Array>): Promise<string> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    text += decoder.decode(value, { stream: true });
    if (text.length > MOST_CHARACTERS) throw new LedgerProblem("The link unfolds to more than any ledger holds.");
  }
}

function parse(text: string): unknown {
  if (text.length > MOST_CHARACTERS) throw new LedgerProblem("The file is larger than any ledger.");
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new LedgerProblem("This is not JSON, so it is not a design ledger.");
  }
}

function echo(value: unknown): string {
  return typeof value === "object" ? "no number" : cut(JSON.stringify(value));
}

function cut(text: string): string {
  return text.length > ECHO ? `${text.slice(0, ECHO)}…` : text;
}
