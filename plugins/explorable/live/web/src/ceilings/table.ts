// What was measured, as a table: the same points as in the picture.
import { h } from "../dom";
import { rate, roofOf, type Card } from "./cards";
import type { Ceilings, Product } from "./file";
import { point } from "./roofline";

const HERE = "measured here, in a browser, without tensor cores";

/** What is shown: a measurement of this browser, or a file by its name. */
export interface Row {
  made: Ceilings;
  file: string;
  shape: number;
}

/** A group of lines for each file: what it reached, and which share of its card's figures that is. */
export function tableOf(rows: readonly Row[], cards: readonly Card[]): HTMLElement {
  const number = (text: string): HTMLElement => h("td", { class: "il-num" }, text);
  const known = (name: string): Card | null => cards.find((one) => one.name === name) ?? null;
  const lines = rows.flatMap(({ made, file, shape }) => {
    const card = known(made.card);
    const parts: [string, string, string, number | undefined][] = [
      ...made.products.map((one): [string, string, string, number | undefined] => {
        const roof = roofOf(card, one.format, made.tensor_cores);
        return [`${one.format.toUpperCase()} product`, sizeOf(one), rate(one.flops_per_s, "FLOP/s"), roof ? one.flops_per_s / roof.flops_per_s : undefined];
      }),
      ...made.copies.map(({ bytes, bytes_per_s }): [string, string, string, number | undefined] => {
        return ["Copy", `${(bytes / 2 ** 20).toLocaleString("en-US")} MiB`, rate(bytes_per_s, "B/s"), card ? bytes_per_s / card.bandwidth : undefined];
      }),
    ];
    const head = h("th", { scope: "rowgroup", colspan: "4" }, sign(shape), ` ${card?.title ?? "Another card"}: ${origin(made, file)}`);
    return h(
      "tbody",
      {},
      h("tr", {}, head),
      ...parts.map(([what, size, reached, share]) => {
        return h("tr", {}, h("th", { scope: "row" }, what), number(size), number(reached), number(share === undefined ? "–" : `${(100 * share).toFixed(0)} %`));
      }),
    );
  });
  const heads = ["Size", "Reached", "Of the card's figure"].map((text) => h("th", { scope: "col", class: "il-num" }, text));
  const table = h("table", { class: "il-table" }, h("caption", {}, "What was measured. The mark before a name is that of its points in the picture."), h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "What"), ...heads)), ...lines);
  return h("div", { class: "il-table-scroll", role: "region", "aria-label": "What was measured", tabindex: "0" }, table);
}

/** The sides of a product: `4,096³`, or all three where they differ. */
function sizeOf({ m, n, k }: Product): string {
  const sides = [m, n, k].map((side) => side.toLocaleString("en-US"));
  return m === n && n === k ? `${sides[0] ?? ""}³` : sides.join(" × ");
}

/** In words where a measurement comes from. */
function origin(made: Ceilings, file: string): string {
  const how = made.place === "browser" ? "measured in a browser, without tensor cores" : `measured by ${made.program}`;
  const emulation = made.emulated ? ", an emulation by the processor" : "";
  const by = made.contributor ? `, given by ${made.contributor.name}` : "";
  return `${file ? `${file}, ${how}` : HERE}${emulation}, ${made.statistic} of several runs, ${made.measured.slice(0, 10)}${by}`;
}

function sign(shape: number): SVGElement {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("class", "il-ceilings__sign");
  svg.setAttribute("aria-hidden", "true");
  svg.append(point(8, 8, shape));
  return svg;
}
