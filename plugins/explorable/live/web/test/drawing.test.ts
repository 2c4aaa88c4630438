// How often a drawing shows parts of itself, before a browser draws it.
import { expect, test } from "vitest";
import { repeatsTooOften } from "../src/python/drawing";

const levels = (count: number, use = (id: string): string => `<use xlink:href="#${id}"/>`, around = (id: string, inside: string): string => `<g id="${id}">${inside}</g>`): string =>
  `<svg><defs><rect id="a0"/>${Array.from({ length: count }, (_, at) => around(`a${at + 1}`, use(`a${at}`).repeat(2))).join("")}</defs>${use(`a${count}`)}</svg>`;

test.each([
  ["twenty levels of two", levels(20)],
  ["the same in single quotes", levels(20, (id) => `<use href = '#${id}'/>`)],
  ["the same in a namespace", levels(20, (id) => `<s:use h:href="#${id}"></s:use>`)],
  ["the same, spelled by numbers", levels(20, (id) => `<use href="&#35;${id.replace("a", "&#x61;")}"/>`)],
  ["the same, as an address is written", levels(20, (id) => `<use href="#${id.replace("a", "%61")}"/>`)],
  ["the same behind another attribute's words", levels(20, undefined, (id, inside) => `<g title=" id='x'" id="${id}">${inside}</g>`)],
  ["the same with an end in a comment", levels(20, undefined, (id, inside) => `<g id="${id}"><!-- </g> -->${inside}</g>`)],
  ["the same with an end in a text", levels(20, undefined, (id, inside) => `<g id="${id}"><![CDATA[</g>]]>${inside}</g>`)],
  ["patterns in patterns", levels(20, (id) => `<rect fill="url(#${id})"/>`, (id, inside) => `<pattern id="${id}">${inside}</pattern>`)],
  ["the same in a style", levels(20, (id) => `<rect style="fill: url( &quot;#${id}&quot; )"/>`)],
  ["the same, set by an animation", levels(20, (id) => `<use href="#"><set attributeName="href" to="#${id}"/></use>`)],
  ["the same in a style sheet", `<svg><style>rect{fill:url(#p)}</style>${levels(20)}</svg>`.replaceAll("<use", "<rect")],
  ["an element within a style sheet", "<svg><s:style><g id='a'/></s:style></svg>"],
  ["a large part, many times", `<svg><g id="a">${"<path/>".repeat(1000)}</g>${'<use href="#a"/>'.repeat(1000)}</svg>`],
  ["texts that stand for others", '<!DOCTYPE svg [<!ENTITY a "<g/>"><!ENTITY b "&a;&a;">]><svg>&b;</svg>'],
  ["a drawing in a drawing", '<svg><image href="data:image/svg+xml;base64,AAAA"/></svg>'],
  ["elements in each other without end", '<g id="a">'.repeat(2000)],
])("%s is too much", (_, svg) => {
  expect(repeatsTooOften(svg)).toBe(true);
});

test.each([
  ["ten levels of two", levels(10)],
  ["a marker for each of 30,000 points, as matplotlib has it", `<?xml version="1.0"?><!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "svg11.dtd"><svg><g id="axes"><defs><path id="m"/></defs><g clip-path="url(#c)">${'<use xlink:href="#m"/>'.repeat(30_000)}</g></g></svg>`],
  ["200,000 elements without a repeat", `<svg>${"<path/>".repeat(200_000)}</svg>`],
  ["a part that shows itself", '<svg><g id="a"><use href="#a"/><use href="#b"/></g></svg>'],
  ["a style sheet as matplotlib has it", '<svg><defs><style type="text/css">*{stroke-linejoin: round}</style></defs></svg>'],
  ["links to parts", `<svg><g id="a">${'<a href="#a"><path/></a>'.repeat(1000)}</g></svg>`],
  ["no drawing", "x < y"],
])("%s is not", (_, svg) => {
  expect(repeatsTooOften(svg)).toBe(false);
});

/** Times that a piece stands there: by the square they would take minutes, and they take a second. */
const LONG = 200_000;

test("it takes a time that the length bounds", () => {
  const started = performance.now();
  for (const one of ["a", "a ", " ", "a='b' ", "url( "]) repeatsTooOften(`<g b="${one.repeat(LONG)}" ${one.repeat(LONG)}>`);
  for (const piece of ["<a", "<!--", '<a b="', "<![CDATA[", "&#", "url(#", "<g id='a'>", "a=", "<a href='#b' "]) repeatsTooOften(piece.repeat(LONG));
  expect(performance.now() - started).toBeLessThan(30_000);
}, 120_000);
