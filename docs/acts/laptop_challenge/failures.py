"""What does not fit, and what fits and does not train.

No sentence about what fits is written beforehand: each comes from asking the engine about every setting on offer.
Whether a setting trains follows from the number format in which its weights are updated.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from explorable import live
from ironlaw.numerics.formats import FP16

from .settings import (
    ADAM_EPSILON,
    BATCHES,
    BUDGET,
    GRADIENT,
    LAPTOPS,
    MOMENTUM,
    OFFLOADS,
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
    more,
    need,
)


def failure(setting: Setting, *, told: bool) -> live.Failure | None:
    """What is wrong with a setting, if something is.

    Args:
        setting: Where the levers stand.
        told: Whether the levers of the epilogue are on the bench.
    """
    if not fits(setting):
        return out_of_memory(setting, told=told)
    return None if setting.trains else does_not_train(setting)


def out_of_memory(setting: Setting, *, told: bool) -> live.Failure:
    """The failure of a setting that is too large. One that trains and needs the least gets the search's result."""
    account = ledger(setting)
    excess = f"The laptop can give {gb(BUDGET)} GB: {more(need(setting), BUDGET)} GB too much."
    what = f"The step needs {gb(need(setting))} GB at its fullest, which is in “{account.peak.name}”."
    best, change = best_change(setting, told=told)
    if not told and setting == setting.plain and setting.trains and need(setting) <= need(floors()["trains"]):
        return live.Failure("Physical limit", f"{what} No setting here that trains needs less.", excess, searched())
    if best is None:
        return live.Failure("Out of memory", what, excess, f"No single lever makes it smaller. {searched()}")
    return live.Failure("Out of memory", what, excess, f"From here {change} frees most, down to {gb(need(best))} GB.")


def searched() -> str:
    """What the search over everything on offer found."""
    fitting = [one for one in SETTINGS if fits(one)]
    training = [one for one in fitting if one.trains]
    found = f"Of the {len(SETTINGS)} settings on offer {len(fitting)} fit"
    if training:
        return f"{found}, and {len(training)} of them train."
    if not fitting:
        return f"{found}."
    kinds = sorted({f"{OPTIMIZERS[one.optimizer]} in {PRECISIONS[one.precision]}" for one in fitting})
    return f"{found}, all of them {' or '.join(kinds)}, and none of them trains."


def does_not_train(setting: Setting) -> live.Failure:
    """Pure FP16: the numbers that show why the weights stand still."""
    if setting.optimizer == "adam":
        what = (
            "Adam keeps v, the average of squared gradients. A gradient of "
            f"{GRADIENT:.1e} squared is {GRADIENT**2:.1e}."
        )
        excess = (
            f"The smallest number of FP16 is {FP16.smallest_subnormal:.1e}: v is stored as 0, and so is the "
            f"{ADAM_EPSILON:g} that should keep Adam from dividing by zero."
        )
    else:
        gain = 1 / (1 - MOMENTUM) if setting.optimizer == "momentum" else 1
        what = (
            f"A weight of {WEIGHT} in FP16 moves in steps of {FP16.ulp(WEIGHT):.1e}. A gradient of {GRADIENT:.1e} at a "
            f"learning rate of {RATE:g} asks for {gain * RATE * GRADIENT:.1e}"
            f"{', momentum included' if gain > 1 else ''}."
        )
        excess = f"That is below half a step, {FP16.vanishing_threshold(WEIGHT):.1e}: the update vanishes, every time."
    remedy = "An FP32 master copy keeps such updates, for 4 more bytes per parameter."
    return live.Failure("It fits, and it does not train", what, excess, remedy)


def neighbors(setting: Setting, *, told: bool) -> Iterator[tuple[str, Setting]]:
    """Each move of one lever, as words and the setting after it; those of the epilogue once they are on the bench."""
    for name, words in PRECISIONS.items():
        yield words, replace(setting, precision=name)
    for name, words in OPTIMIZERS.items():
        yield words, replace(setting, optimizer=name)
    yield "checkpointing", replace(setting, checkpointing=True)
    yield "a chunked loss", replace(setting, chunked=True)
    yield f"batch {BATCHES[-1]}", replace(setting, batch=BATCHES[-1])
    if told or setting != setting.plain:
        yield "updating during backward", replace(setting, in_backward=True)
        yield "8-bit states", replace(setting, eight_bit=True)
        for name, words in OFFLOADS.items():
            yield f"moving {words} to the host", replace(setting, offload=name)
        yield f"{LAPTOPS[-1]} laptops", replace(setting, laptops=LAPTOPS[-1])


def best_change(setting: Setting, *, told: bool) -> tuple[Setting | None, str]:
    """The one lever that frees most from here, unless none frees anything."""
    words, best = min(neighbors(setting, told=told), key=lambda move: need(move[1]))
    return (best, words) if need(best) < need(setting) else (None, "")
