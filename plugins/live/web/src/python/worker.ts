// The module worker that holds Python. It answers one request at a time, in the order they came.
import { confine } from "./confine";
import type { Request, Response as Reply } from "./protocol";
import { reason, type Python } from "./python";
import { startPython } from "./start";

interface WorkerScope {
  onmessage: ((event: MessageEvent<Request>) => void) | null;
  postMessage(reply: Reply): void;
}

const scope = globalThis as unknown as WorkerScope;
const send = (reply: Reply): void => scope.postMessage(reply);

confine();

let python: Python | undefined;
let last: Promise<void> = Promise.resolve();

scope.onmessage = ({ data }) => {
  last = last.then(() => handle(data)).catch((error: unknown) => send({ kind: "failed", message: reason(error) }));
};

async function handle(request: Request): Promise<void> {
  if (request.kind === "start") {
    python = await startPython(request.release, request.base, send);
  } else if (python) {
    await python.answer(request);
  }
}
