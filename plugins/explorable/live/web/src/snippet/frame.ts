// A result that is HTML: a frame in which no script runs and that loads nothing. Its document brings its own policy.
import { h } from "../dom";

/** Pixels; what is higher scrolls inside the frame. */
const HIGHEST = 20_000;
/** The page's colors and type, by the names that the frame's document uses. */
const TOKENS = { "--fg": "--fg", "--muted": "--muted", "--border": "--border", "--surface": "--surface" };

export const frameIn = (place: HTMLElement): HTMLIFrameElement | null => place.querySelector("iframe");

/** Shows a document in a place for it; null takes it away. */
export function showFrame(place: HTMLElement, html: string | null, title: string): void {
  place.hidden = html === null;
  const present = frameIn(place);
  if (present && present.srcdoc === html) return;
  place.replaceChildren();
  if (html === null) return;
  // Of the same origin, so that the page can measure it and give it its colors. Without scripts it can do nothing itself.
  const frame = h("iframe", { title, sandbox: "allow-same-origin", srcdoc: html });
  frame.addEventListener("load", () => fit(frame));
  place.append(frame);
}

/** Fits the frame that stands in a place, now and whenever the place or the color scheme changes. */
export function followFrame(place: HTMLElement, signal: AbortSignal): void {
  const fitted = (): void => {
    const frame = frameIn(place);
    if (frame) fit(frame);
  };
  frameIn(place)?.addEventListener("load", fitted, { signal });
  fitted();
  const sizes = new ResizeObserver(fitted);
  sizes.observe(place);
  const scheme = new MutationObserver(fitted);
  for (const element of [document.documentElement, document.body]) scheme.observe(element, { attributes: true });
  signal.addEventListener("abort", () => {
    sizes.disconnect();
    scheme.disconnect();
  });
}

function fit(frame: HTMLIFrameElement): void {
  const root = frame.contentDocument?.documentElement;
  const body = frame.contentDocument?.body;
  // The empty document of before has no policy of ours.
  if (!root || !body || !root.querySelector("meta[http-equiv]")) return;
  const style = getComputedStyle(frame);
  for (const [name, token] of Object.entries(TOKENS)) root.style.setProperty(name, style.getPropertyValue(token));
  root.style.setProperty("--font", style.fontFamily);
  root.style.setProperty("--size", style.fontSize);
  // A frame of another scheme than its page would get a ground of its own.
  root.style.colorScheme = style.colorScheme;
  const height = Math.min(HIGHEST, Math.ceil(body.getBoundingClientRect().height + 10));
  if (height > 10) frame.style.height = `${height + (root.scrollWidth > root.clientWidth ? 16 : 0)}px`;
}
