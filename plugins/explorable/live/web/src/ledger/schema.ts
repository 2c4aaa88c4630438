// Holds data against the ledger's schema, wherever it comes from: this page, storage, a file, a link.
//
// Every page loads this, so it understands only the keywords of JSON Schema that ledger.schema.json uses. The tests
// compare its verdicts with those of a whole validator.
import type { LedgerFields } from "../python/protocol";
import core from "./ledger.schema.json";

/** The words that are understood. `description`, `title`, `unit` and `names` are for people and decide nothing. */
export interface Rule {
  $ref?: string;
  allOf?: { $ref: string }[];
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  maxLength?: number;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  required?: string[];
  properties?: Record<string, Rule>;
  propertyNames?: Rule;
  additionalProperties?: false | Rule;
  /** What neither the rule itself nor those that it refers to name. */
  unevaluatedProperties?: false;
  maxProperties?: number;
  items?: Rule;
  maxItems?: number;
}

/** Where something is wrong, from the outside in, and what is allowed there. */
interface Fault {
  path: string[];
  allowed: string;
}

export const { $defs: DEFINITIONS } = core;
/** What every ledger has, and after `fieldsAre` the book's own fields. */
const ledger = structuredClone(core);
export const LEDGER = ledger as unknown as Rule;

/** How the schema says that a field of the book's own is shown. */
export interface Shown {
  title: string;
  unit?: string;
  names?: Record<string, string>;
}

/** Called once, by the entry: the book's chapter, and the rules of the fields that its acts write. */
export function fieldsAre({ chapter, properties }: LedgerFields): void {
  ledger.properties.chapter.const = chapter;
  ledger.$defs.decisions.properties = properties as typeof ledger.$defs.decisions.properties;
}

export const chapterOf = (): number => ledger.properties.chapter.const;
export const fieldsOf = (): [name: string, shown: Shown][] => Object.entries(ledger.$defs.decisions.properties);

const articled = (kind: string): string => (kind === "null" ? kind : `${/^[aio]/.test(kind) ? "an" : "a"} ${kind}`);

/** The first thing in a JSON value that the rule does not allow, or null. */
export function faultOf(value: unknown, rule: Rule, path: string[] = []): Fault | null {
  const refers = [...(rule.$ref ? [{ $ref: rule.$ref }] : []), ...(rule.allOf ?? [])];
  if (refers.length) return faultOf(value, joined(rule, refers), path);
  const fault = (allowed: string): Fault => ({ path, allowed });
  const kind = kindOf(value);
  if (rule.type && ![rule.type].flat().includes(kind)) return fault(`it must be ${[rule.type].flat().map(articled).join(" or ")}`);
  if ("const" in rule && value !== rule.const) return fault(`it must be ${JSON.stringify(rule.const)}`);
  if (rule.enum && !rule.enum.includes(value)) return fault(`it must be one of ${rule.enum.map((one) => JSON.stringify(one)).join(", ")}`);
  if (typeof value === "string") {
    if (rule.maxLength !== undefined && value.length > rule.maxLength && [...value].length > rule.maxLength) {
      return fault(`it must have at most ${rule.maxLength} characters`);
    }
    if (rule.pattern && !new RegExp(rule.pattern, "u").test(value)) return fault(`it must match ${rule.pattern}`);
  }
  if (typeof value === "number") {
    if (rule.minimum !== undefined && value < rule.minimum) return fault(`it must be at least ${rule.minimum}`);
    if (rule.maximum !== undefined && value > rule.maximum) return fault(`it must be at most ${rule.maximum}`);
  }
  if (Array.isArray(value)) {
    if (rule.maxItems !== undefined && value.length > rule.maxItems) return fault(`it must have at most ${rule.maxItems} items`);
    const { items } = rule;
    return items ? first(value.entries(), (one, index) => faultOf(one, items, [...path, String(index)])) : null;
  }
  return kind === "object" ? faultInObject(value as object, rule, path) : null;
}

function faultInObject(value: object, rule: Rule, path: string[]): Fault | null {
  const fault = (allowed: string): Fault => ({ path, allowed });
  const { properties = {}, propertyNames, maxProperties } = rule;
  const additional = rule.unevaluatedProperties ?? rule.additionalProperties;
  const members = Object.entries(value);
  if (maxProperties !== undefined && members.length > maxProperties) return fault(`it must have at most ${maxProperties} members`);
  const missing = rule.required?.find((name) => !Object.hasOwn(value, name));
  if (missing) return fault(`it must have "${missing}"`);
  return first(members, (member, name) => {
    const inside = [...path, name];
    if (propertyNames && faultOf(name, propertyNames)) return { path: inside, allowed: "it is no name" };
    const own = Object.hasOwn(properties, name) ? properties[name] : additional;
    return own === false ? { path: inside, allowed: "it is unknown" } : own ? faultOf(member, own, inside) : null;
  });
}

function first<K>(members: Iterable<[K, unknown]>, faultIn: (member: unknown, key: K) => Fault | null): Fault | null {
  for (const [key, member] of members) {
    const fault = faultIn(member, key);
    if (fault) return fault;
  }
  return null;
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  // JSON knows no others.
  return typeof value === "number" && !Number.isFinite(value) ? "no number" : typeof value;
}

/** The rule with the words of those that it refers to, and the properties of all. */
function joined({ $ref: _, allOf: __, ...own }: Rule, refers: readonly { $ref: string }[]): Rule {
  const rules = [...refers.map(({ $ref }) => resolve($ref)), own];
  return Object.assign({}, ...rules, { properties: Object.assign({}, ...rules.map(({ properties }) => properties)) }) as Rule;
}

/** "#/$defs/act": a place in the ledger's schema. */
function resolve(reference: string): Rule {
  return reference.slice(2).split("/").reduce((place: unknown, key) => (place as Record<string, unknown>)[key], ledger) as Rule;
}
