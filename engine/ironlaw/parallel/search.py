"""Finding a layout: a search for the fastest configuration that fits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from ironlaw.config.layout import Layout
from ironlaw.config.resolved import Setup, require_no_arrays
from ironlaw.config.setup import as_setup
from ironlaw.core.errors import EngineError, Instead, whole_number
from ironlaw.core.units import Bytes, Count
from ironlaw.graph.checkpointing import checkpointing
from ironlaw.hardware.cluster import cluster
from ironlaw.memory.ledger import training_memory
from ironlaw.models.transformer import Transformer
from ironlaw.parallel.job import JobTime, job_time
from ironlaw.parallel.model_parallel import divides

CHECKPOINTING = ("none", "selective", "full")
"""Kinds of checkpointing that are tried."""

MOST_DEVICES = 10**6
"""Devices that a search divides at most."""

IGNORED = ("batch", "checkpointing", "dp", "tp", "pp", "sequence_parallel", "zero", "micro_batches", "accumulate")
"""Words that a search finds itself."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """A setup that was found, and what it costs.

    Attributes:
        setup: With its layout, micro-batch and checkpointing.
        time: The step.
        device_bytes: Memory the busiest device needs, context included.
    """

    setup: Setup
    time: JobTime
    device_bytes: Bytes


def search(
    asked: Setup | str | Transformer | None = None,
    *words: Any,
    devices: Count,
    global_batch: Count,
    keep: Count = 5,
    **choices: Any,
) -> tuple[Configuration, ...]:
    """The fastest configurations that fit, the fastest first.

    Tries every way to write `devices` as data x tensor x pipeline (tensor within a node) times the devices that share a
    sequence in the setup, every power-of-two micro-batch, ZeRO stage and kind of checkpointing that gives exactly
    `global_batch` sequences per step.

    Args:
        asked: What is trained, and on what: a setup, whose own layout, micro-batch and checkpointing are ignored, or
            a model with which the words of one begin (see `ironlaw.config.setup.setup`).
        words: Further words of a setup.
        devices: How many.
        global_batch: Sequences per optimizer step.
        keep: Configurations that are returned at most.
        choices: Further words of a setup, by name, except those that a search finds itself.

    Raises:
        EngineError: A number below one, a word that the search finds itself, or nothing fits.
    """
    for word in choices:
        if word in IGNORED:
            raise EngineError(word, choices[word], "left out", because="as a search finds it")
    c = as_setup(asked, *words, **choices)
    require_no_arrays(c)
    devices = whole_number("devices", devices, highest=MOST_DEVICES)
    global_batch, keep = whole_number("global_batch", global_batch), whole_number("keep", keep)
    timed = sorted(((job_time(tried), tried) for tried in _setups(c, devices, global_batch)), key=lambda t: t[0].total)
    needed = ((tried, time, training_memory(tried).device_total) for time, tried in timed)
    fitting = (Configuration(*one) for one in needed if one[2] <= c.chip.usable_bytes)
    found = tuple(islice(fitting, keep))
    if not found:
        raise EngineError(
            "devices",
            devices,
            ("more", Instead("global_batch", "that is larger"), Instead("model", "that is smaller")),
            {"model": c.model.name, "global_batch": global_batch, "gpu": c.chip.name},
            "as no layout fits",
        )
    return found


def _setups(c: Setup, devices: Count, global_batch: Count) -> Iterator[Setup]:
    joined = c.cluster or cluster(c.chip)
    for layout, micro_batch in _layouts(c, joined.node_size, devices, global_batch):
        for name in CHECKPOINTING:
            one = c.at(micro_batch, c.sequence)
            yield replace(one, checkpointing=checkpointing(name), layout=layout, cluster=joined)


def _layouts(c: Setup, node_size: Count, devices: Count, global_batch: Count) -> Iterator[tuple[Layout, Count]]:
    context = c.layout.context
    for tensor in _divisors(devices // context) if devices % context == 0 else ():
        if tensor > node_size or not divides(c.model, tensor):
            continue
        for pipeline in _divisors(devices // context // tensor):
            if c.model.layers % pipeline:
                continue
            data = devices // tensor // pipeline // context
            micro_batch = 1
            while global_batch % (data * micro_batch) == 0:
                micro_batches = global_batch // (data * micro_batch)
                several = data * context > 1
                for zero in (0, 1, 2, 3) if several and pipeline == 1 else (0, 1) if several else (0,):
                    layout = Layout(
                        data=data,
                        tensor=tensor,
                        pipeline=pipeline,
                        sequence_parallel=tensor > 1,
                        zero=zero,
                        micro_batches=micro_batches,
                        overlap=c.layout.overlap,
                        overlap_tensor=c.layout.overlap_tensor,
                        context=context,
                    )
                    yield layout, micro_batch
                micro_batch *= 2


def _divisors(number: Count) -> tuple[Count, ...]:
    return tuple(k for k in range(1, number + 1) if number % k == 0)
