// How far the reader is, beside the links to acts in the navigation and on a map of them.
import { all, h, setText } from "./dom";
import { STAGES, type Stage } from "./ledger/entry";
import { documentLedger } from "./ledger/ledger";
import { assetUrl, onEveryPage, sitePath } from "./site";

/** Page, relative to the site's root -> the acts at home there. */
type Homes = Record<string, string[]>;

const WORDS: Record<Stage, string> = {
  none: "not started",
  predicted: "predicted",
  revealed: "revealed",
  done: "done",
};

/** A page is done when all of its acts are; until then it is as far as the slowest act that was begun. */
export function stageOfPage(stages: readonly Stage[]): Stage {
  if (stages.every((stage) => stage === "done")) return "done";
  const begun = STAGES.find((stage) => stage !== "none" && stage !== "done" && stages.includes(stage));
  return begun ?? (stages.includes("done") ? "revealed" : "none");
}

/** Marks every link of the navigation, and of a map (`il-map`), that leads to acts. `pageOf` gives an address relative to the site's root. */
export function markLinks(
  homes: Homes,
  stageOf: (act: string) => Stage,
  pageOf: (url: string) => string | null = sitePath,
): void {
  for (const link of all<HTMLAnchorElement>(document, "a.md-nav__link[href], .il-map a[href]")) {
    // A link with a fragment belongs to the table of contents of the page, not to the navigation.
    const page = link.hash ? null : pageOf(link.href);
    const acts = page === null ? undefined : homes[page];
    if (!acts?.length) continue;
    const stage = stageOfPage(acts.map(stageOf));
    let mark = link.querySelector<HTMLElement>(".il-trail");
    if (!mark) {
      mark = h("span", { class: "il-trail" }, h("span", { class: "il-vh" }));
      (link.querySelector(".md-ellipsis") ?? link).append(mark);
    }
    mark.dataset.stage = stage;
    mark.title = WORDS[stage];
    // The space is for who hears it: one before the circle would be underlined.
    setText(mark.firstElementChild as Element, ` (${WORDS[stage]})`);
  }
}

/** Marks the navigation of this page and, with instant navigation, of every page that replaces it. */
export async function followProgress(): Promise<void> {
  const homes = await (asked ??= actsHere());
  if (!homes) return;
  const ledger = documentLedger();
  await ledger.ready;
  const stageOf = (act: string): Stage => ledger.entry(act)?.stage ?? "none";
  const marked = new Map<string, Stage>();
  const mark = (): void => {
    for (const act of Object.values(homes).flat()) marked.set(act, stageOf(act));
    markLinks(homes, stageOf);
  };
  // Most changes of an act leave it at its stage.
  ledger.subscribe((acts) => {
    if ([...acts].some((act) => marked.has(act) && marked.get(act) !== stageOf(act))) mark();
  });
  onEveryPage(mark);
}

/** Act -> its present home page; empty where the list of acts cannot be fetched. */
export async function homesOfActs(): Promise<ReadonlyMap<string, string>> {
  const homes = (await (asked ??= actsHere())) ?? {};
  return new Map(Object.entries(homes).flatMap(([page, acts]) => acts.map((act) => [act, page] as const)));
}

let asked: Promise<Homes | null> | undefined;

/** Null where the file cannot be fetched, or a network answers with its sign-in page. */
async function actsHere(): Promise<Homes | null> {
  try {
    const homes = (await (await fetch(assetUrl("acts.json"))).json()) as Homes;
    return Object.keys(homes).length ? homes : null;
  } catch {
    return null;
  }
}
