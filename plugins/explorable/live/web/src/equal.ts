// Whether two pieces of plain data, such as states, rows and texts, say the same.

export function equal(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const [mine, theirs] = [Object.entries(one), other as Record<string, unknown>];
  if (mine.length !== Object.keys(theirs).length) return false;
  return mine.every(([name, value]) => Object.hasOwn(theirs, name) && equal(value, theirs[name]));
}
