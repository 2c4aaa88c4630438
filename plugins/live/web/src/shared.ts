// The document's one ledger, and the addresses of its site. They outlive instant navigation, because the module does.
import { openShelf } from "./ledger/database";
import { attempt, openKeep } from "./storage";
import { LedgerStore, type Channel } from "./ledger/ledger";

let ledger: LedgerStore | undefined;

/** The ledger of this browser, as this document sees it. */
export function documentLedger(): LedgerStore {
  if (ledger) return ledger;
  const channel = attempt(() => new BroadcastChannel("iron-law/ledger") as unknown as Channel) ?? null;
  const opened = new LedgerStore(openShelf, openKeep(() => localStorage), channel);
  ledger = opened;
  // A tab that slept may have missed what another one said.
  addEventListener("focus", () => void opened.reread());
  addEventListener("pageshow", () => void opened.reread());
  return ledger;
}

/** The URL of a file beside this module: the site may be served under any path. */
export function assetUrl(file: string): string {
  return new URL(file, import.meta.url).href;
}

/** An address relative to the site's root, without query and fragment; null outside of the site. */
export function sitePath(url: string): string | null {
  const root = assetUrl("../../");
  const address = url.replace(/[?#].*$/, "");
  return address.startsWith(root) ? address.slice(root.length) : null;
}

/** The address of a page of the site; null for an address outside of it. */
export function siteUrl(page: string): string | null {
  const root = assetUrl("../../");
  const { href } = new URL(page, root);
  return href.startsWith(root) ? href : null;
}

/** Calls at once, and after every instant navigation. */
export function onEveryPage(listener: () => void): void {
  const { document$ } = window as { document$?: { subscribe(listener: () => void): unknown } };
  if (document$) document$.subscribe(listener);
  else listener();
}
