// Light and dark, through the site's own switch in the header.
// @ts-check

/** @typedef {"light" | "dark"} Scheme */

const ATTRIBUTE = { light: "default", dark: "slate" };

/** The scheme that the page shows. @param {import("./browser.mjs").Browser} browser @returns {Promise<Scheme>} */
export async function schemeOf(browser) {
  const shown = await browser.eval(() => document.body.getAttribute("data-md-color-scheme"));
  return shown === ATTRIBUTE.dark ? "dark" : "light";
}

/**
 * Clicks the header's palette switch until the page shows the scheme.
 * @param {import("./browser.mjs").Browser} browser
 * @param {Scheme} scheme
 */
export async function chooseScheme(browser, scheme) {
  const shown = () => browser.eval(() => document.body.getAttribute("data-md-color-scheme"));
  const label = "[data-md-component=palette] label:not([hidden])";
  // System, light, dark: three clicks reach every position.
  for (let click = 0; click < 3 && (await shown()) !== ATTRIBUTE[scheme]; click += 1) {
    const before = await browser.of(label, (element) => element.getAttribute("for"));
    await browser.click(label);
    await browser.waitFor(
      `[data-md-component=palette] label:not([hidden]):not([for="${before}"])`,
      2000,
      "the palette's next position",
    );
  }
  await browser.restPointer();
  if ((await shown()) !== ATTRIBUTE[scheme]) throw new Error(`${browser.engine}: the page does not turn ${scheme}`);
}
