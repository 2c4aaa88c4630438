// What the worker gives up before somebody's Python runs in it.
import { expect, test } from "vitest";
import { confine } from "../src/python/confine";

test("what the list does not name is not reachable again, not through a prototype either", () => {
  const stored = { secret: 42 };
  class Scope {
    get indexedDB() {
      return stored;
    }
    fetch() {
      return "still here";
    }
  }
  const scope = Object.assign(new Scope(), { Worker: class {}, Brandnew: class {}, navigator: Object.create({ storage: stored, userAgent: "x" }) as object });
  confine(scope);
  expect([scope.indexedDB, scope.Worker, scope.Brandnew, Reflect.get(scope.navigator, "storage")]).toEqual([undefined, undefined, undefined, undefined]);
  expect(Object.getOwnPropertyDescriptor(Scope.prototype, "indexedDB")).toBeUndefined();
  expect(() => Object.defineProperty(scope, "indexedDB", { value: stored })).toThrow();
  expect([scope.fetch(), Reflect.get(scope.navigator, "userAgent")]).toEqual(["still here", "x"]);
});
