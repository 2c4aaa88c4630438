"""The time of a row's step, asked of the engine's public function `job_time`: nothing is computed here.

What the source says about a run becomes a layout, a cluster and a job.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from engine import accelerator, job, job_time
from engine.config.layout import Layout
from engine.hardware import Accelerator
from engine.hardware.cluster import Cluster
from engine.hardware.links import Link, link
from tools.accuracy.rows import Row

DEVICES_PER_NODE = 8

ATTENTION_GENERATION_SPEEDUP = 2
"""FlashAttention-2 over FlashAttention. Source: Dao 2023, arXiv 2307.08691, abstract."""


@dataclass(frozen=True)
class Plan:
    """How a row divides its devices and its batch."""

    devices: int
    tensor: int
    pipeline: int
    data: int
    micro_batches: int

    @property
    def tokens_factor(self) -> int:
        """Micro-batches of all replicas per step."""
        return self.data * self.micro_batches


def plan_of(row: Row) -> Plan:
    """Devices, replicas and micro-batches of a row, from whichever of them the source prints."""
    tensor, pipeline = row.get("tensor", 1), row.get("pipeline", 1)
    data = row.get("data") or row.get("devices", 1) // (tensor * pipeline)
    micro = row.get("accumulate", 1)
    if "global_batch" in row.settings:
        micro = max(1, round(row.get("global_batch") / (data * row.get("batch"))))
    return Plan(data * tensor * pipeline, tensor, pipeline, data, micro)


def layout_of(row: Row) -> Layout:
    """The engine's layout of a row."""
    plan = plan_of(row)
    return Layout(
        data=plan.data,
        tensor=plan.tensor,
        pipeline=plan.pipeline,
        sequence_parallel=row.get("sequence_parallel", False) and plan.tensor > 1,
        zero=row.get("zero", 0),
        micro_batches=plan.micro_batches,
        interleave=row.get("interleave", 1),
        balanced=row.get("balanced", False),
    )


def step_seconds(row: Row) -> float:
    """Seconds of one optimizer step of a row."""
    assert row.shape is not None
    work = job(
        row.shape,
        sequence=row.get("sequence"),
        mode=row.get("precision"),
        rule=row.get("optimizer", "adamw"),
        attention=row.get("attention"),
        policy=row.get("checkpointing", "none"),
        framework=row.get("framework"),
        fused=row.get("fused", False),
        dropout=row.get("dropout", 0.0),
        overlap=row.get("overlap", False),
        overlap_tensor=row.get("overlap_tensor", False),
        paired_sends=row.get("paired_sends", True),
        metrics=row.get("metrics", 0),
    )
    return float(job_time(work, layout_of(row), _cluster(row), row.get("batch")).total)


def _chip(row: Row) -> Accelerator:
    chip = accelerator(row.get("gpu"))
    if row.get("attention_generation") != 1 or chip.attention is None:
        return chip
    forward, backward = (
        rate / ATTENTION_GENERATION_SPEEDUP for rate in (chip.attention.forward, chip.attention.backward)
    )
    return replace(chip, attentions=(replace(chip.attention, forward=forward, backward=backward),))


def _cluster(row: Row) -> Cluster:
    """Nodes of eight, joined by the published share of the network; without one, the job is a single node."""
    chip = _chip(row)
    inside = link(chip.links[0])
    gbit = row.get("network_gbit", 0)
    if not gbit:
        return Cluster(chip, DEVICES_PER_NODE, inside, inside)
    wire = link("infiniband-hdr")
    network = Link(
        name=f"{gbit} Gb/s",
        title=row.source.title,
        scope="network",
        bandwidth=gbit * 1e9 / 8,
        latency=wire.latency,
        measured=None,
        collective=None,
        sources=wire.sources,
    )
    return Cluster(chip, DEVICES_PER_NODE, inside, network)
