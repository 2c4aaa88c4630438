// Instruments and blanks as data, with the types their values have in Python.
import { beforeEach, describe, expect, test } from "vitest";
import { Controls, displayOnly } from "../src/act/controls";
import { readBlanks, writeBlanks } from "../src/act/reflections";

beforeEach(() => {
  document.body.innerHTML = `
    <fieldset data-context="context">
      <input type="radio" name="c" data-value='"node"' checked><input type="radio" name="c" data-value='"laptop"'>
    </fieldset>
    <fieldset data-choice="batch">
      <input type="radio" name="b" data-value="1" checked><input type="radio" name="b" data-value="64">
    </fieldset>
    <input type="checkbox" data-toggle="activations" checked>
    <form><select data-blank="factor"><option value="">choose</option>
      <option value="0" data-value="1.3">1.3</option><option value="1" data-value="2">2</option></select></form>`;
});

const controls = (onlyContext = ""): Controls => new Controls(document.body, onlyContext);
const form = (): HTMLFormElement => document.querySelector("form") as HTMLFormElement;

describe("instruments", () => {
  test("read with the types of their values", () => {
    expect(controls().read()).toEqual({ context: "node", controls: { batch: 1, activations: true } });
  });

  test("what is written is read back", () => {
    const wanted = { context: "laptop", controls: { batch: 64, activations: false } };
    expect(controls().write(wanted)).toEqual(wanted);
    expect(controls().read()).toEqual(wanted);
  });

  test("a remembered value that is offered no more becomes the default", () => {
    const defaults = { context: "node", controls: { batch: 1, activations: true } };
    expect(controls().write({ context: "cluster", controls: { batch: 7, activations: "yes" } })).toEqual(defaults);
    expect(controls().read()).toEqual(defaults);
  });

  test("what only changes the display is told apart", () => {
    expect(displayOnly(document)).toEqual(new Set());
    document.querySelector("[data-toggle]")?.setAttribute("data-display-only", "");
    expect(displayOnly(document)).toEqual(new Set(["activations"]));
  });

  test("an act with one context has no switch for it", () => {
    document.querySelector("[data-context]")?.remove();
    expect(controls("node").read().context).toBe("node");
    expect(controls("node").write({ context: "laptop", controls: {} }).context).toBe("node");
  });
});

describe("blanks", () => {
  test("an open blank is no answer", () => {
    expect(readBlanks(form())).toEqual({});
  });

  test("an answer is the option's value, not its position", () => {
    writeBlanks(form(), { factor: 2 });
    expect(readBlanks(form())).toEqual({ factor: 2 });
  });

  test("an answer that is offered no more leaves the blank open", () => {
    writeBlanks(form(), { factor: 2 });
    writeBlanks(form(), { factor: 4 });
    expect(readBlanks(form())).toEqual({});
  });
});

describe("a slider with a box for the number", () => {
  const spec = { minimum: 64, maximum: 131_072, scale: "log", step: 0, integer: true, unit: "", default: 2048 };
  const type = (text: string, leave = true): void => {
    const box = document.querySelector("[data-typed]") as HTMLInputElement;
    box.value = text;
    box.dispatchEvent(new Event("input", { bubbles: true }));
    if (leave) box.dispatchEvent(new Event("change", { bubbles: true }));
  };
  const length = (): unknown => controls().read().controls.length;
  const boxed = (): string => (document.querySelector("[data-typed]") as HTMLInputElement).value;
  const said = (): string => document.querySelector('[data-slot="typed-problem"]')?.textContent ?? "";

  beforeEach(() => {
    document.body.innerHTML = `<div class="il-control"><input type="number" data-typed="length">
      <input type="range" min="0" step="1" data-slider="length" data-range='${JSON.stringify(spec)}'><p data-slot="typed-problem"></p></div>`;
    controls().read();
  });

  test("takes every number between the ends, and the slider's own hand shows in the box", () => {
    for (const value of [2047, 2048, 2049, 64, 131_072]) {
      type(String(value));
      expect([length(), boxed(), said()]).toEqual([value, String(value), ""]);
    }
    const range = document.querySelector("[data-slider]") as HTMLInputElement;
    range.value = "0";
    range.dispatchEvent(new Event("input", { bubbles: true }));
    expect([length(), boxed()]).toEqual([64, "64"]);
  });

  test("says what it does not take, and what stands", () => {
    type("4096");
    for (const text of ["40", "999999", "12.5", ""]) {
      type(text, false);
      // What a further digit could mend is said when the hand leaves the box.
      expect([length(), said() !== ""]).toEqual([4096, ["999999", "12.5"].includes(text)]);
      type(text);
      expect([length(), boxed()]).toEqual([4096, "4096"]);
      expect(said()).toBe("A whole number from 64 to 131,072, please: 4,096 stands.");
      // The act puts all controls where they stand after each move: the sentence stays.
      controls().write(controls().read());
      expect(said()).not.toBe("");
    }
    type("8192");
    expect(said()).toBe("");
    type("0", false);
    expect([length(), said()]).toEqual([8192, "A whole number from 64 to 131,072, please: 8,192 stands."]);
  });

  test("a finger that scrolls the page over the slider moves nothing", () => {
    type("4095");
    const range = document.querySelector("[data-slider]") as HTMLInputElement;
    const changed: unknown[] = [];
    range.addEventListener("change", () => changed.push(length()));
    range.dispatchEvent(new Event("pointerdown"));
    range.value = "0";
    range.dispatchEvent(new Event("input", { bubbles: true }));
    expect(length()).toBe(64);
    range.dispatchEvent(new Event("pointercancel"));
    expect([length(), boxed(), changed]).toEqual([4095, "4095", [4095]]);
  });
});
