// The ledger's types are written by this test from the ledger's schema, and never by hand.
import { expect, test } from "vitest";
import { DEFINITIONS, type Rule } from "../src/ledger/schema";
import { typesOf } from "./types-of-schema";

const HEAD = "// The ledger's types. Written from ledger.schema.json by `npm run test:unit -- types -u`: change the schema, not this file.\n\n";

test("the ledger's types are those of its schema", async () => {
  await expect(HEAD + typesOf(DEFINITIONS as Record<string, Rule>)).toMatchFileSnapshot("../src/ledger/types.ts");
});
