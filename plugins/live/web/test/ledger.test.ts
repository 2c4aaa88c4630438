// The ledger's page: a link that is still being unfolded when the reader leaves it is not opened.
import { expect, test } from "vitest";
import { documentOf, linkTo } from "../src/document";
import { mount } from "../src/ledger";
import { entry } from "./ledger-kit";

/** Longer than a link takes to unfold. */
const UNFOLDED_MS = 300;

async function opened(after: () => void): Promise<string> {
  const link = new URL(await linkTo("https://example.org/lab/ledger/", documentOf([entry()])));
  location.hash = link.hash;
  const host = document.createElement("div");
  const part = mount(host);
  after();
  await new Promise((done) => setTimeout(done, UNFOLDED_MS));
  part.gone();
  location.hash = "";
  return host.textContent ?? "";
}

test("a link opens for reading", async () => {
  expect(await opened(() => undefined)).toContain("You are reading a ledger that came with a link: The MFU Gap.");
});

test("a link that the reader has left meanwhile does not open", async () => {
  expect(await opened(() => (location.hash = "#elsewhere"))).not.toContain("You are reading");
});
