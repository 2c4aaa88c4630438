"""The reflection of part 2: the longest pole, and what twice the devices would be worth now."""

from __future__ import annotations

from explorable import live

from .bands import read, touched
from .facts import Race, Setting
from .shared import number

WHOLE = 100
"""Rates from here on are shown without digits behind the point."""
GAINS = {"nothing": (0.0, 1.05), "some": (1.05, 1.6), "most": (1.6, 1.95), "twice": (1.95, float("inf"))}
"""What twice the devices are worth: from, to."""
LABELS = {
    "nothing": "hardly faster: by less than 5 %",
    "some": "somewhat faster: by 5 to 60 %",
    "most": "much faster: by 60 to 95 %",
    "twice": "twice as fast, or more: by 95 % or more",
}
WHY = {
    "data": "Preparing samples: it is the longest pole when the stages behind it wait for samples.",
    "bus": "What is moved or written: it is the longest pole when it works more than the other two.",
    "compute": "The arithmetic: it is the longest pole when it works more than the other two. Cores that "
    "wait for it are paid for, too.",
}

IN_TURN = "The arithmetic: it is the longest pole when more time goes to it than to either of the others."


def _why(race: Race, stage: str) -> str:
    return IN_TURN if race.turns and stage == "compute" else WHY[stage]


def gains(race: Race, setting: Setting) -> tuple[float, ...]:
    """How many times as fast twice the devices are: in truth, in the feedback's digits, by the rates that are shown."""
    twice = {**setting, "devices": 2 * int(setting["devices"])}
    now, then = (race.stages(one).rate for one in (setting, twice))
    seen, expected = (read(number(rate * race.period[0], WHOLE)) for rate in (now, then))
    gain = then / now
    return gain, round(gain, 2), *((expected / seen,) if seen else ())


def reflections(race: Race) -> tuple[live.Reflection, ...]:
    """One sentence with two blanks, judged for the reader's present setting."""

    def correct(state: live.State) -> dict[str, live.Value | tuple[live.Value, ...]]:
        worth = touched(GAINS, *gains(race, state.controls))
        stages = race.stages(state.controls)
        shown = {stage: round(100 * busy) for stage, busy in stages.busy.items()}
        # What the page shows as equal is equal to a reader.
        poles = tuple(stage for stage in shown if shown[stage] == shown[stages.longest])
        return {"pole": poles, "gain": worth}

    def told(state: live.State) -> dict[str, str]:
        gain, *_ = gains(race, state.controls)
        return {"gain": f"By the engine the rate is {gain:.2f} times what it was."}

    devices = next(one.label for one in race.levers if one.name == "devices")
    return (
        live.Reflection(
            "pole",
            f"As the bench stands, the longest pole is {{pole}}. With “{devices}” doubled it would be {{gain}}.",
            (
                live.Blank(
                    "pole",
                    "The longest pole",
                    tuple(live.Option(stage, name, _why(race, stage)) for stage, name in race.boxes.items()),
                ),
                live.Blank(
                    "gain",
                    f"“{devices}” doubled",
                    tuple(
                        live.Option(name, label, "They help as far as the others can follow, at their own price.")
                        for name, label in LABELS.items()
                    ),
                ),
            ),
            correct,
            told,
        ),
    )
