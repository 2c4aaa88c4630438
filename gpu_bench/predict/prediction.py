"""What the engine and the chapter's formulas predict for a case: computed when the record is made, without PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import ironlaw
from gpu_bench.cases.card import trial
from gpu_bench.cases.case import Precision, TrainingCase
from gpu_bench.cases.kinds import FitCase
from gpu_bench.cases.sizes import SIZES, config_of
from gpu_bench.machine.chips import chip_of, specified_peak
from ironlaw import EngineError, Setup, Transformer, setup, step_time, training_memory
from ironlaw.config.setup import DEFAULT_GPU
from ironlaw.graph import count_operations
from ironlaw.hardware import Accelerator
from ironlaw.memory import chapter_activation_bytes
from ironlaw.memory.ledger import CUDA_CONTEXT
from ironlaw.numerics.dtypes import FP16, FP32


@dataclass(frozen=True)
class StepFlops:
    """Model FLOPs of one training step, forward and backward, in FLOP.

    full: 6 N + 12 L h T per token: every score of the T x T square counts (PaLM, arXiv 2204.02311, appendix B).
    causal: 6 N + 6 L h T per token: only the half of the square that a causal model needs.
    """

    full: int
    causal: int


def step_flops(parameters: int, layers: int, hidden: int, sequence: int, batch: int) -> StepFlops:
    """Model FLOPs of one step over `batch` sequences of T tokens, by both conventions.

    `parameters` are N, without the position table, which is looked up and never multiplied.
    """
    tokens = batch * sequence
    attention = layers * hidden * sequence
    return StepFlops(full=(6 * parameters + 12 * attention) * tokens, causal=(6 * parameters + 6 * attention) * tokens)


_NOT_THE_SAME: dict[Precision, tuple[str, str]] = {
    "bf16-master": ("mixed", "16-bit numbers counted as FP16"),
    "bf16-rounded": ("bf16", "optimizer state, unless in 8 bits, counted as BF16"),
    "fp8": ("amp-fp8", ""),
    "fp8-master": ("fp8", "gradients counted as FP32"),
}
"""Precisions for which the engine has another name, and what is not the same."""

_STATES = {"sgd": 0, "momentum": 1, "adam": 2, "adamw": 2}


def shape_of(case: TrainingCase, *, padded: bool) -> Transformer:
    """The case's model as the engine describes it, with or without the rows that pad the vocabulary."""
    size = config_of(case)
    vocab = size.vocab if padded else SIZES[case.model].vocab
    return Transformer(case.model, size.layers, size.hidden, size.heads, vocab, size.max_seq)


def recomputed_flops(case: TrainingCase) -> int:
    """Matrix-product FLOPs of a step that checkpointing and a chunked loss run a second time.

    What fused attention computes again inside its own backward pass is not counted: no choice of the case's does that.
    """
    model, policy = shape_of(case, padded=False), case.checkpointing

    def again(checkpointing: str) -> float:
        return count_operations(
            model, case.batch, case.sequence, attention=case.attention, checkpointing=checkpointing
        ).recompute

    head = 2 * case.batch * case.sequence * model.hidden * model.vocab if case.loss_chunks > 1 else 0
    return round(again(policy) - again("none") + head) * case.accumulate


def predict(case: TrainingCase, device: Mapping[str, Any]) -> dict[str, Any]:
    """The block `predicted` of a record: memory by component, step time where the chip is known, textbook memory."""
    memory, memory_notes = _memory(case, "cuda" if device["type"] == "cuda" else "cpu")
    seconds, time_notes = _seconds(case, device["name"])
    notes = [*(_not_counted(case) if memory or seconds else []), *memory_notes, *time_notes]
    told = {"engine_version": ironlaw.__version__, "memory": memory, "step_s": seconds, "approximations": notes}
    return completed(case, told, device["name"])


def completed(case: TrainingCase, told: Mapping[str, Any], name: str | None) -> dict[str, Any]:
    """A prediction for the device of this name with what follows from it, and with what the formulas say."""
    seconds = told["step_s"]
    return {
        **told,
        "textbook": textbook(case),
        "tokens_per_s": case.tokens_per_step / seconds if seconds else None,
        "mfu": predicted_mfu(case, seconds, name),
    }


def predicted_mfu(case: TrainingCase, seconds: float | None, name: str | None) -> float | None:
    """The share of the peak that a step of so many seconds is; None without a time, without a peak, and in FP8.

    Over an FP8 peak the products of the head, in 16 bits, would count as if they were in 8.
    """
    peak = specified_peak(name, case.precision)
    if not seconds or not peak or case.precision.startswith("fp8"):
        return None
    return float(model_flops(case).full / seconds / peak)


def _not_counted(case: TrainingCase) -> list[str]:
    """What the engine does not know of the case, or knows only by something close to it."""
    told = [_NOT_THE_SAME[case.precision][1]] if case.precision in _NOT_THE_SAME else []
    if case.residual == "bf16" and case.precision.startswith("amp"):
        told.append("residual stream counted as FP32")
    if case.precision == "fp8" and case.scaling != "dynamic":
        told.append("scales counted as dynamic")
    if case.compile == "split-k":
        told.append("products counted as without a divided sum")
    if case.epilogues == "fused":
        told.append("GELU and sums for biases counted as kernels of their own")
    if case.step_graph:
        told.append("kernels counted as launched one by one")
    if case.implementation != "own":
        told.append(f"{case.implementation} counted as our own model")
    return [sentence for sentence in told if sentence]


def model_flops(case: TrainingCase) -> StepFlops:
    """FLOPs that the mathematics of a step needs, by both conventions, without the rows that pad the vocabulary."""
    shape = shape_of(case, padded=False)
    multiplied = shape.parameters - shape.max_seq * shape.hidden
    return step_flops(multiplied, shape.layers, shape.hidden, case.sequence, case.batch * case.accumulate)


def predicted_peak(case: TrainingCase, kind: str) -> int | None:
    """Bytes that the step allocates at its peak by the engine; None where it has no model of the case."""
    memory, _ = _memory(case, kind)
    return memory["peak"] if memory else None


def predicted_seconds(case: TrainingCase, name: str | None) -> float | None:
    """Seconds of a step by the engine on the GPU that the driver calls `name`; None where it has no model of it."""
    return _seconds(case, name)[0]


def case_setup(case: TrainingCase, chip: Accelerator | str = DEFAULT_GPU, backend: str = "cuda") -> Setup:
    """The case as the engine takes it, with the rows that pad the vocabulary.

    Raises:
        EngineError: For choices that the chip or the engine does not have.
    """
    return setup(
        shape_of(case, padded=True),
        chip,
        case.batch,
        case.sequence,
        precision=_NOT_THE_SAME.get(case.precision, (case.precision, ""))[0],
        optimizer=case.optimizer,
        attention=case.attention,
        dropout=case.dropout,
        checkpointing=case.checkpointing,
        loss=case.loss,
        accumulate=case.accumulate,
        optimizer_in_backward=case.optimizer_in_backward,
        update={"default": None, "flat": "fused"}.get(case.update, case.update),
        execution="eager" if case.compile == "none" else "compiled",
        backend=backend,
    )


def _memory(case: TrainingCase, backend: str) -> tuple[dict[str, int] | None, list[str]]:
    try:
        ledger = training_memory(case_setup(case, backend=backend))
    except EngineError as error:
        return None, [f"memory: {error}"]
    sums = ledger.bytes_by_component()
    # The batch of tokens is an input here, and so it is in the measurement. The targets are the same tokens, shifted by
    # one: several rows of them are copied to lie side by side, a single one is a view.
    inputs = ("wte.indices", "loss.targets") if case.batch == 1 else ("wte.indices",)
    tokens = sum(tensor.bytes for tensor in ledger.tensors if tensor.name in inputs)
    found = {name: int(sums.get(name, 0)) for name in ("parameters", "gradients", "optimizer")}
    found |= {
        "activations": int(sums.get("activations", 0) - tokens),
        "logits": int(sums.get("logits", 0)),
        "cast_weights": int(sums.get("casts", 0)),
        "workspace": int(ledger.workspace_bytes),
        "peak": int(ledger.allocated_peak),
    }
    compiled = ["memory: that of the eager step, a compiled one keeps less"] if case.compile != "none" else []
    return found, compiled


def _seconds(case: TrainingCase, name: str | None) -> tuple[float | None, list[str]]:
    chip = chip_of(name)
    if chip is None:
        return None, []
    try:
        time = step_time(case_setup(case, chip))
    except EngineError as error:
        return None, [f"time: {error}"]
    return float(time.total), []


def textbook(case: TrainingCase) -> dict[str, int] | None:
    """The chapter's arithmetic: bytes per parameter, and its formula for activations. It knows no technique.

    Mixed precision by the chapter: 16-bit weights and gradients, an FP32 master copy, FP32 state.
    """
    if case.precision not in ("fp32", "tf32", "amp-bf16") or case.optimizer not in _STATES:
        return None
    shape = shape_of(case, padded=False)
    mixed = case.precision.startswith("amp")
    width = 2 if mixed else 4
    parts = {
        "parameters": width * shape.parameters,
        "gradients": width * shape.parameters,
        "master": 4 * shape.parameters if mixed else 0,
        "optimizer": 4 * _STATES[case.optimizer] * shape.parameters,
        "activations": int(chapter_activation_bytes(shape, case.batch, case.sequence, FP16 if mixed else FP32)),
    }
    return {**parts, "total": sum(parts.values())}


def predicted_batch(case: FitCase, policy: str, kind: str) -> int | None:
    """The largest of the case's batches whose predicted peak leaves room for the context, or None."""
    room = case.memory_limit - (CUDA_CONTEXT if kind == "cuda" else 0)
    peaks = {batch: predicted_peak(trial(case, policy, batch), kind) for batch in case.batches}
    return max((batch for batch, peak in peaks.items() if peak is not None and peak <= room), default=None)
