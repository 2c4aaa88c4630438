// A state that the reader keeps, beside the present one: the headline and the readings of both, and the settings that differ.
import { controlWords } from "../act/controls";
import { renderTable } from "../act/render";
import { h, putChildren, setText } from "../dom";
import type { Figure, State, View } from "../python/protocol";
import type { Desk } from "./desk";

interface Kept {
  state: State;
  headline: Figure;
  readings: Record<string, string>;
}

const amount = ({ value, unit }: Figure): string => `${value} ${unit}`.trim();

export class Comparison {
  readonly #desk: Desk;
  readonly #table = h("div");
  readonly #keep = h("button", { type: "button", class: "il-button" }, "Keep this to compare");
  readonly #back = h("button", { type: "button", class: "il-button il-button--quiet", hidden: true }, "Back to the kept one");
  readonly #forget = h("button", { type: "button", class: "il-button il-button--quiet", hidden: true }, "Forget it");
  #kept: Kept | null = null;
  #now: Kept | null = null;

  constructor(place: HTMLElement, desk: Desk) {
    this.#desk = desk;
    const { signal } = desk;
    place.append(h("p", {}, this.#keep, " ", this.#back, " ", this.#forget), this.#table);
    this.#keep.addEventListener("click", () => this.#take(this.#now), { signal });
    this.#forget.addEventListener("click", () => this.#take(null), { signal });
    this.#back.addEventListener("click", () => this.#kept && desk.set(this.#kept.state.controls), { signal });
  }

  show(view: View): void {
    this.#now = { state: this.#desk.state(), headline: view.headline, readings: view.readings };
    this.#paint();
  }

  #take(kept: Kept | null): void {
    this.#kept = kept;
    this.#back.hidden = this.#forget.hidden = kept === null;
    setText(this.#keep, kept ? "Keep this one instead" : "Keep this to compare");
    this.#desk.announce(kept ? "Kept. What you change now stands beside it." : "Forgotten.");
    if (!kept) this.#keep.focus();
    this.#paint();
  }

  #paint(): void {
    const [kept, now] = [this.#kept, this.#now];
    if (!kept || !now) return putChildren(this.#table, []);
    const line = (what: string, before: string, after: string): Record<string, string> => ({ what, before, after });
    const names = [...new Set([...Object.keys(kept.readings), ...Object.keys(now.readings)])];
    const said = (name: string, { state }: Kept): string => controlWords(this.#desk.host, name, state.controls[name] ?? "")?.value ?? "";
    const moved = Object.keys(now.state.controls).filter((name) => kept.state.controls[name] !== now.state.controls[name]);
    const settings = moved.flatMap((name) => {
      const label = controlWords(this.#desk.host, name, now.state.controls[name] ?? "")?.label;
      return label ? [line(label, said(name, kept), said(name, now))] : [];
    });
    // Behind a semicolon a label says what rows of their own say.
    const label = now.headline.label.split(";", 1)[0] ?? "";
    const column = (key: string, label: string) => ({ key, label, unit: "", numeric: false });
    putChildren(this.#table, [
      renderTable({
        caption: "The kept one and the present one",
        columns: [column("what", ""), column("before", "Kept"), column("after", "Now")],
        rows: [
          line(label, amount(kept.headline), amount(now.headline)),
          ...names.map((name) => line(name, kept.readings[name] ?? "", now.readings[name] ?? "")),
          ...settings,
        ],
        links: {},
      }),
    ]);
  }
}
