// The tests stand in for the entry, which says of which release the document is.
import { runs } from "../src/release";
import { release } from "./fake-worker";

runs(release);
