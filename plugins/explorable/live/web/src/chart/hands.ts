// Joins an act's charts to its controls: grips that drag them, taps that switch them, segments looked at alone, charts that are played.
import type { Chart } from "./chart";
import { all } from "../dom";
import { radios, sliders, valueOf } from "../act/controls";
import { Grip, type Target } from "./grip";
import { handsOf, type HandleSpec } from "./specs";
import type { Value } from "../python/protocol";
import { Playback } from "./playback";
import { Segments } from "./segments";

/** What the act does with a moving hand. `sets` is a control's name. */
interface Hand {
  open(sets: string): boolean;
  hold(sets: string, value: Value): void;
  drop(sets: string, value: Value): void;
}

/** The parts of an act that hands move, and the signal that ends it. */
interface Taken {
  readonly host: HTMLElement;
  readonly controls: HTMLElement;
  readonly charts: readonly Chart[];
  readonly hand: Hand;
  readonly signal: AbortSignal;
}

/** Makes every grip, tap, segment and playback of the act. Returns the grips, which are placed again when what is open changes. */
export function takeInHand({ host, controls, charts, hand, signal }: Taken): Grip[] {
  const grips: Grip[] = [];
  for (const spec of handsOf(host)) {
    const chart = charts.find(({ name }) => name === spec.chart);
    if (!chart) continue;
    if (spec.kind === "handle") {
      const snap = snapping(spec, controls);
      if (snap) grips.push(new Grip(spec, chart, target(spec, snap, hand), signal));
    } else if (spec.kind === "segments") {
      new Segments(spec, chart, signal);
    } else if (spec.kind === "playback") {
      new Playback(spec, chart, signal);
    } else {
      const listen = (event: Event): void => {
        const name = chart.rowAt(event.target, spec.mark)?.[spec.field];
        const box = all<HTMLInputElement>(controls, "input[data-toggle]").find((one) => one.dataset.toggle === name);
        if (box && !box.matches(":disabled")) box.click();
      };
      chart.plot.addEventListener("click", listen, { signal });
    }
  }
  return grips;
}

function target({ sets }: HandleSpec, snap: (value: number) => number, hand: Hand): Target {
  return {
    open: () => hand.open(sets),
    snap,
    hold: (value) => hand.hold(sets, value),
    drop: (value) => hand.drop(sets, value),
  };
}

/** The value nearest to where the hand points among those that the control offers. */
function snapping({ sets }: HandleSpec, controls: HTMLElement): ((value: number) => number) | null {
  const slider = sliders(controls).find(({ name }) => name === sets);
  if (slider) return (value) => slider.range.snap(value);
  const group = all(controls, "[data-choice]").find((one) => one.dataset.choice === sets);
  const offered = group ? radios(group).map((radio) => Number(valueOf(radio))) : [];
  if (!offered.length) return null;
  return (value) => offered.reduce((best, one) => (Math.abs(one - value) < Math.abs(best - value) ? one : best));
}
