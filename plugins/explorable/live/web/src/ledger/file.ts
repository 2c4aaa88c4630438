// The ledger as a file: the JSON that is downloaded, and how one from elsewhere is checked before anything is done with it.
import { siteVersion } from "../release";
import { parseEntry, playedAt, type Entry, type Memory } from "./entry";
import schema from "./ledger.schema.json";
import { chapterOf, faultOf, fieldsOf, LEDGER } from "./schema";
import type { Act, Decisions, Gap, Value } from "./types";

export const SCHEMA_VERSION = schema.properties.schema_version.const;
/** The most acts and characters that a ledger is read with. */
const MOST_ACTS = schema.properties.acts.maxProperties;
export const MOST_CHARACTERS = 2_000_000;
/** A character of JavaScript's takes up to so many bytes in a file. */
const BYTES_OF_A_CHARACTER = 3;
/** Of what somebody else wrote, an error message repeats so many characters. */
const ECHO = 40;

const TOO_LARGE = "The file is larger than any ledger.";

/** A ledger; beside these it has the book's own fields, which acts give. */
export interface LedgerFile {
  schema_version: number;
  engine_version: string;
  site_version: string;
  chapter: number;
  player?: string;
  predictions: Record<string, Value>;
  gaps: Record<string, Gap>;
  moves: Record<string, string[]>;
  acts: Record<string, Act>;
}

/** What is wrong with a ledger from elsewhere, in one line. */
export class LedgerProblem extends Error {
  override readonly name = "LedgerProblem";
}

/** Why a ledger could not be read. */
export function reasonOf(error: unknown): string {
  return error instanceof LedgerProblem ? error.message : `It could not be read (${String(error)}).`;
}

/** The file as it is downloaded. */
export function textOf(file: LedgerFile): string {
  return `${JSON.stringify(file, null, 2)}\n`;
}

/** Those of the entries, the newest first, that one file can hold: what is written can always be read again. */
export function fitting(entries: readonly Entry[]): Entry[] {
  let room = MOST_CHARACTERS - textOf(fileOf([])).length;
  const held = [...entries].reverse().filter((entry, index) => {
    room -= textOf(fileOf([entry])).length;
    return index < MOST_ACTS && room >= 0;
  });
  return held.reverse();
}

/** The file of these entries, the oldest first: where two acts give a field, the one played last does. */
export function fileOf(entries: readonly Entry[]): LedgerFile {
  const played = entries.filter((entry): entry is Entry & { memory: Memory } => entry.memory !== null);
  const fields: Decisions = Object.assign({}, ...played.map(({ account }) => account?.fields ?? {}));
  const each = <T>(value: (entry: Entry & { memory: Memory }) => T | null | undefined): Record<string, T> =>
    Object.fromEntries(
      played.flatMap((entry) => {
        const found = value(entry);
        return found === null || found === undefined ? [] : [[entry.act, found]];
      }),
    );
  return {
    schema_version: SCHEMA_VERSION,
    engine_version: played.map(({ account }) => account?.engine ?? "").filter(Boolean).at(-1) ?? "",
    site_version: siteVersion(),
    chapter: chapterOf(),
    ...Object.fromEntries(fieldsOf().map(([field]) => [field, fields[field] ?? null])),
    predictions: each(({ memory }) => memory.prediction),
    gaps: each(({ account }) => account?.verdict?.gap),
    moves: each(({ account }) => (account?.moves.length ? account.moves : null)),
    acts: each((entry) => ({ updated: playedAt(entry), stage: entry.stage, memory: entry.memory, account: entry.account })),
  };
}

/** The entries in a file's text. Raises `LedgerProblem` with one line for anything that is not a ledger. */
export const entriesIn = (text: string): Entry[] => ledgerIn(text).entries;

/** The entries in a file's text, and the name of the reader whose they are; "" where none is given. Raises as `entriesIn`. */
export function ledgerIn(text: string): { player: string; entries: Entry[] } {
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
  const { acts, player = "" } = parsed as LedgerFile;
  return { player: player.trim(), entries: Object.entries(acts).flatMap(([act, one]) => parseEntry({ act, ...one }) ?? []) };
}

/** The text of a file that was chosen, which is not read where it is too large. Rejects with `LedgerProblem`, or as the browser does. */
export async function textIn(file: Blob): Promise<string> {
  if (file.size > MOST_CHARACTERS * BYTES_OF_A_CHARACTER) throw new LedgerProblem(TOO_LARGE);
  return file.text();
}

function parse(text: string): unknown {
  if (text.length > MOST_CHARACTERS) throw new LedgerProblem(TOO_LARGE);
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new LedgerProblem("This is not JSON, so it is not a design ledger.");
  }
}

function echo(value: unknown): string {
  if (typeof value === "object") return "no number";
  // A mark that nobody sees may turn the rest of the sentence around.
  return cut(JSON.stringify(value).replace(/\p{Default_Ignorable_Code_Point}/gu, "\ufffd"));
}

function cut(text: string): string {
  return text.length > ECHO ? `${text.slice(0, ECHO)}…` : text;
}

/** The name of a file to download, with whose it is, or else the reader's date. */
export function fileName(what: string, whose: string, ending: string): string {
  const said = whose.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "");
  return `${what}-${said || new Date().toLocaleDateString("sv-SE")}.${ending}`;
}
