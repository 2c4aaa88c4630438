// The entry: registers the custom elements. The only script on a page that has none of them.
import { define } from "./element";

define("live-act", async () => (await import("./act")).mount);
define("live-snippet", async () => (await import("./snippet")).mount);
