// The steps under an act's title.
import { describe, expect, test } from "vitest";
import { showSteps, stepsOf } from "../src/act/steps";
import { memory } from "./ledger-kit";

const names = ["predict", "explore", "reveal", "reflect"];

function page(): HTMLElement {
  const host = document.createElement("div");
  host.innerHTML = names.map((name) => `<li data-step="${name}"><span data-slot="done"></span></li>`).join("");
  return host;
}

const current = (host: HTMLElement) => [...host.querySelectorAll<HTMLElement>("[aria-current]")].map((step) => step.dataset.step);

describe("the steps of an act", () => {
  test("every reflection must be right for the last step", () => {
    expect(stepsOf(memory, ["fix"]).reflect).toBe(false);
    const right = { fix: 1 };
    expect(stepsOf({ ...memory, right }, ["fix"])).toEqual({ predict: true, explore: true, reveal: true, reflect: true });
    expect(stepsOf({ ...memory, right }, ["fix", "cost"]).reflect).toBe(false);
    expect(stepsOf({ ...memory, right, revealed: false }, ["fix"])).toMatchObject({ reveal: false, reflect: false });
  });

  test("a prediction of nothing is a prediction", () => {
    expect(stepsOf({ ...memory, prediction: 0 }, []).predict).toBe(true);
  });

  test("the first step that is not done is the current one, also when a later one is done", () => {
    const host = page();
    showSteps(host, { predict: true, explore: false, reveal: true, reflect: false });
    expect(current(host)).toEqual(["explore"]);
    expect([...host.querySelectorAll("li")].map((step) => step.textContent)).toEqual([" done", "", " done", ""]);
    showSteps(host, { predict: true, explore: true, reveal: true, reflect: true });
    expect(current(host)).toEqual([]);
  });
});
