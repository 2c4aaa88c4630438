// The entry of the module worker that holds Python.
import { confine } from "./confine";
import { listen } from "./python";
import { startPython } from "./start";

confine();
listen(globalThis as unknown as Parameters<typeof listen>[0], startPython);
