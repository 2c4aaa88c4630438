"""`python -m ironlaw estimate | explain`: one configuration, and the sums behind its figures."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict
from itertools import chain
from typing import TYPE_CHECKING, Any

from ironlaw.cli.configurations import answer, read_any, read_setup
from ironlaw.cli.parser import configuration_parser, show
from ironlaw.cli.terminal import Cell, Row, UsageError, gigabytes, heading, number, percent, section, table

if TYPE_CHECKING:
    from ironlaw.answers.estimate import Estimate, MemoryBytes
    from ironlaw.answers.estimate_images import ImageSetup
    from ironlaw.answers.explanation import Explanation, Line
    from ironlaw.config.resolved import Setup
    from ironlaw.memory.phases import Phases

MEANINGS = {"optimizer": "optimizer", "allocated_peak": "strong", "device_total": "strong"}
WORDS = {
    "logits": "kept by the loss",
    "workspace": "scratch memory of the matrix library",
    "master": "fp32 copy of the weights",
    "casts": "16-bit copies of fp32 weights",
    "buckets": "copies of gradients on their way to other devices",
    "gathered": "parameters collected by ZeRO-3",
    "peak_balance": "temporary tensors at the peak, less what is not alive then",
    "context": "driver, outside PyTorch's allocator",
    "runtime": "outside PyTorch's allocator: of DeepSpeed, or of vLLM",
}
VERDICTS = {
    "fits": "It fits: the whole band of what is needed does.",
    "uncertain": "Uncertain: the device's capacity lies within the band of what is needed.",
    "not": "It does not fit: the whole band of what is needed lies above the capacity.",
}
ALWAYS = ("parameters", "gradients", "optimizer", "activations", "logits", "workspace")
SUMS = ("parameters", "master", "gradients", "optimizer", "buckets", "gathered", "activations", "casts", "logits")


def run(words: Sequence[str]) -> int:
    """`python -m ironlaw estimate`: one configuration."""
    parser = configuration_parser("estimate", run.__doc__ or "")
    parser.add_switch("--phases", "memory from load to save: allocated, reserved, process")
    values = parser.parse(words)
    asked = read_any(values)
    found = answer(asked)
    phases = memory_phases_of(asked) if values["phases"] else None
    show(values, lambda: found.as_dict() | phases_data(phases), chain(render(asked, found), _phase_lines(phases)))
    return 0


def memory_phases_of(asked: Setup | ImageSetup) -> Phases:
    """Memory over the phases of a transformer's training. Raises `UsageError` for a network of images."""
    from ironlaw.config.resolved import Setup
    from ironlaw.memory.phases import memory_phases

    if not isinstance(asked, Setup):
        raise UsageError(f"--phases is not allowed with --model {asked.model.name}; allowed: a transformer")
    return memory_phases(asked)


def phases_data(phases: Phases | None) -> dict[str, Any]:
    """The phases as plain data, or nothing."""
    return {"phases": [asdict(phase) for phase in phases.phases], "peak_phase": phases.peak.name} if phases else {}


def _phase_lines(phases: Phases | None) -> Iterator[str]:
    if phases is None:
        return
    rows = [(p.name, *(gigabytes(size) for size in (p.allocated, p.reserved, p.process))) for p in phases.phases]
    header = ("phase", "allocated GB", "reserved GB", "process GB")
    last = f"  The peak is in: {phases.peak.name}; in host memory {gigabytes(phases.host)} GB."
    yield section("Memory over the phases", table(rows, header, right=(1, 2, 3)), last)


def title(asked: Setup | ImageSetup, varied: Collection[str] = ()) -> str:
    """The configuration in one line, without the options that vary."""
    # The heading names what all rows share; the number of devices varies between them.
    devices = 1 if {"--dp", "--tp", "--pp", "--cp"} & set(varied) else asked.layout.devices
    sequence = getattr(asked, "sequence", None)
    what = "image" if sequence is None else "sequence"
    parts = {
        "--model": asked.model.name,
        "--optimizer": asked.optimizer.name,
        "--precision": asked.precision.name,
        "--batch": f"{asked.batch:,} {what}{'s' * (asked.batch > 1)}",
        "--seq": f"{sequence:,} tokens" if sequence else "",
        "--gpu": f"{devices} x {asked.chip.title}" if devices > 1 else asked.chip.title,
    }
    return ", ".join(text for flag, text in parts.items() if text and flag not in varied)


def _mfu_rule(asked: Setup | ImageSetup) -> str:
    from ironlaw.answers.assumptions import mfu_rule
    from ironlaw.config.resolved import Setup

    return f"{mfu_rule(asked)} a token" if isinstance(asked, Setup) else "matrix products of forward and backward"


def render(asked: Setup | ImageSetup, found: Estimate) -> Iterator[str]:
    """The answer as text."""
    yield heading(title(asked))
    yield f"{found.parameters:,} parameters"
    held = [*memory_rows(found.memory_bytes), *_peak_rows(found)]
    yield section("Memory of the busiest GPU", table(held, ("component", "GB", ""), right=(1,)))
    time, flops = found.time, found.flops
    rows: list[tuple[str, str | Cell, str]] = [
        ("time", Cell(number(time.step_s * 1000), "strong"), f"ms, bound by {time.bound_by}"),
        ("throughput", number(time.tokens_per_s), "tokens/s of the whole job"),
        ("MFU", percent(time.mfu), f"%: {_mfu_rule(asked)} over the dense peak"),
        ("HFU", percent(time.hfu), "%: the same with what is computed again"),
        ("model", number(flops.model_per_step / 1e12), "TFLOP"),
        ("hardware", number(flops.hardware_per_step / 1e12), "TFLOP"),
        ("energy", number(found.energy_j_per_token * 1000), "mJ per token"),
    ]
    if found.usd_per_1e9_tokens is not None:
        rows.append(("cost", number(found.usd_per_1e9_tokens), "dollars per billion tokens"))
    yield section("One optimizer step", table(rows, right=(1,)))
    yield from _experience(found)
    yield section("Assumptions", *(f"  {sentence}" for sentence in found.assumptions))


def _experience(found: Estimate) -> Iterator[str]:
    """What published runs took beyond the physics, which is a lower limit, and the bands in which nine of ten lie."""
    if (seen := found.calibrated) is None:
        return
    figures = (
        ("time", seen.step_s, 1e3, "ms"),
        ("throughput", seen.tokens_per_s, 1.0, "tokens/s"),
        ("allocated peak", seen.allocated_peak, 1e-9, "GB"),
        ("needed", seen.needed, 1e-9, "GB"),
        ("process", seen.device_total, 1e-9, "GB"),
    )
    rows = [
        (
            name,
            Cell(number(value.expected * scale), "strong"),
            number(value.low * scale),
            number(value.high * scale),
            f"{unit}; {value.runs} runs of {value.sources} sources near this one",
        )
        for name, value, scale, unit in figures
    ]
    header = ("", "expected", "90 % from", "to", "")
    yield section("Expected, by published runs", table(rows, header, right=(1, 2, 3)), f"  {VERDICTS[found.verdict]}")


def memory_rows(memory: MemoryBytes) -> Iterator[tuple[str, Cell, str]]:
    """Every component that is there, in the order in which they are summed."""
    for name in (*SUMS, "workspace", "peak_balance"):
        size = getattr(memory, name)
        if size or name in ALWAYS:
            yield name.replace("_", " "), Cell(gigabytes(size), MEANINGS.get(name, "memory")), WORDS.get(name, "")


def _peak_rows(found: Estimate) -> Iterator[tuple[str, Cell, str]]:
    memory = found.memory_bytes
    yield "allocated peak", Cell(gigabytes(memory.allocated_peak), "strong"), "torch.cuda.max_memory_allocated"
    if memory.runtime:
        yield "runtime", Cell(gigabytes(memory.runtime), "memory"), WORDS["runtime"]
    yield "context", Cell(gigabytes(memory.context), "memory"), WORDS["context"]
    # As both are shown.
    left = round(memory.capacity, -7) - round(memory.device_total, -7)
    verdict = f"fits: {gigabytes(left)} GB to spare" if found.fits else f"does not fit: {gigabytes(-left)} GB too much"
    meaning = "good" if found.fits else "over"
    yield "device total", Cell(gigabytes(memory.device_total), meaning), f"of {gigabytes(memory.capacity)}; {verdict}"
    if memory.host:
        yield "in host memory", Cell(gigabytes(memory.host), "memory"), "offloaded"


def explain(words: Sequence[str]) -> int:
    """`python -m ironlaw explain`: the sums behind an estimate, line by line, with the sources they rest on."""
    values = configuration_parser("explain", explain.__doc__ or "").parse(words)
    asked = read_setup(values)
    from ironlaw.answers import explanation

    found = explanation.explain(asked)
    show(values, lambda: asdict(found), _explained(asked, found))
    return 0


def _explained(asked: Setup, found: Explanation) -> Iterator[str]:
    yield heading(title(asked))
    yield f"B = {asked.batch:,} (sequences in a micro-batch), T = {asked.sequence:,} (tokens in a sequence)"
    if asked.layout.context > 1:
        yield f"What is kept counts the {asked.own_sequence:,} tokens of a sequence that one device has as T."
    yield _sum("Parameters", found.parameters, "elements")
    yield _sum("Memory whatever the batch, on the busiest GPU", found.static, "GB")
    yield _sum("Memory kept from forward to backward", found.saved, "GB")
    most = max(line.value for line in found.moments)
    rows: list[Row] = [
        (line.name, Cell(gigabytes(line.value), "strong" if line.value == most else ""), "peak" * (line.value == most))
        for line in found.moments
    ]
    peaks = table(rows, ("moment", "GB", ""), right=(1,))
    yield section("Allocated at the moments at which memory can peak", peaks)
    products = [(line.name, line.formula, number(line.value / 1e12)) for line in found.flops]
    header = ("operation", "forward FLOPs", "TFLOP")
    yield section("Matrix products of one micro-batch of one replica", table(products, header, right=(2,)))
    seconds = [(line.name, number(line.value * 1000), line.formula) for line in found.time]
    yield section("Time of one optimizer step", table(seconds, ("", "ms", ""), right=(1,)))
    yield section("Sources", *(f"  {source}" for source in found.sources))


def _sum(name: str, lines: Sequence[Line], unit: str) -> str:
    value = _whole if unit == "elements" else gigabytes
    rows: list[Row] = [(line.name, line.formula, value(line.value)) for line in lines]
    total = Cell(value(sum(line.value for line in lines)), "strong")
    return section(name, table([*rows, (Cell("sum", "strong"), "", total)], ("tensor", "", unit), right=(2,)))


def _whole(value: float) -> str:
    return f"{value:,.0f}"
