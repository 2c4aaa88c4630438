// One segment of a chart at a time: pointing at it, tapping it or reaching it with Tab dims what belongs to others.
import { equal } from "../equal";
import type { Chart } from "./chart";
import { h } from "../dom";
import type { SegmentsSpec } from "./specs";

export class Segments {
  readonly #spec: SegmentsSpec;
  readonly #chart: Chart;
  readonly #list: HTMLElement;
  /** What was tapped stays alone until it is tapped again, in an act with a question also until something is set or pressed there. */
  #pinned: string | null = null;
  /** Under the mouse. */
  #pointed: string | null = null;
  /** Reached with the keyboard. */
  #focused: string | null = null;
  /** Where the mouse was last: a browser may send a move of its own when what lies under a resting mouse changes. */
  #mouse = "";

  constructor(spec: SegmentsSpec, chart: Chart, signal: AbortSignal) {
    this.#spec = spec;
    this.#chart = chart;
    this.#list = h("div", { class: "il-parts", role: "group", "aria-label": `Parts of the chart: ${chart.title}` });
    chart.frame.after(this.#list);
    signal.addEventListener("abort", () => this.#list.remove());
    const { plot } = chart;
    // Only a mouse that moves points at something, not one under which the chart is drawn anew.
    plot.addEventListener("pointermove", (event) => this.#moved(event), { signal });
    plot.addEventListener("pointerleave", () => this.#point(null), { signal });
    plot.addEventListener("click", (event) => this.#pin(this.#keyAt(event)), { signal });
    this.#list.addEventListener("focusin", (event) => this.#focus(keyOf(event.target)), { signal });
    this.#list.addEventListener("focusout", () => this.#focus(null), { signal });
    this.#list.addEventListener("click", (event) => this.#pin(keyOf(event.target)), { signal });
    this.#list.addEventListener("keydown", (event) => this.#key(event), { signal });
    chart.onDrawn(() => this.#drawn(), signal);
    const scene = chart.figure.closest<HTMLElement>("live-act:has([data-part='predict'])");
    scene?.addEventListener("change", () => this.#release(), { signal });
    scene?.addEventListener("click", (event) => (event.target as Element).closest("[data-action]") && this.#release(), { signal });
  }

  #drawn(): void {
    const { mark, key, label } = this.#spec;
    const rows = this.#chart.rowsOf(mark).filter((row) => row[label] !== undefined && row[label] !== null); // what has no name is no part
    const focused = keyOf(document.activeElement);
    const wanted = rows.map((row) => [String(row[key]), String(row[label])] as const);
    const present = [...this.#list.children].map((one) => [keyOf(one), one.textContent]);
    if (!equal(wanted, present)) {
      const buttons = wanted.map(([name, text]) =>
        h("button", { type: "button", class: "il-part", "data-key": name, "aria-pressed": String(name === this.#pinned) }, text),
      );
      const inside = this.#list.contains(document.activeElement);
      this.#list.replaceChildren(...buttons);
      if (inside) buttons.find((one) => keyOf(one) === focused)?.focus({ preventScroll: true });
    }
    if (this.#pinned !== null && !wanted.some(([name]) => name === this.#pinned)) this.#pinned = null;
    this.#show();
  }

  #keyAt(event: Event): string | null {
    const row = this.#chart.rowAt(event.target, this.#spec.mark);
    return row ? String(row[this.#spec.key]) : null;
  }

  #moved(event: PointerEvent): void {
    const place = `${event.clientX} ${event.clientY}`;
    if (event.pointerType !== "mouse" || place === this.#mouse) return;
    this.#mouse = place;
    this.#point(this.#keyAt(event));
  }

  #point(key: string | null): void {
    if (key === this.#pointed) return;
    this.#pointed = key;
    this.#show();
  }

  #focus(key: string | null): void {
    this.#focused = key;
    this.#show();
  }

  #pin(key: string | null): void {
    this.#pinned = key === this.#pinned ? null : key;
    this.#show();
  }

  #release(): void {
    this.#pinned = null;
    this.#show();
  }

  #key(event: KeyboardEvent): void {
    if (event.key !== "Escape") return;
    this.#pinned = null;
    this.#pointed = null;
    this.#focused = null;
    this.#show();
  }

  #show(): void {
    const alone = this.#pointed ?? this.#focused ?? this.#pinned;
    // While nothing is alone, as under a moving hand, there is nothing to dim and nothing to undim.
    if (alone === null && !this.#chart.plot.dataset.alone) return;
    for (const { element, row } of this.#chart.elements()) {
      const key = row[this.#spec.key];
      element.toggleAttribute("data-dim", alone !== null && key !== undefined && key !== null && String(key) !== alone);
    }
    for (const button of this.#list.children) button.setAttribute("aria-pressed", String(keyOf(button) === this.#pinned));
    this.#chart.plot.dataset.alone = alone ?? "";
  }
}

function keyOf(target: EventTarget | null): string | null {
  return target instanceof HTMLElement && target.classList.contains("il-part") ? (target.dataset.key ?? null) : null;
}
