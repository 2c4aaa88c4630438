// An exercise whose last code came with a merged ledger: it is shown as a stranger's, until the reader has made it their own.
import { beforeEach, expect, test, vi } from "vitest";
import { entryName } from "../src/exercise/attempts";
import { mount } from "../src/exercise/exercise";
import { Ledger } from "../src/ledger/ledger";
import { openStorage } from "../src/storage";
import { FakeDatabase, entry, memory } from "./ledger-kit";

const shown = vi.hoisted(() => ({ ledger: null as unknown, handle: { present: () => ({ source: "page" }), write: vi.fn(), offer: vi.fn() } }));
vi.mock("../src/ledger/ledger", async (original) => ({ ...(await original<object>()), documentLedger: () => shown.ledger }));
vi.mock("../src/snippet/snippet", () => ({ handleOf: () => shown.handle }));

const coded = (code: string, updated: number) => entry({ act: entryName("bytes"), updated, memory: { ...memory, exercise: { tries: 1, code } } });

beforeEach(() => {
  localStorage.clear();
  vi.clearAllMocks();
});

function recall(): void {
  const host = document.createElement("live-exercise");
  host.dataset.exercise = "bytes";
  const slots = ["note", "solution", "hints", "said", "trouble", "checks"].map((name) => `<div data-slot="${name}"></div>`).join("");
  host.innerHTML = `<live-snippet data-source="page"></live-snippet>${slots}<button data-action="run-tests"></button><button data-action="solution"></button>`;
  document.body.replaceChildren(host);
  const part = mount(host);
  const button = host.querySelector<HTMLButtonElement>('[data-action="last"]');
  expect(button?.hidden).toBe(false);
  button?.click();
  part.gone();
}

test("the reader's own last code is written into the editor, a merged one is offered", async () => {
  const ledger = new Ledger(new FakeDatabase().open, openStorage(() => localStorage), null);
  await ledger.ready;
  shown.ledger = ledger;
  ledger.write(entryName("bytes"), "predicted", coded("mine", 1).memory ?? memory, entry().account!);
  recall();
  expect([shown.handle.write.mock.calls, shown.handle.offer.mock.calls]).toEqual([[["mine"]], []]);
  vi.clearAllMocks();
  ledger.merge([coded("theirs\u202e", 3e12)]);
  recall();
  expect([shown.handle.write.mock.calls, shown.handle.offer.mock.calls]).toEqual([[], [["theirs", "a ledger that you merged into yours"]]]);
});
