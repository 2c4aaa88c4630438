"""The engine's prediction for a published row, in the unit of comparison of its group."""

from __future__ import annotations

from dataclasses import dataclass, replace

from engine import GIB, Transformer, accelerator, training_memory
from engine.config.layout import Layout
from engine.economics.cost import LLAMA_PUE, US_GRID_INTENSITY, carbon, energy
from engine.graph.operations import flops_per_token, korthikanti_model_flops, megatron_flops
from engine.memory import MemoryLedger
from engine.memory.deepspeed import Overheads, overheads
from tools.accuracy.rows import MEASURES, Row
from tools.accuracy.steptime import layout_of, plan_of, step_seconds


@dataclass(frozen=True)
class Comparison:
    """A published value and the prediction, in the same unit."""

    row: Row
    kind: str
    published: float
    predicted: float
    unit: str

    @property
    def group(self) -> str:
        """Which group's statistics the comparison enters."""
        return MEASURES[self.kind]

    @property
    def error(self) -> float:
        """Relative error of the prediction; positive when the engine predicts too much."""
        return self.predicted / self.published - 1


def compare(row: Row) -> tuple[Comparison, ...]:
    """All comparisons that a row allows."""
    return tuple(_compare(row, kind, value) for kind, value in row.measures.items())


def _compare(row: Row, kind: str, value: float) -> Comparison:
    group = MEASURES[kind]
    if group == "time":
        return Comparison(row, kind, published_seconds(row, kind, value), step_seconds(row), "s")
    if group in ("memory", "device memory"):
        return Comparison(row, kind, _published_bytes(kind, value) / GIB, predicted_bytes(row, kind) / GIB, "GiB")
    if group == "parameters":
        assert row.shape is not None
        return Comparison(row, kind, value, row.shape.parameters, "")
    return _energy(row, kind, value)


def published_seconds(row: Row, kind: str, value: float) -> float:
    """Seconds of a step as published, from tokens per second or from a utilization by the source's own formula."""
    if kind == "seconds":
        return value
    shape, plan = row.shape, plan_of(row)
    assert shape is not None
    sequences, sequence = row.get("batch") * plan.tokens_factor, row.get("sequence")
    if kind == "tokens_per_s_per_gpu":
        return float(sequences * sequence / (value * plan.devices))
    if kind == "tflops_model":
        return float(flops_per_token(shape, sequence) * sequences * sequence / (value * 1e12 * plan.devices))
    sizes = (sequences, sequence, shape.layers, shape.hidden, shape.vocab)
    if kind == "tflops_with_recompute":
        return float(megatron_flops(*sizes) / (value * 1e12 * plan.devices))
    return float(korthikanti_model_flops(*sizes) / (value * accelerator(row.get("gpu")).peak("bf16") * plan.devices))


def _published_bytes(kind: str, value: float) -> float:
    return value * {"gib": GIB, "gb": 1e9, "thousand_mib": 1000 * 2**20}[kind]


def predicted_bytes(row: Row, kind: str) -> float:
    """Peak of the allocator, or of the whole device where the source read it from the driver."""
    ledger = step_ledger(row)
    if kind != "thousand_mib":
        return float(ledger.allocated_peak)
    return float(ledger.allocated_peak + context_bytes(row, ledger) + runtime_overheads(row).total)


def step_ledger(row: Row) -> MemoryLedger:
    """The tensors of a row's step on its busiest device."""
    plan, shape = plan_of(row), row.shape
    assert shape is not None
    return training_memory(
        _first_stage(shape, plan.pipeline) if row.get("balanced") else shape,
        optimizer=row.get("optimizer", "adamw"),
        precision=row.get("precision"),
        batch=row.get("batch"),
        sequence=row.get("sequence"),
        attention=row.get("attention"),
        dropout=row.get("dropout", 0.0),
        checkpointing=row.get("checkpointing", "none"),
        loss=row.get("loss", "full"),
        optimizer_in_backward=row.get("optimizer_in_backward", False),
        offload=row.get("offload", "none"),
        update=row.get("update"),
        framework=row.get("framework"),
        layout=Layout(
            data=plan.data,
            tensor=plan.tensor,
            pipeline=plan.pipeline,
            sequence_parallel=row.get("sequence_parallel", False),
            zero=row.get("zero", 0),
            micro_batches=plan.micro_batches,
        ),
    )


def context_bytes(row: Row, ledger: MemoryLedger) -> float:
    """The driver's context, as large as the source says where it says so."""
    return float(row.get("context_mib") * 2**20 if "context_mib" in row.settings else ledger.plan.context_bytes)


def runtime_overheads(row: Row) -> Overheads:
    """What the runtime keeps besides the step's tensors, where the engine knows it."""
    if row.get("runtime") != "deepspeed":
        return Overheads(staging=0, communicators=0)
    assert row.shape is not None
    return overheads(row.shape, row.get("precision"), layout_of(row))


def _first_stage(shape: Transformer, stages: int) -> Transformer:
    """Where the embedding counts as a block, the stage that holds it has one block less: a shorter model's stage."""
    slots = (shape.layers + 2) // stages
    return replace(shape, layers=(slots - 1) * stages)


def _energy(row: Row, kind: str, value: float) -> Comparison:
    kilowatt_hours = energy(row.get("device_hours"), row.get("watts"), pue=LLAMA_PUE)
    if kind == "mwh":
        return Comparison(row, kind, value, kilowatt_hours / 1000, "MWh")
    return Comparison(row, kind, value, carbon(kilowatt_hours, US_GRID_INTENSITY), "t CO2e")
