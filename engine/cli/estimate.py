"""`python -m engine estimate`: one configuration."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from engine.cli.configurations import answer, read_any
from engine.cli.parser import configuration_parser, show
from engine.cli.tables import Cell, gigabytes, heading, number, percent, section, table

if TYPE_CHECKING:
    from engine.answers.estimate import Estimate, MemoryBytes
    from engine.answers.estimate_images import ImageSetup
    from engine.config.setup import Setup

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
    "runtime": "DeepSpeed's buffers and communicators",
}
ALWAYS = ("parameters", "gradients", "optimizer", "activations", "logits", "workspace")
SUMS = ("parameters", "master", "gradients", "optimizer", "buckets", "gathered", "activations", "casts", "logits")


def run(words: Sequence[str]) -> int:
    """Estimate and print."""
    values = configuration_parser("estimate", __doc__ or "").parse(words)
    asked = read_any(values)
    found = answer(asked)
    show(values, found.as_dict, render(asked, found))
    return 0


def title(asked: Setup | ImageSetup, varied: Collection[str] = ()) -> str:
    """The configuration in one line, without the options that vary."""
    # The heading names what all rows share; the number of devices varies between them.
    devices = 1 if {"--dp", "--tp", "--pp"} & set(varied) else asked.layout.devices
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
        ("MFU", percent(time.mfu), "%: 6 N + 12 L h T a token over the dense peak"),
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
        ("device total", seen.device_total, 1e-9, "GB"),
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
    yield section("Expected, by published runs", table(rows, header, right=(1, 2, 3)))


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
    left = memory.capacity - memory.device_total
    verdict = f"fits: {gigabytes(left)} GB to spare" if found.fits else f"does not fit: {gigabytes(-left)} GB too much"
    meaning = "good" if found.fits else "over"
    yield "device total", Cell(gigabytes(memory.device_total), meaning), f"of {gigabytes(memory.capacity)}; {verdict}"
    if memory.host:
        yield "in host memory", Cell(gigabytes(memory.host), "memory"), "offloaded"
