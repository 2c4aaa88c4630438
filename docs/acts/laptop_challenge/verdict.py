"""The reveal of the challenge: three floors, and why the lowest is of no use."""

from __future__ import annotations

from dataclasses import replace

from explorable import live
from ironlaw import GB
from ironlaw.numerics.formats import FP16

from .failures import searched
from .settings import BUDGET, GPT2_XL, GRADIENT, RATE, UPDATES, WEIGHT, floors, gb, ledger, need
from .tables import FLOORS, beyond_table, floors_table
from .updates import weight_rows

SOURCE_FLOORS = (24, 18)
"""GB that the source calls the static floor of SGD in FP16, in two places."""
TOLERANCE = 1.5
"""GB within which a prediction counts as right."""


def stable_floor() -> float:
    """GB that the most frugal setting needs that still trains: the answer to the question."""
    return need(floors()["trains"]) / GB


def reveal(prediction: live.Value, state: live.State) -> live.Verdict:
    """What to say of a prediction."""
    said, answer = float(prediction), stable_floor()
    bottom, stable, adam = (floors()[name] for name in FLOORS)
    static = [gb(ledger(one).static_bytes) for one in (bottom, stable, replace(stable, optimizer="momentum"), adam)]
    return live.Verdict(
        correct=abs(said - answer) <= TOLERANCE,
        headline=gap(said, answer),
        paragraphs=(
            f"There are three floors, not one. Arithmetic: {bottom.words} has {static[0]} GB of static memory and "
            f"needs {gb(need(bottom))} GB. Stable training: {stable.words}, with an FP32 copy of the weights, has "
            f"{static[1]} GB and needs {gb(need(stable))} GB. Adam: {static[3]} GB static and {gb(need(adam))} GB "
            "needed.",
            f"{searched()} You will read that the static floor is {SOURCE_FLOORS[0]} GB, elsewhere {SOURCE_FLOORS[1]} "
            f"GB (◇), for SGD in FP16. But 2 + 2 bytes per parameter are {static[0]} GB. The figures belong to Adam "
            f"({static[3]} GB) and to Momentum with a master copy ({static[2]} GB).",
            f"The arithmetic floor fits and is of no use. FP16 has {FP16.fraction_bits} bits of fraction, so a weight "
            f"of {WEIGHT} can only move in steps of {FP16.ulp(WEIGHT):.1e}. Updates of {RATE * GRADIENT:.1e} round to "
            f"nothing. After {UPDATES:,} of them FP32 has moved to {weight_rows()[-1]['weight']:.5f}; FP16 stands "
            "where it stood.",
            f"So the textbook's list ends above {gb(BUDGET)} GB, and engineering goes on. Four more levers are now on "
            "the bench. The table says what each of them buys, and at what price. Make it fit, and make it train.",
        ),
        tables={"floors": floors_table(), "beyond": beyond_table()},
    )


def gap(said: float, answer: float) -> str:
    """The distance between prediction and answer, in GB and as a factor."""
    start, truth = f"You said {said:.12g} GB", f"the least that trains needs {answer:.2f} GB"
    if abs(said - answer) <= TOLERANCE:
        least = floors()["trains"]
        static, each = gb(ledger(least).static_bytes), ledger(least).static_bytes / GPT2_XL.parameters
        return f"{start}, and that is close: {truth}, of which {static} GB are {each:.0f} bytes for each parameter."
    factor = max(said / answer, answer / said)
    if said < answer:
        return f"{start}. In fact {truth}: {factor:.1f} times what you said, {answer - said:.1f} GB more."
    return f"{start}. In fact {truth}: what you said is {factor:.1f} times that, {said - answer:.1f} GB too much."
