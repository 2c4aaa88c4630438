// What a link asks for and the page does not offer is said, with what stands instead.
import { beforeEach, expect, test } from "vitest";
import { Controls } from "../src/act/controls";
import { notOffered } from "../src/desk/desk";
import type { Value } from "../src/python/protocol";

beforeEach(() => {
  document.body.innerHTML = `
    <fieldset data-choice="model"><legend>Model</legend>
      <label><input type="radio" name="m" data-value='"small"' checked>Small</label>
      <label><input type="radio" name="m" data-value='"large"'>Large</label></fieldset>
    <label><input type="checkbox" data-toggle="flash" checked><span>Fused attention</span></label>
    <input data-note="config" maxlength="4">`;
});

const opened = (asked: Record<string, Value>): string =>
  notOffered(document.body, asked, new Controls(document.body, "run").write({ context: "run", controls: asked }).controls);

test("nothing is said of a link that is taken", () => {
  expect(opened({ model: "large", flash: false, config: "{}" })).toBe("");
});

test("each value that is not taken is said by name", () => {
  expect(opened({ model: "huge" })).toBe("Model: huge is not offered here; Small stands instead.");
  expect(opened({ model: "large", flash: 3 })).toBe("Fused attention: 3 is not offered here; on stands instead.");
  expect(opened({ colour: "red" })).toBe("The link sets colour, which is not here.");
  expect(opened({ config: "{ long }" })).toBe("The link's config is not taken.");
  expect(opened({ model: "x".repeat(900) })).toContain(`${"x".repeat(40)}… is not offered`);
});
