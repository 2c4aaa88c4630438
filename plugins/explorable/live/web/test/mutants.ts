// JSON values with one to three places changed to what nobody would write on purpose.
import fc from "fast-check";
import { LATEST } from "../src/ledger/entry";

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** Every place in a JSON value. */
function places(value: Json, path: string[] = []): string[][] {
  const inside = typeof value === "object" && value !== null ? Object.entries(value) : [];
  return [path, ...inside.flatMap(([name, one]) => places(one as Json, [...path, name]))];
}

/** The value with something else at a place, or with nothing there. */
export function changed(value: Json, path: string[], to: Json | undefined): Json {
  const [name, ...rest] = path;
  if (name === undefined) return to ?? null;
  const copy = (Array.isArray(value) ? [...value] : Object.fromEntries(Object.entries(value as object))) as { [name: string]: Json };
  const put = (one: Json): unknown => Object.defineProperty(copy, name, { value: one, enumerable: true, configurable: true, writable: true });
  if (rest.length) put(changed((value as { [name: string]: Json })[name] ?? {}, rest, to));
  else if (to === undefined) delete copy[name];
  else put(to);
  return copy;
}

const NASTY: (Json | undefined)[] = [
  undefined, null, true, -1, 0, 0.5, 1e15, 1e16, -1e300, LATEST, LATEST + 1, "", "constructor", "__proto__", "toString", "adam", "lion",
  "javascript:alert(1)", "lab/../../other/", "//example.org", "<img src=x onerror=alert(1)>", "x".repeat(50_000), "\u202e\u0000", [], {},
  [[]], Array.from({ length: 501 }, () => "x"), { "": 1 }, JSON.parse('{"__proto__": 1}') as Json,
];
const name = fc.constantFrom("__proto__", "constructor", "a b", "", "acts", "x".repeat(200), "new");
const mutation = fc.record({ at: fc.nat(), to: fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...NASTY) }, { weight: 1, arbitrary: fc.jsonValue() }), beside: fc.option(name) });

export function mutantsOf(base: Json): fc.Arbitrary<Json> {
  return fc.array(mutation, { minLength: 1, maxLength: 3 }).map((mutations) =>
    mutations.reduce((value, { at, to, beside }) => {
      const all = places(value);
      const place = all[at % all.length] as string[];
      return changed(value, beside === null || !place.length ? place : [...place.slice(0, -1), beside], to as Json | undefined);
    }, base),
  );
}
