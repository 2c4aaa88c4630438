"""The engine's prediction for a published row, in the unit of comparison of its group."""

from __future__ import annotations

from dataclasses import dataclass

from ironlaw import GIB, EngineError, accelerator, job_time, training_memory
from ironlaw.economics.cost import LLAMA_PUE, US_GRID_INTENSITY, carbon, energy
from ironlaw.graph.operations import flops_per_token, korthikanti_model_flops, megatron_flops
from ironlaw.memory import MemoryLedger
from ironlaw.memory.phases import require_played
from tools.accuracy.rows import MEASURES, Row
from tools.accuracy.setups import computed_in_fp32, row_setup, unasked


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


LEVELS_UNSAID = {
    "memory of a phase": "the peak of a phase",
}
"""Groups of published values that the engine does not say, in words."""


def waiting(row: Row) -> dict[str, str]:
    """The row's published values that the engine cannot be asked for, each with the reason."""
    why = unasked(row)
    if why:
        return dict.fromkeys(row.measures, why)
    reasons = {kind: LEVELS_UNSAID.get(MEASURES[kind], "") for kind in row.measures}
    reasons |= {kind: _unplayed(row) for kind in reasons if MEASURES[kind] == "reserved memory"}
    if row.get("packed", False):
        # Attention stays inside a sample, and how long samples are is not published.
        reasons |= {k: "times of packed samples of unknown length" for k in reasons if MEASURES[k] == "time"}
    if computed_in_fp32(row):
        reasons |= {k: "times of 16-bit products among FP32 tensors" for k in reasons if MEASURES[k] == "time"}
    return {kind: reason for kind, reason in reasons.items() if reason}


def compare(row: Row) -> tuple[Comparison, ...]:
    """All comparisons that a row allows, but of reserved bytes: they take long to play (`tools.accuracy.reserved`)."""
    left = waiting(row)
    kinds = [kind for kind in row.measures if kind not in left and MEASURES[kind] != "reserved memory"]
    return tuple(_compare(row, kind, row.measures[kind]) for kind in kinds)


def _unplayed(row: Row) -> str:
    """Why the requests of a row's step are not known, or nothing."""
    try:
        require_played(row_setup(row))
    except EngineError as error:
        return f"the reserved bytes of {error.what} {error.value}"
    return ""


def _compare(row: Row, kind: str, value: float) -> Comparison:
    group = MEASURES[kind]
    if group == "time":
        return Comparison(row, kind, published_seconds(row, kind, value), float(job_time(row_setup(row)).total), "s")
    if group in ("memory", "device memory"):
        return Comparison(row, kind, published_bytes(kind, value) / GIB, predicted_bytes(row, kind) / GIB, "GiB")
    if group == "parameters":
        assert row.shape is not None
        return Comparison(row, kind, value, row.shape.parameters, "")
    return _energy(row, kind, value)


def published_seconds(row: Row, kind: str, value: float) -> float:
    """Seconds of a step as published, from tokens per second or from a utilization by the source's own formula."""
    if kind == "seconds":
        return value
    c = row_setup(row)
    shape, sequence = c.model, c.sequence
    sequences = c.batch * c.micro_batches * c.replicas
    if kind.startswith("tokens_per_s"):
        return float(sequences * sequence / (value * (c.devices if kind == "tokens_per_s_per_gpu" else 1)))
    if kind == "tflops_model":
        return float(flops_per_token(shape, sequence) * sequences * sequence / (value * 1e12 * c.devices))
    sizes = (sequences, sequence, shape.layers, shape.hidden, shape.vocab)
    if kind == "tflops_with_recompute":
        return float(megatron_flops(*sizes) / (value * 1e12 * c.devices))
    return float(korthikanti_model_flops(*sizes) / (value * accelerator(row.get("gpu")).peak("bf16") * c.devices))


BYTES = {"gib": GIB, "mib": 2**20, "gb": 1e9, "bytes": 1, "thousand_mib": 1000 * 2**20}
"""Bytes of the units that columns of memory end in."""


def published_bytes(kind: str, value: float) -> float:
    """Bytes of a published value."""
    return value * BYTES[kind.rpartition("_")[2] if kind != "thousand_mib" else kind]


def predicted_bytes(row: Row, kind: str) -> float:
    """Peak of the allocator, or of the whole device where the source read it from the driver."""
    ledger = step_ledger(row)
    if MEASURES[kind] == "memory":
        return float(ledger.allocated_peak)
    return float(ledger.allocated_peak + context_bytes(row, ledger) + ledger.plan.runtime_bytes)


def step_ledger(row: Row) -> MemoryLedger:
    """The tensors of a row's step on its busiest device."""
    return training_memory(row_setup(row))


def context_bytes(row: Row, ledger: MemoryLedger) -> float:
    """The driver's context, as large as the source says where it says so."""
    return float(row.get("context_mib") * 2**20 if "context_mib" in row.settings else ledger.plan.context_bytes)


def _energy(row: Row, kind: str, value: float) -> Comparison:
    kilowatt_hours = energy(row.get("device_hours"), row.get("watts"), pue=LLAMA_PUE)
    if kind == "mwh":
        return Comparison(row, kind, value, kilowatt_hours / 1000, "MWh")
    return Comparison(row, kind, value, carbon(kilowatt_hours, US_GRID_INTENSITY), "t\u00a0CO₂e")
