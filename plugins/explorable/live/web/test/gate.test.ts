// What leaves the worker through its only way out, also beside a program that changes what objects inherit.
// @vitest-environment node
import { expect, test } from "vitest";
import { DownloadError } from "../src/python/downloads";
import { makeGate } from "../src/python/gate";

const SITE = "https://book.example";
const NUMPY = "https://wheels.example/python/numpy.whl";

function gate() {
  const asked: [unknown, RequestInit | undefined][] = [];
  const native = (input: unknown, init?: RequestInit): Promise<Response> => {
    asked.push([input, init]);
    return Promise.resolve(new Response(""));
  };
  const location = { href: `blob:${SITE}/8b5f`, origin: SITE };
  return { asked, ...makeGate({ fetch: native as typeof fetch, URL, Request, location }) };
}

test("files of the site are read by their names, and learn nothing else", async () => {
  const { fetch, asked } = gate();
  const request = new Request(`${SITE}/a`, { headers: { "x-secret": "1" } });
  await fetch(`${SITE}/b`, { method: "HEAD", headers: { "x-secret": "1" }, referrer: `${SITE}/?secret` });
  await fetch(request);
  await fetch(`${SITE}/c#part`, { body: null, integrity: "sha256-x" });
  expect(asked).toEqual([
    [`${SITE}/b`, { method: "HEAD", signal: null, integrity: "" }],
    [`${SITE}/a`, { method: "GET", signal: request.signal, integrity: "" }],
    [`${SITE}/c#part`, { method: "GET", signal: null, integrity: "sha256-x" }],
  ]);
});

test.each([
  ["a query", `${SITE}/a?secret`, undefined],
  ["another method", `${SITE}/a`, { method: "POST" }],
  ["a request of another method", new Request(`${SITE}/a`, { method: "PUT", body: "secret" }), undefined],
  ["a body", `${SITE}/a`, { body: "secret" }],
  ["a method of the program's own", `${SITE}/a`, { method: "SECRET" }],
])("%s is refused of the site too", async (_, input, init) => {
  const { fetch, asked } = gate();
  await expect(fetch(input, init)).rejects.toThrow("nothing is sent");
  expect(asked).toEqual([]);
});

test("another host is asked after consent only, for what the build named only, and learns nothing", async () => {
  const { fetch, open, asked } = gate();
  await expect(fetch(NUMPY)).rejects.toThrow("packages to which the reader agreed");
  open([NUMPY]);
  await fetch(NUMPY, { method: "POST", body: "secret", headers: { "x-secret": "1" }, integrity: "sha256-x" });
  for (const other of [`${NUMPY}?secret`, `${NUMPY}#secret`, "https://wheels.example/python/", "https://elsewhere.example/", "data:,x"]) {
    await expect(fetch(other)).rejects.toThrow(DownloadError);
  }
  expect(asked).toEqual([[NUMPY, { credentials: "omit", referrerPolicy: "no-referrer", redirect: "error", signal: null, integrity: "sha256-x" }]]);
});

test("an object that says another address the second time, and a changed prototype, open nothing", async () => {
  const { fetch, asked } = gate();
  const said = ["https://book.example/a", "https://elsewhere.example/"];
  await fetch({ toString: () => said.shift() ?? "" } as unknown as string);
  expect(asked.map(([address]) => address)).toEqual(["https://book.example/a"]);
  const methods = ["GET", "POST"];
  const sly = { get method() { return methods.shift() ?? "POST"; } };
  await fetch(`${SITE}/b`, sly);
  expect(asked[1]?.[1]).toMatchObject({ method: "GET" });

  const secret = "https://elsewhere.example/?secret";
  const { get } = Object.getOwnPropertyDescriptor(URL.prototype, "origin") as { get: () => string };
  Object.defineProperty(URL.prototype, "origin", { get: () => SITE, configurable: true });
  Object.defineProperty(Object.prototype, secret, { value: true, configurable: true });
  try {
    await expect(fetch(secret)).rejects.toThrow(DownloadError);
  } finally {
    Object.defineProperty(URL.prototype, "origin", { get, configurable: true });
    Reflect.deleteProperty(Object.prototype, secret);
  }
});
