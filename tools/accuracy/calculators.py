"""What other open calculators answer for the same rows: their published formulas, written down here as facts.

Each function returns bytes on one device, or None for a run that the calculator has no question for. The formulas are
read in the sources named; nothing is taken from them but the arithmetic. Some say that they count model states only.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ironlaw import GIB, Setup, Transformer, model, training_memory
from tools.accuracy.report import report
from tools.accuracy.rows import Row
from tools.accuracy.setups import row_setup, unasked

MIB = 2**20


@dataclass(frozen=True)
class Calculator:
    """A calculator: name, address, what it covers, its answer for a run in bytes."""

    name: str
    url: str
    covers: str
    answer: Callable[[Row], float | None]


def korthikanti_activations(m: Transformer, batch: int, sequence: int, *, scores: bool) -> float:
    """`s b h L (34 + 5 a s / h)` bytes, or without the scores' term where attention is fused. arXiv 2205.05198."""
    extra = 5 * m.heads * sequence / m.hidden if scores else 0
    return float(sequence * batch * m.hidden * m.layers * (34 + extra))


def llm_analysis_activations(m: Transformer, batch: int, sequence: int) -> float:
    """llm-analysis in 16 bit with fused attention and no dropout: attention 7, MLP 1 + 2 f/h, two fp32 norm inputs.

    Per layer `2 s b h (7 + 1 + 2 f/h) + 8 a s b + 8 s b h`, plus the embedding's output and the logits.
    """
    sbh = sequence * batch * m.hidden
    layer = 2 * sbh * (8 + 2 * m.ffn / m.hidden) + 8 * m.heads * sequence * batch + 8 * sbh
    return float(m.layers * layer + 2 * sbh + 2 * sequence * batch * m.vocab)


def _states(c: Setup, per_parameter: float = 16.0) -> float:
    """16-bit weights, gradients and fp32 master copy and moments, divided by ZeRO's stage and model parallelism."""
    layout, parts = c.layout, ((2.0, 3), (per_parameter - 14, 2), (12.0, 1))
    total = sum(size / (layout.data if layout.zero >= stage else 1) for size, stage in parts)
    return float(c.model.parameters / (layout.tensor * layout.pipeline) * total)


def _eleuther(c: Setup) -> float:
    """EleutherAI cookbook: 18 bytes a parameter and the activation formula; with checkpointing, without the scores."""
    scores = c.checkpointing.kind == "none"
    return _states(c, 18.0) + korthikanti_activations(c.model, c.batch, c.sequence, scores=scores)


def _llm_analysis(c: Setup) -> float:
    m = c.model
    if c.checkpointing.kind == "full":
        activations = 2.0 * c.sequence * c.batch * (m.hidden * m.layers + m.vocab)
    else:
        activations = llm_analysis_activations(m, c.batch, c.sequence)
    return float(_states(c) + activations)


def _deepspeed(c: Setup) -> float:
    """DeepSpeed's ZeRO-3 estimator without offload: 18 bytes a parameter over all devices, and the largest layer."""
    return float(4 * c.model.vocab * c.model.hidden + 18 * c.model.parameters / c.devices)


def _of_full_training(answer: Callable[[Setup], float]) -> Callable[[Row], float | None]:
    """A calculator that has no question for adapters, nor for what the engine has no words for."""
    return lambda row: None if unasked(row) or _adapters(row) else answer(row_setup(row))


def _adapters(row: Row) -> bool:
    return bool(row.get("method", "full") != "full")


def _accelerate(row: Row) -> float | None:
    """Hugging Face `accelerate estimate-memory`: four times the weights for training with Adam, no activations.

    It knows neither adapters nor a batch, so it answers the same for all runs of a model.
    """
    return float(4 * 2 * row.shape.parameters) if row.shape else None


def _rule_of_thumb(row: Row) -> float | None:
    """Bytes a parameter: 18 in full, 8 in pure 16 bits, 2 with adapters, half of one with 4-bit adapters."""
    if row.shape is None or row.get("quantization", "none") not in ("none", "nf4", "nf4-double"):
        return None
    pure = row.get("precision") in ("bf16", "fp16")
    each = (2.0 if row.get("quantization", "none") == "none" else 0.5) if _adapters(row) else 8.0 if pure else 18.0
    shards = row.get("devices", 1) if row.get("zero", 0) == 3 else 1
    return each * row.shape.parameters / shards


def gpu_poor(
    m: Transformer, batch: int, sequence: int, *, adapters: bool = False, quantized: bool = False, again: bool = False
) -> float:
    """gpu_poor's training on one card with Adam: weights, gradients and states, 15 % of activations when checkpointed.

    It takes every model for one with two tables, as many key as query heads and three matrices in the MLP, writes
    attention scores in every case, and adds 650 MiB.
    """
    size = 2 * m.vocab * m.hidden + m.layers * (4 * m.hidden**2 + 3 * m.ffn * m.hidden)
    weights = 2.0 * size
    if quantized:
        weights = weights / 4 - size / 32 + 0.06 * weights
        common = m.layers * (15 * m.hidden + 6 * m.ffn)
        kept = 0.75 * common * 50 * max(sequence / 50, 1) ** 0.5 * batch
        states = m.layers * 8 * m.hidden * 0.5 * 4 * 3 + kept
    else:
        states = m.layers * 8 * m.hidden * 2 * 4 * 3 * 2 if adapters else 6.0 * size
    attention = 16 * sequence * m.hidden + 8 * m.heads * sequence**2
    feedforward = 4 * sequence * m.hidden + 12 * sequence * m.ffn
    activations = batch * m.layers * (attention + feedforward + 8 * sequence + 12 * sequence * m.hidden)
    return float(weights + states + (0.15 if again else 1.0) * activations + 650 * MIB)


def _gpu_poor(row: Row) -> float | None:
    quantization = row.get("quantization", "none")
    if row.shape is None or row.get("devices", 1) > 1 or quantization not in ("none", "nf4", "nf4-double"):
        return None
    words = {"adapters": _adapters(row), "quantized": quantization != "none"}
    again = row.get("checkpointing", "none") == "full"
    return gpu_poor(row.shape, row.get("batch"), row.get("sequence"), again=again, **words)


def _fitcheck(row: Row) -> float | None:
    """What FitCheck published beside its measurements: its tensors, which its own overhead comes on top of."""
    if not row.estimates:
        return None
    return (row.estimates["fitcheck_total_mib"] - row.estimates["fitcheck_overhead_mib"]) * MIB


CALCULATORS = (
    Calculator(
        "EleutherAI cookbook",
        "https://github.com/EleutherAI/cookbook/tree/main/calc",
        "states, activations",
        _of_full_training(_eleuther),
    ),
    Calculator(
        "llm-analysis",
        "https://github.com/cli99/llm-analysis",
        "states, activations, logits",
        _of_full_training(_llm_analysis),
    ),
    Calculator(
        "accelerate estimate-memory",
        "https://huggingface.co/docs/accelerate/usage_guides/model_size_estimator",
        "states",
        _accelerate,
    ),
    Calculator(
        "DeepSpeed ZeRO-3 estimator",
        "https://deepspeed.readthedocs.io/en/latest/memory.html",
        "states",
        _of_full_training(_deepspeed),
    ),
    Calculator(
        "bytes a parameter",
        "https://github.com/hiyouga/LlamaFactory/blob/main/README.md",
        "a rule of thumb: 18, 8, 2 or half a byte a parameter",
        _rule_of_thumb,
    ),
    Calculator(
        "gpu_poor",
        "https://github.com/RahulSChand/gpu_poor/blob/05d18ab8/src/App.js",
        "states, adapters, activations, one card",
        _gpu_poor,
    ),
    Calculator(
        "FitCheck",
        "https://github.com/Anassbzdd/fitcheck/tree/83aea54/data/measurements",
        "its own runs: what it published beside them, partly fitted to them",
        _fitcheck,
    ),
)


@dataclass(frozen=True)
class Answer:
    """What each calculator answers for one row, in GiB, in the order of `CALCULATORS`; None without a question."""

    row: Row
    published: float
    engine: float
    others: tuple[float | None, ...]


def memory_answers() -> tuple[Answer, ...]:
    """All answers for the rows whose peak the allocator reported and that the engine can be asked for."""
    return tuple(
        Answer(c.row, c.published, c.predicted, others(c.row)) for c in report().comparisons if c.group == "memory"
    )


def others(row: Row) -> tuple[float | None, ...]:
    """The calculators' answers for a row in GiB, in the order of `CALCULATORS`."""
    answers = (calculator.answer(row) for calculator in CALCULATORS)
    return tuple(None if answer is None else answer / GIB for answer in answers)


def medians() -> tuple[float | None, ...]:
    """Median absolute error of the engine, and of each calculator over the rows that it answers."""
    answers = memory_answers()
    columns: list[list[float | None]] = [[a.engine for a in answers]]
    columns += ([a.others[i] for a in answers] for i in range(len(CALCULATORS)))
    published = [a.published for a in answers]
    return tuple(median_error(column, published) for column in columns)


def median_error(answered: Sequence[float | None], published: Sequence[float]) -> float | None:
    """Median size of the errors of those that are answered; None where none is."""
    errors = [abs(x / y - 1) for x, y in zip(answered, published, strict=True) if x is not None]
    return statistics.median(errors) if errors else None


@dataclass(frozen=True)
class Saved:
    """MiB that GPT-2 124M keeps for the backward pass (batch 4, 1,024 tokens, fused attention), by who answers."""

    who: str
    bf16: float
    autocast: float
    fp32: float


def saved_activations() -> tuple[Saved, ...]:
    """The engine against formulas that have one answer for every precision."""
    gpt2 = model("gpt2")

    def engine(mode: str) -> float:
        return training_memory(gpt2, precision=mode, batch=4, sequence=1024).saved_bytes / MIB

    def flat(name: str, answer: float) -> Saved:
        return Saved(name, answer / MIB, answer / MIB, answer / MIB)

    return (
        Saved("This engine", engine("bf16"), engine("amp-bf16"), engine("fp32")),
        flat("34 sbh for each layer (arXiv 2205.05198)", korthikanti_activations(gpt2, 4, 1024, scores=False)),
        flat("34 sbh + 5 abs² for each layer", korthikanti_activations(gpt2, 4, 1024, scores=True)),
        flat("llm-analysis", llm_analysis_activations(gpt2, 4, 1024)),
    )
