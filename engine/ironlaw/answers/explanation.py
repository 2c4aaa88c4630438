"""Explanations: the lines that an estimate is the sum of, each with the formula that gives it, and their sources."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ironlaw.answers.estimate import prepare
from ironlaw.config.resolved import Setup, stage_sections
from ironlaw.config.setup import as_setup
from ironlaw.core.sizes import Size
from ironlaw.core.units import GB, Count
from ironlaw.graph.operations import product_flops, recomputation
from ironlaw.memory.ledger import training_memory
from ironlaw.memory.tensors import MemoryLedger
from ironlaw.models.transformer import Transformer
from ironlaw.time.gemm import sustained
from ironlaw.time.step import StepTime

LETTERS = ("B", "T")


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a sum: what, how it is computed, and its value."""

    name: str
    formula: str
    value: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """The sums behind an estimate.

    Attributes:
        parameters: Elements of every parameter tensor of the whole model.
        parameter_total: Their sum.
        static: Bytes on the busiest device that do not depend on the batch.
        saved: Bytes that are kept from forward to backward.
        moments: Bytes allocated at each moment at which memory can peak.
        flops: Forward FLOPs of every operation with matrix products, then backward, and what runs again.
        time: Seconds of the step by what they go to.
        sources: Where formulas and figures come from.
    """

    parameters: tuple[Line, ...]
    parameter_total: Count
    static: tuple[Line, ...]
    saved: tuple[Line, ...]
    moments: tuple[Line, ...]
    flops: tuple[Line, ...]
    time: tuple[Line, ...]
    sources: tuple[str, ...]


def explain(asked: Setup | str | Transformer | None = None, *words: Any, **choices: Any) -> Explanation:
    """The sums behind a configuration's estimate.

    Args:
        asked: A `Setup`, or the model of one.
        words: Further words of `ironlaw.setup`.
        choices: Further ones by name.

    Raises:
        EngineError: As `ironlaw.setup`.
    """
    c = as_setup(asked, *words, **choices)
    account = training_memory(c)
    return Explanation(
        parameters=tuple(_parameters(c.model)),
        parameter_total=c.model.parameters,
        static=tuple(_static(account)),
        saved=tuple(_saved(account)),
        moments=tuple(Line(moment.name, "", moment.bytes) for moment in account.moments),
        flops=tuple(_flops(c)),
        time=tuple(_time(c)),
        sources=tuple(dict.fromkeys(_sources(c))),
    )


def formula(size: Size) -> str:
    """A polynomial in words: `1,600 B T`."""
    terms = []
    for powers, coefficient in reversed(size.terms):
        factors = [
            letter if power == 1 else f"{letter}^{power}"
            for letter, power in zip(LETTERS, powers, strict=True)
            if power
        ]
        terms.append(" ".join([f"{coefficient:,}", *factors]))
    return " + ".join(terms) or "0"


def _parameters(model: Transformer) -> Iterator[Line]:
    for p in model.parameter_tensors:
        shape = " x ".join(f"{dimension:,}" for dimension in p.shape)
        yield Line(p.name, f"{p.count} of {shape}" if p.count > 1 else shape, p.elements * p.count)


def _static(account: MemoryLedger) -> Iterator[Line]:
    """One line per component, role and number format."""
    groups: dict[tuple[str, str, str, str], tuple[int, int]] = {}
    for t in account.plan.static:
        name = f"{t.component} {t.part}".strip() + (" (host memory)" if t.place == "host" else "")
        key = name, t.dtype.name, t.shard_group, t.place
        elements, size = groups.get(key, (0, 0))
        groups[key] = elements + t.elements * t.count, size + t.bytes
    for (name, dtype, group, place), (elements, size) in groups.items():
        shared = f", divided by {group.replace('+', ' and ')}" if group else ""
        if place == "device":
            yield Line(name, f"{elements:,} x {size / elements:g} B ({dtype}){shared}", size)
    yield Line("workspace", "scratch memory of the matrix library", account.workspace_bytes)


def _saved(account: MemoryLedger) -> Iterator[Line]:
    for t in account.plan.saved:
        each = t.size * (t.dtype.bits // 8 * t.count)
        times = f"{t.count} x " if t.count > 1 else ""
        text = f"{times}({formula(t.size)}) x {t.dtype.bits // 8} B ({t.dtype.name})"
        yield Line(f"{t.part}: {t.name}", text, each(account.batch, account.sequence))


def _flops(c: Setup) -> Iterator[Line]:
    whole = c.whole
    parts = stage_sections(whole, whole.stages[0])
    forward = 0
    again = 0
    for part in parts:
        for op in part.ops:
            if op.matmuls:
                size = product_flops(op)
                value = size(c.batch, c.sequence) * part.count
                forward += value
                yield Line(op.name, f"{part.count} x ({formula(size)})" if part.count > 1 else formula(size), value)
        for ops, count in recomputation(part, c.checkpointing):
            again += sum(product_flops(op)(c.batch, c.sequence) * count for op in ops if op.matmuls)
    plan = prepare(c)
    hardware = plan.hardware_flops(c.batch, c.sequence)
    yield Line("forward", "sum of the above", forward)
    yield Line("backward", "2 x forward", 2 * forward)
    yield Line("recomputed blocks", f"checkpointing {c.checkpointing.name}", again)
    yield Line("recomputed attention and loss", "inside their backward passes", hardware - 3 * forward - again)


def _time(c: Setup) -> Iterator[Line]:
    time = prepare(c).step(c.batch, c.sequence)
    if isinstance(time, StepTime):
        rate = sustained(c.chip, c.precision.product_format)
        products = f"kernels bound by arithmetic; products at most at {rate / 1e12:.3g} TFLOP/s"
        yield Line("arithmetic", products, time.compute)
        yield Line("traffic", f"kernels bound by traffic at {c.chip.streaming / GB:,.0f} GB/s", time.memory)
        yield Line("launching", "gaps between kernels, or waiting for the host", time.launch)
    else:
        yield Line("compute", "the slowest stage: forward, backward, recompute", time.compute)
        yield Line("update", "the optimizer", time.update)
        yield Line("bubble", "the pipeline fills and drains", time.bubble)
        yield Line("tensor parallelism", "collectives that the next kernel waits for", time.tensor)
        if c.layout.context > 1:
            yield Line("context parallelism", "keys and values that attention waits for", time.context)
        if c.layout.expert > 1:
            yield Line("expert parallelism", "tokens on their way to their experts and back", time.expert)
        yield Line("pipeline parallelism", "sends between stages", time.pipeline)
        yield Line("data parallelism", "collectives that nothing hides", time.data)
    if time.offload:
        where = (
            "inputs of blocks are on their way" if c.update.offload == "none" else "the host updates what is offloaded"
        )
        where += ", and weights come from it" * c.update.weights_away
        yield Line("offloading", where, time.offload)
    yield Line("step", f"bound by {time.bound_by}", time.total)


def _sources(c: Setup) -> Iterator[str]:
    for source in (*c.model.sources, *c.chip.sources):
        yield f"{source.url} ({source.date})"
    if c.chip.memory_source:
        yield f"{c.chip.memory_source.url} ({c.chip.memory_source.note})"
    for published in (*c.chip.ceilings, *c.chip.sustained):
        if published.dtype == c.precision.compute.name:
            yield f"{published.source.url} (matrix product {published.shape}, {published.dtype})"
    yield f"{c.optimizer.title}: {c.optimizer.source}"
    yield "Activations: operation lists checked against PyTorch's saved tensors; Korthikanti et al., arXiv 2205.05198"
    yield "Utilization: Chowdhery et al., PaLM, arXiv 2204.02311, appendix B"
    if c.layout.zero:
        yield "Divided states: Rajbhandari et al., ZeRO, arXiv 1910.02054"
    if c.layout.context > 1:
        yield "Rings of keys and values: NVIDIA/TransformerEngine, context_parallel.py; Liu et al., arXiv 2310.01889"
    if c.layout.devices > 1:
        yield "Parallel steps: Narayanan et al., arXiv 2104.04473"
