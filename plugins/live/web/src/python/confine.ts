// What the worker removes from itself before it runs any Python: access to the reader's stored work, and ways out of the worker.

/** Storage of the origin, other workers (a new worker would have all of this again), and connections that no content policy covers. */
const GIVEN_UP = {
  global: ["indexedDB", "caches", "cookieStore", "BroadcastChannel", "Worker", "SharedWorker", "WebTransport", "WebSocket", "EventSource"],
  navigator: ["storage", "locks", "serviceWorker", "storageBuckets"],
} as const;

/** Removes these for good, also from the prototypes. */
export function confine(scope: object = globalThis): void {
  const { navigator } = scope as { navigator?: object };
  for (const name of GIVEN_UP.global) take(scope, name);
  if (navigator) for (const name of GIVEN_UP.navigator) take(navigator, name);
}

function take(from: object, name: string): void {
  for (let place: object | null = from; place; place = Object.getPrototypeOf(place) as object | null) Reflect.deleteProperty(place, name);
  Object.defineProperty(from, name, { value: undefined, writable: false, configurable: false });
}
