"""What the instruments of Act 1 show in a state: the stack, the device line, the sum."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from explorable import live
from ironlaw import GB

from .failure import out_of_memory
from .question import right
from .settings import (
    DEVICE_NAMES,
    DEVICES,
    GPT2_XL,
    Part,
    Setting,
    adam_tax,
    fits,
    gb,
    gone,
    needed,
    parts,
    setting_of,
    together,
)

AXIS_TOPS = (40, 100, 200, 400, 500)
"""Where the axis may end, in GB: a few fixed heights, so that the axis seldom changes when a control is moved."""
CALM_TOP = {"node": 100, "laptop": 40}
PASSING = ("activations", "temporary", "driver")
"""Components that do not grow with the parameters."""
THIN, HAIRLINE = ("temporary", "driver"), 0.02
"""Two parts, one on the other, and the share of the axis below which they are hairlines."""
LABEL_GAP = 0.066
"""The share of the axis that one line of text needs."""


# --8<-- [start:compute]
def compute(state: live.State) -> live.View:
    """What the instruments show in a state."""
    setting, capacity = setting_of(state), DEVICES[state.context].usable_bytes
    everything = parts(setting)
    shown = tuple(part for part in everything if state.controls[part.key])
    over = not fits(setting, state.context)
    size = sum(part.size for part in shown)
    outline = prediction_outline(state, shown)
    highest = max([size / GB, needed(setting) / GB, *(float(row["to"] or 0) for row in outline)])
    top = next(top for top in AXIS_TOPS if top >= CALM_TOP[state.context] and top >= 1.08 * highest)
    lines = {
        "limit": (f"{DEVICE_NAMES[state.context]} can give {gb(capacity)} GB", capacity / GB),
        "peak": (f"Needed at once {gb(needed(setting))} GB", needed(setting) / GB),
    }
    return live.View(
        data={
            "bars": tuple(bars(shown)),
            "labels": tuple(labels(shown, lines, over, top)),
            "limit": ({"gb": capacity / GB},),
            "peak": ({"gb": needed(setting) / GB, "over": over},),
            "frame": ({"gb": 0}, {"gb": top}),
            "total": ({"from": 0, "text": total(setting, shown, everything)},),
            "prediction": outline,
            "gap": gap(state, outline, top),
        },
        headline=live.Figure("Needed at the peak of a step", gb(needed(setting)), "GB"),
        summary=f"GPT-2 XL with {setting.words}: "
        + ", ".join(f"{part.label} {gb(part.size)} GB" for part in everything)
        + f". Together {together(everything):,.2f} GB, of which {gone(setting):,.2f} GB are gone or not "
        f"there yet at the peak: then the step needs {gb(needed(setting))} GB. The {DEVICE_NAMES[state.context]} can "
        f"give {gb(capacity)} GB.",
        tables={} if state.moving else {"ledger": ledger_table(setting, everything, shown)},
        failure=out_of_memory(setting, state.context) if over else None,
        command=f"{setting.command} --gpu {DEVICES[state.context].name}",
    )


# --8<-- [end:compute]


def total(setting: Setting, shown: Sequence[Part], everything: Sequence[Part]) -> str:
    """The sum of what is shown. All parts together are more than is needed where some are gone at the peak."""
    if shown != everything:
        return f"{together(shown):,.2f} GB shown"
    return f"{together(shown):,.2f} GB in all{', never at once' if gone(setting) >= 0.005 else ''}"


def bars(shown: Sequence[Part]) -> Iterator[live.Row]:
    """One row per segment, stacked in GB."""
    base = 0.0
    for part in shown:
        label = f"{part.label} {gb(part.size)} GB"
        yield {"part": part.key, "from": base, "to": base + part.size / GB, "label": label}
        base += part.size / GB


def labels(shown: Sequence[Part], lines: dict[str, tuple[str, float]], over: bool, top: float) -> Iterator[live.Row]:
    """A label beside each segment, the peak and the device line, moved where two would overlap. Positions are in GB."""
    base = 0.0
    wanted = [(key, *line) for key, line in lines.items()]
    thin = {part.key: part.size for part in shown if part.key in THIN and part.size / GB < HAIRLINE * top}
    for part in shown:
        size, text = part.size / GB, f"{part.label} {gb(part.size)} GB"
        # Two hairlines share a name and a line to it.
        if len(thin) == len(THIN) and part.key in THIN:
            size = sum(thin.values()) / GB
            text = f"Temporary, driver {sum(float(gb(one)) for one in thin.values()):.2f} GB"
        if len(thin) < len(THIN) or part.key != THIN[1]:
            wanted.append((part.key, text, base + size / 2))
        base += part.size / GB
    wanted.sort(key=lambda item: item[2])
    floor = 0.0
    places = []
    for _, _, middle in wanted:
        places.append(max(middle, floor))
        floor = places[-1] + LABEL_GAP * top
    # Labels that were pushed beyond the top move down again, one after the other.
    ceiling = top
    for index in reversed(range(len(places))):
        places[index] = min(places[index], ceiling)
        ceiling = places[index] - LABEL_GAP * top
    for (key, text, middle), at in zip(wanted, places, strict=True):
        red = key == "limit" or (key == "peak" and over)
        yield {"part": key, "text": text, "middle": middle, "gb": at, "red": red}


def prediction_outline(state: live.State, shown: Sequence[Part]) -> tuple[live.Row, ...]:
    """The prediction, standing on everything shown except the optimizer state, which is what it predicts.

    Before the lock it shows the number that the reader drags; at first there is none.
    """
    said = state.held if state.prediction is None else state.prediction
    if said is None:
        return ()
    base = sum(part.size for part in shown if part.component != "optimizer_state") / GB
    predicted = float(said)
    low = state.revealed and predicted < adam_tax() / GB
    top = base + predicted
    return ({"from": base, "to": top, "name_at": base if low else top, "text": f"you +{predicted:g}"},)


def gap(state: live.State, outline: Sequence[live.Row], top: float) -> tuple[live.Row, ...]:
    """From the prediction to what Adam adds in FP32; none before the reveal, nor where another setting is shown."""
    setting = setting_of(state)
    if not state.revealed or (setting.optimizer, setting.precision, setting.update) != ("adam", "fp32", "fused"):
        return ()
    base, said = float(outline[0]["from"] or 0), float(outline[0]["to"] or 0)
    answer = base + adam_tax() / GB
    # A short bracket has its words above it, away from the prediction's.
    middle = max((said + answer) / 2, min(said, answer) + LABEL_GAP * top)
    # The name of a prediction that is too high stands at its top.
    if said > answer:
        middle = said - LABEL_GAP * top if said >= LABEL_GAP * top else said + LABEL_GAP * top
    far = f"{abs(answer - said):.2f} {'short' if said < answer else 'over'}"
    text = "right" if right(said - base) else far
    return ({"from": min(said, answer), "to": max(said, answer), "middle": middle, "text": text},)


def ledger_table(setting: Setting, everything: Sequence[Part], shown: Sequence[Part]) -> live.Table:
    """The chart's numbers, with the bytes per parameter of what does not depend on the batch."""
    rows = [
        {
            "component": part.label,
            "size": gb(part.size),
            "each": "–" if part.component in PASSING else f"{part.size / GPT2_XL.parameters:.0f}",
            "shown": "yes" if part in shown else "hidden",
        }
        for part in everything
    ]
    return live.Table(
        f"What training GPT-2 XL keeps in memory with {setting.words}",
        (
            live.Column("component", "Component"),
            live.Column("size", "Memory", "GB", numeric=True),
            live.Column("each", "Per parameter", "bytes", numeric=True),
            live.Column("shown", "In the chart"),
        ),
        [
            *rows,
            {"component": "All, each at its fullest", "size": f"{together(everything):,.2f}", "each": "–", "shown": ""},
            {
                "component": "Gone, or not there yet, at the peak",
                "size": f"−{gone(setting):,.2f}",
                "each": "–",
                "shown": "",
            },
            {"component": "Needed at the peak", "size": gb(needed(setting)), "each": "–", "shown": ""},
        ],
    )
