// The programs of the card, in WGSL: numbers into a buffer, a product of square matrices, a copy.

/** A side is a multiple of it: a workgroup makes a tile of 128 x 128. */
export const TILE = 128;
/** Invocations of a workgroup. */
export const GROUP = 256;
/** What is summed from one tile of the operands before the next is fetched. */
const DEPTH = 8;

const HEAD = (type: string): string => `${type === "f16" ? "enable f16;\n" : ""}
struct Given { side: u32, seed: u32, count: u32, unused: u32 }
@group(0) @binding(0) var<uniform> given: Given;
`;

/** Fills a buffer of `count` vectors with numbers that follow from their place and the seed: zeros would run faster. */
export const fill = (type: string): string => `${HEAD(type)}
@group(0) @binding(1) var<storage, read_write> target_: array<vec4<${type}>>;
fn hash(index: u32) -> u32 {
  let h = index * 747796405u + 2891336453u;
  let mixed = ((h >> ((h >> 28u) + 4u)) ^ h) * 277803737u;
  return (mixed >> 22u) ^ mixed;
}
fn value(index: u32) -> ${type} { return ${type}((f32(hash(index + given.seed) >> 21u) - 1024.0) / 1024.0); }
@compute @workgroup_size(${GROUP})
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x >= given.count) { return; }
  let first = id.x * 4u;
  target_[id.x] = vec4<${type}>(value(first), value(first + 1u), value(first + 2u), value(first + 3u));
}`;

export const copy = (): string => `${HEAD("f32")}
@group(0) @binding(1) var<storage, read> source: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> target_: array<vec4<f32>>;
@compute @workgroup_size(${GROUP})
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < given.count) { target_[id.x] = source[id.x]; }
}`;

/**
 * A product: each invocation keeps 8 x 8 sums in registers, each workgroup a slice of both operands in its own memory. The
 * left one lies there as single numbers, by columns: two invocations must not write into one vector.
 */
export function product(type: string): string {
  const rows = [...Array(8).keys()];
  const each = (line: (row: number) => string): string => rows.map(line).join("\n");
  return `${HEAD(type)}
@group(0) @binding(1) var<storage, read> a: array<vec4<${type}>>;
@group(0) @binding(2) var<storage, read> b: array<vec4<${type}>>;
@group(0) @binding(3) var<storage, read_write> c: array<vec4<${type}>>;
var<workgroup> left: array<${type}, ${TILE * DEPTH}>;
var<workgroup> right: array<vec4<${type}>, ${(TILE * DEPTH) / 4}>;
@compute @workgroup_size(16, 16)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) own: vec3<u32>, @builtin(local_invocation_index) place: u32) {
  let width = given.side / 4u;
  let top = group.y * ${TILE}u;
  let start = group.x * ${TILE / 4}u;
${each((row) => `  var s${row}0 = vec4<${type}>(); var s${row}1 = vec4<${type}>();`)}
  for (var k = 0u; k < given.side; k += ${DEPTH}u) {
    let row = place / 2u;
    let quarter = place % 2u;
    let four = a[(top + row) * width + k / 4u + quarter];
    left[(quarter * 4u) * ${TILE}u + row] = four.x;
    left[(quarter * 4u + 1u) * ${TILE}u + row] = four.y;
    left[(quarter * 4u + 2u) * ${TILE}u + row] = four.z;
    left[(quarter * 4u + 3u) * ${TILE}u + row] = four.w;
    right[place] = b[(k + place / ${TILE / 4}u) * width + start + place % ${TILE / 4}u];
    workgroupBarrier();
    for (var d = 0u; d < ${DEPTH}u; d += 1u) {
      let r0 = right[d * ${TILE / 4}u + own.x];
      let r1 = right[d * ${TILE / 4}u + 16u + own.x];
      let at = d * ${TILE}u + own.y * 8u;
${each((row) => `      let l${row} = vec4<${type}>(left[at + ${row}u]);\n      s${row}0 = fma(l${row}, r0, s${row}0); s${row}1 = fma(l${row}, r1, s${row}1);`)}
    }
    workgroupBarrier();
  }
  let first = (top + own.y * 8u) * width + start + own.x;
${each((row) => `  c[first + ${row}u * width] = s${row}0; c[first + ${row}u * width + 16u] = s${row}1;`)}
}`;
}
