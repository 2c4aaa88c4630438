// The lifecycle of a live element.
import { beforeEach, describe, expect, test, vi } from "vitest";
import { define, type Part } from "../src/element";
import { settle } from "./fake-worker";

let observers: { callback: IntersectionObserverCallback; ended: boolean }[] = [];

class FakeObserver {
  readonly #record: { callback: IntersectionObserverCallback; ended: boolean };
  constructor(callback: IntersectionObserverCallback) {
    this.#record = { callback, ended: false };
    observers.push(this.#record);
  }
  observe(): void {}
  disconnect(): void {
    this.#record.ended = true;
  }
}

let count = 0;
function element(load?: () => Promise<(host: HTMLElement) => Part>) {
  count += 1;
  const part = { onscreen: vi.fn(), offscreen: vi.fn(), gone: vi.fn() };
  const mount = vi.fn(() => part);
  define(`live-test-${count}`, load ?? (() => Promise.resolve(mount)));
  const host = document.createElement(`live-test-${count}`);
  return { host, part, mount };
}

beforeEach(() => {
  observers = [];
  vi.stubGlobal("IntersectionObserver", FakeObserver);
  document.body.replaceChildren();
});

describe("live element", () => {
  test("is mounted when it is connected, and says that it is ready", async () => {
    const { host, mount } = element();
    document.body.append(host);
    await settle();
    expect(mount).toHaveBeenCalledOnce();
    expect(host.dataset.ready).toBe("true");
  });

  test("tells its part when it comes into view and when it leaves", async () => {
    const { host, part } = element();
    document.body.append(host);
    await settle();
    const see = (isIntersecting: boolean): void =>
      observers[0]?.callback([{ isIntersecting } as IntersectionObserverEntry], {} as IntersectionObserver);
    see(true);
    see(false);
    expect([part.onscreen.mock.calls.length, part.offscreen.mock.calls.length]).toEqual([1, 1]);
  });

  test("a move inside the document does not end it", async () => {
    const { host, part, mount } = element();
    const tab = document.createElement("div");
    document.body.append(host, tab);
    await settle();
    tab.append(host);
    await settle();
    expect(part.gone).not.toHaveBeenCalled();
    expect(mount).toHaveBeenCalledOnce();
  });

  test("ends when the page goes, and begins anew when it is shown again", async () => {
    const { host, part, mount } = element();
    document.body.append(host);
    await settle();
    host.remove();
    await settle();
    expect(part.gone).toHaveBeenCalledOnce();
    expect(observers[0]?.ended).toBe(true);
    document.body.append(host);
    await settle();
    expect(mount).toHaveBeenCalledTimes(2);
  });

  test("an element that left before its code arrived is not mounted", async () => {
    const { host, mount } = element();
    document.body.append(host);
    host.remove();
    await settle();
    expect(mount).not.toHaveBeenCalled();
  });

  test("code that cannot be fetched leaves the baked page as it is, marked", async () => {
    const error = vi.spyOn(console, "error").mockImplementation(() => undefined);
    const { host } = element(() => Promise.reject(new Error("offline")));
    host.textContent = "baked";
    document.body.append(host);
    await settle();
    expect([host.textContent, host.dataset.broken]).toEqual(["baked", "true"]);
    expect(error).toHaveBeenCalledOnce();
  });
});
