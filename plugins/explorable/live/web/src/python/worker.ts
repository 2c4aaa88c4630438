// The entry of the module worker that holds Python.
import { confine } from "./confine";
import { getter, makeGate } from "./gate";
import type { Request } from "./protocol";
import { listen } from "./python";
import { startPython } from "./start";

const gate = makeGate(globalThis);
const { apply } = Reflect;
const dataOf = getter(MessageEvent.prototype, "data");
confine();
globalThis.fetch = gate.fetch;
listen(
  globalThis as unknown as Parameters<typeof listen>[0],
  (event) => apply(dataOf, event, []) as Request,
  (release, base, send) => startPython(release, base, send, gate.open),
);
