// What Python said of an act's state. The last results stay in session storage, so that a reload shows them while Python starts.
import { bookId } from "../release";
import { FEEDBACK, like, mapOf, orNull, VERDICT, VIEW } from "../python/answers";
import type { Feedback, State, Verdict, View } from "../python/protocol";
import { equal } from "../equal";
import type { Values } from "../ledger/types";
import { faultOf } from "../ledger/schema";
import { openStorage } from "../storage";

/** What Python said of the present state; nothing while it has not answered. */
export interface Results {
  view: View | null;
  verdict: Verdict | null;
  feedback: Map<string, Feedback>;
  engine: string;
}

export const NO_RESULTS: Results = { view: null, verdict: null, feedback: new Map(), engine: "" };

const storage = openStorage(() => sessionStorage);
const place = (act: string): string => `${bookId()}/shown/${act}`;

/** Everything that Python's answers depend on besides the program: a state, and the reflections that are to be judged. */
export interface Wanted {
  state: State;
  checked: [reflection: string, answers: Values][];
}

/** Everything that they depend on: also the act's program and the Python that runs it, by their addresses. */
export interface Basis extends Wanted {
  program: string;
  python: string;
}

/** What is stored. */
interface Shown extends Omit<Results, "feedback"> {
  of: Basis;
  feedback: Record<string, Feedback>;
}

/** The storage may hold anything, because other projects on the same host write to it too. */
const SHOWN = like<Shown>({ of: { type: "object" }, view: orNull(VIEW), verdict: orNull(VERDICT), feedback: mapOf(FEEDBACK), engine: { type: "string", maxLength: 200 } });

export function rememberShown(act: string, of: Basis, results: Results): void {
  storage.write(place(act), { ...results, of, feedback: Object.fromEntries(results.feedback) } satisfies Shown);
}

/** The results that were shown for exactly this, or null. */
export function lastShown(act: string, of: Basis): Results | null {
  const stored = storage.read(place(act));
  if (faultOf(stored, SHOWN)) return null;
  const { of: shown, feedback, ...rest } = stored as Shown;
  return equal(shown, of) ? { ...rest, feedback: new Map(Object.entries(feedback)) } : null;
}
