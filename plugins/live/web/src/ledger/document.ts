// The design ledger as a document: the JSON that is downloaded, and that a link carries.
import type { Account, Entry } from "./entry";
import type { Memory, Stage } from "./memory";
import type { Gap, Value } from "../python/protocol";
import { siteVersion } from "../release";
import schema from "../../../../../docs/lab/ledger.schema.json";

export const SCHEMA_VERSION = schema.properties.schema_version.const;
const CHAPTER = schema.properties.chapter.const;
/** The most acts and characters that a ledger is read with. */
const MOST_ACTS = schema.properties.acts.maxProperties;
export const MOST_CHARACTERS = 2_000_000;
/** The fields of the lab's plan, in its order. */
const FIELDS = Object.keys(schema.$defs.decisions.properties) as Field[];
/** How the fragment of such a link begins. */
export const FRAGMENT = "#ledger=";

export type Field = keyof typeof schema.$defs.decisions.properties;

interface Act {
  updated: number;
  stage: Stage;
  memory: Memory;
  account: Account | null;
}

export type LedgerDocument = Record<Field, Value | null> & {
  schema_version: number;
  engine_version: string;
  site_version: string;
  chapter: number;
  predictions: Record<string, Value>;
  gaps: Record<string, Gap>;
  moves: Record<string, string[]>;
  acts: Record<string, Act>;
};

/** The document as it is downloaded. */
export function textOf(document: LedgerDocument): string {
  return `${JSON.stringify(document, null, 2)}\n`;
}

/** Those of the entries, the newest first, that one document can hold: what is written can always be read again. */
export function fitting(entries: readonly Entry[]): Entry[] {
  let room = MOST_CHARACTERS - textOf(documentOf([])).length;
  const held = [...entries].reverse().filter((entry, index) => {
    room -= textOf(documentOf([entry])).length;
    return index < MOST_ACTS && room >= 0;
  });
  return held.reverse();
}

/** The document of these entries, the oldest first: where two acts give a field, the one played last does. */
export function documentOf(entries: readonly Entry[]): LedgerDocument {
  const played = entries.filter((entry): entry is Entry & { memory: Memory } => entry.memory !== null);
  const fields: Record<string, Value | null> = Object.assign({}, ...played.map(({ account }) => account?.fields ?? {}));
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
    chapter: CHAPTER,
    ...(Object.fromEntries(FIELDS.map((field) => [field, fields[field] ?? null])) as Record<Field, Value | null>),
    predictions: each(({ memory }) => memory.prediction),
    gaps: each(({ account }) => account?.verdict?.gap),
    moves: each(({ account }) => (account?.moves.length ? account.moves : null)),
    acts: each(({ updated, stage, memory, account }) => ({ updated, stage, memory, account })),
  };
}

/** The address of the ledger page with the document in its fragment, which no server sees. */
export async function linkTo(page: string, document: LedgerDocument): Promise<string> {
  const packed = await through(new Blob([JSON.stringify(document)]), new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(packed).arrayBuffer());
  const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return page.replace(/#.*$/, "") + FRAGMENT + btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

export function through(blob: Blob, transform: CompressionStream | DecompressionStream): ReadableStream<Uint8Array> {
  return blob.stream().pipeThrough(transform as ReadableWritablePair<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>);
}
