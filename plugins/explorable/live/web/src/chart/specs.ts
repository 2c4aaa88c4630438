// What of an act's charts can be taken in hand, as the build wrote it into the page: see contract.py.
import type { Value } from "../python/protocol";

export interface HandleSpec {
  kind: "handle";
  chart: string;
  mark: string;
  sets: string;
  axis: "x" | "y";
  field: string;
  origin: number | string;
  factor: number;
  /** A layer whose rows the handle goes from one to the nearest; "" for a handle that goes along an axis. */
  along: string;
  value: string;
}
interface TapSpec {
  kind: "tap";
  chart: string;
  mark: string;
  field: string;
}
export interface SegmentsSpec {
  kind: "segments";
  chart: string;
  mark: string;
  key: string;
  label: string;
}
export interface PlaybackSpec {
  kind: "playback";
  chart: string;
  data: string;
  field: string;
  label: string;
}
type HandSpec = HandleSpec | TapSpec | SegmentsSpec | PlaybackSpec;

export interface StagingSpec {
  chart: string;
  beats: { marks: string[]; rows: Record<string, Value> }[];
  setting: Record<string, Value>;
}

export function handsOf(host: HTMLElement): HandSpec[] {
  return JSON.parse(host.dataset.hands ?? "[]") as HandSpec[];
}

export function stagingOf(host: HTMLElement): StagingSpec | null {
  return JSON.parse(host.dataset.staging ?? "null") as StagingSpec | null;
}
