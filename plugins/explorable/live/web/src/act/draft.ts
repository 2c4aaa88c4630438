// An answer that is typed, dragged or chosen, and not yet locked in. It stays in session storage, so that a reload does not lose it.
import { bookId } from "../release";
import { like } from "../python/answers";
import type { Value } from "../python/protocol";
import { faultOf, type Rule } from "../ledger/schema";
import { openStorage } from "../storage";

/** The answer, and the switches in the picture that added up to it. */
export interface Draft {
  answer: Value;
  controls: Record<string, Value>;
}

const storage = openStorage(() => sessionStorage);
const place = (act: string): string => `${bookId()}/draft/${act}`;
const VALUE: Rule = { type: ["number", "string", "boolean"], maxLength: 200 };
const DRAFT = like<Draft>({ answer: VALUE, controls: { type: "object", additionalProperties: VALUE } });

/** Notes the answer when the page or the act is left; null for none. Returns what was noted the time before, or null. */
export function keepDraft(act: string, draft: () => Draft | null, signal: AbortSignal): Draft | null {
  const note = (): void => {
    const now = draft();
    if (now) storage.write(place(act), now);
    else storage.remove(place(act));
  };
  window.addEventListener("pagehide", note, { signal });
  signal.addEventListener("abort", note);
  const kept = storage.read(place(act));
  return faultOf(kept, DRAFT) ? null : (kept as Draft);
}
