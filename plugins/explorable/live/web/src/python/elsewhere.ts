// What this site does not have itself and another host does: what it is called, and to what of it the reader has agreed.
import type { Elsewhere } from "./protocol";

/** The code that needs it, and whose that is. */
interface Program {
  readonly page: string;
  readonly name: string;
  readonly source: string;
  readonly linked?: boolean;
}

const PROPER_NAMES: Record<string, string> = { numpy: "NumPy", matplotlib: "Matplotlib" };

/** Names of packages as their authors write them. */
export function proper(packages: string): string {
  return packages
    .split(", ")
    .map((name) => PROPER_NAMES[name] ?? name)
    .join(", ");
}

/** These packages with their hosts, as the release names them; null where it does not know them, and these hosts, together. */
export function known(elsewhere: Elsewhere, packages: readonly string[], hosts: readonly string[]): { packages: string[]; hosts: string[] } | null {
  const found = Object.values(elsewhere).filter((one) => one.packages.every((name) => packages.includes(name)));
  const all = (part: "packages" | "hosts"): string[] => [...new Set(found.flatMap((one) => one[part]))].sort();
  const same = (some: readonly string[], others: readonly string[]): boolean => some.length === others.length && others.every((one) => some.includes(one));
  const answer = { packages: all("packages"), hosts: all("hosts") };
  return found.length && same(packages, answer.packages) && same(hosts, answer.hosts) ? answer : null;
}

/**
 * To which packages the reader agreed. A word given for the reader's own code, or the page's, holds for the same packages in other code
 * of theirs: their host learns nothing new. Code that came with a link has a word of its own, for itself as it is and for nothing else.
 */
export class Consents {
  readonly #own = new Set<string>();
  readonly #linked = new Map<string, Set<string>>();

  agree(program: Program, packages: readonly string[]): void {
    const agreed = this.#to(program) ?? new Set();
    for (const one of packages) agreed.add(one);
    if (program.linked) this.#linked.set(keyOf(program), agreed);
  }

  of(program: Program): string[] {
    return [...(this.#to(program) ?? [])];
  }

  #to(program: Program): Set<string> | undefined {
    return program.linked ? this.#linked.get(keyOf(program)) : this.#own;
  }
}

function keyOf({ page, name, source }: Program): string {
  return JSON.stringify([page, name, source]);
}
