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

  test("code that cannot be fetched leaves the baked page as it is, and says so with a way to try again", async () => {
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    vi.stubGlobal("fetch", () => Promise.reject(new TypeError("offline")));
    const { host } = element(() => Promise.reject(new Error("offline")));
    host.append("baked");
    document.body.append(host);
    await settle();
    expect(host.textContent).toBe("The program of this part could not be downloaded.Retrybaked");
    host.querySelector("button")?.click();
    await settle();
    expect(host.textContent).toBe("The site cannot be reached now.Retrybaked");
    vi.unstubAllGlobals();
  });

  test("a page of an older release says so, once", async () => {
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    vi.stubGlobal("fetch", () => Promise.resolve(new Response('{"build": "later"}')));
    for (let count = 0; count < 2; count += 1) document.body.append(element(() => Promise.reject(new Error("gone"))).host);
    await settle();
    await settle();
    expect([...document.querySelectorAll(".il-notice--release p")].map((one) => one.textContent)).toEqual([
      "This page is from an older release of the site.",
    ]);
    vi.unstubAllGlobals();
  });

  test("Run that is pressed before the code is there is pressed again when it is, once", async () => {
    let arrive: (mount: (host: HTMLElement) => Part) => void = () => undefined;
    const { host, part } = element(() => new Promise((resolve) => (arrive = resolve)));
    host.innerHTML = '<button data-action="run">Run</button><button data-action="reset">Reset</button><p data-slot="announce"></p>';
    const [run, reset] = host.querySelectorAll("button");
    const heard: string[] = [];
    document.body.append(host);
    await settle();
    run?.click();
    run?.click();
    reset?.click();
    expect([run?.getAttribute("aria-busy"), host.textContent]).toEqual(["true", "RunResetIt runs as soon as its program is here."]);
    arrive(() => {
      for (const button of [run, reset]) button?.addEventListener("click", () => heard.push(button.dataset.action ?? ""));
      return part;
    });
    await settle();
    expect([heard, run?.getAttribute("aria-busy"), host.textContent]).toEqual([["run"], null, "RunReset"]);
    run?.click();
    expect(heard).toEqual(["run", "run"]);
  });

  test("Run that was pressed is not pressed again when the element left meanwhile", async () => {
    const { host, part } = element();
    host.innerHTML = '<button data-action="run">Run</button>';
    const heard = vi.fn();
    document.body.append(host);
    host.querySelector("button")?.click();
    host.remove();
    await settle();
    host.querySelector("button")?.addEventListener("click", heard);
    document.body.append(host);
    await settle();
    expect([heard.mock.calls.length, host.dataset.ready, part.gone.mock.calls.length]).toEqual([0, "true", 0]);
  });

  test("code that is late is waited for, and said to be", async () => {
    vi.useFakeTimers();
    let arrive: (mount: (host: HTMLElement) => Part) => void = () => undefined;
    const { host, mount } = element(() => new Promise((resolve) => (arrive = resolve)));
    document.body.append(host);
    await vi.advanceTimersByTimeAsync(3_001);
    expect(host.textContent).toContain("has not arrived yet");
    arrive(mount);
    await vi.advanceTimersByTimeAsync(1);
    expect([host.textContent, host.dataset.ready]).toEqual(["", "true"]);
    vi.useRealTimers();
  });
});
