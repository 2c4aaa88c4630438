// The picture: the roofs of a card by the book's figures, and what was measured as points below them.
import { h } from "../dom";
import { intensity, type Ceilings } from "./file";
import { rate, type Card } from "./cards";

const SVG = "http://www.w3.org/2000/svg";
/** FLOP per byte at both ends of the axis. */
const FROM = 0.1;
const TO = 10_000;
const MARGIN = { top: 10, right: 26, bottom: 40, left: 78 };
/** Letters are this large whatever the width: pixels. */
const FONT = 12;

/** A measurement, with the shape of its points. */
interface Shown {
  made: Ceilings;
  shape: number;
}

type Attributes = Record<string, string | number>;

/** A roof is drawn through, one that only tensor cores reach is dashed, a measured one dotted. */
const LOOKS = {
  products: { stroke: "var(--il-good)", "stroke-width": 2 },
  tensor: { stroke: "var(--il-good)", "stroke-width": 2, "stroke-dasharray": "6 4" },
  memory: { stroke: "var(--il-sourced)", "stroke-width": 2 },
  copy: { stroke: "var(--fg)", "stroke-dasharray": "2 3" },
};

function mark(tag: string, attributes: Attributes, text = ""): SVGElement {
  const made = document.createElementNS(SVG, tag);
  for (const [name, given] of Object.entries(attributes)) made.setAttribute(name, String(given));
  made.textContent = text;
  return made;
}

/** The powers of ten between two numbers, both ends with them. */
export function decades(low: number, high: number): number[] {
  const [first, last] = [Math.floor(Math.log10(low) + 1e-9), Math.ceil(Math.log10(high) - 1e-9)];
  return Array.from({ length: last - first + 1 }, (_, at) => 10 ** (first + at));
}

/** The picture, `width` pixels wide; null where there is nothing to draw. */
export function roofline(card: Card | null, shown: readonly Shown[], width: number): SVGElement | null {
  const slopes = [...(card ? [card.bandwidth] : []), ...shown.flatMap(({ made }) => made.copies.map((copy) => copy.bytes_per_s))];
  const levels = [...(card?.roofs.map((roof) => roof.flops_per_s) ?? []), ...shown.flatMap(({ made }) => made.products.map((one) => one.flops_per_s))];
  if (!slopes.length && !levels.length) return null;
  const height = Math.round(Math.min(380, Math.max(250, width * 0.6)));
  // Where the slopes begin, and above the highest roof.
  const ticks = decades(Math.min(...levels, ...slopes.map((slope) => slope * FROM)), 1.5 * Math.max(...levels, ...slopes));
  const [low, high] = [ticks[0] ?? 1, ticks.at(-1) ?? 10];
  const place = (at: number, from: number, to: number): number => Math.log10(at / from) / Math.log10(to / from);
  const x = (at: number): number => MARGIN.left + (width - MARGIN.left - MARGIN.right) * place(at, FROM, TO);
  const y = (at: number): number => height - MARGIN.bottom - (height - MARGIN.top - MARGIN.bottom) * place(at, low, high);
  const svg = mark("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": words(card, shown), "font-size": FONT, class: "il-ceilings__picture" });
  const line = (from: [number, number], to: [number, number], look: Attributes): void => {
    svg.append(mark("line", { x1: x(from[0]), y1: y(from[1]), x2: x(to[0]), y2: y(to[1]), ...look }));
  };
  const say = (text: string, at: Attributes): void => void svg.append(mark("text", { fill: "var(--fg)", ...at }, text));

  for (const tick of ticks) {
    line([FROM, tick], [TO, tick], { stroke: "var(--border)" });
    say(rate(tick, "FLOP/s"), { x: MARGIN.left - 6, y: y(tick) + 4, "text-anchor": "end", fill: "var(--muted)", "font-size": FONT - 1 });
  }
  for (const tick of decades(FROM, TO)) {
    say(tick.toLocaleString("en-US"), { x: x(tick), y: height - MARGIN.bottom + 16, "text-anchor": "middle", fill: "var(--muted)" });
  }
  say("FLOP per byte", { x: width - MARGIN.right, y: height - 6, "text-anchor": "end" });

  if (card) {
    const bend = (level: number): number => Math.min(TO, level / card.bandwidth);
    const top = bend(Math.max(card.bandwidth, ...card.roofs.map((roof) => roof.flops_per_s)));
    line([FROM, card.bandwidth * FROM], [top, top * card.bandwidth], LOOKS.memory);
    for (const roof of card.roofs) line([bend(roof.flops_per_s), roof.flops_per_s], [TO, roof.flops_per_s], roof.tensor_cores ? LOOKS.tensor : LOOKS.products);
  }
  for (const { made, shape } of shown) {
    for (const { bytes_per_s: slope } of made.copies) {
      const end = Math.min(TO, Math.max(...made.products.map((one) => one.flops_per_s), slope) / slope);
      line([FROM, slope * FROM], [end, slope * end], LOOKS.copy);
      svg.append(point(x(FROM), y(slope * FROM), shape, `Copy, ${rate(slope, "B/s")}`));
    }
    for (const one of made.products) {
      svg.append(point(x(intensity(one)), y(one.flops_per_s), shape, `${one.format.toUpperCase()} product, ${rate(one.flops_per_s, "FLOP/s")}`));
    }
  }
  return svg;
}

/** Marks are solid up to this shape, and open beyond. */
export const SOLID = 4;

/** A mark: solid for what this browser measured, open for a file. Each measurement has a shape of its own. */
export function point(x: number, y: number, shape: number, title = ""): SVGElement {
  const look = shape < SOLID ? { fill: "var(--fg)", stroke: "var(--bg)" } : { fill: "var(--bg)", stroke: "var(--fg)" };
  const shapes = [
    `M${x - 5},${y}a5,5 0 1,0 10,0a5,5 0 1,0 -10,0`,
    `M${x - 5},${y - 5}h10v10h-10z`,
    `M${x},${y - 6}l6,11h-12z`,
    `M${x},${y - 7}l6,7l-6,7l-6,-7z`,
  ];
  const made = mark("path", { d: shapes[shape % shapes.length] ?? "", ...look, "stroke-width": 1.5 });
  if (title) made.append(mark("title", {}, title));
  return made;
}

/** What the lines mean, below the picture: on a phone there is no room beside them. */
export function legend(card: Card | null, shown: readonly Shown[]): HTMLElement[] {
  const copies = shown.some(({ made }) => made.copies.length);
  const lines: [Attributes, string][] = [
    ...(card?.roofs.map((roof): [Attributes, string] => [roof.tensor_cores ? LOOKS.tensor : LOOKS.products, `${roof.label}: ${rate(roof.flops_per_s, "FLOP/s")}`]) ?? []),
    ...(card ? [[LOOKS.memory, `memory: ${rate(card.bandwidth, "B/s")}`] as [Attributes, string]] : []),
    ...(copies ? [[LOOKS.copy, "memory, as a copy reached it"] as [Attributes, string]] : []),
  ];
  return lines.map(([look, text]) => {
    const svg = mark("svg", { viewBox: "0 0 28 10", class: "il-ceilings__line", "aria-hidden": "true" });
    svg.append(mark("line", { x1: 0, x2: 28, y1: 5, y2: 5, ...look }));
    return h("li", {}, svg, ` ${text}`);
  });
}

function words(card: Card | null, shown: readonly Shown[]): string {
  const figures = card ? `The roofs of ${card.title}: ${[...card.roofs.map((roof) => `${roof.label} ${rate(roof.flops_per_s, "FLOP/s")}`), `memory ${rate(card.bandwidth, "B/s")}`].join(", ")}.` : "No card is chosen.";
  const count = shown.reduce((sum, { made }) => sum + made.products.length + made.copies.length, 0);
  return `${figures} ${count ? `Measured points: ${count}; the table has them.` : "Nothing is measured yet."}`;
}
