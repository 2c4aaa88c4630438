"""What other open calculators answer for the same rows: their published formulas, written down here as facts.

Each function returns bytes on one device. The formulas are read in the sources named; nothing is taken from them but
the arithmetic. Two of them say from the outset that they count model states only.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass

from engine import GIB, Setup, Transformer, model, training_memory
from tools.accuracy.predict import compare
from tools.accuracy.rows import Row, load
from tools.accuracy.setups import row_setup

MIB = 2**20


@dataclass(frozen=True)
class Calculator:
    """A calculator: name, address, what it covers, its answer for a run in bytes."""

    name: str
    url: str
    covers: str
    answer: Callable[[Setup], float]


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


def _accelerate(c: Setup) -> float:
    """Hugging Face `accelerate estimate-memory`: four times the weights for training with Adam, no activations."""
    return float(4 * 2 * c.model.parameters)


def _deepspeed(c: Setup) -> float:
    """DeepSpeed's ZeRO-3 estimator without offload: 18 bytes a parameter over all devices, and the largest layer."""
    return float(4 * c.model.vocab * c.model.hidden + 18 * c.model.parameters / c.devices)


CALCULATORS = (
    Calculator(
        "EleutherAI cookbook", "https://github.com/EleutherAI/cookbook/tree/main/calc", "states, activations", _eleuther
    ),
    Calculator("llm-analysis", "https://github.com/cli99/llm-analysis", "states, activations, logits", _llm_analysis),
    Calculator(
        "accelerate estimate-memory",
        "https://huggingface.co/docs/accelerate/usage_guides/model_size_estimator",
        "states",
        _accelerate,
    ),
    Calculator(
        "DeepSpeed ZeRO-3 estimator", "https://deepspeed.readthedocs.io/en/latest/memory.html", "states", _deepspeed
    ),
)


@dataclass(frozen=True)
class Answer:
    """What each calculator answers for one row, in GiB, in the order of `CALCULATORS`."""

    row: Row
    published: float
    engine: float
    others: tuple[float, ...]


def memory_answers() -> tuple[Answer, ...]:
    """All answers for the rows whose peak the allocator reported."""
    answers = []
    for row in load():
        for comparison in compare(row) if {"gib", "gb"} & set(row.measures) else ():
            if comparison.group == "memory":
                others = tuple(calculator.answer(row_setup(row)) / GIB for calculator in CALCULATORS)
                answers.append(Answer(row, comparison.published, comparison.predicted, others))
    return tuple(answers)


def medians() -> tuple[float, ...]:
    """Median absolute error of the engine and of each calculator over `memory_answers()`."""
    answers = memory_answers()
    columns = [[a.engine for a in answers], *([a.others[i] for a in answers] for i in range(len(CALCULATORS)))]
    published = [a.published for a in answers]
    return tuple(
        statistics.median(abs(value / truth - 1) for value, truth in zip(column, published, strict=True))
        for column in columns
    )


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
        flat("34 s b h a layer (arXiv 2205.05198)", korthikanti_activations(gpt2, 4, 1024, scores=False)),
        flat("34 s b h + 5 a s² b a layer", korthikanti_activations(gpt2, 4, 1024, scores=True)),
        flat("llm-analysis", llm_analysis_activations(gpt2, 4, 1024)),
    )
