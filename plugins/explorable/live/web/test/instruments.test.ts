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
