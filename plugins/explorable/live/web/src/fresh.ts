// With instant navigation the theme keeps every page that it has taken away. After so many of them the next link is
// followed by the browser itself, which lets go of all.
import { release } from "./release";
import { onEveryPage } from "./site";

/** `kept` says whether what the reader did is stored. Where it is not, the document stays, so that nothing is lost. */
export function loadAfresh(kept: () => boolean): void {
  let shown = 0;
  onEveryPage(() => (shown += 1));
  const listener = (event: MouseEvent): void => {
    const link = event.target instanceof Element ? event.target.closest<HTMLAnchorElement>("a[href]") : null;
    if (link && shown > release().pages && leadsAway(link) && kept()) event.stopImmediatePropagation();
  };
  // Before the theme, which follows links from its place further in.
  addEventListener("click", listener, { capture: true });
}

function leadsAway({ origin, pathname }: HTMLAnchorElement): boolean {
  return origin === location.origin && pathname !== location.pathname;
}
