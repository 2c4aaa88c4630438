// The reader's name, where they have given one: it stays in this browser, and goes into files that they download.
import schema from "./ledger.schema.json";
import { bookId } from "../release";
import { openStorage } from "../storage";

const place = (): string => `${bookId()}/player`;
export const LONGEST_NAME = schema.properties.player.maxLength;
const storage = openStorage(() => localStorage);

export function player(): string {
  const name = storage.read(place());
  return typeof name === "string" ? name.slice(0, LONGEST_NAME) : "";
}

export function keepPlayer(name: string): void {
  const kept = name.trim().slice(0, LONGEST_NAME);
  if (kept) storage.write(place(), kept);
  else storage.remove(place());
}
