// The tests stand in for the entry, which says of which release the document is.
import { vi } from "vitest";
import { fieldsAre } from "../src/ledger/schema";
import { bookIs } from "../src/offline/names";
import { runs } from "../src/release";
import { release } from "./fake-worker";

// A busy machine takes longer than the second that is the default; what never comes ends all the same.
const { waitFor } = vi;
vi.waitFor = (check, options = { timeout: 30_000 }) => waitFor(check, options);

runs(release);
fieldsAre(release.ledger);
bookIs(release.book);
