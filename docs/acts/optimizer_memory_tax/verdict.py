"""The reveal of Act 1: the gap, two vectors, what "3×" counts, and what the memory buys.

The steps to convergence are the source's: nothing here computes or measures them, and the act says so.
"""

from __future__ import annotations

from explorable import live
from ironlaw import GB, optimizer
from ironlaw.training.dynamics import convergence

from .question import belief, right
from .settings import DEVICE_NAMES, DEVICES, GPT2_XL, OPTIMIZERS, Setting, adam_tax, gb, ledger


def reveal(prediction: live.Value, state: live.State) -> live.Verdict:
    """What to say of a prediction. The question is about FP32, whatever the controls say."""
    tax, device = adam_tax(), DEVICES[state.context]
    sgd, momentum, adam = (ledger(Setting(name, "fp32", 1)) for name in OPTIMIZERS)
    weights, gradients = adam.component("parameters"), adam.component("gradients")
    return live.Verdict(
        correct=right(float(prediction)),
        headline=gap(float(prediction), tax),
        paragraphs=(
            belief(float(prediction)),
            "Adam keeps two running averages for every parameter: m of the gradient, v of its square. That is "
            f"{len(optimizer('adam').states)} × {GPT2_XL.parameters:,} numbers of 4 bytes, {gb(tax)} GB. Add "
            f"parameters ({gb(weights)} GB) and gradients ({gb(gradients)} GB), and {gb(adam.static_bytes)} GB are "
            "static: the same for every batch.",
            f"You will read that Adam takes {times(weights + tax, weights)} the memory. That is weights and state over "
            "weights alone. With the gradients, which every optimizer needs, it is "
            f"{times(adam.static_bytes, weights)} for Adam and {times(sgd.static_bytes, weights)} for SGD. So the "
            f"switch multiplies your static memory by {adam.static_bytes / sgd.static_bytes:.0f}.",
            "This is PyTorch's fused update. Its default, foreach, also makes temporary tensors as large as all "
            f"parameters. With one sequence the switch then costs {gb(adam_tax('foreach'))} GB.",
            "What the memory buys, by the source's figures (◇, not measured here): GPT-2 converges in about "
            f"{convergence('adam').text} steps with Adam and {convergence('sgd').text} with SGD. "
            f"The price is {gb(tax)} GB over SGD, {gb(adam.static_bytes - momentum.static_bytes)} GB over Momentum, "
            f"and {100 * tax / device.usable_bytes:.0f} % of what an {DEVICE_NAMES[state.context]} can give. Whether a "
            "third of the steps is worth that is an engineering decision, not a preference.",
        ),
        tables={"optimizers": optimizer_table()},
    )


def gap(predicted: float, tax: int) -> str:
    """The distance between prediction and answer, as a factor and in GB."""
    said, exact = f"You said {predicted:.12g} GB", tax / GB
    if right(predicted):
        return f"{said}, and that is right: two FP32 numbers for every parameter are {gb(tax)} GB."
    if predicted == 0:
        return f"{said}. Adam adds {gb(tax)} GB, and all of it is missing from your estimate."
    if predicted < exact:
        return f"{said}. Adam adds {gb(tax)} GB: {exact / predicted:.1f} times that, {exact - predicted:.2f} GB more."
    return f"{said}, {predicted / exact:.1f} times what it is. Adam adds {gb(tax)} GB: {predicted - exact:.2f} GB less."


def times(size: int, unit: int) -> str:
    """A whole multiple."""
    return f"{size / unit:.0f}×"


def optimizer_table() -> live.Table:
    """State vectors, both ways to count the multiple, static memory, and the source's steps."""
    rows = []
    for name, title in OPTIMIZERS.items():
        account = ledger(Setting(name, "fp32", 1))
        weights, state = account.component("parameters"), account.component("optimizer")
        rows.append(
            {
                "optimizer": title,
                "vectors": str(len(optimizer(name).states)),
                "state": times(weights + state, weights),
                "static": times(account.static_bytes, weights),
                "size": gb(account.static_bytes),
                "steps": convergence(name).text,
            }
        )
    return live.Table(
        "Optimizers for GPT-2 XL in FP32. ◇ marks the source's values for GPT-2, which nothing here measures.",
        (
            live.Column("optimizer", "Optimizer"),
            live.Column("vectors", "State vectors", numeric=True),
            live.Column("state", "Weights + state", "of weights", numeric=True),
            live.Column("static", "… + gradients", "of weights", numeric=True),
            live.Column("size", "Static memory", "GB", numeric=True),
            live.Column("steps", "Steps to converge ◇", numeric=True),
        ),
        rows,
    )
