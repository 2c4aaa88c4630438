// The place of a page that is loaded again, or to which the reader goes back. Browser and theme go where the reader was, but in the
// page as it was baked, in which the act is still locked and much is missing: once the act is as they left it, what they had before
// them is put back.
import { all } from "../dom";
import { bookId } from "../release";
import { openStorage } from "../storage";
import { whileSettling } from "./focus";

/** The part of an act that was nearest to the window's upper edge. */
interface Seen {
  page: string;
  part: number;
  top: number;
}

/** A reader may have scrolled on while the act's program was on its way: after so long the page stays where it is. */
const SOON_MS = 3000;

const storage = openStorage(() => sessionStorage);
const place = (act: string): string => `${bookId()}/place/${act}`;
/** Without what sticks to the window. */
const partsOf = (host: HTMLElement): HTMLElement[] => all(host, "[data-part], [data-slot]:not(.il-bench__stage, .il-bench__stage *, .il-beside *)");
const topOf = (part: HTMLElement): number => part.getBoundingClientRect().top;

/** When the reader came back: by loading the document again, or in the browser's history. Null where a link has led here. */
let back: number | null = performance.getEntriesByType("navigation").some((entry) => (entry as PerformanceNavigationTiming).type !== "navigate") ? 0 : null;
addEventListener("popstate", () => (back = performance.now()));
const isLink = ({ target }: Event): boolean => target instanceof Element && target.closest("a[href]") !== null;

/** Notes the place when the page is left. Returns what puts it back, to be called once the act is as it was. */
export function keepPlace(host: HTMLElement, act: string, signal: AbortSignal): () => void {
  const page = location.pathname;
  const seen = back !== null && performance.now() - back < SOON_MS ? (storage.read(place(act)) as Seen | null) : null;
  back = null;
  // Instant navigation hides no page: it begins with a link, or a step in the history, while the page still stands.
  const left = (): void => note(host, act, page);
  for (const event of ["pagehide", "popstate"]) window.addEventListener(event, left, { signal });
  document.addEventListener("click", (event) => isLink(event) && ((back = null), left()), { signal, capture: true });
  return () => {
    const part = seen?.page === page ? partsOf(host)[seen.part] : undefined;
    // What was last shown follows piece by piece, and the theme may scroll later.
    if (seen && part) whileSettling(() => window.scrollBy({ top: topOf(part) - seen.top, behavior: "instant" }), host, true);
  };
}

function note(host: HTMLElement, act: string, page: string): void {
  const shown = partsOf(host).flatMap((part, index) => (part.offsetHeight ? [{ part: index, top: topOf(part) }] : []));
  const [nearest] = shown.sort((one, other) => Math.abs(one.top) - Math.abs(other.top));
  if (nearest && topOf(host) < 0) storage.write(place(act), { page, ...nearest } satisfies Seen);
  else storage.remove(place(act));
}
