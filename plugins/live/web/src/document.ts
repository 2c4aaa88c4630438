// The design ledger as a document: the JSON that is downloaded, and that a link carries.
import type { Account, Entry } from "./entry";
import type { Memory, Stage } from "./memory";
import type { Gap, Value } from "./protocol";

/** As docs/lab/ledger.schema.json says it. */
export const SCHEMA_VERSION = 2;
const CHAPTER = 8;
/** The fields of the lab's plan, in its order. */
const FIELDS = [
  "optimizer_chosen",
  "precision_chosen",
  "gradient_checkpointing",
  "final_mfu_pct",
  "baseline_mfu_estimate_pct",
  "laptop_fit_achieved",
  "laptop_minimum_memory_gb",
] as const;
/** How the fragment of such a link begins. */
export const FRAGMENT = "#ledger=";

interface Act {
  updated: number;
  stage: Stage;
  memory: Memory;
  account: Account | null;
}

export type LedgerDocument = Record<(typeof FIELDS)[number], Value | null> & {
  schema_version: number;
  engine_version: string;
  chapter: number;
  predictions: Record<string, Value>;
  gaps: Record<string, Gap>;
  moves: Record<string, string[]>;
  acts: Record<string, Act>;
};

/** The document of these entries, the oldest first: where two acts give a field, the one played last does. */
export function documentOf(entries: readonly Entry[]): LedgerDocument {
  const played = entries.filter((entry): entry is Entry & { memory: Memory } => entry.memory !== null);
  const fields: Record<string, Value> = Object.assign({}, ...played.map(({ account }) => account?.fields ?? {}));
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
    chapter: CHAPTER,
    ...(Object.fromEntries(FIELDS.map((field) => [field, fields[field] ?? null])) as Record<
      (typeof FIELDS)[number],
      Value | null
    >),
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
