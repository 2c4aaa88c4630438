// How a test names an element: a CSS selector, or a role and an accessible name, as a reader of the page would.
// @ts-check

/**
 * @typedef {object} RoleLocator
 * @property {string} role        an ARIA role: button, radio, checkbox, combobox, link, group, table, status, alert ...
 * @property {string} [name]      the accessible name contains this (case is ignored, spaces are joined)
 * @property {boolean} [exact]    the accessible name is this, and no more
 * @property {string} [within]    CSS selector of the part of the page to look in
 *
 * @typedef {string | RoleLocator} Locator
 */

/** @param {Locator} locator */
export function describeLocator(locator) {
  if (typeof locator === "string") return locator;
  const name = locator.name ? ` named "${locator.name}"` : "";
  return `${locator.role}${name}${locator.within ? ` in ${locator.within}` : ""}`;
}

/**
 * Runs in the page, so it must stand alone. Finds the first rendered element that the locator means, or null.
 * @param {Locator} locator
 * @returns {HTMLElement | null}
 */
export function findInPage(locator) {
  /** @type {Record<string, string>} */
  const byRole = {
    button: "button, summary, [role=button], input[type=button], input[type=submit]",
    radio: "input[type=radio], [role=radio]",
    checkbox: "input[type=checkbox], [role=checkbox]",
    combobox: "select, [role=combobox]",
    textbox: "textarea, input:not([type]), input[type=text], [role=textbox]",
    spinbutton: "input[type=number], [role=spinbutton]",
    link: "a[href], [role=link]",
    group: "fieldset, [role=group], [role=radiogroup]",
    heading: "h1, h2, h3, h4, h5, h6, [role=heading]",
    table: "table, [role=table]",
    status: "output, [role=status]",
    alert: "[role=alert]",
  };
  /** @param {Element} element */
  const rendered = (element) => {
    const input = element instanceof HTMLInputElement && (element.type === "radio" || element.type === "checkbox");
    // A radio or check box may be painted by its label alone; then the label must be on the page.
    const shown = input && element.labels?.length ? [element, ...element.labels] : [element];
    return shown.some((one) => one.getClientRects().length > 0);
  };
  /** @param {string | null | undefined} text */
  const tidy = (text) => (text ?? "").replace(/\s+/g, " ").trim().toLowerCase();
  /** @param {Element} element */
  const nameOf = (element) => {
    const labelled = element.getAttribute("aria-labelledby");
    if (labelled) {
      return tidy(labelled.split(/\s+/).map((id) => document.getElementById(id)?.textContent ?? "").join(" "));
    }
    const direct = element.getAttribute("aria-label");
    if (direct) return tidy(direct);
    const labels = /** @type {HTMLInputElement} */ (element).labels;
    if (labels?.length) return tidy([...labels].map((label) => label.textContent).join(" "));
    const title = element.querySelector(":scope > legend, :scope > caption");
    if (title) return tidy(title.textContent);
    return tidy(element.textContent || element.getAttribute("title"));
  };
  if (typeof locator === "string") {
    const found = /** @type {HTMLElement[]} */ ([...document.querySelectorAll(locator)]);
    return found.find(rendered) ?? null;
  }
  const selector = byRole[locator.role] ?? `[role=${locator.role}]`;
  const roots = locator.within ? [...document.querySelectorAll(locator.within)] : [document];
  const wanted = tidy(locator.name);
  for (const root of roots) {
    for (const element of root.querySelectorAll(selector)) {
      const name = nameOf(element);
      if ((locator.exact ? name === wanted : name.includes(wanted)) && rendered(element)) {
        return /** @type {HTMLElement} */ (element);
      }
    }
  }
  return null;
}

/**
 * Runs in the page. Scrolls until nothing covers the element's middle, as a reader would, and returns what a pointer hits
 * there: a radio or check box that is painted by its label alone is clicked by its label. If the page scrolls or grows before
 * the pointer goes down, or while it is down, so that nothing is clicked, `window.pointerMissed` becomes true.
 * @param {HTMLElement} element
 * @returns {HTMLElement}
 */
export function clickTarget(element) {
  const label = element instanceof HTMLInputElement ? element.labels?.[0] : null;
  const own = element.getBoundingClientRect();
  const hidden = own.width < 4 || own.height < 4 || getComputedStyle(element).opacity === "0";
  const target = label && hidden ? label : element;
  const free = () => {
    const box = target.getBoundingClientRect();
    const hit = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
    return hit !== null && (target.contains(hit) || hit.contains(target) || hit === element);
  };
  /** @type {ScrollLogicalPosition[]} */
  const places = ["nearest", "center", "end", "start"];
  for (const block of places) {
    if (free()) break;
    target.scrollIntoView({ block, behavior: "instant" });
  }
  Object.assign(window, { pointerMissed: false });
  /** Something may have opened over the target, such as a list of completions: being at its place is not enough. @param {PointerEvent} pointer */
  const hits = ({ clientX, clientY, target: at }) => {
    const { left, right, top, bottom } = target.getBoundingClientRect();
    const inside = left - 1 <= clientX && clientX <= right + 1 && top - 1 <= clientY && clientY <= bottom + 1;
    return inside && at instanceof Node && (target.contains(at) || at.contains(target));
  };
  const once = { capture: true, once: true };
  /** @param {PointerEvent} down */
  const look = (down) => {
    const hit = hits(down);
    Object.assign(window, { pointerMissed: !hit });
    if (!hit) return;
    // What goes away when it is pressed has heard of it. Of anything else that has moved away, the page clicks what is around both places.
    // A radio or check box is always clicked, also where the picture has scrolled on ahead of the page.
    const sure = element instanceof HTMLInputElement && (element.type === "radio" || element.type === "checkbox") && !element.matches(":disabled");
    addEventListener("pointerup", (up) => Object.assign(window, { pointerMissed: target.isConnected && (sure || !hits(up)) }), once);
    addEventListener("click", ({ target: at }) => at instanceof Node && target.contains(at) && Object.assign(window, { pointerMissed: false }), once);
  };
  addEventListener("pointerdown", look, once);
  return target;
}
