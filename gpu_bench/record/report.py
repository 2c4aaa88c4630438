"""Records for people and programs: a table for each suite, one record as a page, flat rows for spreadsheets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from gpu_bench.cases.suites import SUITES, TINY
from gpu_bench.record.judgement import MEASURED
from gpu_bench.record.load import valid
from gpu_bench.record.spread import ratio
from gpu_bench.record.tables import ABSENT, Table, number, render

Record = Mapping[str, Any]
_GIB = 2**30


def load(paths: Iterable[Path]) -> list[dict[str, Any]]:
    """The records below the paths, ordered by suite, name and device. Raises `ValueError` for a faulty one."""
    found = [record for _, record in valid(paths)]
    return sorted(found, key=lambda record: (record["suite"], record["name"], record["device"]["slug"]))


def command_of(record: Record) -> str:
    """The command that measures the record's case again."""
    return f"python -m gpu_bench run --suite {record['suite']} --case {record['name']} --again"


def flat_rows(record: Record) -> list[dict[str, Any]]:
    """The record as flat rows in SI units and bytes: one for a trained case, one per point, one per policy."""
    device, ran = record["device"], record["provenance"]
    head = {"suite": record["suite"], "case": record["name"], "device": device["name"]}
    head |= {"power_limit_w": device["power_limit_w"], "status": record["status"]}
    tail = {"benchmark_version": record["benchmark_version"], "git_commit": ran["git_commit"], "torch": ran["torch"]}
    tail |= {"finished": ran["finished"], "command": command_of(record)}
    if record["points"] is not None:
        middle = [_point_row(point, record["points"][0]) for point in record["points"]]
    elif record["fit"] is not None:
        middle = [dict(one) for one in record["fit"]["policies"]]
    elif record["arms"] is not None:
        middle = [
            {"run": name, **run["settings"], **{k: v for k, v in run["summary"].items() if not isinstance(v, Mapping)}}
            for name, run in record["arms"]["runs"].items()
        ]
    else:
        middle = [_training_row(record)]
    return [{**head, **row, **tail} for row in middle]


_COLUMNS = {
    "step_s": "summary.step_s.median", "step_iqr_s": "summary.step_s.iqr", "samples": "summary.step_s.n",
    "tokens_per_s": "summary.tokens_per_s.median", "mfu": "utilization.mfu", "mfu_causal": "utilization.mfu_causal",
    "hfu": "utilization.hfu", "bf16_equivalent": "utilization.bf16_equivalent",
    "matmul_share": "utilization.matmul_share", "peak_b": "memory.peak", "optimizer_b": "memory.held.optimizer_total",
    "loss_first": "loss.first", "loss_last": "loss.last_five_mean", "energy_per_token_j": "energy.per_token_j",
    "usd_per_1e9_tokens": "cost.usd_per_1e9_tokens", "engine_step_s": "predicted.step_s",
    "engine_mfu": "predicted.mfu", "engine_peak_b": "predicted.memory.peak",
    "textbook_total_b": "predicted.textbook.total",
}  # fmt: skip
"""A column of a trained case, and where its number is; the engine's stand beside the measured ones."""


def _training_row(record: Record) -> dict[str, Any]:
    """The numbers of a trained case; all null for one that failed."""

    def at(path: str) -> Any:
        value: Any = record
        for name in path.split("."):
            value = None if value is None else value.get(name)
        return value

    return {column: at(path) for column, path in _COLUMNS.items()}


def _point_row(point: Mapping[str, Any], first: Mapping[str, Any]) -> dict[str, Any]:
    """A point, and how it compares with the record's first one."""
    seconds, losses = point["seconds"] or {}, point.get("losses") or []
    speedup = gain(point, first)
    processes = point["settings"].get("processes")
    return {
        "label": point["label"],
        **point["settings"],
        "point_status": point["status"],
        "seconds": seconds.get("median"),
        "iqr_s": seconds.get("iqr"),
        "samples": seconds.get("n"),
        **point["work"],
        **point["rates"],
        "memory_peak_b": point["memory_peak"],
        **{f"share_{name}": share for name, share in point["shares"].items()},
        "speedup": speedup,
        "efficiency": speedup / processes * first["settings"]["processes"] if speedup and processes else None,
        "loss_last": losses[-1] if losses else None,
    }


def gain(point: Mapping[str, Any], first: Mapping[str, Any]) -> float | None:
    """How many times as many tokens a second as the first point; None where no tokens are counted."""
    own, base = point["rates"]["tokens_per_s"], first["rates"]["tokens_per_s"]
    return own / base if own and base else None


def tables(records: Sequence[Record]) -> Iterator[Table]:
    """One table for the trained cases of each suite, one for each record of points, of a fit, of compared runs."""
    for suite, group in groupby(records, key=lambda record: record["suite"]):
        alike = list(group)
        trained = [record for record in alike if all(record[part] is None for part in ("points", "fit", "arms"))]
        if trained:
            yield _trained(suite, trained)
        if pairs := list(_pairs(suite, trained)):
            yield _ratios(suite, pairs)
        for record in alike:
            if record["points"] is not None:
                yield _points(record)
            if record["fit"] is not None:
                yield _fit(record)
            if record["arms"] is not None:
                yield _arms(record)


def _arms(record: Record) -> Table:
    """Runs that were compared seed by seed."""
    rows = []
    for name, run in record["arms"]["runs"].items():
        told = run["summary"]
        # Of a failure, how often it happened; of a predictor, what it gained.
        last = f"{told['failed']} of {told['trained']}" if "failed" in told else f"{told['speedup']:.2f} x"
        accuracy = number(told["accuracy"], 1, 100)
        seconds = told["cpu_s"] if "failed" in told else told["seconds"]
        rows.append((name, number(told["test_loss"], 3), accuracy, number(seconds, 2), last))
    head = ("run", "test loss", "accuracy, %", "seconds", "failed, or speed-up")
    return Table(f"{record['suite']}/{record['name']} on {record['device']['slug']}", head, tuple(rows), 2)


def _trained(suite: str, records: Sequence[Record]) -> Table:
    rows = []
    for record in records:
        row = _training_row(record)
        share, mark = (row["mfu"], "") if row["mfu"] is not None else (row["bf16_equivalent"], " (FP8)")
        rows.append(
            (
                record["name"],
                record["device"]["slug"],
                record["status"],
                _spread(row["step_s"], row["step_iqr_s"]),
                number(row["tokens_per_s"], 0),
                number(share, 1, 100) + (mark if share is not None else ""),
                number(row["peak_b"], 2, 1 / _GIB),
                _error(row["engine_peak_b"], row["peak_b"]),
                _error(row["engine_step_s"], row["step_s"]),
                number(row["loss_last"], 3),
            )
        )
    head = ("case", "device", "status", "step ms", "tokens/s", "MFU %", "peak GiB", "engine's peak %",
            "engine's step %", "loss")  # fmt: skip
    return Table(f"{suite}: median ± half the interquartile range", head, tuple(rows), 3)


def _pairs(suite: str, records: Sequence[Record]) -> Iterator[tuple[Record, Record]]:
    """Each record whose case names another one to be compared with, and that one's on the same device."""
    known = {**SUITES, **TINY}.get(suite, ())
    against = {case.name: case.against for case in known if case.against}
    found = {(record["name"], record["device"]["slug"]): record for record in records if record["samples"] is not None}
    for (name, slug), record in found.items():
        other = found.get((against.get(name, ""), slug))
        if other is not None:
            yield record, other


def _ratios(suite: str, pairs: Sequence[tuple[Record, Record]]) -> Table:
    """How many times as many tokens a second as the control, with a 95 % interval, and whether that is a difference.

    Cases that took turns suffered a drift of the machine alike; of others, the interval does not know it.
    """
    rows = []
    for record, other in pairs:
        per_token = [
            [[second / tokens for second in row] for row in one["samples"]["step_s"]]
            for one in (other, record)
            for tokens in [one["case"]["batch"] * one["case"]["sequence"] * one["case"]["accumulate"]]
        ]
        found = ratio(per_token[0], per_token[1])
        verdict = f"{found.value:.3f}" if found.differs else "no difference"
        interval = f"{found.low:.3f} to {found.high:.3f}"
        times = [one["provenance"] for one in (record, other)]
        shared = max(one["started"] for one in times) < min(one["finished"] for one in times)
        turns = "the same" if shared else "apart"
        rows.append((record["name"], other["name"], record["device"]["slug"], turns, verdict, interval))
    head = ("case", "against", "device", "turns", "times the tokens/s", "95 % interval")
    return Table(f"{suite}: against their controls", head, tuple(rows), 4)


def _points(record: Record) -> Table:
    points = record["points"]
    names = list(dict.fromkeys(name for point in points for name in point["shares"]))
    rates = [(name, title, scale) for name, title, scale in _RATES if any(point["rates"][name] for point in points)]
    gains = any(gain(point, points[0]) for point in points)
    processes = "processes" in points[0]["settings"]
    rows = []
    for point in points:
        row = _point_row(point, points[0])
        cells = [point["label"], point["status"], _spread(row["seconds"], row["iqr_s"])]
        cells += [_rate(point["rates"][name], scale) for name, _, scale in rates]
        cells += [number(point["shares"].get(name), 1, 100) for name in names]
        cells += [number(row["speedup"], 2)] if gains else []
        cells += [number(row["efficiency"], 1, 100)] if gains and processes else []
        rows.append(tuple(cells))
    head = ["point", "status", "ms", *(title for _, title, _ in rates), *(f"{name} %" for name in names)]
    head += ["speed-up"] if gains else []
    head += ["efficiency %"] if gains and processes else []
    return Table(f"{record['suite']}/{record['name']} on {record['device']['slug']}", tuple(head), tuple(rows), 2)


_RATES = (("flops_per_s", "TFLOP/s", 1e-12), ("bytes_per_s", "GB/s", 1e-9), ("tokens_per_s", "thousand tokens/s", 1e-3))


def _fit(record: Record) -> Table:
    rows = tuple(
        (one["policy"], *(number(one[f"{which}_batch"], 0) for which in ("predicted", "largest")),
         number(one["peak"], 2, 1 / _GIB))
        for one in record["fit"]["policies"]
    )  # fmt: skip
    head = ("policy", "engine's batch", "largest batch", "peak GiB")
    how = "fits (emulated)" if record["fit"]["limit"] is not None else "fits"
    return Table(f"{record['suite']}/{record['name']} on {record['device']['slug']}: {how}", head, rows)


def _rate(value: float | None, scale: float) -> str:
    """A rate with two decimals, a small one with three significant digits."""
    small = value is not None and 0 < value * scale < 1
    return f"{value * scale:.3g}" if small and value is not None else number(value, 2, scale)


def _spread(median: float | None, iqr: float | None) -> str:
    """Milliseconds ± half the interquartile range, with three significant digits or more."""
    if median is None or iqr is None:
        return ABSENT
    digits = 1 if median >= 0.1 else 3 if median >= 1e-3 else 5
    return f"{median * 1e3:,.{digits}f} ± {iqr * 5e2:,.{digits}f}"


def _error(predicted: float | None, measured: float | None) -> str:
    """By how many percent a prediction is off."""
    return ABSENT if not predicted or not measured else f"{(predicted / measured - 1) * 100:+.1f}"


def page(record: Record) -> str:
    """The record in lines of text, without a newline at the end."""
    return "\n".join(_page_lines(record))


def _page_lines(record: Record) -> Iterator[str]:
    device, ran = record["device"], record["provenance"]
    yield f"{record['suite']}/{record['name']}: {record['status']}"
    if record["message"]:
        yield f"  {record['message']}"
    yield f"  on {device['name'] or device['slug']}, {ran['finished'][:10]}, PyTorch {ran['torch']}"
    if record["status"] not in MEASURED:
        if kept := record["withheld"]:
            yield from (f"  - {fault}" for fault in kept["faults"])
            yield f"  measured and withheld, raw, in the file: {', '.join(kept['measured'])}"
        return
    if record["summary"] is None:
        yield ""
        yield from (render(table, "text") for table in tables([record]))
    else:
        yield from _training_page(record)
    yield from _clocks(record)


def _training_page(record: Record) -> Iterator[str]:
    summary, memory, used = record["summary"], record["memory"], record["utilization"]
    told, loss, case = record["predicted"] or {}, record["loss"], record["case"]
    step, told_memory = summary["step_s"], told.get("memory") or {}
    passes = f"{case['accumulate']} x " if case["accumulate"] > 1 else ""
    shape = f"batch {passes}{case['batch']} x {case['sequence']}"
    title = f"{case['model']}, {shape}, {case['precision']}, {case['optimizer']}"
    share = ("BF16-equivalent", used["bf16_equivalent"]) if used["bf16_equivalent"] else ("MFU", used["mfu"])
    held = {**memory["held"], "optimizer": memory["held"]["optimizer_total"]}
    rows = [
        ("step, ms", f"{step['median'] * 1e3:,.2f} (IQR {step['iqr'] * 1e3:,.2f}, n {step['n']})",
         number(told.get("step_s"), 2, 1e3)),
        ("tokens/s", number(summary["tokens_per_s"]["median"], 0), number(told.get("tokens_per_s"), 0)),
        (f"{share[0]}, %", number(share[1], 1, 100), number(told.get("mfu"), 1, 100)),
        ("of the products, %", number(used["matmul_share"], 1, 100), ABSENT),
        ("peak memory, GiB", number(memory["peak"], 3, 1 / _GIB), number(told_memory.get("peak"), 3, 1 / _GIB)),
        *(
            (f"  {name}", number(held[name], 3, 1 / _GIB), number(told_memory.get(name), 3, 1 / _GIB))
            for name in ("parameters", "gradients", "activations", "optimizer")
        ),
        ("loss, first and last", f"{number(loss['first'], 3)} -> {number(loss['last_five_mean'], 3)}", ABSENT),
        ("attention that ran", ", ".join(record["attention_ran"] or ()) or ABSENT, ABSENT),
    ]  # fmt: skip
    if record["energy"]["per_token_j"] is not None:
        rows.append(("energy, J/token", f"{record['energy']['per_token_j']:.4f}", ABSENT))
    yield ""
    yield render(Table(title, ("", "measured", "the engine said"), tuple(rows)), "text")
    for line in dict.fromkeys(line for lines in record["compile"]["fallbacks"] for line in lines):
        yield f"  {line}"


def _clocks(record: Record) -> Iterator[str]:
    """What the machine did while each repeat was timed."""
    timed = [record["samples"]["step_s"]] if record["samples"] else [one["samples_s"] for one in record["points"] or ()]
    if timed:
        yield ""
    for index, repeat in enumerate(record["provenance"]["repeats"] if timed else ()):
        state = repeat["gpu"]
        told = f"  repeat {index + 1}: {sum(sum(rows[index]) for rows in timed):.1f} s timed"
        if state is not None and state["sm_clock_mhz"] and state["power_w"] and state["temperature_c"]:
            clock, power, heat = state["sm_clock_mhz"], state["power_w"], state["temperature_c"]
            told += f", clock {clock['mean']:.0f} MHz (least {clock['minimum']:.0f}), power {power['mean']:.0f} W, "
            told += f"up to {heat['maximum']:.0f} degrees Celsius"
        if repeat["others_share"] is not None:
            told += f", others took {repeat['others_share']:.1%} of the processors"
        yield told
