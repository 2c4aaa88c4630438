"""Act 2, The MFU Gap: the scene. What it computes is in the modules beside this one, what it draws in charts.py."""

from __future__ import annotations

from plugins import live

from .pipeline import A100, BASE_BATCH, BATCHES, LOADERS, SEGMENTS, SEQUENCE, START, fits, iteration, mfu, setting_of
from .reflections import REFLECTIONS
from .verdict import reveal
from .view import compute


def decisions(state: live.State) -> dict[str, live.Value]:
    """What the reader's ledger keeps of this act. The optimizer is Adam here whatever the reader does: no choice."""
    setting = setting_of(state)
    return {
        "precision_chosen": setting.precision,
        "gradient_checkpointing": setting.checkpointing,
        "final_mfu_pct": 100 * mfu(setting) if fits(setting) else 0.0,
        **({} if state.prediction is None else {"baseline_mfu_estimate_pct": float(state.prediction)}),
    }


ACT = live.Act(
    name="mfu-gap",
    title="The MFU Gap",
    minutes=22,
    situation="You train GPT-2 XL on an A100, in batches of 32 sequences. The loop is correct, the batch fits, no bug "
    "is left. Your colleague looks at the bill and asks what the GPU does all day.",
    contexts=(live.Context("a100", "A100, 80 GB", f"{A100.title}; sequences of {SEQUENCE} tokens."),),
    question=live.NumberQuestion(
        prompt="In one training iteration, what part of the time does the GPU compute, rather than wait for data or "
        "for transfers?",
        unit="%",
        minimum=0,
        maximum=100,
        answer=lambda: 100 * iteration(START).utilization,
    ),
    controls=(
        live.Toggle(
            "prefetch",
            "Prefetching",
            False,
            group="Levers",
            help=f"{LOADERS} workers prepare the next batches while the step runs.",
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
            (live.ControlOption("fp32", "FP32"), live.ControlOption("mixed", "Mixed")),
            "fp32",
            "Mixed halves what is moved and most of what is kept. The profile holds the speed of arithmetic fixed.",
        ),
        live.Choice(
            "batch",
            "Batch size",
            tuple(live.ControlOption(size, str(size)) for size in BATCHES),
            BASE_BATCH,
            f"Sequences of {SEQUENCE} tokens per step.",
        ),
    ),
    compute=compute,
    reveal=reveal,
    charts={
        "iteration": "One training iteration, and below it the one you began with",
        "gauges": "GPU utilization and MFU",
        "batch": "Both gauges over the batch, and the first with loading left out; ◇ the source's rule",
        "overlap": "Three steps on the clock",
    },
    reflections=REFLECTIONS,
    can_fail=True,
    ledger=decisions,
)
