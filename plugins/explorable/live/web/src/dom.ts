// The few helpers with which the live parts read the baked markup and make new nodes.

type Attributes = Record<string, string | boolean>;

/** Makes an element. `true` sets an empty attribute, `false` leaves it out. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

/** The first match, or an error that names what the template lacks. */
export function find<E extends Element = HTMLElement>(root: ParentNode, selector: string): E {
  const element = root.querySelector<E>(selector);
  if (!element) throw new Error(`explorable: the page's markup lacks ${selector}`);
  return element;
}

export const slot = (root: ParentNode, name: string): HTMLElement => find(root, `[data-slot="${name}"]`);

export const all = <E extends Element = HTMLElement>(root: ParentNode, selector: string): E[] => [
  ...root.querySelectorAll<E>(selector),
];

/** Sets text only when it changes, so that live regions and selections stay quiet. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** Makes `wanted` the children of `place`. Children that are equal stay, so that a screen reader reads only what is new. */
export function putChildren(place: Element, wanted: readonly Node[]): void {
  const present = [...place.childNodes];
  // What the reader has unfolded stays so.
  wanted.forEach((node, index) => {
    const old = present[index];
    if (node instanceof HTMLDetailsElement && old instanceof HTMLDetailsElement) node.open = old.open;
  });
  if (present.length === wanted.length && wanted.every((node, index) => present[index]?.isEqualNode(node))) return;
  for (const node of present.slice(wanted.length)) node.remove();
  wanted.forEach((node, index) => {
    const old = present[index];
    if (!old) place.append(node);
    else if (!old.isEqualNode(node)) old.replaceWith(node);
  });
}

/** Keeps Material's one-key shortcuts (n, p, s, f, /) from firing while the reader works inside a widget. */
export function containKeys(host: HTMLElement, signal: AbortSignal): void {
  for (const type of ["keydown", "keyup", "keypress"] as const) {
    host.addEventListener(type, (event) => event.stopPropagation(), { signal });
  }
}

/** A finger that lands on a range and then scrolls the page has moved its handle too: `put` gets back what `stood` there. */
export function unlessScrolled<T>(range: HTMLInputElement, stood: () => T, put: (before: T) => void): void {
  let before = stood();
  range.addEventListener("pointerdown", () => void (before = stood()));
  range.addEventListener("pointercancel", () => put(before));
}
