// The ledger in a link: packed into the fragment of an address, which no server sees, and unpacked from it.
import { packed, Unpackable, unpacked } from "../packed";
import type { Entry } from "./entry";
import { entriesIn, fileOf, fitting, LedgerProblem, MOST_CHARACTERS, reasonOf, type LedgerFile } from "./file";

/** How the fragment of such a link begins. */
export const FRAGMENT = "#ledger=";

/** The address of a page with the ledger in its fragment. */
export async function linkTo(page: string, file: LedgerFile): Promise<string> {
  return page.replace(/#.*$/, "") + FRAGMENT + (await packed(JSON.stringify(file)));
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
  const text = await unpacked(fragment.slice(FRAGMENT.length), MOST_CHARACTERS).catch((error: unknown) => {
    const long = error instanceof Unpackable && error.because === "too long";
    throw new LedgerProblem(long ? "The link unfolds to more than any ledger holds." : "The link is damaged: a part of it may be missing.");
  });
  return entriesIn(text);
}
