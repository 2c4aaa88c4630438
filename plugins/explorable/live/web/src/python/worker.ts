// The entry of the module worker that holds Python.
import { confine } from "./confine";
import { getter, makeGate } from "./gate";
import type { Request } from "./protocol";
import { makePost } from "./post";
import { listen } from "./python";
import { copyPython, startPython } from "./start";

const gate = makeGate(globalThis);
const { apply } = Reflect;
const dataOf = getter(MessageEvent.prototype, "data");
const postMessage = makePost(globalThis as unknown as Parameters<typeof makePost>[0]);
confine();
globalThis.fetch = gate.fetch;
listen(
  { addEventListener: globalThis.addEventListener.bind(globalThis), postMessage } as Parameters<typeof listen>[0],
  (event) => apply(dataOf, event, []) as Request,
  ({ release, base, copy }, send) => startPython(release, base, copy, send, gate.open),
  ({ release, base, acts }) => copyPython(release, base, acts),
);
