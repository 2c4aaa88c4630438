// The card of a number in the text: where it comes from, and a form for who finds it wrong. Without this script a number is a link.
import { h } from "./dom";

const NUMBER = "a.il-number:is(.il-computed, .il-measured, .il-reported)";

/** The form for a wrong number, filled with the number as it is shown and where it comes from; null where the site has none. */
export function wrongNumber(number: string, origin: string): string | null {
  const form = document.querySelector<HTMLAnchorElement>("a[data-wrong-number]");
  if (!form) return null;
  const address = new URL(form.href);
  address.searchParams.set("number", number);
  address.searchParams.set("origin", origin);
  return address.href;
}

/** Opens a number's card in place of following its link. A key for a new tab or window still follows the link. */
export function explainNumbers(): void {
  if (!("popover" in HTMLElement.prototype)) return;
  document.addEventListener("click", (event) => {
    const number = (event.target as Element).closest<HTMLAnchorElement>(NUMBER);
    if (!number || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    // Before Material's own listener, which would show the page that the link leads to.
    event.stopPropagation();
    open(number);
  }, { capture: true });
}

function open(number: HTMLAnchorElement): void {
  document.querySelector(".il-card--number")?.remove();
  // Material moves the title into a tooltip while the pointer is over the number.
  const origin = number.title || document.getElementById(number.getAttribute("aria-describedby") ?? "")?.textContent.trim() || "";
  const shown = number.textContent.trim();
  const wrong = wrongNumber(shown, origin);
  const line = (...children: (Node | string)[]): HTMLElement => h("span", { class: "il-card__line" }, ...children);
  const card = h(
    "div",
    { class: "il-card il-card--number", popover: "auto", role: "dialog", "aria-label": `Where ${shown} comes from`, tabindex: "-1" },
    h("span", { class: "il-card__line il-card__both" }, shown),
    h("code", { class: "il-card__line" }, origin),
    line(h("a", { href: number.href }, number.matches(".il-computed") ? "The formula's page" : "The source")),
    ...(wrong === null ? [] : [line(h("a", { href: wrong }, "Number wrong? Tell us"))]),
  );
  (number.closest(".md-typeset") ?? document.body).append(card);
  card.showPopover();
  card.focus();
}
