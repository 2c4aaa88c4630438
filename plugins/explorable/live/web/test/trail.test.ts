// Progress beside the links of the navigation.
import { describe, expect, test } from "vitest";
import { markLinks, stageOfPage } from "../src/trail";

describe("the navigation", () => {
  test("a link to an act says in words how far the reader is, once, and changes with it", () => {
    const root = "https://example.org/book/";
    const pageOf = (url: string) => (url.startsWith(root) ? url.slice(root.length) : null);
    document.body.innerHTML = `<a class="md-nav__link" href="${root}lab/act1/"><span class="md-ellipsis">Act 1</span></a>
      <a class="md-nav__link" href="${root}lab/act1/#try">Try it</a>
      <a class="md-nav__link" href="${root}measured/">Measured</a><a href="${root}lab/act1/">in the text</a>
      <ol class="il-map"><li><a href="${root}lab/act1/">on the map</a></li></ol>`;
    const questions = { "lab/act1/": ["optimizer-memory-tax"] };
    markLinks(questions, () => "none", pageOf);
    markLinks(questions, () => "revealed", pageOf);
    expect([...document.querySelectorAll("a")].map((link) => link.textContent)).toEqual(["Act 1 (revealed)", "Try it", "Measured", "in the text", "on the map (revealed)"]);
    expect(document.querySelector<HTMLElement>(".il-trail")?.dataset.stage).toBe("revealed");
  });

  test("a page with several acts is done when all are, and begun when one is", () => {
    expect(stageOfPage(["done", "done"])).toBe("done");
    expect(stageOfPage(["done", "none"])).toBe("revealed");
    expect(stageOfPage(["none", "predicted", "revealed"])).toBe("predicted");
    expect(stageOfPage(["none", "none"])).toBe("none");
  });
});
