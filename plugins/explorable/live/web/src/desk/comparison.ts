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

/** A number; and of its label what another one's does not have, as what else it says of this state. */
const amount = ({ value, unit }: Figure, own: string): string => [`${value} ${unit}`.trim(), own].filter(Boolean).join(", ");

/** What two labels begin with, up to a comma or semicolon, and what follows in each. */
function divided(one: string, other: string): [shared: string, ofOne: string, ofOther: string] {
  const [parts, others] = [one, other].map((label) => label.split(/(?<=[,;]) /)) as [string[], string[]];
  const same = parts.findIndex((part, at) => part !== others[at]);
  if (same < 0 && parts.length === others.length) return [one, "", ""];
  const at = same < 0 ? parts.length : same;
  return [parts.slice(0, at).join(" ").replace(/[,;]$/, ""), parts.slice(at).join(" "), others.slice(at).join(" ")];
}

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
    const [label, ofKept, ofNow] = divided(kept.headline.label, now.headline.label);
    const column = (key: string, label: string) => ({ key, label, unit: "", numeric: false });
    putChildren(this.#table, [
      renderTable({
        caption: "The kept one and the present one",
        columns: [column("what", ""), column("before", "Kept"), column("after", "Now")],
        rows: [
          line(label, amount(kept.headline, ofKept), amount(now.headline, ofNow)),
          ...names.map((name) => line(name, kept.readings[name] ?? "", now.readings[name] ?? "")),
          ...settings,
        ],
        links: {},
      }),
    ]);
  }
}
