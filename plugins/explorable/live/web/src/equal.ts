// Whether two pieces of plain data, such as states, rows and texts, say the same.

export function equal(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const [mine, theirs] = [one as Record<string, unknown>, other as Record<string, unknown>];
  const names = Object.keys(mine);
  return names.length === Object.keys(theirs).length && names.every((name) => Object.hasOwn(theirs, name) && equal(mine[name], theirs[name]));
}
