// A link to this page with a ledger in it, in the clipboard, or selected in a field where there is no clipboard.
import { documentOf, fitting, linkTo } from "./document";
import type { Entry } from "./entry";

/** What became of it, in one line. */
export async function copyLink(field: HTMLInputElement, entries: readonly Entry[]): Promise<string> {
  field.value = await linkTo(location.href, documentOf(fitting(entries)));
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
