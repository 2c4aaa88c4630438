// The ledger in a link: packed into the fragment of an address, which no server sees, and unpacked from it.
import type { Entry } from "./entry";
import { entriesIn, fileOf, fitting, LedgerProblem, MOST_CHARACTERS, reasonOf, type LedgerFile } from "./file";

/** How the fragment of such a link begins. */
export const FRAGMENT = "#ledger=";

/** The address of a page with the ledger in its fragment. */
export async function linkTo(page: string, file: LedgerFile): Promise<string> {
  const packed = await through(new Blob([JSON.stringify(file)]), new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(packed).arrayBuffer());
  const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return page.replace(/#.*$/, "") + FRAGMENT + btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** Puts a link to this page into the clipboard, or selects it in `field` where there is no clipboard. Says in one line which. */
export async function copyLink(field: HTMLInputElement, entries: readonly Entry[]): Promise<string> {
  field.value = await linkTo(location.href, fileOf(fitting(entries)));
  field.hidden = false;
  try {
    await navigator.clipboard.writeText(field.value);
    return "Copied. Whoever opens the link reads it, and keeps their own ledger.";
  } catch {
    field.focus();
    field.select();
    return "The link is selected: copy it from here.";
  }
}

/** What the page's address carries, or in one line why it cannot be read. Null where it carries nothing, or the reader has gone on. */
export async function openLink(gone: AbortSignal): Promise<{ entries: Entry[] } | { problem: string } | null> {
  const fragment = location.hash;
  if (!fragment.startsWith(FRAGMENT)) return null;
  const opened = await entriesInLink(fragment).then(
    (entries) => ({ entries }),
    (error: unknown) => ({ problem: `The link was not opened. ${reasonOf(error)} Nothing was changed.` }),
  );
  // A long link may be unpacked after the reader has gone on to another.
  return gone.aborted || location.hash !== fragment ? null : opened;
}

/** Takes the ledger out of the page's address. */
export function forgetLink(): void {
  history.replaceState(history.state, "", location.pathname + location.search);
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
  return entriesIn(text);
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

function through(blob: Blob, transform: CompressionStream | DecompressionStream): ReadableStream<Uint8Array> {
  return blob.stream().pipeThrough(transform as ReadableWritablePair<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>);
}
