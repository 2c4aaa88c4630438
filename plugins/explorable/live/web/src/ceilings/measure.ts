// Measures a card by WebGPU: products and copies, each checked against this processor before it is timed.
import type { Copy, Product } from "./file";
import * as shaders from "./shaders";
import { PASS_S, sideFor, timed, warmed, type Bench } from "./timing";
import { entry, half, places, tolerance, value } from "./values";

// TypeScript's library has the types of WebGPU, and not these values.
declare const GPUBufferUsage: Record<"COPY_DST" | "COPY_SRC" | "MAP_READ" | "STORAGE" | "UNIFORM", number>;
declare const GPUMapMode: Record<"READ", number>;

const SIDES = [256, 512, 1024, 2048, 4096];
const COPIES_MIB = [128, 64, 32];
/** An emulation copies in the processor's memory, and slowly. */
const EMULATED_MIB = [32];
const SEEDS = [17, 1_000_003] as const;
/** Passes that are handed over at once: together shorter than what a system lets a program keep its display waiting. */
const AT_ONCE = 8;
/** Bytes that are read back around an entry. */
const READ = 16;

interface Given {
  seconds: number;
  signal: AbortSignal;
  /** The share that is done, from 0 to 1, and what is being measured. */
  told(share: number, doing: string): void;
}

/** Why nothing was measured, in one line for the reader. */
export class MeasureProblem extends Error {}

/** Whether the processor stands in for a card. */
export function emulated(adapter: GPUAdapter): boolean {
  const old = (adapter as { isFallbackAdapter?: boolean }).isFallbackAdapter;
  return adapter.info.isFallbackAdapter || old === true;
}

/** What the adapter says of itself. Browsers say little. */
export function described({ info: { vendor, architecture, device, description } }: GPUAdapter): string {
  return [vendor, architecture, device, description].filter(Boolean).join(" ") || "not said";
}

/** Products in FP32, and FP16 where the adapter has it, and copies; takes about `seconds`. Raises `MeasureProblem`, and what `signal` says. */
export async function measure(adapter: GPUAdapter, given: Given): Promise<{ products: Product[]; copies: Copy[] }> {
  const short = adapter.features.has("shader-f16");
  const device = await adapter.requestDevice(short ? { requiredFeatures: ["shader-f16"] } : {});
  const lost = device.lost.then(({ message }): never => {
    throw new MeasureProblem(`the card was lost${message ? ` (${message.slice(0, 80)})` : ""}; reload the page to try again`);
  });
  lost.catch(() => undefined);
  try {
    const card = new Card(device, lost, given, short ? 3 : 2);
    const products = [await card.product("fp32"), ...(short ? [await card.product("fp16")] : [])];
    return { products, copies: [await card.copy(emulated(adapter) ? EMULATED_MIB : COPIES_MIB)] };
  } finally {
    device.destroy();
  }
}

const now = (): number => performance.now() / 1000;

class Card {
  readonly #began = now();
  #parts = 0;
  #doing = "";

  constructor(
    private readonly device: GPUDevice,
    private readonly lost: Promise<never>,
    private readonly given: Given,
    private readonly of: number,
  ) {}

  /** A product as large as the card takes within a pass: larger ones waste less at the edges. */
  async product(format: "fp32" | "fp16"): Promise<Product> {
    const until = this.#begin(`${format.toUpperCase()} products`);
    const [type, width] = format === "fp32" ? (["f32", 4] as const) : (["f16", 2] as const);
    const program = await this.#pipeline(shaders.product(type));
    const filling = await this.#pipeline(shaders.fill(type));
    let side = SIDES[0] ?? 0;
    for (;;) {
      const size = width * side * side;
      const [bench, free] = await this.#fitting(async (own) => {
        const [a, b, c] = [own.buffer(size), own.buffer(size), own.buffer(size)];
        for (const [target, seed] of [[a, SEEDS[0]], [b, SEEDS[1]]] as const) await this.#fill(own, filling, target, seed, (side * side) / 4);
        const passes = this.#bench(program, [own.given(side, 0, 0), a, b, c], side / shaders.TILE, side / shaders.TILE);
        await passes.run(1);
        await this.#same(own, c, format, side);
        return passes;
      });
      try {
        const { passes, seconds } = await warmed(bench, PASS_S);
        const larger = sideFor((2 * side ** 3 * passes) / seconds, SIDES);
        if (larger <= side) return { format, m: side, n: side, k: side, flops_per_s: (2 * side ** 3) / (await timed(bench, until)) };
        side = larger;
      } finally {
        free();
      }
    }
  }

  /** Copies the largest of these buffers that the card has room for. */
  async copy(sizes: readonly number[]): Promise<Copy> {
    const until = this.#begin("copies");
    const [program, filling] = [await this.#pipeline(shaders.copy()), await this.#pipeline(shaders.fill("f32"))];
    for (const [at, mib] of sizes.entries()) {
      const bytes = mib * 2 ** 20;
      const vectors = bytes / 16;
      try {
        const [bench, free] = await this.#fitting(async (own) => {
          const [source, target] = [own.buffer(bytes), own.buffer(bytes)];
          await this.#fill(own, filling, source, SEEDS[0], vectors);
          const passes = this.#bench(program, [own.given(0, 0, vectors), source, target], vectors / shaders.GROUP, 1);
          await passes.run(1);
          await this.#copied(own, target, 4 * vectors);
          return passes;
        });
        try {
          return { bytes, bytes_per_s: (2 * bytes) / (await timed(bench, until)) };
        } finally {
          free();
        }
      } catch (error) {
        if (!(error instanceof NoRoom) || at + 1 === sizes.length) throw error;
      }
    }
    throw new MeasureProblem("nothing was copied");
  }

  /** The moment at which this part of the measurement has had its share of the time. */
  #begin(doing: string): number {
    this.#parts += 1;
    this.#doing = doing;
    this.#tell();
    return this.#began + (this.given.seconds * this.#parts) / this.of;
  }

  #tell(): void {
    this.given.signal.throwIfAborted();
    const share = (now() - this.#began) / this.given.seconds;
    this.given.told(Math.max(0, Math.min(share, this.#parts / this.of)), this.#doing);
  }

  #pipeline(code: string): Promise<GPUComputePipeline> {
    const module = this.device.createShaderModule({ code });
    return this.device.createComputePipelineAsync({ layout: "auto", compute: { module, entryPoint: "main" } });
  }

  /** What `make` returns, with what frees its buffers. Raises `NoRoom` where the card has too little memory. */
  async #fitting(make: (own: Buffers) => Promise<Bench>): Promise<[Bench, () => void]> {
    const own = new Buffers(this.device);
    this.device.pushErrorScope("validation");
    this.device.pushErrorScope("out-of-memory");
    const made = await make(own).then((bench) => ({ bench }), (error: unknown) => ({ error }));
    const [full, wrong] = [await this.device.popErrorScope(), await this.device.popErrorScope()];
    if ("bench" in made && !full && !wrong) return [made.bench, () => own.free()];
    own.free();
    if (full) throw new NoRoom("the card has too little free memory");
    if (wrong) throw new MeasureProblem(`the browser refused the program: ${wrong.message.slice(0, 120)}`);
    throw "error" in made ? made.error : new MeasureProblem("nothing was measured");
  }

  #bench(program: GPUComputePipeline, buffers: readonly GPUBuffer[], x: number, y: number): Bench {
    const bound = this.#bound(program, buffers);
    const hand = (count: number): void => {
      const encoder = this.device.createCommandEncoder();
      const pass = encoder.beginComputePass();
      pass.setPipeline(program);
      pass.setBindGroup(0, bound);
      for (let left = count; left > 0; left -= 1) pass.dispatchWorkgroups(x, y);
      pass.end();
      this.device.queue.submit([encoder.finish()]);
    };
    return {
      now,
      after: () => this.#tell(),
      run: async (passes) => {
        for (let left = passes; left > 0; left -= AT_ONCE) hand(Math.min(AT_ONCE, left));
        await this.#done();
      },
    };
  }

  #bound(program: GPUComputePipeline, buffers: readonly GPUBuffer[]): GPUBindGroup {
    const entries = buffers.map((buffer, binding) => ({ binding, resource: { buffer } }));
    return this.device.createBindGroup({ layout: program.getBindGroupLayout(0), entries });
  }

  #done(): Promise<unknown> {
    return Promise.race([this.device.queue.onSubmittedWorkDone(), this.lost]);
  }

  async #fill(own: Buffers, program: GPUComputePipeline, target: GPUBuffer, seed: number, vectors: number): Promise<void> {
    await this.#bench(program, [own.given(0, seed, vectors), target], Math.ceil(vectors / shaders.GROUP), 1).run(1);
  }

  async #same(own: Buffers, result: GPUBuffer, format: "fp32" | "fp16", side: number): Promise<void> {
    const compared = places(side);
    const read = await this.#read(own, result, compared.map(([row, column]) => row * side + column), format);
    for (const [at, [row, column]] of compared.entries()) {
      const { sum, norm } = entry(side, row, column, SEEDS);
      // A result that is no number is not close either.
      if (!(Math.abs((read[at] ?? NaN) - sum) <= tolerance(format, side, norm))) {
        throw new MeasureProblem(`the card's ${format.toUpperCase()} product is wrong: entry (${row}, ${column}) is ${read[at]}, and ${sum} is right; nothing was timed`);
      }
    }
  }

  async #copied(own: Buffers, target: GPUBuffer, numbers: number): Promise<void> {
    const compared = places(numbers).map(([one]) => one);
    const read = await this.#read(own, target, compared, "fp32");
    const wrong = compared.findIndex((index, at) => read[at] !== value(index, SEEDS[0]));
    if (wrong >= 0) throw new MeasureProblem(`the card's copy is wrong at number ${compared[wrong]}; nothing was timed`);
  }

  /** The numbers at these places of a buffer. */
  async #read(own: Buffers, from: GPUBuffer, indices: readonly number[], format: "fp32" | "fp16"): Promise<number[]> {
    const [width, view] = format === "fp32" ? ([4, Float32Array] as const) : ([2, Uint16Array] as const);
    const to = own.buffer(READ * indices.length, GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ);
    const encoder = this.device.createCommandEncoder();
    indices.forEach((index, at) => encoder.copyBufferToBuffer(from, READ * Math.floor((index * width) / READ), to, READ * at, READ));
    this.device.queue.submit([encoder.finish()]);
    await Promise.race([to.mapAsync(GPUMapMode.READ), this.lost]);
    const numbers = new view(to.getMappedRange().slice(0));
    to.unmap();
    const found = indices.map((index, at) => numbers[(READ * at + ((index * width) % READ)) / width] ?? NaN);
    return format === "fp32" ? found : found.map(half);
  }
}

class NoRoom extends MeasureProblem {}

/** Buffers that go together. */
class Buffers {
  readonly #all: GPUBuffer[] = [];

  constructor(private readonly device: GPUDevice) {}

  buffer(size: number, usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC): GPUBuffer {
    const made = this.device.createBuffer({ size, usage });
    this.#all.push(made);
    return made;
  }

  /** What the programs are given: the fields of `Given` in WGSL. */
  given(side: number, seed: number, count: number): GPUBuffer {
    const made = this.buffer(16, GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST);
    this.device.queue.writeBuffer(made, 0, new Uint32Array([side, seed, count, 0]));
    return made;
  }

  free(): void {
    for (const one of this.#all) one.destroy();
  }
}
