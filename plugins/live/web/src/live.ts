// The entry: registers the custom elements and marks the navigation. The only script on a page that has no elements.
import { define } from "./element";
import { loadAfresh } from "./fresh";
import type { Release } from "./python/protocol";
import { followRelease, runs } from "./release";
import { documentLedger } from "./ledger/ledger";
import { onEveryPage } from "./site";
import { followProgress } from "./trail";

/** The build puts the release here: the entry is the one file that pages name, and everything else follows from it. */
declare const __IRON_LAW_RELEASE__: Release;
runs(__IRON_LAW_RELEASE__);

define("live-act", async () => {
  const [{ mount }] = await Promise.all([import("./act/act"), documentLedger().ready]);
  return mount;
});
define("live-ledger", async () => {
  const [{ mount }] = await Promise.all([import("./ledger/page"), documentLedger().ready]);
  return mount;
});
define("live-figure", async () => (await import("./figure")).mount);
define("live-class", async () => (await import("./ledger/class")).mount);
define("live-defense", async () => {
  const [{ mount }] = await Promise.all([import("./ledger/defense"), documentLedger().ready]);
  return mount;
});
define("live-keep", async () => (await import("./offline/keep")).mount);
define("live-snippet", async () => (await import("./snippet/snippet")).mount);
void followProgress();
onEveryPage(() => followRelease(() => documentLedger().lasting));
loadAfresh(() => documentLedger().lasting);
