// The entry: registers the custom elements and marks the navigation. The only script on a page that has no elements.
import { define } from "./element";
import { documentLedger } from "./shared";
import { followProgress } from "./trail";

define("live-act", async () => {
  const [{ mount }] = await Promise.all([import("./act"), documentLedger().ready]);
  return mount;
});
define("live-ledger", async () => {
  const [{ mount }] = await Promise.all([import("./ledger"), documentLedger().ready]);
  return mount;
});
define("live-snippet", async () => (await import("./snippet")).mount);
void followProgress();
