// A ledger that comes from elsewhere, a file or a link: checked against the schema before anything is done with it.
import { Validator, type Schema } from "@cfworker/json-schema";
import schema from "../../../../docs/lab/ledger.schema.json";
import { FRAGMENT, SCHEMA_VERSION, through, type LedgerDocument } from "./document";
import type { Entry } from "./entry";

/** A ledger of a few acts has some ten thousand characters; a link that unfolds to far more is no ledger. */
const MOST_CHARACTERS = 2_000_000;

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
      `Its schema_version is ${JSON.stringify(version)}; this site reads ${SCHEMA_VERSION}.${newer ? " Reload the site and try again." : ""}`,
    );
  }
  const { valid, errors } = new Validator(schema as unknown as Schema, "2020-12").validate(parsed);
  const wrong = errors.at(-1);
  if (!valid) throw new LedgerProblem(`The ledger is damaged at ${place(wrong?.instanceLocation)}: ${wrong?.error ?? "no reason known"}`);
  return Object.entries((parsed as LedgerDocument).acts).map(([act, one]) => ({ act, ...one }));
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

/** "#/acts/mfu-gap/stage" as a reader would write it. */
function place(location: string | undefined): string {
  return (location ?? "#").replace(/^#\/?/, "").replaceAll("/", " › ") || "its top level";
}
