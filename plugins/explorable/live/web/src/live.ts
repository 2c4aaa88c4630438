// The entry: registers the custom elements and marks the navigation. The only script on a page that has no elements.
import { define } from "./element";
import { loadAfresh } from "./fresh";
import type { Release } from "./python/protocol";
import { followRelease, release, runs } from "./release";
import { documentLedger } from "./ledger/ledger";
import { fieldsAre } from "./ledger/schema";
import { explainNumbers } from "./number";
import { onEveryPage } from "./site";
import { followProgress } from "./trail";

/** The build puts the release here: the entry is the one file that pages name, and everything else follows from it. */
declare const __EXPLORABLE_RELEASE__: Release;
runs(__EXPLORABLE_RELEASE__);
fieldsAre(release().ledger);
// The page says after three seconds that this program has not arrived, and takes it back when it has (main.html).
document.documentElement.dataset.live = "";

define("live-act", async () => {
  const [{ mount }] = await Promise.all([import("./act/act"), documentLedger().ready]);
  return mount;
});
define("live-ledger", async () => {
  const [{ mount }] = await Promise.all([import("./ledger/page"), documentLedger().ready]);
  return mount;
});
define("live-figure", async () => (await import("./figure")).mount);
define("live-ceilings", async () => (await import("./ceilings/page")).mount);
define("live-class", async () => (await import("./ledger/class")).mount);
define("live-defense", async () => {
  const [{ mount }] = await Promise.all([import("./ledger/defense"), documentLedger().ready]);
  return mount;
});
define("live-keep", async () => (await import("./offline/keep")).mount);
define("live-exercise", async () => {
  const [{ mount }] = await Promise.all([import("./exercise/exercise"), documentLedger().ready]);
  return mount;
});
define("live-snippet", async () => (await import("./snippet/snippet")).mount);
explainNumbers();
void followProgress();
onEveryPage(() => followRelease(() => documentLedger().lasting));
loadAfresh(() => documentLedger().lasting);
