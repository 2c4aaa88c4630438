// What the worker gives up before it runs a line of somebody's Python: the reader's stored work, and ways out of this worker.

/** Storage of the origin, other workers (each would bring all of this back), and connections that no policy counts. */
const GIVEN_UP = {
  global: ["indexedDB", "caches", "cookieStore", "BroadcastChannel", "Worker", "SharedWorker", "WebTransport", "WebSocket", "EventSource"],
  navigator: ["storage", "locks", "serviceWorker", "storageBuckets"],
} as const;

/** Takes these from the worker for good: nothing of theirs stays reachable through a prototype. */
export function confine(scope: object = globalThis): void {
  const { navigator } = scope as { navigator?: object };
  for (const name of GIVEN_UP.global) take(scope, name);
  if (navigator) for (const name of GIVEN_UP.navigator) take(navigator, name);
}

function take(from: object, name: string): void {
  for (let place: object | null = from; place; place = Object.getPrototypeOf(place) as object | null) Reflect.deleteProperty(place, name);
  Object.defineProperty(from, name, { value: undefined, writable: false, configurable: false });
}
