// The ledger that an address carries, unfolded for a reader who is still there; and the address without it.
import { FRAGMENT } from "./document";
import type { Entry } from "./entry";

export type Opened = { entries: Entry[] } | { problem: string };

/** What the address carries, or in one line why it cannot be read. Null where it carries nothing, or the reader has gone on. */
export async function openLink(gone: AbortSignal): Promise<Opened | null> {
  const fragment = location.hash;
  if (!fragment.startsWith(FRAGMENT)) return null;
  const opened = await unfolded(fragment);
  // A long link may be unfolded after the reader has gone on to another.
  return gone.aborted || location.hash !== fragment ? null : opened;
}

async function unfolded(fragment: string): Promise<Opened> {
  try {
    return { entries: await (await import("./incoming")).entriesInLink(fragment) };
  } catch (error) {
    return { problem: `The link was not opened. ${reasonOf(error)} Nothing was changed.` };
  }
}

/** Why a ledger could not be read. */
export function reasonOf(error: unknown): string {
  return error instanceof Error && error.name === "LedgerProblem" ? error.message : `It could not be read (${String(error)}).`;
}

/** Takes the ledger out of the address. */
export function forgetLink(): void {
  history.replaceState(history.state, "", location.pathname + location.search);
}
