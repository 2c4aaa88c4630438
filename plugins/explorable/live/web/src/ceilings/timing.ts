// The arithmetic of timing: how many passes a run has, how often it is repeated, and what is read off.

/** A run lasts about so many seconds: long beside the wait for its answer, short for who presses Stop. */
export const RUN_S = 0.4;
/** One pass lasts at most about so long: a system ends a program that keeps its display waiting. */
export const PASS_S = 0.05;
const LEAST_RUNS = 3;
const MOST_RUNS = 40;
const MOST_PASSES = 4000;
const GROWTH = 10;

/** A run: so many passes, one after the other, took so many seconds. */
interface Run {
  passes: number;
  seconds: number;
}

/** How many passes the next run has, so that it lasts about `target` seconds; at most ten times as many as this one. */
export function grown({ passes, seconds }: Run, target = RUN_S): number {
  const wanted = seconds > 0 ? Math.round((passes * target) / seconds) : Infinity;
  return Math.max(1, Math.min(wanted, GROWTH * passes, MOST_PASSES));
}

/** Seconds of a pass in the fastest run: everything that disturbs a run makes it longer. */
export function best(runs: readonly Run[]): number {
  return Math.min(...runs.map(({ passes, seconds }) => seconds / passes));
}

/** The largest of these sides whose product stays within `PASS_S` at a rate in FLOP/s; the smallest if none does. */
export function sideFor(rate: number, sides: readonly number[]): number {
  return [...sides].sort((one, other) => other - one).find((side) => (2 * side ** 3) / rate <= PASS_S) ?? Math.min(...sides);
}

/** What runs a number of passes, and the clock in seconds by which all is timed. */
export interface Bench {
  run(passes: number): Promise<void>;
  now(): number;
  /** Told after each run; may throw to end. */
  after(): void;
}

async function once({ run, now, after }: Bench, passes: number): Promise<Run> {
  const began = now();
  await run(passes);
  const seconds = now() - began;
  after();
  return { passes, seconds };
}

/** A run of about `target` seconds, after ever longer ones. */
export async function warmed(bench: Bench, target = RUN_S): Promise<Run> {
  let run = await once(bench, 1);
  while (run.seconds < target / 2) {
    const passes = grown(run, target);
    if (passes <= run.passes) break;
    run = await once(bench, passes);
  }
  return run;
}

/** Runs until `until` on the clock, at least three; seconds of a pass in the fastest. */
export async function timed(bench: Bench, until: number): Promise<number> {
  const passes = grown(await warmed(bench));
  const runs: Run[] = [];
  while (runs.length < LEAST_RUNS || (bench.now() < until && runs.length < MOST_RUNS)) runs.push(await once(bench, passes));
  return best(runs);
}
