// The entry: registers the custom elements and marks the navigation. The only script on a page that has no elements.
import { define, type Mount } from "./element";
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

/** A program that begins when what was kept in the ledger is there. */
const withLedger = (load: () => Promise<{ mount: Mount }>) => async (): Promise<Mount> => (await Promise.all([load(), documentLedger().ready]))[0].mount;

define("live-act", withLedger(() => import("./act/act")));
define("live-ledger", withLedger(() => import("./ledger/page")));
define("live-figure", async () => (await import("./figure")).mount);
define("live-ceilings", async () => (await import("./ceilings/page")).mount);
define("live-class", async () => (await import("./ledger/class")).mount);
define("live-defense", withLedger(() => import("./ledger/defense")));
define("live-keep", async () => (await import("./offline/keep")).mount);
define("live-exercise", withLedger(() => import("./exercise/exercise")));
define("live-snippet", async () => (await import("./snippet/snippet")).mount);
explainNumbers();
void followProgress();
onEveryPage(() => followRelease(() => documentLedger().lasting));
loadAfresh(() => documentLedger().lasting);
