// Makes those boxes that scroll sideways reachable by keyboard, and no others; the copy buttons are no landmarks.
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
