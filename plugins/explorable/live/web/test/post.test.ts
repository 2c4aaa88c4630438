// What a worker can say to its page: texts.
import { expect, test } from "vitest";
import { makePost } from "../src/python/post";

function worker() {
  const said: unknown[][] = [];
  class Scope {
    postMessage(...message: unknown[]): void {
      said.push(message);
    }
  }
  const scope = new Scope();
  const post = makePost(scope);
  return { scope, post, said, Scope };
}

test("a message is one text, whoever says it, and nothing is handed over with it", () => {
  const { scope, post, said } = worker();
  post({ kind: "alive" });
  (scope.postMessage as (message: unknown, transfer: unknown[]) => void)({ kind: "alive" }, []);
  scope.postMessage(undefined);
  expect(said).toEqual([['{"kind":"alive"}'], ['{"kind":"alive"}'], ["undefined"]]);
});

test("the worker's own program can hand bytes over", () => {
  const { post, said } = worker();
  const bytes = new ArrayBuffer(8);
  post({ kind: "copied", bytes }, [bytes]);
  expect(said).toEqual([[{ kind: "copied", bytes }, [bytes]]]);
});

test("there is no other way left, and a changed JSON says nothing else", () => {
  const { scope, said, Scope } = worker();
  expect(Object.hasOwn(Scope.prototype, "postMessage")).toBe(false);
  const { stringify } = JSON;
  try {
    JSON.stringify = (() => ({ many: [] })) as unknown as typeof stringify;
    scope.postMessage(1);
  } finally {
    JSON.stringify = stringify;
  }
  expect(said).toEqual([["1"]]);
  expect(() => scope.postMessage("x".repeat(70_000_000))).toThrow(RangeError);
});
