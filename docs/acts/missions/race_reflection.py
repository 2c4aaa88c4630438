"""The reflection of part 2: the longest pole, and what twice the devices would be worth now."""

from __future__ import annotations

from explorable import live

from .facts import Race

GAINS = {"nothing": (0.0, 1.05), "some": (1.05, 1.6), "twice": (1.6, float("inf"))}
"""What twice the devices are worth: from, to."""
LABELS = {"nothing": "hardly faster", "some": "somewhat faster", "twice": "nearly twice as fast, or more"}
WHY = {
    "data": "Preparing samples: it is the longest pole when the stages behind it wait for samples.",
    "bus": "What is moved or written: it is the longest pole when it works more than the other two.",
    "compute": "The arithmetic: when it is the longest pole, nothing that was paid for waits.",
}


def reflections(race: Race) -> tuple[live.Reflection, ...]:
    """One sentence with two blanks, judged for the reader's present setting."""

    def correct(state: live.State) -> dict[str, live.Value]:
        now = race.stages(state.controls)
        more = race.stages({**state.controls, "devices": 2 * int(state.controls["devices"])})
        gain = more.rate / now.rate
        worth = next(name for name, (low, high) in GAINS.items() if low <= gain < high)
        return {"pole": now.longest, "gain": worth}

    return (
        live.Reflection(
            "pole",
            "As the bench stands, the longest pole is {pole}. With twice the devices it would be {gain}.",
            (
                live.Blank(
                    "pole",
                    "The longest pole",
                    tuple(live.Option(stage, name, WHY[stage]) for stage, name in race.boxes.items()),
                ),
                live.Blank(
                    "gain",
                    "Twice the devices",
                    tuple(
                        live.Option(name, label, "Devices help as far as the others can follow, at their own price.")
                        for name, label in LABELS.items()
                    ),
                ),
            ),
            correct,
        ),
    )
