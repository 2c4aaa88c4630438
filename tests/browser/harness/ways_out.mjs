// What a worker offers, tried out: everything that can be called or made is given addresses, and the proxy tells who asked for one.
// @ts-check

/** @typedef {{names: string[], tried: string[]}} Tried  names: objects and functions of the worker's global object; tried: path of each function, by the number of its address */

/**
 * Runs in a worker, from its text. Walks the global object and its `navigator`, with prototypes, and calls every function that
 * is reached and makes an object with every constructor: with an address in each place where a platform's functions take one. Then it
 * does the same with the methods of what was made. The address of the function with number n is `https://n<n>.HOST/`.
 *
 * @param {string} host
 * @param {readonly string[]} language  names of the language itself, whose functions know no addresses
 * @returns {Promise<Tried>}
 */
export async function tryWaysOut(host, language) {
  const scope = /** @type {Record<PropertyKey, unknown>} */ (/** @type {unknown} */ (globalThis));
  /** What would end the walk or the worker instead of asking anybody. */
  const left = new Set(["close", "postMessage", "constructor", "then"]);
  /** @type {Set<unknown>} */
  const seen = new Set();
  /** @type {{path: string, owner: unknown, fn: Function}[]} */
  const found = [];
  /** @param {unknown} value @returns {value is object} */
  const isObject = (value) => (typeof value === "object" && value !== null) || typeof value === "function";
  /** @param {object} from @returns {Set<PropertyKey>} */
  const keysOf = (from) => {
    /** @type {Set<PropertyKey>} */
    const keys = new Set();
    for (let place = /** @type {object | null} */ (from); place; place = Object.getPrototypeOf(place)) for (const key of Reflect.ownKeys(place)) keys.add(key);
    return keys;
  };
  /** @param {object} from @param {PropertyKey} key @returns {unknown} */
  const read = (from, key) => {
    try {
      return Reflect.get(from, key);
    } catch {
      return undefined;
    }
  };
  /** Goes through objects by the shortest ways: a method should be reached through what it works on.
   * @param {readonly PropertyKey[]} from @param {boolean} listed */
  const walk = (from, listed) => {
    const waiting = from.map((name) => ({ value: read(scope, name), owner: /** @type {unknown} */ (scope), path: String(name) }));
    for (let one = waiting.shift(); one; one = waiting.shift()) {
      const { value, owner, path } = one;
      if (!isObject(value) || seen.has(value)) continue;
      seen.add(value);
      if (listed && typeof value === "function") found.push({ path, owner, fn: value });
      for (const key of keysOf(value)) waiting.push({ value: read(value, key), owner: value, path: `${path}.${String(key)}` });
      waiting.push({ value: Object.getPrototypeOf(value), owner: undefined, path: `${path}.__proto__` });
    }
  };
  seen.add(globalThis);
  walk(language, false);
  const names = [...keysOf(scope)].filter((name) => isObject(read(scope, name)));
  walk(names, true);

  /** @param {() => unknown} call @returns {unknown} */
  const attempt = (call) => {
    try {
      const value = call();
      if (value instanceof Promise) value.catch(() => undefined);
      return value;
    } catch {
      return undefined;
    }
  };
  const shapes = (/** @type {string} */ address) => [
    [address],
    [new URL(address)],
    ["x", `url(${address})`],
    ["GET", address, false],
    [{ url: address, src: address, href: address, icon: address }],
    ["x", { url: address, src: address, icon: address }],
    [[address], address],
  ];
  found.forEach(({ path, owner, fn }, number) => {
    if (left.has(path.slice(path.lastIndexOf(".") + 1))) return;
    const address = `https://n${number}.${host}/`;
    for (const given of shapes(address)) {
      attempt(() => Reflect.apply(fn, owner, given));
      const made = attempt(() => Reflect.construct(fn, given));
      if (!isObject(made)) continue;
      const methods = [...keysOf(made)].filter((key) => typeof key === "string" && !(key in Object.prototype) && !left.has(key));
      for (const key of methods) {
        const method = read(made, key);
        if (typeof method === "function") for (const shape of shapes(address)) attempt(() => Reflect.apply(method, made, shape));
      }
      for (const key of methods) {
        const method = read(made, key);
        if (typeof method === "function") attempt(() => Reflect.apply(method, made, []));
      }
    }
  });
  // A request that was made goes out before a timer fires, or soon after.
  await new Promise((done) => setTimeout(done, 1500));
  return { names: names.map(String).sort(), tried: found.map(({ path }) => path) };
}
