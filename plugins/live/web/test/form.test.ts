// Instruments and blanks as data, with the types their values have in Python.
import { beforeEach, describe, expect, test } from "vitest";
import { displayOnly, readBlanks, readInstruments, writeBlanks, writeInstruments } from "../src/act/form";

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

const form = (): HTMLFormElement => document.querySelector("form") as HTMLFormElement;

describe("instruments", () => {
  test("read with the types of their values", () => {
    expect(readInstruments(document, "")).toEqual({ context: "node", controls: { batch: 1, activations: true } });
  });

  test("what is written is read back", () => {
    const wanted = { context: "laptop", controls: { batch: 64, activations: false } };
    expect(writeInstruments(document, wanted, "")).toEqual(wanted);
    expect(readInstruments(document, "")).toEqual(wanted);
  });

  test("a remembered value that is offered no more becomes the default", () => {
    const defaults = { context: "node", controls: { batch: 1, activations: true } };
    expect(writeInstruments(document, { context: "cluster", controls: { batch: 7, activations: "yes" } }, "")).toEqual(defaults);
    expect(readInstruments(document, "")).toEqual(defaults);
  });

  test("what only changes the display is told apart", () => {
    expect(displayOnly(document)).toEqual(new Set());
    document.querySelector("[data-toggle]")?.setAttribute("data-display-only", "");
    expect(displayOnly(document)).toEqual(new Set(["activations"]));
  });

  test("an act with one context has no switch for it", () => {
    document.querySelector("[data-context]")?.remove();
    expect(readInstruments(document, "node").context).toBe("node");
    expect(writeInstruments(document, { context: "laptop", controls: {} }, "node").context).toBe("node");
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
