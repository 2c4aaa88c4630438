// The entry of the module worker that holds Python.
import { confine } from "./confine";
import { makeGate } from "./gate";
import { listen } from "./python";
import { startPython } from "./start";

const gate = makeGate(globalThis);
confine();
globalThis.fetch = gate.fetch;
listen(globalThis as unknown as Parameters<typeof listen>[0], (release, base, send) => startPython(release, base, send, gate.open));
