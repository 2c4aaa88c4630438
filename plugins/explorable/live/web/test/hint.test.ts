// The button for a hint stands where pressing it gives one, and stays for whoever pressed it.
import { beforeEach, expect, test } from "vitest";
import { Paint } from "../src/act/paint";
import { view } from "./fake-worker";

const SLOTS = ["headline", "headline-label", "headline-value", "headline-unit", "headline-flag", "failure", "announce"];

let host: HTMLElement;
let paint: Paint;

beforeEach(() => {
  host = document.createElement("div");
  host.innerHTML = `${SLOTS.map((name) => `<p data-slot="${name}"></p>`).join("")}<p data-slot="hint"><button></button></p>`;
  paint = new Paint(host, () => undefined);
});

/** The button after a view that fails with a remedy. */
function shown(remedy: string, asked: boolean): { hidden: boolean; disabled: string | null } {
  paint.frame({ ...view("1"), failure: { title: "Too slow", what: "", excess: "", remedy } }, asked);
  const place = host.querySelector<HTMLElement>('[data-slot="hint"]');
  return { hidden: place?.hidden !== false, disabled: place?.querySelector("button")?.getAttribute("aria-disabled") ?? null };
}

test("it is offered while the remedy waits for it, and stays without effect once it was pressed", () => {
  expect(shown("", false)).toEqual({ hidden: false, disabled: "false" });
  expect(shown("Fewer workers.", true)).toEqual({ hidden: false, disabled: "true" });
  expect(host.querySelector('[data-slot="announce"]')?.textContent).toBe("Fewer workers.");
});

test("it is not there where the failure says unasked what helps, and comes back where it does not", () => {
  expect(shown("Undo some.", false)).toMatchObject({ hidden: true });
  expect(host.querySelector('[data-slot="announce"]')?.textContent).toBe("");
  expect(shown("", false)).toEqual({ hidden: false, disabled: "false" });
});
