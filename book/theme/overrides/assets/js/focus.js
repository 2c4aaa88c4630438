// By keyboard: boxes that scroll sideways, and a narrow window's menu and search. Copy buttons are no landmarks.
const SCROLLING = "pre > code:not(live-snippet *), .md-typeset__scrollwrap, div.arithmatex";

const sizes = new ResizeObserver((entries) => {
  // After Material's own observer, which takes the attribute away on devices without a mouse.
  requestAnimationFrame(() => {
    for (const { target } of entries) {
      if (target.scrollWidth > target.clientWidth) target.setAttribute("tabindex", "0");
      else target.removeAttribute("tabindex");
    }
  });
});

const buttons = new MutationObserver(() => demoteButtons());

function demoteButtons() {
  for (const nav of document.querySelectorAll("nav.md-code__nav:not([role])")) nav.setAttribute("role", "none");
}

// Emits after every instant navigation; the content is new then.
document$.subscribe(() => {
  sizes.disconnect();
  buttons.disconnect();
  for (const region of document.querySelectorAll(SCROLLING)) sizes.observe(region);
  for (const code of document.querySelectorAll("pre")) buttons.observe(code, { childList: true });
  demoteButtons();
});

// Material's icons are labels of hidden check boxes, which only a pointer reaches. Its script presses a label on Enter.
for (const [name, ariaLabel, inside] of [["drawer", "Menu", ".md-sidebar--primary"], ["search", "Search", ".md-search__form"]]) {
  const shown = document.getElementById(`__${name}`);
  const icon = document.querySelector(`.md-header__button[for="__${name}"]`);
  Object.assign(icon, { tabIndex: 0, role: "button", ariaLabel });
  shown.addEventListener("change", () => {
    if (!shown.checked) return;
    const part = document.querySelector(inside);
    for (const title of part.querySelectorAll(".md-nav__title")) title.tabIndex = 0;
    [...part.querySelectorAll("a, input, [tabindex]")].find((one) => one.checkVisibility({ visibilityProperty: true })).focus();
  });
  const pressed = (event) => {
    if (event.key === " " && event.target === icon) {
      event.preventDefault();
      icon.click();
    } else if (event.key === "Escape" && shown.checked) {
      // After Material's handler, which shuts the search.
      setTimeout(() => {
        if (shown.checked) shown.click();
        icon.focus();
      });
    }
  };
  addEventListener("keydown", pressed, true);
  // Tab leads out of the menu into the page.
  addEventListener("focusin", ({ target }) => {
    if (name === "drawer" && shown.checked && !target.closest(inside)) shown.click();
  });
}

// Its shortcuts focus the search, which takes none while shut.
keyboard$.subscribe(({ mode, type }) => {
  const search = document.getElementById("__search");
  if (mode === "global" && ["f", "s", "/"].includes(type) && !search.checked) search.click();
});
