// The entry: registers the custom elements and marks the navigation. The only script on a page that has no elements.
import { define } from "./element";
import { loadAfresh } from "./fresh";
import type { Release } from "./protocol";
import { followRelease, runs } from "./release";
import { documentLedger, onEveryPage } from "./shared";
import { followProgress } from "./trail";

/** The build puts the release here: the entry is the one file that pages name, and everything else follows from it. */
declare const __IRON_LAW_RELEASE__: Release;
runs(__IRON_LAW_RELEASE__);

define("live-act", async () => {
  const [{ mount }] = await Promise.all([import("./act"), documentLedger().ready]);
  return mount;
});
define("live-ledger", async () => {
  const [{ mount }] = await Promise.all([import("./ledger"), documentLedger().ready]);
  return mount;
});
define("live-figure", async () => (await import("./figure")).mount);
define("live-class", async () => (await import("./class")).mount);
define("live-defense", async () => {
  const [{ mount }] = await Promise.all([import("./defense"), documentLedger().ready]);
  return mount;
});
define("live-keep", async () => (await import("./keep")).mount);
define("live-snippet", async () => (await import("./snippet")).mount);
void followProgress();
onEveryPage(() => followRelease(() => documentLedger().lasting));
loadAfresh(() => documentLedger().lasting);
