// The HTML of a result, reduced to what shows a result: nothing in it loads, leads elsewhere, runs, or asks another host.
//
// A program of the reader, or one that came from elsewhere, can say anything in Python's name, so this is done in the page, in a
// document that loads nothing. The frame's own policy is the second wall, not the first: no policy keeps a `<link>` from
// opening a connection.
import createDOMPurify, { type Config } from "dompurify";
import { Pieces } from "../marks";
import { idsIn, parsed, Rules, tooHeavy } from "./bounds";
import frame from "./frame.json";

const words = (text: string): string[] => text.trim().split(/\s+/);

const TAGS = words(`
  table caption colgroup col thead tbody tfoot tr th td p div span br hr wbr h1 h2 h3 h4 h5 h6 ul ol li dl dt dd pre code kbd samp var b strong i em
  u s small sub sup mark q blockquote cite abbr ins del figure figcaption section article header footer details summary progress meter time img style
  svg g defs symbol use path rect circle ellipse line polyline polygon text tspan linearGradient radialGradient stop clipPath`);

/** Attributes of which no value is an address. */
const PLAIN = words(`
  align alt border class colspan datetime dir headers height hidden high id lang low max min open optimum reversed role rowspan scope span start style title valign value width
  clipPathUnits cx cy d dominant-baseline dx dy fill-opacity fill-rule clip-rule font-family font-size font-style font-weight fx fy gradientTransform gradientUnits letter-spacing
  offset opacity pathLength points preserveAspectRatio r rotate rx ry spreadMethod stop-color stop-opacity stroke-dasharray stroke-dashoffset stroke-linecap
  stroke-linejoin stroke-miterlimit stroke-opacity stroke-width text-anchor textLength transform version viewBox x x1 x2 xml:space xmlns y y1 y2`);
/** Attributes whose value may refer to a part of the drawing. */
const PAINTS = ["fill", "stroke", "clip-path"];

/** What a style may set. `url()` stands in no other property that a browser knows, but for those of images. */
const STYLES = new Set([
  ...words(`color opacity line-height letter-spacing word-spacing text-align text-indent text-transform vertical-align white-space white-space-collapse text-wrap-mode
  word-break overflow-wrap overflow-x overflow-y border-collapse border-spacing caption-side table-layout empty-cells display float clear width height min-width
  max-width min-height max-height background-color background-image background-size background-position-x background-position-y background-repeat stroke-width`),
  ...words("family size style weight stretch variant-numeric variant-caps").map((part) => `font-${part}`),
  ...words("line style color thickness").map((part) => `text-decoration-${part}`),
  ...words("top right bottom left").flatMap((side) => [`margin-${side}`, `padding-${side}`, ...words("width style color").map((part) => `border-${side}-${part}`)]),
  ...words("top-left top-right bottom-right bottom-left").map((corner) => `border-${corner}-radius`),
  "fill",
  "stroke",
]);
/** The functions that a value may call: colors, sizes, and the gradient of a bar. Others, and shadows, take seconds to paint when there are hundreds. */
const FUNCTIONS = new Set(words("rgb rgba hsl hsla hwb lab lch oklab oklch color color-mix calc min max clamp var linear-gradient"));
/** Gradients in one value: of a bar, and of its background. */
const MOST_GRADIENTS = 2;

/** What a value of `display` makes that takes a time by the square. */
const SLOW = /list-item|ruby/;
/** Pictures of pixels: a drawing may show its parts a million times. */
const PIXELS = /^data:image\/(?:png|jpeg|gif|webp)[;,]/i;
/** Attributes that a browser shows as text. */
const SHOWN = ["alt", "title"];

const HTML = "http://www.w3.org/1999/xhtml";
const SVG = "http://www.w3.org/2000/svg";

/** A document that is shown nowhere and loads nothing. */
const inert = document.implementation.createHTMLDocument("");
const purify = createDOMPurify(window);
const config: Config & { RETURN_DOM: true } = {
  ALLOWED_TAGS: TAGS,
  ALLOWED_ATTR: [...PLAIN, ...PAINTS, "src", "href", "xlink:href"],
  ADD_URI_SAFE_ATTR: [...PLAIN, ...PAINTS],
  // Of addresses, those within the drawing, and pictures that the HTML brings itself.
  ALLOWED_URI_REGEXP: /^#/,
  ALLOW_DATA_ATTR: false,
  ALLOWED_NAMESPACES: [HTML, SVG],
  // A style that stands first would be taken for the head's, and be lost.
  FORCE_BODY: true,
  RETURN_DOM: true,
};
/** The rules for which there is room in the present document. */
let rules = new Rules(0, new Map());

purify.addHook("uponSanitizeElement", (node, { tagName }) => {
  const element = node as Element;
  // A part that is shown again shows nothing again itself: levels of such parts would be drawn a million times.
  if (tagName === "use" && element.parentElement?.closest("[id]")) return element.remove();
  if (tagName !== "style") return;
  if (element.namespaceURI === HTML) element.textContent = rulesOf(element.textContent ?? "");
  else element.remove();
});
purify.addHook("uponSanitizeAttribute", (element, attribute) => {
  const { attrName: name, attrValue: value } = attribute;
  if (name === "style") attribute.attrValue = declared(value);
  else if (name === "src") attribute.keepAttr = PIXELS.test(value);
  else if (name === "clip-path" && element.closest("clipPath")) attribute.keepAttr = false;
  else if (PAINTS.includes(name)) attribute.keepAttr = isCalm(written(name, value));
});

/** A document for a frame, with a policy of its own around what is left of the HTML. Null for what a browser takes long to show. */
export function documentOf(html: string): string | null {
  const whole = parsed(html);
  if (!whole) return null;
  rules = new Rules(whole.elements, idsIn(whole.body));
  const body = purify.sanitize(html, config) as HTMLElement;
  if (tooHeavy(body)) return null;
  calm(body);
  const left = body.innerHTML;
  // What is written may be read as more than it was.
  return parsed(left) && `${frame.before.join("")}${left}${frame.after}`;
}

/** Cuts rows of marks, also those that go through several elements. */
function calm(body: HTMLElement): void {
  const pieces = new Pieces();
  const texts = inert.createTreeWalker(body, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    if (node.parentNode?.nodeName.toLowerCase() !== "style") node.nodeValue = pieces.bounded(node.nodeValue ?? "");
  }
  for (const name of SHOWN) for (const element of body.querySelectorAll(`[${name}]`)) element.setAttribute(name, new Pieces().bounded(element.getAttribute(name) ?? ""));
}

/** The harmless part of a style; the browser has read it, so that nothing is hidden in how it is written. */
function declared(text: string): string {
  const { style } = inert.createElement("i");
  style.cssText = text;
  return harmless(style);
}

/** A property's value as the browser writes it; nothing where it is none. */
function written(name: string, value: string): string {
  const { style } = inert.createElement("i");
  style.setProperty(name, value);
  return style.getPropertyValue(name);
}

function harmless(style: CSSStyleDeclaration): string {
  return [...style]
    .filter((name) => STYLES.has(name) && isCalm(style.getPropertyValue(name)) && !(name === "display" && SLOW.test(style.display)))
    .map((name) => `${name}:${style.getPropertyValue(name)}${style.getPropertyPriority(name) && "!important"}`)
    .join(";");
}

/** Whether a value, as the browser writes it, asks for nothing and ends no element. */
function isCalm(value: string): boolean {
  const called = [...value.matchAll(/([\w-]*)\((.{0,2})/g)];
  const gradients = called.filter(([, name]) => name === "linear-gradient").length;
  return value !== "" && gradients <= MOST_GRADIENTS && !/[<\\]/.test(value) && called.every(([, name = "", first]) => name === "" || FUNCTIONS.has(name) || (name === "url" && first === '"#'));
}

/** The rules of a style sheet for elements, as far as there is room; those for media, fonts and other sheets are left out. */
function rulesOf(text: string): string {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(text);
  return [...sheet.cssRules]
    .flatMap((rule) => (rule instanceof CSSStyleRule && rules.take(rule.selectorText) ? [`${rule.selectorText}{${harmless(rule.style)}}`] : []))
    .join("\n");
}
