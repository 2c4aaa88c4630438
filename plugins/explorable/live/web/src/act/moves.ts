// The sequence of moves on a bench: what was changed, what it did to the number that matters, and the way back.
import type { Amount, Move, Value } from "../ledger/types";

export type { Amount, Move } from "../ledger/types";

type Controls = Record<string, Value>;

/** The changes between two states of the controls, as moves. */
export function changes(before: Controls, after: Controls): Move[] {
  return Object.keys(after).flatMap((control) => {
    const from = before[control];
    const to = after[control];
    if (from === undefined || to === undefined || from === to) return [];
    return { control, from, to, before: null, after: null };
  });
}

/** The moves with a new one. Successive changes of one control are one move; if they end where they began, they are none. */
export function withMove(moves: readonly Move[], move: Move): Move[] {
  const last = moves.at(-1);
  if (last?.control !== move.control) return [...moves, move];
  const before = moves.slice(0, -1);
  return last.from === move.to ? before : [...before, { ...last, to: move.to, after: null }];
}

/** The controls before the last move, and the moves that remain. */
export function undo(controls: Controls, moves: readonly Move[]): { controls: Controls; moves: Move[] } {
  const last = moves.at(-1);
  if (!last) return { controls, moves: [] };
  return { controls: { ...controls, [last.control]: last.from }, moves: moves.slice(0, -1) };
}

/** The first amount that is not known: the index of its move, which of the two, and the controls in that state. */
export function missing(
  present: Controls,
  moves: readonly Move[],
): { index: number; side: "before" | "after"; controls: Controls } | null {
  let controls = present;
  let found: ReturnType<typeof missing> = null;
  for (let index = moves.length - 1; index >= 0; index -= 1) {
    const move = moves[index] as Move;
    if (!move.after) found = { index, side: "after", controls };
    controls = { ...controls, [move.control]: move.from };
    if (!move.before) found = { index, side: "before", controls };
  }
  return found;
}

/** The moves with an amount filled in. The amount after one move is also the amount before the next. */
export function withAmount(moves: readonly Move[], index: number, side: "before" | "after", amount: Amount): Move[] {
  return moves.map((move, at) => {
    if (at === index) return { ...move, [side]: amount };
    if (side === "after" && at === index + 1) return { ...move, before: amount };
    if (side === "before" && at === index - 1) return { ...move, after: amount };
    return move;
  });
}

/** How a control and its positions are called on the page; null for what the page does not offer. */
type Words = (control: string, value: Value) => { label: string; value: string } | null;

/** "Precision FP32 → FP16: 89.1 → 44.6 GB", with what else it changed, and without the amounts while they are unknown; null for an unknown control. */
export function moveText(move: Move, words: Words): string | null {
  const from = words(move.control, move.from);
  const to = words(move.control, move.to);
  if (!from || !to) return null;
  const change = `${to.label} ${from.value} → ${to.value}`;
  const { before, after } = move;
  if (!before || !after) return change;
  const others = (after.readings ?? []).flatMap(({ label, value }) => {
    const was = before.readings?.find((one) => one.label === label)?.value;
    return was === undefined || was === value ? [] : [`${label} ${was} → ${value}`];
  });
  return [`${change}: ${fromTo(before, after)}`, ...others].join("; ");
}

function fromTo(before: Amount, after: Amount): string {
  const now = `${after.value} ${after.unit}`.trimEnd();
  if (before.value === after.value && before.unit === after.unit) return now;
  return `${before.value}${before.unit === after.unit ? "" : ` ${before.unit}`} → ${now}`;
}
