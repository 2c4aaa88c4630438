// What the worker gives up before somebody's Python runs in it.
import { expect, test } from "vitest";
import { confine } from "../src/python/confine";

test("nothing that was given up is reachable again, not through a prototype either", () => {
  const stored = { secret: 42 };
  class Scope {
    get indexedDB() {
      return stored;
    }
    fetch() {
      return "still here";
    }
  }
  const scope = Object.assign(new Scope(), { Worker: class {}, navigator: Object.create({ storage: stored }) as object });
  confine(scope);
  expect([scope.indexedDB, scope.Worker, Reflect.get(scope.navigator, "storage")]).toEqual([undefined, undefined, undefined]);
  expect(Object.getOwnPropertyDescriptor(Scope.prototype, "indexedDB")).toBeUndefined();
  expect(() => Object.defineProperty(scope, "indexedDB", { value: stored })).toThrow();
  expect(scope.fetch()).toBe("still here");
});
