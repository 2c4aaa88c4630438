// The tests stand in for the entry, which says of which release the document is.
import { fieldsAre } from "../src/ledger/schema";
import { bookIs } from "../src/offline/names";
import { runs } from "../src/release";
import { release } from "./fake-worker";

runs(release);
fieldsAre(release.ledger);
bookIs(release.book);
