"""Act 1, The Optimizer Memory Tax: texts, controls and questions. The other modules here compute, charts.py draws."""

from __future__ import annotations

from explorable import live
from ironlaw import GB

from .question import QUESTION
from .reflection import REFLECTION
from .settings import BATCHES, DEVICES, GPT2_XL, OPTIMIZERS, UPDATES, gb, setting_of
from .verdict import reveal
from .view import compute


def as_sold(context: str) -> str:
    """The device by its full name, why the chart's line is not at the number in that name, and its power."""
    device = DEVICES[context]
    reports = f"the driver reports {device.memory_bytes / GB:.1f} GB, sold as {device.nominal_gb:g} GB"
    room = f"{reports}; your programs get {gb(device.usable_bytes)} GB"
    return f"{device.title}: {room}; it may draw {device.tdp:g} W"


TOGGLES = {
    "parameters": "Parameters",
    "gradients": "Gradients",
    "master": "Master copy",
    "activations": "Activations",
    "temporary": "Temporary tensors",
    "driver": "Driver",
}
STATE_TOGGLES = {"state_1": "m, or velocity", "state_2": "v"}
"""What the chart may leave out, by the key of its segment. How many states there are is part of the answer."""


def decisions(state: live.State) -> dict[str, live.Value]:
    """What the reader's ledger keeps of this act."""
    setting = setting_of(state)
    return {"optimizer_chosen": setting.optimizer, "precision_chosen": setting.precision}


ACT = live.Act(
    name="optimizer-memory-tax",
    title="The Optimizer Memory Tax",
    minutes=12,
    situation=f"You train GPT-2 XL, {GPT2_XL.parameters / 1e9:.2f} billion parameters, and everyone recommends Adam.",
    contexts=(
        live.Context("node", "Training node, H100", f"One accelerator of a training node: {as_sold('node')}."),
        live.Context("laptop", "Laptop, RTX 4060", f"What a good laptop carries: {as_sold('laptop')}."),
    ),
    question=QUESTION,
    controls=(
        live.Choice("optimizer", "Optimizer", tuple(live.ControlOption(*item) for item in OPTIMIZERS.items()), "sgd"),
        live.Choice(
            "precision",
            "Precision",
            (
                live.ControlOption("fp32", "FP32"),
                live.ControlOption("fp16", "FP16"),
                live.ControlOption("mixed", "Mixed"),
            ),
            "fp32",
            "FP16 stores everything in 16 bits; small updates vanish, so it does not train stably. Mixed precision "
            "computes in 16 bits and updates a master copy of the weights in FP32.",
        ),
        live.Choice(
            "batch",
            "Batch size",
            tuple(live.ControlOption(size, str(size)) for size in BATCHES),
            1,
            f"Sequences of {GPT2_XL.max_seq:,} tokens, flash attention.",
        ),
        live.Choice(
            "update",
            "Update",
            tuple(live.ControlOption(*item) for item in UPDATES.items()),
            "fused",
            "Fused works in place. Foreach, PyTorch's default, works on all tensors at once; for Adam it makes a "
            "temporary copy of each, for SGD and Momentum none.",
            after_reveal=True,
        ),
        *(live.Toggle(name, label, True, group="Show", display_only=True) for name, label in TOGGLES.items()),
        *(
            live.Toggle(name, label, True, group="Parts of the state", after_reveal=True, display_only=True)
            for name, label in STATE_TOGGLES.items()
        ),
    ),
    compute=compute,
    reveal=reveal,
    charts={"ledger": "Training memory ledger of GPT-2 XL"},
    reflections=(REFLECTION,),
    hands=(live.Segments("ledger", "stack", "part", "label"),),
    staging=live.Staging(
        "ledger",
        (
            live.Beat(("stack", "names", "leaders"), {"part": "state_1"}),
            live.Beat(("stack", "names", "leaders"), {"part": "state_2"}),
            live.Beat(("gap", "gap_from", "gap_to", "gap_text", "total")),
        ),
        {"optimizer": "adam", "precision": "fp32", "batch": 1, "update": "fused", "state_1": True, "state_2": True},
    ),
    can_fail=True,
    ledger=decisions,
)
