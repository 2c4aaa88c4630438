// TypeScript's types of a JSON Schema, for the words of it that the ledger's schema uses.
import type { Rule } from "../src/ledger/schema";

/** Each definition as an exported type under its name. */
export function typesOf(definitions: Record<string, Described>): string {
  const exported = Object.entries(definitions).map(([name, rule]) => {
    const said = comment(rule, "");
    // The fields are the book's own.
    if (rule.properties && !Object.keys(rule.properties).length) return `${said}export type ${pascal(name)} = Record<string, Value | null>;`;
    return rule.properties ? `${said}export interface ${pascal(name)} ${members(rule, "")}` : `${said}export type ${pascal(name)} = ${typeOf(rule, definitions, "")};`;
  });
  return `${exported.join("\n")}\n`;

  function members(rule: Described, indent: string): string {
    const inside = `${indent}  `;
    const lines = Object.entries(rule.properties ?? {}).map(([name, member]) => {
      const optional = rule.required?.includes(name) ? "" : "?";
      return `${comment(member, inside)}${inside}${name}${optional}: ${typeOf(member, definitions, inside)};\n`;
    });
    return `{\n${lines.join("")}${indent}}`;
  }

  function typeOf(rule: Described, all: Record<string, Described>, indent: string): string {
    if (rule.$ref) {
      const name = rule.$ref.replace("#/$defs/", "");
      const referred = all[name] as Described;
      // A definition that also allows null is an interface, and null where it is used.
      return referred.properties && [referred.type].flat().includes("null") ? `${pascal(name)} | null` : pascal(name);
    }
    if (rule.enum) return rule.enum.map((one) => JSON.stringify(one)).join(" | ");
    return [rule.type ?? []].flat().map((kind) => ofKind(kind, rule, indent)).join(" | ");
  }

  function ofKind(kind: string, rule: Described, indent: string): string {
    if (kind === "array") {
      const item = typeOf(rule.items as Described, definitions, indent);
      return item.includes("|") && !item.startsWith("{") ? `(${item})[]` : `${item}[]`;
    }
    if (kind !== "object") return kind;
    return rule.properties ? members(rule, indent) : `Record<string, ${typeOf(rule.additionalProperties as Described, definitions, indent)}>`;
  }
}

interface Described extends Rule {
  description?: string;
}

const comment = ({ description }: Described, indent: string): string => (description ? `${indent}/** ${description} */\n` : "");
const pascal = (name: string): string => name.replace(/^./, (letter) => letter.toUpperCase());
