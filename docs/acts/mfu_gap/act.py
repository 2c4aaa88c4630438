"""Act 3, The MFU Gap: texts, controls and questions. The other modules here compute, charts.py draws."""

from __future__ import annotations

from explorable import live

from .pipeline import (
    A100,
    ASSUMED,
    BASE_BATCH,
    BATCHES,
    LOADERS,
    SEGMENTS,
    SEQUENCE,
    START,
    fits,
    iteration,
    mfu,
    setting_of,
)
from .reflections import REFLECTIONS
from .verdict import reveal
from .view import compute


def decisions(state: live.State) -> dict[str, live.Value]:
    """What the reader's ledger keeps of this act. The optimizer is left out, because it is always Adam here."""
    setting = setting_of(state)
    return {
        "precision_chosen": setting.precision,
        "gradient_checkpointing": setting.checkpointing,
        "final_mfu_pct": 100 * mfu(setting) if fits(setting) else 0.0,
        **({} if state.prediction is None else {"baseline_mfu_estimate_pct": float(state.prediction)}),
    }


def score(state: live.State) -> float | None:
    """The MFU in percent, of a step that runs."""
    setting = setting_of(state)
    return 100 * mfu(setting) if fits(setting) else None


ACT = live.Act(
    name="mfu-gap",
    title="The MFU Gap",
    minutes=22,
    situation="GPT-2 XL on an A100, 32 texts a step, read from hard disk and tokenized by the training process itself.",
    contexts=(live.Context("a100", "A100, 80 GB", f"{A100.title}; sequences of {SEQUENCE} tokens."),),
    question=live.NumberQuestion(
        prompt="For what part of a step does the GPU multiply?",
        unit="%",
        minimum=0,
        maximum=100,
        step=1,
        answer=lambda: 100 * iteration(START).utilization,
        beliefs=lambda: (100 * mfu(START), 100),
    ),
    controls=(
        live.Toggle(
            "prefetch",
            "Prefetching",
            False,
            group="Levers",
            help=f"{LOADERS} processes prepare the next texts while the step runs; each needs {ASSUMED}.",
        ),
        live.Toggle(
            "checkpointing",
            "Gradient checkpointing",
            False,
            group="Levers",
            help=f"Keeps the input of each of {SEGMENTS} segments and computes the rest again.",
        ),
        live.Choice(
            "precision",
            "Numbers",
            (live.ControlOption("fp32", "TF32"), live.ControlOption("mixed", "Mixed")),
            "fp32",
            "TF32 keeps FP32 numbers and multiplies them on the A100's TF32 units. Mixed multiplies in BF16, and "
            "keeps most activations and a copy of the weights in 16 bits.",
        ),
        live.Choice(
            "batch",
            "Batch size",
            tuple(live.ControlOption(size, str(size)) for size in BATCHES),
            BASE_BATCH,
            f"Texts of {SEQUENCE} tokens per step.",
        ),
    ),
    compute=compute,
    reveal=reveal,
    charts={
        "iteration": "One training step, and the one you began with",
        "overlap": "Three steps on the clock",
        "memory": "Memory at the step's fullest moment",
        "gauges": "Compute share, and MFU: model FLOPs utilization, the FLOPs that training needs over the peak",
        "batch": "Compute share and MFU by batch size, and compute share without loading; ◇ the lab plan's rule",
    },
    beside=("walkthrough",),
    reflections=REFLECTIONS,
    hands=(live.Segments("iteration", "now", "part", "label"),),
    staging=live.Staging(
        "iteration",
        (
            live.Beat(("now", "start", "swatches", "legend"), {"part": "data"}),
            live.Beat(("now", "start", "swatches", "legend"), {"part": "transfer"}),
            live.Beat(("now", "start", "swatches", "legend"), {"part": "compute"}),
            live.Beat(("gap", "gap_text", "notes")),
        ),
    ),
    reveal_first=True,
    can_fail=True,
    ledger=decisions,
    score=score,
)
