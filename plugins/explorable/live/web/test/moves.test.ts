// The sequence of moves on a bench.
import { describe, expect, test } from "vitest";
import { changes, missing, moveText, undo, withAmount, withMove, type Move } from "../src/act/moves";

const gb = (value: string) => ({ value, unit: "GB" });
const start = { precision: "fp32", chunked: false };
const [precision] = changes(start, { ...start, precision: "fp16" }) as [Move];
const [chunked] = changes({ ...start, precision: "fp16" }, { precision: "fp16", chunked: true }) as [Move];
const end = { precision: "fp16", chunked: true };
const NAMES: Record<string, string> = { precision: "Precision", fp32: "FP32", fp16: "FP16" };
const words = (control: string, value: unknown) =>
  NAMES[control] ? { label: NAMES[control], value: NAMES[String(value)] ?? "" } : null;

describe("moves", () => {
  test("a move is the change of one control; nothing moved is no move", () => {
    expect(precision).toEqual({ control: "precision", from: "fp32", to: "fp16", before: null, after: null });
    expect(changes(start, start)).toEqual([]);
  });

  test("steps of one control are one move, whatever its kind, and none when they lead back", () => {
    const step = (from: number, to: number): Move => ({ control: "workers", from, to, before: gb("1"), after: gb("2") });
    const there = withMove(withMove([chunked], step(1, 2)), step(2, 3));
    expect(there).toEqual([chunked, { ...step(1, 3), after: null }]);
    expect(withMove(there, step(3, 1))).toEqual([chunked]);
    expect(withMove(withMove([step(1, 2)], chunked), step(2, 1))).toHaveLength(3);
  });

  test("undo goes back one by one, to the state before the first", () => {
    const once = undo(end, [precision, chunked]);
    expect(once).toEqual({ controls: { precision: "fp16", chunked: false }, moves: [precision] });
    expect(undo(once.controls, once.moves)).toEqual({ controls: start, moves: [] });
    expect(undo(start, [])).toEqual({ controls: start, moves: [] });
  });

  test("what is missing is asked for from the first state on, and one answer serves both neighbors", () => {
    let moves = [precision, chunked];
    const asked: Record<string, unknown>[] = [];
    for (const amount of ["89.1", "44.6", "43.0"]) {
      const next = missing(end, moves);
      if (!next) throw new Error("nothing is missing");
      asked.push(next.controls);
      moves = withAmount(moves, next.index, next.side, gb(amount));
    }
    expect(asked).toEqual([start, { precision: "fp16", chunked: false }, end]);
    expect(missing(end, moves)).toBeNull();
    expect(moves.map((move) => [move.before?.value, move.after?.value])).toEqual([["89.1", "44.6"], ["44.6", "43.0"]]);
  });

  test("a move is told by its control, its positions and the number that matters", () => {
    expect(moveText(precision, words)).toBe("Precision FP32 → FP16");
    expect(moveText({ ...precision, before: gb("89.1"), after: gb("44.6") }, words)).toBe("Precision FP32 → FP16: 89.1 → 44.6 GB");
    expect(moveText({ ...precision, before: gb("1.2"), after: { value: "900", unit: "MB" } }, words)).toBe(
      "Precision FP32 → FP16: 1.2 GB → 900 MB",
    );
    expect(moveText(chunked, words)).toBeNull();
    const at = (value: string, kept: string) => ({ ...gb(value), readings: [{ label: "trainings", value: kept }, { label: "network", value: "80 %" }] });
    expect(moveText({ ...precision, before: at("1.7", "3 of 21"), after: at("1.7", "20 of 21") }, words)).toBe(
      "Precision FP32 → FP16: 1.7 GB; trainings 3 of 21 → 20 of 21",
    );
  });
});
