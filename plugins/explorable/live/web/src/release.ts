// The release that this document runs, and what to do when the page or the site is of another one.
import { h } from "./dom";
import type { Release } from "./python/protocol";

let present: Release | undefined;

/** Called once, by the entry, which the build has written the release into. */
export function runs(release: Release): void {
  present = release;
}

export function release(): Release {
  if (!present) throw new Error("explorable: the entry has not said which release it is");
  return present;
}

/** What the storage of this book begins with; two books on one origin never meet. */
export const bookId = (): string => release().book;

/** How exports name the site that made them. */
export function siteVersion(): string {
  return `${release().version}+${release().build}`;
}

/** What the site serves now; null where it cannot be reached. */
export async function servedBuild(): Promise<string | null> {
  try {
    const answer = await fetch(new URL("release.json", import.meta.url), { cache: "no-store", signal: AbortSignal.timeout(1000 * release().patience) });
    const { build } = (await answer.json()) as { build: unknown };
    return typeof build === "string" ? build : null;
  } catch {
    return null;
  }
}

/** Something of this release could not be had: says so, once, when that is because the site has a newer one. */
export async function perhapsTooOld(): Promise<boolean> {
  const served = await servedBuild();
  const old = served !== null && served !== release().build;
  if (old) offerReload("This page is from an older release of the site.");
  return old;
}

/**
 * Instant navigation has put a page of another release into this document, whose programs are not made for it. What the
 * reader did is kept outside of the document, so that a reload loses nothing; where nothing can be kept, the reader decides.
 */
export function followRelease(kept: () => boolean): void {
  const shown = document.querySelector<HTMLElement>("[data-release]")?.dataset.release;
  if (shown === undefined || shown === release().build) return;
  if (kept()) location.reload();
  else offerReload("The site has a newer release. This browser keeps nothing: what you did here is gone after a reload.");
}

function offerReload(text: string): void {
  if (document.querySelector(".il-notice--release")) return;
  const reload = h("button", { type: "button", class: "il-button il-button--primary" }, "Reload");
  reload.addEventListener("click", () => location.reload());
  document.body.append(h("div", { class: "il-notice il-notice--release", role: "alert" }, h("p", {}, text), reload));
}
