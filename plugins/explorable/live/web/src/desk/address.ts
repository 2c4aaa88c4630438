// Where an act's controls stand, in the fragment of the page's address: whoever wrote it is unknown, so it is checked when it is read.
import { faultOf, type Rule } from "../ledger/schema";
import { packed, Unpackable, unpacked } from "../packed";
import type { Instruments } from "../act/controls";

/** How the fragment begins, with the version of what follows: the act's name, a point, the packed settings. */
const SHAPE = /^#state=(\d{1,9})\.([a-z0-9-]{1,100})\.([A-Za-z0-9_-]{1,20000})$/;
const VERSION = "1";
/** Characters that the settings may unfold to. */
const MOST = 40_000;
const SETTINGS: Rule = {
  type: "object",
  required: ["controls"],
  additionalProperties: false,
  properties: {
    context: { type: "string", maxLength: 100 },
    controls: {
      type: "object",
      maxProperties: 100,
      propertyNames: { pattern: "^[a-z][a-z0-9_-]*$", maxLength: 100 },
      additionalProperties: { type: ["string", "number", "boolean"], maxLength: MOST, minimum: -1e15, maximum: 1e15 },
    },
  },
};

/** What came with the page's address, or in a sentence why it cannot be opened. */
type Linked = Instruments | { problem: string };

/** The page's address with these settings. What stands at its default is left out; of the whole, without defaults, texts that are empty. */
export async function addressOf(page: string, act: string, at: Instruments, defaults?: Instruments): Promise<string> {
  const moved = Object.entries(at.controls).filter(([name, value]) => value !== (defaults ? defaults.controls[name] : ""));
  const elsewhere = at.context !== defaults?.context;
  const plain = page.replace(/#.*$/, "");
  if (!moved.length && !elsewhere) return plain;
  const settings = { ...(elsewhere && { context: at.context }), controls: Object.fromEntries(moved) };
  return `${plain}#state=${VERSION}.${act}.${await packed(JSON.stringify(settings))}`;
}

/** The settings that a fragment carries for this act; null where it is for another, or for none. */
export async function linkedState(fragment: string, act: string): Promise<Linked | null> {
  const [, version, wanted, letters] = SHAPE.exec(fragment) ?? [];
  if (letters === undefined) return fragment.startsWith("#state=") ? { problem: "The link is damaged: a part of it may be missing." } : null;
  if (wanted !== act) return null;
  if (version !== VERSION) return { problem: "The settings in the link are of another version of this site." };
  try {
    const settings = JSON.parse(await unpacked(letters, MOST)) as Partial<Instruments>;
    if (!faultOf(settings, SETTINGS)) return { context: settings.context ?? "", controls: settings.controls ?? {} };
  } catch (error) {
    if (!(error instanceof Unpackable || error instanceof SyntaxError)) throw error;
  }
  return { problem: "The link is damaged: a part of it may be missing or changed." };
}
