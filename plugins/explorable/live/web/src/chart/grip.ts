// A grip on a chart's mark: it follows the pointer along one axis and says which value that is.
//
// It is for pointers and fingers only. Keyboard and screen reader have the control that it sets, and the page says the
// result once the hand rests. A finger that begins on a grip drags it in any direction; beside it the page scrolls as ever.
import type { Chart, Geometry } from "./chart";
import { h } from "../dom";
import type { HandleSpec } from "./specs";

export interface Target {
  /** Whether the reader may move it now. */
  open(): boolean;
  /** The value that a hand gets which points at `value`. */
  snap(value: number): number;
  /** The hand moves. */
  hold(value: number): void;
  /** The hand lets go. */
  drop(value: number): void;
}

type Point = [number, number];

/** From a place of the pointer in the plot to a value, and from the value to the grip's place. Fixed while a hand holds it. */
interface Track {
  valueAt(point: Point): number | null;
  placeOf(value: number): Point | null;
}

interface Drag {
  pointer: number;
  geometry: Geometry;
  track: Track;
  /** From the grip's middle to where the pointer took it. */
  offset: Point;
  value: number | null;
}

export class Grip {
  readonly #spec: HandleSpec;
  readonly #chart: Chart;
  readonly #target: Target;
  readonly #element: HTMLElement;
  #drag: Drag | null = null;

  constructor(spec: HandleSpec, chart: Chart, target: Target, signal: AbortSignal) {
    this.#spec = spec;
    this.#chart = chart;
    this.#target = target;
    const axis = spec.along ? "xy" : spec.axis;
    this.#element = h("div", { class: "il-grip", "data-axis": axis, "data-sets": spec.sets, "aria-hidden": "true", hidden: true });
    chart.overlay.append(this.#element);
    this.#element.addEventListener("pointerdown", (event) => this.#take(event), { signal });
    this.#element.addEventListener("pointermove", (event) => this.#move(event), { signal });
    for (const end of ["pointerup", "pointercancel", "lostpointercapture"] as const) {
      this.#element.addEventListener(end, () => this.#release(), { signal });
    }
    signal.addEventListener("abort", () => this.#element.remove());
    chart.onDrawn(() => this.place(), signal);
  }

  /** Puts the grip where its mark is; hides it where there is none or where it may not be moved. */
  place(): void {
    if (this.#drag) return;
    const at = this.#target.open() ? this.#where() : null;
    this.#element.hidden = at === null;
    if (at) this.#put(at);
  }

  #where(): Point | null {
    const box = this.#chart.boxOf(this.#spec.mark);
    if (!box) return null;
    const middle: Point = [box.x + box.width / 2, box.y + box.height / 2];
    if (this.#spec.along) return middle;
    const row = this.#chart.rowOf(this.#spec.mark);
    const scale = this.#chart.scale(this.#spec.axis);
    const geometry = this.#chart.geometry();
    if (!row || !scale || !geometry) return null;
    const along = Number(scale(Number(row[this.#spec.field])));
    return Number.isFinite(along) ? across(this.#spec.axis, geometry, along, middle) : null;
  }

  #put([x, y]: Point): void {
    this.#element.style.translate = `${x.toFixed(1)}px ${y.toFixed(1)}px`;
  }

  #take(event: PointerEvent): void {
    if (event.button !== 0 || this.#drag || !this.#target.open()) return;
    const geometry = this.#chart.geometry();
    const at = this.#where();
    const track = geometry && at && this.#track(geometry, at);
    if (!track) return;
    event.preventDefault();
    try {
      this.#element.setPointerCapture(event.pointerId);
    } catch {
      // The pointer is gone already; then there is nothing to capture.
    }
    const [x, y] = geometry.pointer(event);
    this.#drag = { pointer: event.pointerId, geometry, track, offset: [x - at[0], y - at[1]], value: null };
    this.#element.dataset.held = "true";
  }

  #move(event: PointerEvent): void {
    const drag = this.#drag;
    if (drag?.pointer !== event.pointerId) return;
    const [x, y] = drag.geometry.pointer(event);
    const pointed = drag.track.valueAt([x - drag.offset[0], y - drag.offset[1]]);
    if (pointed === null) return;
    const value = this.#target.snap(pointed);
    if (value === drag.value) return;
    drag.value = value;
    const at = drag.track.placeOf(value);
    if (at) this.#put(at);
    this.#target.hold(value);
  }

  #release(): void {
    const drag = this.#drag;
    if (!drag) return;
    this.#drag = null;
    delete this.#element.dataset.held;
    if (drag.value !== null) this.#target.drop(drag.value);
    this.place();
  }

  #track(geometry: Geometry, at: Point): Track | null {
    const { axis, factor, along } = this.#spec;
    if (along) return this.#path();
    const row = this.#chart.rowOf(this.#spec.mark);
    const scale = this.#chart.scale(axis)?.copy();
    if (!row || !scale?.invert) return null;
    const zero = typeof this.#spec.origin === "number" ? this.#spec.origin : Number(row[this.#spec.origin]);
    return {
      valueAt: ([x, y]) => {
        const local = geometry.toLocal(x, y);
        const value = Number(scale.invert?.(axis === "x" ? local[0] : local[1]));
        return Number.isFinite(value) ? (value - zero) * factor : null;
      },
      placeOf: (value) => across(axis, geometry, Number(scale(zero + value / factor)), at),
    };
  }

  /** From one drawn row to the nearest. */
  #path(): Track {
    const frame = this.#chart.plot.getBoundingClientRect();
    const stops = this.#chart.elements(this.#spec.along).map(({ element, row }) => {
      const box = element.getBoundingClientRect();
      const at: Point = [box.x + box.width / 2 - frame.x, box.y + box.height / 2 - frame.y];
      return { at, value: Number(row[this.#spec.value]) };
    });
    const nearest = (far: (stop: (typeof stops)[number]) => number): (typeof stops)[number] | null =>
      stops.reduce<(typeof stops)[number] | null>((best, stop) => (best && far(best) <= far(stop) ? best : stop), null);
    return {
      valueAt: ([x, y]) => nearest(({ at }) => Math.hypot(at[0] - x, at[1] - y))?.value ?? null,
      placeOf: (value) => nearest((stop) => Math.abs(stop.value - value))?.at ?? null,
    };
  }
}

/** A place of the plot: `along` in pixels of the axis' scale, on the other axis where `middle` is. */
function across(axis: "x" | "y", geometry: Geometry, along: number, middle: Point): Point {
  const [x, y] = geometry.toPlot(axis === "x" ? along : 0, axis === "y" ? along : 0);
  return axis === "x" ? [x, middle[1]] : [middle[0], y];
}
