"""One record as a page for the terminal: what was run, what came out, beside what the engine said, and where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gpu_bench.record.assembly import MEASURED
from gpu_bench.record.report import tables
from gpu_bench.record.tables import ABSENT, number, render

Record = Mapping[str, Any]
_GIB = 2**30


def page(record: Record) -> str:
    """The record in lines of text, without a newline at the end."""
    return "\n".join(_lines(record))


def _lines(record: Record) -> Iterator[str]:
    device, ran = record["device"], record["provenance"]
    yield f"{record['suite']}/{record['name']}: {record['status']}"
    if record["message"]:
        yield f"  {record['message']}"
    yield f"  on {device['name'] or device['slug']}, {ran['finished'][:10]}, PyTorch {ran['torch']}"
    if record["status"] not in MEASURED:
        yield from _withheld(record["withheld"])
        return
    if record["summary"] is None:
        yield ""
        yield from (render(table, "text") for table in tables([record]))
        return
    yield from _training(record)
    yield from _clocks(record)


def _withheld(kept: Record | None) -> Iterator[str]:
    """What the file of a record that is no result still holds."""
    if kept is not None:
        yield from (f"  - {fault}" for fault in kept["faults"])
        yield f"  measured and withheld, raw, in the file: {', '.join(kept['measured'])}"


def _training(record: Record) -> Iterator[str]:
    summary, memory, used = record["summary"], record["memory"], record["utilization"]
    told, loss, case = record["predicted"] or {}, record["loss"], record["case"]
    step, told_memory = summary["step_s"], told.get("memory") or {}
    passes = f"{case['accumulate']} x " if case["accumulate"] > 1 else ""
    shape = f"batch {passes}{case['batch']} x {case['sequence']}"
    yield f"  {case['model']}, {shape}, {case['precision']}, {case['optimizer']}"
    yield ""
    yield _row("", "measured", "the engine said")
    yield _row("step, ms", f"{step['median'] * 1e3:,.2f} (IQR {step['iqr'] * 1e3:,.2f}, n {step['n']})",
               number(told.get("step_s"), 2, 1e3))  # fmt: skip
    yield _row("tokens/s", number(summary["tokens_per_s"]["median"], 0), number(told.get("tokens_per_s"), 0))
    name, share = ("BF16-equivalent", used["bf16_equivalent"]) if used["bf16_equivalent"] else ("MFU", used["mfu"])
    yield _row(f"{name}, %", number(share, 1, 100), number(told.get("mfu"), 1, 100))
    yield _row("of the products, %", number(used["matmul_share"], 1, 100), ABSENT)
    yield _row("peak memory, GiB", number(memory["peak"], 3, 1 / _GIB), number(told_memory.get("peak"), 3, 1 / _GIB))
    for name in ("parameters", "gradients", "activations"):
        yield _row(f"  {name}", number(memory["held"][name], 3, 1 / _GIB), number(told_memory.get(name), 3, 1 / _GIB))
    state = memory["held"]["optimizer_total"]
    yield _row("  optimizer", number(state, 3, 1 / _GIB), number(told_memory.get("optimizer"), 3, 1 / _GIB))
    yield _row("loss, first and last", f"{number(loss['first'], 3)} -> {number(loss['last_five_mean'], 3)}", ABSENT)
    yield _row("attention that ran", ", ".join(record["attention_ran"] or ()) or ABSENT, ABSENT)
    if record["energy"]["per_token_j"] is not None:
        yield _row("energy, J/token", f"{record['energy']['per_token_j']:.4f}", ABSENT)


def _row(name: str, measured: str, told: str) -> str:
    return f"  {name:22} {measured:>34} {told:>18}".rstrip()


def _clocks(record: Record) -> Iterator[str]:
    yield ""
    for index, repeat in enumerate(record["provenance"]["repeats"]):
        state = repeat["gpu"]
        seconds = sum(record["samples"]["step_s"][index])
        told = f"  repeat {index + 1}: {seconds:.1f} s timed"
        if state is not None and state["sm_clock_mhz"] and state["power_w"] and state["temperature_c"]:
            clock, power, heat = state["sm_clock_mhz"], state["power_w"], state["temperature_c"]
            told += f", clock {clock['mean']:.0f} MHz (least {clock['minimum']:.0f}), power {power['mean']:.0f} W, "
            told += f"up to {heat['maximum']:.0f} degrees Celsius"
        if repeat["others_share"] is not None:
            told += f", others took {repeat['others_share']:.1%} of the processors"
        yield told
