"""The charts' numbers as tables, what each lever costs, and what lies beyond the textbook."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from explorable import live
from ironlaw import GB, step_time
from ironlaw.numerics.formats import FP16, FP32
from ironlaw.training.dynamics import convergence

from .parts import NAMES, parts, textbook
from .settings import (
    BUDGET,
    GPT2_XL,
    GRADIENT,
    LAPTOP,
    LAPTOPS,
    OPTIMIZERS,
    PRECISIONS,
    RATE,
    SETTINGS,
    WEIGHT,
    Setting,
    fits,
    floors,
    gb,
    ledger,
    need,
)

FLOORS = {"any": "Arithmetic", "trains": "Stable training", "adam": "Adam"}


def memory_table(setting: Setting) -> live.Table:
    """The bar's numbers, the sum, the fullest moment, and the textbook's count."""
    account = ledger(setting)
    rows = [live.row(NAMES[part], gb(size)) for part, size in parts(setting).items()]
    # By the digits that are shown: a reader who adds them finds the same.
    together = sum(round(size / GB, 2) for size in parts(setting).values())
    others = round(need(setting) / GB, 2) - together
    rows.append(live.row("These together, each at its fullest", f"{together:,.2f}"))
    rows.append(
        live.row(
            "Passing tensors and driver, less what is not there at that moment", f"{others:+,.2f}".replace("-", "−")
        )
    )
    rows.append(live.row(f"Needed, at “{account.peak.name}”, driver included", gb(need(setting))))
    if account.host_bytes:
        rows.append(live.row("In the host's memory", gb(account.host_bytes)))
    rows.append(live.row("Textbook count ◇ (its own sum, not Act 2's formula)", f"{textbook(setting) / GB:,.2f}"))
    return live.Table(
        f"GPT-2 XL with {setting.words}. Not all tensors are full at once: gradients arrive while activations go.",
        live.columns("What", "Memory|GB"),
        rows,
    )


def floors_table() -> live.Table:
    """The three floors, found by the search."""
    rows = []
    for name, title in FLOORS.items():
        setting = floors()[name]
        static = ledger(setting).static_bytes
        verdict = ("fits" if fits(setting) else "too large") + (", trains" if setting.trains else ", does not train")
        each = f"{static / GPT2_XL.parameters:.0f}"
        rows.append(live.row(title, setting.words, each, gb(static), gb(need(setting)), verdict))
    titles = (
        live.Column("a", "Floor"),
        live.Column("b", "Most frugal setting"),
        live.Column("c", "Static", "bytes each", numeric=True),
        live.Column("d", "Static", "GB", numeric=True),
        live.Column("e", "Needed", "GB", numeric=True),
        live.Column("f", f"Against {gb(BUDGET)} GB"),
    )
    return live.Table(f"The floors, by a search over all {len(SETTINGS)} settings on offer", titles, rows)


def power(number: float) -> str:
    """A small number as two digits and a power of ten."""
    digits, exponent = f"{number:.1e}".split("e-")
    return f"{digits} × 10⁻{exponent.lstrip('0').translate(str.maketrans('0123456789', '⁰¹²³⁴⁵⁶⁷⁸⁹'))}"


def weight_table() -> live.Table:
    """What becomes of one weight under gradients of several sizes."""
    rows = []
    for gradient in (1e-2, 1e-3, 1e-4, GRADIENT):
        update = RATE * gradient
        moved = ["lost" if form.update_vanishes(WEIGHT, -update) else "kept" for form in (FP16, FP32)]
        rows.append(live.row(power(gradient), power(update), *moved))
    return live.Table(
        f"Updates of a weight of {WEIGHT} at a learning rate of {RATE:g}. Half a step is "
        f"{power(FP16.vanishing_threshold(WEIGHT))} in FP16 and {power(FP32.vanishing_threshold(WEIGHT))} in FP32. "
        "The last gradient is what each weight gets of a norm of 1.",
        live.columns("Gradient", "Update", "In FP16", "In FP32"),
        rows,
    )


def levers_table(setting: Setting, *, told: bool) -> live.Table:
    """What every lever frees from here, and what it costs."""
    half = FP16.vanishing_threshold(WEIGHT)
    steps = convergence("sgd").steps / convergence("adam").steps
    again = computed_again()
    rows = [
        lever(setting, "Mixed precision", "an FP32 copy of the weights, loss scaling", precision="mixed"),
        lever(setting, "Pure FP16", f"updates below {half:.0e} of a weight of {WEIGHT} are lost", precision="fp16"),
        lever(setting, "SGD", f"{steps:.0f} times the steps (◇, not measured)", optimizer="sgd"),
        lever(setting, "Checkpointing", f"{100 * again:.0f} % more arithmetic", checkpointing=True),
        lever(setting, "Chunked loss", "the logits are computed twice", chunked=True),
        lever(setting, "Batch 1", "noisier gradients, or as many small steps added up", batch=1),
    ]
    if told or setting != setting.plain:
        rows += [
            lever(setting, "Update during backward", PRICES["in_backward"], in_backward=True),
            lever(setting, "8-bit Adam", PRICES["eight_bit"], eight_bit=True),
            lever(setting, "Offloading states", price_of_offloading(setting), offload="optimizer"),
            lever(setting, f"{LAPTOPS[-1]} laptops", PRICES["laptops"], laptops=LAPTOPS[-1]),
        ]
    titles = (live.Column("a", "Lever"), live.Column("b", "Needed after", "GB", numeric=True), live.Column("c", "Cost"))
    return live.Table("What each lever leads to from here, the others as they are, and what it costs", titles, rows)


@cache
def computed_again() -> float:
    """What full checkpointing adds to a step's arithmetic, as a share of it."""
    plain = step_time(GPT2_XL, LAPTOP, 1, optimizer="sgd")  # whose fused attention computes its scores again too
    slower = step_time(GPT2_XL, LAPTOP, 1, checkpointing="full", optimizer="sgd")
    return slower.hardware_flops / plain.hardware_flops - 1


PRICES = {
    "in_backward": "no clipping by the norm of all gradients, no adding up of small batches",
    "eight_bit": "states in 256 levels; counts for Adam only",
    "laptops": "a network between them, every step",
}


def price_of_offloading(setting: Setting) -> str:
    """Host memory, and how much longer the engine's step is: the bus both ways, and the update beyond it."""
    here, there = (replace(setting, offload=where) for where in ("none", "optimizer"))
    longer = step_time(there.training).total - step_time(here.training).total
    host = ledger(there).host_bytes
    kept = f"{gb(host)} GB of host memory" if host else "no states and no master copy to keep there"
    return f"{kept}, {longer:.1f} s more per step, for the bus and the host's update"


def beyond_table() -> live.Table:
    """What each lever of the epilogue buys, in a setting that trains."""
    frugal = Setting("mixed", "adam", checkpointing=True, chunked=True, batch=1)
    plain = Setting("fp32", "sgd", checkpointing=True, chunked=True, batch=1)
    offers = (
        ("Update during backward", replace(plain, in_backward=True), PRICES["in_backward"]),
        ("8-bit Adam", replace(frugal, eight_bit=True), PRICES["eight_bit"]),
        ("Offloading states", replace(frugal, offload="optimizer"), price_of_offloading(frugal)),
        (f"{LAPTOPS[-1]} laptops", replace(frugal, laptops=LAPTOPS[-1]), PRICES["laptops"]),
    )
    rows = [
        live.row(
            name,
            f"{OPTIMIZERS[one.optimizer]}, {PRECISIONS[one.precision]}",
            gb(need(one)),
            "fits" if fits(one) else "too large",
            price,
        )
        for name, one, price in offers
    ]
    titles = (
        live.Column("a", "Lever"),
        live.Column("b", "With"),
        live.Column("c", "Needed", "GB", numeric=True),
        live.Column("d", f"Against {gb(BUDGET)} GB"),
        live.Column("e", "Price"),
    )
    return live.Table("Beyond the textbook, at batch 1 with checkpointing and a chunked loss", titles, rows)


def lever(setting: Setting, name: str, cost: str, **change: object) -> dict[str, str]:
    """One row: the memory after the move, and its price."""
    after = replace(setting, **change)  # type: ignore[arg-type]
    freed = need(setting) - need(after)
    return live.row(name, gb(need(after)) if freed else "as it is", cost)
