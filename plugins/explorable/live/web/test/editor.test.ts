// The editor: what its reader writes is told, and what another tab wrote is shown only.
import { expect, test, vi } from "vitest";
import { Editor } from "../src/snippet/editor";

const METRICS = { fontFamily: "monospace", fontSize: "14px", lineHeight: "20px", padding: { top: "0", right: "0", bottom: "0", left: "0" } };

test("another tab's text is shown and not told, because to keep it again could undo what that tab wrote since", () => {
  const changed = vi.fn();
  const parent = document.body.appendChild(document.createElement("div"));
  const editor = new Editor({ parent, text: "a = 1", label: "Code", hintId: "hint", changed, run: () => undefined, complete: () => Promise.resolve(null) }, METRICS);
  editor.follow("a = 2");
  expect([editor.text, changed.mock.calls]).toEqual(["a = 2", []]);
  editor.text = "a = 3";
  expect([editor.text, changed.mock.calls]).toEqual(["a = 3", [["a = 3"]]]);
  editor.destroy();
});
