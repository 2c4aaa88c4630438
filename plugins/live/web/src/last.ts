// What an act showed last in this tab, so that a reload shows it again at once, while Python starts.
import type { Results } from "./account";
import { openKeep } from "./storage";

const keep = openKeep(() => sessionStorage);
const place = (act: string): string => `iron-law/shown/${act}`;

/** `of` names everything the results depend on: the state, the act's source, the Python that computed them. */
export function rememberShown(act: string, of: string, results: Results): void {
  keep.write(place(act), { of, ...results, feedback: [...results.feedback] });
}

/** The results that were shown for exactly this, or null. */
export function lastShown(act: string, of: string): Results | null {
  const stored = keep.read(place(act)) as ({ of: string; feedback: [string, never][] } & Omit<Results, "feedback">) | null;
  if (stored?.of !== of) return null;
  const { view, verdict, feedback, engine } = stored;
  return { view, verdict, feedback: new Map(feedback), engine };
}
