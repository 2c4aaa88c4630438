// One chart: the baked picture stays until Python's first rows, then a Vega view of the same specification takes them.
import { expressionInterpreter } from "vega-interpreter";
import { all, find, h } from "../dom";
import { equal } from "../equal";
import type { Row } from "../python/protocol";
import { ByteProgress, DownloadError, guardedFetch } from "../python/downloads";
import { release } from "../release";
import { assetUrl } from "../site";

/** What of Vega is used here; `vega.js` is bundled by the site's build from vega-entry.js. */
interface VegaView {
  data(name: string, rows: Row[]): VegaView;
  scale(name: string): VegaScale;
  runAsync(): Promise<VegaView>;
  finalize(): void;
}
/** A scale of d3: pixels of the plot from values, and back where values are numbers. */
interface VegaScale {
  (value: unknown): unknown;
  invert?: (pixel: number) => unknown;
  copy(): VegaScale;
}
interface Vega {
  parse(specification: unknown, config: undefined, options: { ast: true }): unknown;
  View: new (runtime: unknown, options: { renderer: "svg"; container: HTMLElement; hover: boolean; expr: unknown }) => VegaView;
}
interface Specification {
  data?: { name: string }[];
}

/** Text of this size in pixels, and larger, is larger than a picture's words are made for. */
const LARGE_PX = 17.6;

let vega: Promise<Vega> | undefined;
let tries = 0;

/** Some browsers remember that a module failed to arrive: another try needs another address. */
function loadVega(): Promise<Vega> {
  const url = assetUrl(release().vega) + (tries ? `?try=${tries}` : "");
  vega ??= download(url)
    .then(() => import(url) as Promise<Vega>)
    .catch((error: unknown) => {
      vega = undefined;
      tries += 1;
      throw error;
    });
  return vega;
}

/** A text that arrives whole or not at all, also where the network falls silent, which an import does not notice. */
async function download(url: string): Promise<string> {
  let lost: DownloadError | undefined;
  const failed = (error: DownloadError): void => void (lost = error);
  const guard = { progress: new ByteProgress({}), moved: () => undefined, failed, patience: release().patience };
  try {
    const response = await guardedFetch(fetch.bind(globalThis), guard)(url);
    if (!response.ok) throw new DownloadError(`the chart could not be downloaded (HTTP ${response.status})`);
    return await response.text();
  } catch (error) {
    throw lost ?? error;
  }
}

/** From pixels of the window to those of the plot (its left upper corner is 0, 0) and of the scales, and back. */
export interface Geometry {
  pointer(event: PointerEvent): [number, number];
  toLocal(x: number, y: number): [number, number];
  toPlot(x: number, y: number): [number, number];
}

/** A drawn item: Vega keeps the row it stands for beside every node of its SVG. */
interface Drawn {
  element: Element;
  row: Row;
}

/** Decides which of the rows that came are drawn. */
export interface Filter {
  /** New data, before it is drawn. */
  take(data: Record<string, Row[]>): void;
  keep(row: Row): boolean;
}

export class Chart {
  filter: Filter | null = null;
  readonly figure: HTMLElement;
  readonly title: string;
  /** Holds the picture and what lies over it; at a large text size a picture wider than the page is scrolled in it. */
  readonly frame: HTMLElement;
  /** Begins where the plot does and lies over it: what can be taken in hand. */
  readonly overlay: HTMLElement;
  readonly #plot: HTMLElement;
  readonly #listeners = new Set<() => void>();
  readonly #url: string;
  #view: Promise<{ view: VegaView; names: Set<string> }> | null = null;
  #made: VegaView | null = null;
  #gone = false;
  /** Data set -> its rows as they are drawn. */
  readonly #drawn = new Map<string, readonly Row[]>();
  /** What came last. */
  #came: { data: Record<string, Row[]>; summary: string } | null = null;

  constructor(figure: HTMLElement) {
    this.#plot = find(figure, '[data-slot="plot"]');
    this.figure = figure;
    this.frame = find(figure, ".il-chart__frame");
    this.title = find(figure, "figcaption").textContent ?? "";
    this.overlay = h("div", { class: "il-chart__hands" });
    this.#plot.before(this.overlay);
    this.#url = new URL(figure.dataset.specUrl ?? "", document.baseURI).href;
    holdShape(this.#plot);
    this.#resized.observe(this.#plot);
  }

  get name(): string {
    return this.figure.dataset.chart ?? "";
  }

  get plot(): HTMLElement {
    return this.#plot;
  }

  /** Calls the listener whenever the picture or its size has changed. */
  onDrawn(listener: () => void, signal: AbortSignal): void {
    this.#listeners.add(listener);
    signal.addEventListener("abort", () => this.#listeners.delete(listener));
  }

  /** A scale of the live picture, or null while there is none. */
  scale(axis: "x" | "y"): VegaScale | null {
    return this.#made?.scale(axis) ?? null;
  }

  /** How pixels of the window become pixels of the scales; null while the picture is not live or not shown. */
  geometry(): Geometry | null {
    const root = this.#made && this.#plot.querySelector<SVGGElement>("svg g.root");
    const matrix = root?.getScreenCTM();
    if (!matrix) return null;
    const back = matrix.inverse();
    const { left, top } = this.#plot.getBoundingClientRect();
    return {
      pointer: ({ clientX, clientY }) => [clientX - left, clientY - top],
      toLocal: (x, y) => {
        const point = new DOMPoint(x + left, y + top).matrixTransform(back);
        return [point.x, point.y];
      },
      toPlot: (x, y) => {
        const point = new DOMPoint(x, y).matrixTransform(matrix);
        return [point.x - left, point.y - top];
      },
    };
  }

  /** What is drawn of a layer, or of all. */
  elements(mark?: string): Drawn[] {
    if (!this.#made) return [];
    const found: Drawn[] = [];
    for (const element of all(this.#plot, mark ? `g.${mark}_marks > *` : "svg g[class] > *")) {
      const row = rowOfItem(element);
      if (row) found.push({ element, row });
    }
    return found;
  }

  rowsOf(mark: string): Row[] {
    return this.elements(mark).map(({ row }) => row);
  }

  rowOf(mark: string): Row | null {
    return this.rowsOf(mark)[0] ?? null;
  }

  /** The row of a layer's item that an event hit. */
  rowAt(target: EventTarget | null, mark: string): Row | null {
    const inside = target instanceof Element && target.parentElement?.classList.contains(`${mark}_marks`);
    return inside ? rowOfItem(target) : null;
  }

  /** The box of a layer's first item, in pixels of the plot. */
  boxOf(mark: string): DOMRect | null {
    const box = this.elements(mark)[0]?.element.getBoundingClientRect();
    const frame = this.#plot.getBoundingClientRect();
    return box ? new DOMRect(box.x - frame.x, box.y - frame.y, box.width, box.height) : null;
  }

  /** Fetches what drawing needs, ahead of the first rows. Failures are told by `update`. */
  prepare(): void {
    void this.#load().catch(() => undefined);
  }

  /** Shows new rows. The same view takes them: nothing is embedded again. */
  async update(data: Record<string, Row[]>, summary: string): Promise<void> {
    const { view, names } = await this.#load();
    if (this.#gone) return;
    this.#came = { data, summary };
    this.filter?.take(data);
    const kept = Object.entries(data).map(([name, rows]) => [name, this.filter ? rows.filter((row) => this.filter?.keep(row)) : rows] as const);
    const changed = kept.filter(([name, rows]) => names.has(name) && this.#take(name, rows));
    for (const [name, rows] of changed) view.data(name, rows);
    // Most moves leave some of an act's charts unchanged: those are not drawn again.
    if (changed.length || !this.#made) {
      await view.runAsync().catch((error: unknown) => {
        this.#drawn.clear();
        throw error;
      });
    }
    if (!this.#made) this.#swap(view);
    this.#plot.setAttribute("aria-label", `${this.title}. ${summary}`);
    if (changed.length) this.#tell();
  }

  /** Shows what came last once more: the filter may keep other rows of it. */
  async redraw(): Promise<void> {
    if (this.#came) await this.update(this.#came.data, this.#came.summary);
  }

  /** Instant navigation keeps removed elements for a long time, so the drawing is freed here. */
  gone(): void {
    this.#gone = true;
    this.#resized.disconnect();
    this.#made?.finalize();
    if (this.#made) this.#plot.replaceChildren();
  }

  /** Notes the rows of a data set, and says whether they differ from those drawn. */
  #take(name: string, rows: Row[]): boolean {
    if (equal(this.#drawn.get(name), rows)) return false;
    // Vega writes into the rows that it is given.
    this.#drawn.set(name, rows.map((row) => ({ ...row })));
    return true;
  }

  readonly #stage = document.createElement("div");
  readonly #resized = new ResizeObserver(() => {
    // What can be scrolled has to be reachable by the keyboard.
    if (this.frame.scrollWidth > this.frame.clientWidth) this.frame.tabIndex = 0;
    else this.frame.removeAttribute("tabindex");
    this.#tell();
  });

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }

  #load(): Promise<{ view: VegaView; names: Set<string> }> {
    this.#view ??= this.#make().catch((error: unknown) => {
      this.#view = null;
      throw error;
    });
    return this.#view;
  }

  async #make(): Promise<{ view: VegaView; names: Set<string> }> {
    const [{ parse, View }, specification] = await Promise.all([loadVega(), this.#specification()]);
    // Expressions are interpreted, not made into functions: the page's policy lets no text become a program.
    const runtime = parse(specification, undefined, { ast: true });
    const view = new View(runtime, { renderer: "svg", container: this.#stage, hover: false, expr: expressionInterpreter });
    return { view, names: new Set((specification.data ?? []).map((one) => one.name)) };
  }

  async #specification(): Promise<Specification> {
    return JSON.parse(await download(this.#url)) as Specification;
  }

  #swap(view: VegaView): void {
    this.#stage.className = "il-chart__svg";
    this.#stage.setAttribute("aria-hidden", "true");
    this.#plot.replaceChildren(this.#stage);
    this.#made = view;
    this.#tell();
  }
}

function rowOfItem(element: Element): Row | null {
  return (element as Element & { __data__?: { datum?: Row } }).__data__?.datum ?? null;
}

/** Gives the plot the baked picture's proportions for good, so that no later picture moves the page. */
function holdShape(plot: HTMLElement): void {
  const svg = all<SVGSVGElement>(plot, "svg")[0];
  const [, , width, height] = (svg?.getAttribute("viewBox") ?? "").split(/[\s,]+/).map(Number);
  if (!width || !height) return;
  plot.style.setProperty("--il-chart-ratio", `${width} / ${height}`);
  // Beyond the usual text size it grows with the text.
  plot.style.setProperty("--il-chart-width", `max(${width}px, ${width / LARGE_PX}em)`);
}
