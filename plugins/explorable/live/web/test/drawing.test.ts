// How often a drawing shows parts of itself, before a browser draws it.
import { expect, test } from "vitest";
import { tooMuch } from "../src/python/drawing";

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
  ["a page in a drawing", '<svg><svg:foreignObject width="9" height="9"><div/></svg:foreignObject></svg>'],
  ["marks in a row", `<svg><text>a${"\u0300".repeat(1000)}</text></svg>`],
  ["marks that are spelled", `<svg><text>a${"&#x300;".repeat(1000)}</text></svg>`],
  ["marks in parts of a text", `<svg><text>a${`<tspan a=">">${"\u0300".repeat(30)}</tspan>`.repeat(30)}</text></svg>`],
  ["marks between comments and in character data", `<svg><text>a${`${"\u0300".repeat(30)}<!--"--><![CDATA[${"\u0300".repeat(30)}]]>`.repeat(30)}</text></svg>`],
  ["rules that look around", "<svg><style>g:has(g) g{fill:red}</style></svg>"],
  ["rules that look aside", "<svg><style>g~g g{fill:red}</style></svg>"],
  ["rules that count", "<svg><style>g:nth-child(2n){fill:red}</style></svg>"],
  ["rules in rules", "<svg><style>g{&amp; &amp;{fill:red}}</style></svg>"],
  ["a sheet that is fetched", '<svg><style>@import "data:text/css,g{}"</style></svg>'],
  ["the same around the drawing", '<?xml-stylesheet href="data:text/css,g{}"?><svg/>'],
  ["many rules for many elements", `<svg><style>${"g g g{fill:red}".repeat(1000)}</style>${"<g>".repeat(100)}${"<g/>".repeat(20_000)}${"</g>".repeat(100)}</svg>`],
  ["elements in each other without end", '<g id="a">'.repeat(2000)],
])("%s is too much", (_, svg) => {
  expect(tooMuch(svg)).toBe(true);
});

test.each([
  ["ten levels of two", levels(10)],
  ["a marker for each of 30,000 points, as matplotlib has it", `<?xml version="1.0"?><!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "svg11.dtd"><svg><g id="axes"><defs><path id="m"/></defs><g clip-path="url(#c)">${'<use xlink:href="#m"/>'.repeat(30_000)}</g></g></svg>`],
  ["200,000 elements without a repeat", `<svg>${"<path/>".repeat(200_000)}</svg>`],
  ["a part that shows itself", '<svg><g id="a"><use href="#a"/><use href="#b"/></g></svg>'],
  ["a style sheet as matplotlib has it", '<svg><defs><style type="text/css">*{stroke-linejoin: round}</style></defs></svg>'],
  ["a sheet of an illustrator's", `<svg><style type="text/css"><![CDATA[${Array.from({ length: 50 }, (_, at) => `.st${at}{fill:rgb(${at},0,0);stroke-width:1e+01;font-family:&quot;Arial&quot;}`).join("")}]]></style>${'<g><path class="st1"/></g>'.repeat(5000)}</svg>`],
  ["one rule for 200,000 elements", `<svg><style>*{stroke-linejoin: round; stroke-linecap: butt}</style>${"<path/>".repeat(200_000)}</svg>`],
  ["a title in Thai", `<svg><text>${"น้ำใจ กำลัง ".repeat(50)}</text></svg>`],
  ["links to parts", `<svg><g id="a">${'<a href="#a"><path/></a>'.repeat(1000)}</g></svg>`],
  ["no drawing", "x < y"],
])("%s is not", (_, svg) => {
  expect(tooMuch(svg)).toBe(false);
});

/** Times that a piece stands there: by the square they would take minutes, and they take a second. */
const LONG = 200_000;

test("it takes a time that the length bounds", () => {
  const started = performance.now();
  for (const one of ["a", "a ", " ", "a='b' ", "url( "]) tooMuch(`<g b="${one.repeat(LONG)}" ${one.repeat(LONG)}>`);
  for (const piece of ["<a", "<!--", '<a b="', "<![CDATA[", "&#", "url(#", "<g id='a'>", "a=", "<a href='#b' "]) tooMuch(piece.repeat(LONG));
  expect(performance.now() - started).toBeLessThan(30_000);
}, 120_000);
