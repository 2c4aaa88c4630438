// The pages of the ledger and of the defense: a link that is still being unfolded when the reader leaves it is not opened.
import { expect, test, vi } from "vitest";
import { mount as defense } from "../src/ledger/defense";
import { fileOf, ledgerIn } from "../src/ledger/file";
import { linkTo } from "../src/ledger/link";
import type { Part } from "../src/element";
import { inOrder, mount as ledger } from "../src/ledger/page";
import { entry } from "./ledger-kit";

test("a name stays in this browser, enters the file that is downloaded, and no link", async () => {
  const files: Blob[] = [];
  const made = vi.spyOn(URL, "createObjectURL").mockImplementation((file) => `blob:${files.push(file as Blob)}`);
  const host = document.createElement("div");
  const part = ledger(host);
  const box = host.querySelector(".il-ledger__name") as HTMLInputElement;
  box.value = "Ada";
  box.dispatchEvent(new Event("input"));
  expect(ledgerIn((await files.at(-1)?.text()) ?? "").player).toBe("Ada");
  part.gone();
  const again = document.createElement("div");
  const later = ledger(again);
  const kept = again.querySelector(".il-ledger__name") as HTMLInputElement;
  expect(kept.value).toBe("Ada");
  kept.value = "";
  kept.dispatchEvent(new Event("input"));
  later.gone();
  expect(await files.at(-1)?.text()).not.toContain("player");
  made.mockRestore();
  expect(JSON.stringify(fileOf([entry()]))).not.toContain("player");
});

test("acts stand in the order of the site, whenever they were played, and unknown ones last", () => {
  const acts = inOrder(["race", "gone", "wall", "audit"].map((act) => entry({ act })), ["audit", "race", "wall"]);
  expect(acts.map(({ act }) => act)).toEqual(["audit", "race", "wall", "gone"]);
});

/** Longer than a link takes to unfold. */
const UNFOLDED_MS = 300;

async function opened(mount: (host: HTMLElement) => Part, after: () => void): Promise<string> {
  const link = new URL(await linkTo("https://example.org/lab/ledger/", fileOf([entry()])));
  location.hash = link.hash;
  const host = document.createElement("div");
  const part = mount(host);
  after();
  await new Promise((done) => setTimeout(done, UNFOLDED_MS));
  part.gone();
  location.hash = "";
  return host.textContent ?? "";
}

const READ = "You are reading a ledger that came with a link: The MFU Gap.";
const DEFENDED = "You are reading a defense that came with a link.";

test.each([[ledger, READ], [defense, DEFENDED]])("a link opens for reading", async (mount, said) => {
  document.body.innerHTML = "<ul data-parts></ul>";
  expect(await opened(mount, () => undefined)).toContain(said);
});

test.each([[ledger], [defense]])("a link that the reader has left meanwhile does not open", async (mount) => {
  document.body.innerHTML = "<ul data-parts></ul>";
  expect(await opened(mount, () => (location.hash = "#elsewhere"))).not.toContain("You are reading");
});
