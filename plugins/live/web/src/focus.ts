// Keeps what has the keyboard's focus visible: the chart that stays in view on a narrow screen must not cover it.

const GAP_PX = 8;
/** By then every browser has scrolled to the focus by its own rules; WebKit does it some frames later. */
const SCROLLED_MS = 100;

/** Scrolls just enough when `stage`, stuck to the top of the window, covers what gets the focus inside `scene`. */
export function keepFocusVisible(scene: HTMLElement, stage: HTMLElement, signal: AbortSignal): void {
  scene.addEventListener(
    "focusin",
    ({ target }) => {
      if (!(target instanceof HTMLElement) || stage.contains(target)) return;
      const uncover = (): void => {
        if (document.activeElement === target && getComputedStyle(stage).position === "sticky") scrollClear(target, stage);
      };
      requestAnimationFrame(uncover);
      setTimeout(uncover, SCROLLED_MS);
    },
    { signal },
  );
}

function scrollClear(target: HTMLElement, stage: HTMLElement): void {
  const seen = target instanceof HTMLInputElement ? (target.labels?.[0] ?? target) : target;
  const covered = stage.getBoundingClientRect().bottom - seen.getBoundingClientRect().top;
  if (covered > 0) window.scrollBy({ top: -covered - GAP_PX, behavior: "instant" });
}
