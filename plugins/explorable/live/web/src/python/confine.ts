// Takes from the worker, before it runs any Python, everything that `allowed.json` does not name: the language, and what of the
// browser is needed, each with its reason.
//
// The policy of the page is the first wall, and this is the second: Firefox lets a worker's `FontFace` ask any host in spite of the
// policy. The three browsers offer about 410 names to a worker, and every version brings others. So what is not needed is not there:
// storage, other workers, sockets, fonts, canvases, codecs, devices, notifications, files of the origin.
import allowed from "./allowed.json";

/** What stays as it is on the prototypes of both: methods of every object. */
const OF_EVERY_OBJECT = new Set<PropertyKey>(Reflect.ownKeys(Object.prototype));

/** Removes the rest for good, also from the prototypes. */
export function confine(scope: object = globalThis): void {
  const { navigator } = scope as { navigator?: object };
  if (navigator) keep(navigator, new Set(Object.keys(allowed.navigator)));
  keep(scope, new Set([...allowed.language.names, ...Object.keys(allowed.browser)]));
}

function keep(from: object, names: ReadonlySet<PropertyKey>): void {
  for (let place: object | null = from; place && place !== Object.prototype; place = Object.getPrototypeOf(place) as object | null) {
    for (const key of Reflect.ownKeys(place)) {
      if (typeof key === "symbol" || names.has(key) || OF_EVERY_OBJECT.has(key)) continue;
      // The tests find what a browser does not give up.
      if (Reflect.deleteProperty(place, key)) Object.defineProperty(from, key, { value: undefined, writable: false, configurable: false });
    }
  }
}
