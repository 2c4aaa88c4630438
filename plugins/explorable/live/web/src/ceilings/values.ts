// The numbers in the matrices, the same here as on the card, and how far a result may be off.

/** A well-mixed 32-bit number (PCG); `shaders.ts` has the same in WGSL. */
export function hash(index: number): number {
  const h = (Math.imul(index, 747796405) + 2891336453) >>> 0;
  const mixed = Math.imul((h >>> ((h >>> 28) + 4)) ^ h, 277803737) >>> 0;
  return ((mixed >>> 22) ^ mixed) >>> 0;
}

/** Between -1 and 1, in steps that 16 bits hold exactly. */
export function value(index: number, seed: number): number {
  return ((hash((index + seed) >>> 0) >>> 21) - 1024) / 1024;
}

/** The entry in a row and column of the product of two square matrices with these seeds, and the norm of what is summed. */
export function entry(side: number, row: number, column: number, seeds: readonly [number, number]): { sum: number; norm: number } {
  let [sum, squares] = [0, 0];
  for (let k = 0; k < side; k += 1) {
    const term = value(row * side + k, seeds[0]) * value(k * side + column, seeds[1]);
    sum += term;
    squares += term * term;
  }
  return { sum, norm: Math.sqrt(squares) };
}

const EPSILON = { fp32: 2 ** -24, fp16: 2 ** -11 };

/** How far a sum may be off: each of its roundings by half a last digit, in random directions; eight times that is never reached. */
export function tolerance(format: "fp32" | "fp16", side: number, norm: number): number {
  return 8 * EPSILON[format] * Math.sqrt(side) * norm;
}

/** The number that 16 bits stand for. */
export function half(bits: number): number {
  const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
  const size = exponent === 31 ? (fraction ? NaN : Infinity) : exponent ? (1 + fraction / 1024) * 2 ** (exponent - 15) : (fraction / 1024) * 2 ** -14;
  return bits & 0x8000 ? -size : size;
}

/** Places that are compared: the corners, and a dozen between. */
export function places(side: number): [row: number, column: number][] {
  const last = side - 1;
  const between = Array.from({ length: 12 }, (_, at): [number, number] => [hash(at) % side, hash(at + 100) % side]);
  return [[0, 0], [0, last], [last, 0], [last, last], ...between];
}
