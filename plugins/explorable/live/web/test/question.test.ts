// The locked prediction, as a choice and as a number.
import { beforeEach, describe, expect, test } from "vitest";
import { Question } from "../src/act/question";
import type { Value } from "../src/python/protocol";

const CHOICE = `<div><label><input type="radio" name="q" data-value="0" data-label="About 0 GB"></label>
  <label><input type="radio" name="q" data-value="12" data-label="About 12 GB"></label></div>`;
const SCALE = `<input type="range" data-scale min="0" max="40" step="0.5" value="0">
  <input type="number" data-prediction data-grain="0.5" min="0" max="40"><p data-slot="problem"></p>`;
const NUMBER = `<input type="number" data-prediction min="0" max="100"><p data-slot="problem"></p>`;

let locked: Value[];

function question(answers: string): { form: HTMLFormElement; asked: Question } {
  document.body.innerHTML = `<form><fieldset data-slot="question" data-unit="%">${answers}</fieldset>
    <button data-action="lock" disabled>Lock in</button><span data-slot="lock-note"></span></form>`;
  const form = document.querySelector("form") as HTMLFormElement;
  const asked = new Question(form);
  asked.onLock((value) => locked.push(value), new AbortController().signal);
  asked.show(null);
  return { form, asked };
}

const submit = (form: HTMLFormElement) => form.dispatchEvent(new Event("submit", { cancelable: true }));
const note = () => document.querySelector('[data-slot="lock-note"]')?.textContent;

const problem = () => document.querySelector('[data-slot="problem"]')?.textContent;

beforeEach(() => {
  locked = [];
});

describe("question", () => {
  test("the lock opens with the script, and the form never leaves the page", () => {
    const { form } = question(CHOICE);
    expect(form.querySelector("button")?.disabled).toBe(false);
    expect(submit(form)).toBe(false);
  });

  test.each([
    [CHOICE, 12],
    [NUMBER, 12.5],
  ])("an answer that is put back could be locked in, and is not", (answers, value) => {
    const { form, asked } = question(answers);
    expect(asked.answer).toBeNull();
    asked.hold(value);
    expect(asked.answer).toBe(value);
    expect(locked).toEqual([]);
    submit(form);
    expect(locked).toEqual([value]);
  });

  test("without a choice nothing is locked, and it says so", () => {
    submit(question(CHOICE).form);
    expect([locked, note()]).toEqual([[], "Choose an answer first."]);
  });

  test("what was said of a missing choice goes once there is one", () => {
    const { form } = question(CHOICE);
    submit(form);
    const radio = form.querySelectorAll("input")[0] as HTMLInputElement;
    radio.checked = true;
    radio.dispatchEvent(new Event("input", { bubbles: true }));
    expect(note()).toBe("");
  });

  test("a reader who wants the answer first is told what is missing", () => {
    const { form, asked } = question(CHOICE);
    asked.insist();
    expect(note()).toBe("Choose an answer first.");
    (form.querySelectorAll("input")[1] as HTMLInputElement).checked = true;
    asked.insist();
    expect(note()).toBe("Lock in your answer first.");
    expect(document.activeElement).toBe(form.querySelectorAll("input")[1]);
  });

  test("a choice is locked with the option's value", () => {
    const { form } = question(CHOICE);
    (form.querySelectorAll("input")[1] as HTMLInputElement).checked = true;
    submit(form);
    expect(locked).toEqual([12]);
  });

  test.each([
    ["", "Type a number from 0 to 100 first."],
    ["101", "101 % is out of range. Type a number from 0 to 100."],
    ["-1", "-1 % is out of range. Type a number from 0 to 100."],
  ])("the number %j is not locked, and beside it stands why", (typed, why) => {
    const { form } = question(NUMBER);
    const input = form.querySelector("input") as HTMLInputElement;
    input.value = typed;
    submit(form);
    expect([locked, problem(), input.getAttribute("aria-invalid")]).toEqual([[], why, "true"]);
  });

  test("a number that was wrong is judged as it is corrected, and then locked", () => {
    const { form } = question(NUMBER);
    const input = form.querySelector("input") as HTMLInputElement;
    submit(form);
    input.value = "35.5";
    input.dispatchEvent(new Event("input", { bubbles: true }));
    expect([problem(), input.hasAttribute("aria-invalid")]).toEqual(["", false]);
    submit(form);
    expect(locked).toEqual([35.5]);
  });

  test("a locked prediction cannot be changed and stays visible in its own words", () => {
    const { form, asked } = question(CHOICE);
    asked.show(12);
    expect((form.querySelector("fieldset") as HTMLFieldSetElement).disabled).toBe(true);
    expect((form.querySelectorAll("input")[1] as HTMLInputElement).checked).toBe(true);
    expect(note()).toBe("Locked in: About 12 GB");
  });

  test("a remembered prediction counts only while it is offered", () => {
    const { asked } = question(CHOICE);
    expect([asked.offers(12), asked.offers(3)]).toEqual([true, false]);
    const number = question(NUMBER).asked;
    expect([number.offers(35), number.offers(135), number.words(35)]).toEqual([true, false, "35 %"]);
    expect([number.offers(35, "35 %"), number.offers(35, "35 MB")], "an answer to what the page asked before").toEqual([true, false]);
  });
});

describe("the scale of a number", () => {
  const parts = (form: HTMLFormElement) => ({
    box: form.querySelector("[data-prediction]") as HTMLInputElement,
    scale: form.querySelector("[data-scale]") as HTMLInputElement,
  });

  test("what is dragged stands in the box and can be locked in; what is typed moves the handle", () => {
    const { form, asked } = question(SCALE);
    const { box, scale } = parts(form);
    const calls: string[] = [];
    asked.onHeld(() => calls.push("typed"), () => calls.push("dragged"), new AbortController().signal);
    expect([scale.getAttribute("aria-valuetext"), asked.held]).toEqual(["nothing yet", null]);
    scale.value = "12.5";
    scale.dispatchEvent(new Event("input", { bubbles: true }));
    expect([box.value, asked.held, scale.getAttribute("aria-valuetext")]).toEqual(["12.5", 12.5, "12.5 %"]);
    expect(scale.style.getPropertyValue("--il-share")).toBe("0.3125");
    scale.dispatchEvent(new Event("change", { bubbles: true }));
    box.value = "30";
    box.dispatchEvent(new Event("input", { bubbles: true }));
    expect([scale.value, calls]).toEqual(["30", ["dragged", "typed", "typed"]]);
    submit(form);
    expect(locked).toEqual([30]);
  });

  test("after a reset the handle is where it began", () => {
    const { form, asked } = question(SCALE);
    asked.hold(20);
    asked.clear();
    expect([parts(form).scale.value, parts(form).box.value, parts(form).scale.getAttribute("aria-valuetext")]).toEqual(["0", "", "nothing yet"]);
  });

  test.each(["12", "12.25", ""])("a finger that scrolls the page over the scale leaves %j as it was", (typed) => {
    const { form, asked } = question(SCALE);
    const { box, scale } = parts(form);
    box.value = typed;
    box.dispatchEvent(new Event("input", { bubbles: true }));
    const [before, share] = [asked.held, scale.style.getPropertyValue("--il-share")];
    scale.dispatchEvent(new Event("pointerdown"));
    scale.value = "29.5";
    scale.dispatchEvent(new Event("input", { bubbles: true }));
    expect(asked.held).toBe(29.5);
    scale.dispatchEvent(new Event("pointercancel"));
    expect([box.value, asked.held, scale.style.getPropertyValue("--il-share")]).toEqual([typed, before, share]);
  });
});
