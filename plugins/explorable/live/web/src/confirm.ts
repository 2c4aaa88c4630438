// A button that asks again, in its own place, before it does what cannot be undone.
import { find, h } from "./dom";

/** `place` holds the button `[data-action="reset"]`. The question stands where the button stood; `warning` says what is lost now. */
export function confirmInline(place: HTMLElement, warning: () => string, act: () => void, signal: AbortSignal): void {
  const button = find<HTMLButtonElement>(place, '[data-action="reset"]');
  const yes = h("button", { type: "button", class: "il-button", "data-action": "reset-yes" }, "Reset");
  const no = h("button", { type: "button", class: "il-button il-button--quiet", "data-action": "reset-no" }, "Keep");
  const restore = (): void => place.replaceChildren(button);

  button.addEventListener(
    "click",
    () => {
      place.replaceChildren(h("span", { role: "status" }, warning()), " ", yes, " ", no);
      no.focus();
    },
    { signal },
  );
  no.addEventListener(
    "click",
    () => {
      restore();
      button.focus();
    },
    { signal },
  );
  yes.addEventListener(
    "click",
    () => {
      restore();
      act();
    },
    { signal },
  );
}
