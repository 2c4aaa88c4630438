// Keeps in view what is being operated: what has the keyboard's focus, what has just opened, and the controls beside several charts.
import { all, find, slot } from "../dom";

const GAP_PX = 8;
/** So long after the focus came, the browser may still scroll to it, or the act draw a chart of another height. */
const SETTLED_MS = 5000;
/** The share of the window, or of a part that is smaller, that has to be in view already. */
const ENOUGH = 0.7;
/** The shares of the window that may stay in view above the controls: about a third, and with a plan's number some more. */
const MOST = 0.35;
const MOST_WHOLE = 0.45;

/** The look after the focus (`keepFocusVisible`). A document has one focus, and so one look. */
let watch: AbortController | null = null;

/** What stays in view on a narrow screen, the chart or the table beside it, must not cover the focus: scrolls just enough
 * when it covers what gets the focus inside `scene`. A name that unfolds in the chart itself may make it too tall to stay,
 * so that it goes back to its place on the page: then the page follows. */
export function keepFocusVisible(scene: HTMLElement, signal: AbortSignal): void {
  signal.addEventListener("abort", () => watch?.abort());
  scene.addEventListener(
    "focusin",
    ({ target }) => {
      const cover = stuck(scene);
      if (!(target instanceof HTMLElement) || !cover) return;
      const uncover = (): void => {
        if (document.activeElement !== target) return;
        if (cover.contains(target)) showUncovered(target);
        else scrollClear(target, cover);
      };
      requestAnimationFrame(uncover);
      watch?.abort();
      watch = untilHandsMove(uncover, cover);
    },
    { signal },
  );
}

/** What of an act sticks to the top of the window, if anything does. */
function stuck(scene: HTMLElement): HTMLElement | undefined {
  return all(scene, ".il-bench__stage, .il-beside").find((part) => getComputedStyle(part).position === "sticky");
}

/** Calls `look` now and whenever `part` has another size or, with `scrolls`, the page has scrolled: for a while, and until the reader
 * does something. */
export function whileSettling(look: () => void, part: HTMLElement, scrolls = false): void {
  look();
  watch?.abort();
  watch = untilHandsMove(look, part, scrolls);
}

/** The watch that holds what was pressed in its place. */
let holding: AbortController | null = null;

/** Keeps what was just pressed under the hand while what stands above it changes its height: it may be pressed again. */
export function holdInPlace(pressed: HTMLElement, scene: HTMLElement): void {
  const { top } = pressed.getBoundingClientRect();
  whileSettling(() => window.scrollBy({ top: pressed.getBoundingClientRect().top - top, behavior: "instant" }), scene);
  holding = watch;
}

/** Calls `look` when `stage` has another size or, with `scrolls`, the page has scrolled: for a while, and until the reader does
 * something. */
function untilHandsMove(look: () => void, stage: HTMLElement, scrolls = true): AbortController {
  const mine = new AbortController();
  const { signal } = mine;
  const sizes = new ResizeObserver(look);
  sizes.observe(stage);
  const end = setTimeout(() => mine.abort(), SETTLED_MS);
  signal.addEventListener("abort", () => {
    sizes.disconnect();
    clearTimeout(end);
    // The reason of an abort remembers who called, and that would keep an act that is gone.
    if (watch === mine) watch = null;
    if (holding === mine) holding = null;
  });
  if (scrolls) window.addEventListener("scroll", look, { signal, passive: true });
  for (const kind of ["wheel", "touchstart", "pointerdown", "keydown"]) window.addEventListener(kind, () => mine.abort(), { signal, passive: true, capture: true });
  return mine;
}

/** Scrolls to the start of what has just opened or changed, unless it begins in the upper half and most of it is shown. */
export function bringIntoView(part: HTMLElement): void {
  const { top, bottom } = part.getBoundingClientRect();
  const shown = Math.min(bottom, window.innerHeight) - Math.max(top, 0);
  if (top < window.innerHeight / 2 && shown >= ENOUGH * Math.min(bottom - top, window.innerHeight)) return;
  watch?.abort();
  part.scrollIntoView({ block: "start", behavior: "instant" });
}

/** Scrolls as little as shows all of a part that is below the window, or under what stays in view of the scene. What then
 * stands above it in the scene is seen whole or not at all: where the cover would cut the box of a failure, it goes by. */
export function showBelow(part: HTMLElement, scene: HTMLElement): void {
  if (holding) return;
  const cover = stuck(scene)?.getBoundingClientRect().bottom ?? 0;
  const { top, bottom, height } = part.getBoundingClientRect();
  const shown = top >= cover && bottom <= window.innerHeight;
  const least = shown ? 0 : top < cover || height > window.innerHeight - cover ? top - cover - GAP_PX : bottom - window.innerHeight + GAP_PX;
  const away = least + cutOff(slot(scene, "failure"), cover, least, top - least - cover - GAP_PX);
  if (away === 0) return;
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  watch?.abort();
  window.scrollBy({ top: away, behavior: still ? "instant" : "smooth" });
}

/** How much further than `away` the page has to scroll so that the cover hides all of a box that it would cut, as far as there
 * is room. */
function cutOff(box: HTMLElement, cover: number, away: number, room: number): number {
  const { top, bottom } = box.getBoundingClientRect();
  const left = bottom - away - cover;
  return cover > 0 && top - away < cover && left > 0 && left <= room ? left : 0;
}

/** Tells the stylesheet how tall the controls are, which stay in view beside several charts, what of the picture or of the table
 * beside it scrolls away above a narrow screen's controls, and how tall the rest is. What would still take too much of the window
 * stays on the page. */
export function keepAtHand(scene: HTMLElement, signal: AbortSignal): void {
  const [hand, stage, beside] = [find(scene, ".il-bench__hand"), slot(scene, "stage"), scene.querySelector<HTMLElement>(".il-beside")];
  const measure = (): void => {
    hand.style.setProperty("--il-hand-height", `${hand.offsetHeight}px`);
    // A plan's number stays with its picture.
    const whole = scene.querySelector(".il-suggestions") !== null;
    const pictured = keepShort(stage, slot(stage, "plot"), whole);
    const tabled = beside ? keepShort(beside, beside.querySelector("thead") ?? beside, false) : 0;
    const cover = stuck(scene);
    scene.style.setProperty("--il-stage-height", `${cover === stage ? pictured : cover ? tabled : 0}px`);
  };
  const watch = new ResizeObserver(measure);
  for (const part of [hand, stage, beside]) if (part) watch.observe(part);
  window.addEventListener("resize", measure, { signal });
  signal.addEventListener("abort", () => watch.disconnect());
}

/** `core` and what lies below it stay in view, or `whole` of the part. Returns how tall that is. */
function keepShort(part: HTMLElement, core: Element, whole: boolean): number {
  const { top, height } = part.getBoundingClientRect();
  const lead = core.getBoundingClientRect().top - top;
  const stays = whole ? height : height - lead;
  part.style.setProperty("--il-lead", `${lead}px`);
  part.toggleAttribute("data-tall", stays > (whole ? MOST_WHOLE : MOST) * window.innerHeight);
  return stays;
}

/** Brings to the middle of the window what is out of it, or under its header. */
function showUncovered(target: HTMLElement): void {
  const { left, top, width, height } = target.getBoundingClientRect();
  const seen = document.elementFromPoint(left + width / 2, top + height / 2);
  if (!seen || !(target.contains(seen) || seen.contains(target))) target.scrollIntoView({ block: "center", behavior: "instant" });
}

function scrollClear(target: HTMLElement, stage: HTMLElement): void {
  const seen = target instanceof HTMLInputElement ? (target.labels?.[0] ?? target) : target;
  const cover = stage.getBoundingClientRect();
  const box = seen.getBoundingClientRect();
  // Only what overlaps the chart is covered; what lies above or beside it on the page is not.
  const covered = box.bottom > cover.top && box.top < cover.bottom && box.right > cover.left && box.left < cover.right;
  if (covered) window.scrollBy({ top: box.top - cover.bottom - GAP_PX, behavior: "instant" });
}
