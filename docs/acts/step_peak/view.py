"""What the picture of a step shows: all of it, and the moment at which the reader stands."""

from __future__ import annotations

from functools import cache

from explorable import live
from ironlaw import GB

from .timeline import CARD, PARTS, Point, fits, gb, needed, peak_index, timeline

TOPS = (4, 8.5, 14)
"""Where the axis may end, in GB."""
ROOM = CARD.usable_bytes


def compute(state: live.State) -> live.View:
    """The step's memory, the card's line, the moment."""
    batch = int(state.controls["batch"])
    points = timeline(batch)
    here = min(int(state.controls["moment"]), len(points) - 1)
    now, peak = points[here], points[peak_index(batch)]
    top = next(top for top in TOPS if top >= 1.05 * max(peak.total, ROOM * (batch > 2)) / GB)
    parts = ", ".join(f"{PARTS[part].lower()} {text} GB" for part, text in written(now).items() if now.sizes[part])
    return live.View(
        data={
            "areas": areas(batch),
            "limit": ({"gb": ROOM / GB, "text": f"can give {gb(ROOM)} GB"},) if top > ROOM / GB else (),
            "peak": ({"at": peak_index(batch), "gb": peak.total / GB, "text": f"peak {gb(peak.total)} GB"},),
            "playhead": ({"at": here, "gb": now.total / GB, "text": now.title},),
            "frame": ({"gb": 0}, {"gb": top}),
        },
        headline=live.Figure(now.title, gb(now.total), "GB"),
        summary=f"{now.title}: {gb(now.total)} GB, of which {parts}. The highest moment is “{peak.title}” with "
        f"{gb(peak.total)} GB; the card can give {gb(ROOM)} GB.",
        tables={} if state.moving else {"step": table(batch, here)},
        failure=None if fits(batch) else out_of_memory(batch),
    )


def written(point: Point) -> dict[str, str]:
    """GB of each part at a moment; what is shown adds up to the sum that is shown."""
    sizes = {part: size / GB for part, size in point.sizes.items()}
    rest = "passing" if point.sizes["passing"] else "driver"
    return {part: f"{size:.2f}" for part, size in live.adding_up(sizes, point.total / GB, rest=rest).items()}


@cache
def areas(batch: int) -> tuple[live.Row, ...]:
    """A column for each moment, stacked by part."""
    rows: list[live.Row] = []
    for at, one in enumerate(timeline(batch)):
        base = 0.0
        for part, size in one.sizes.items():
            rows.append({"at": at, "part": part, "from": base, "to": base + size / GB})
            base += size / GB
    return tuple(rows)


def out_of_memory(batch: int) -> live.Failure:
    """The failure of a batch with a moment, even a single one, that needs more than the card can give."""
    peak = timeline(batch)[peak_index(batch)]
    over = [one.title for one in timeline(batch) if one.total > ROOM]
    return live.Failure(
        # It stands beside the number of the reader's moment, which may be small.
        "Out of memory at the peak",
        f"In “{peak.title}” the step needs {gb(needed(batch))} GB.",
        f"The card can give {gb(ROOM)} GB. {len(over)} of {len(timeline(batch))} moments are above that, and one is "
        "enough.",
        "A smaller batch lowers what forward keeps.",
    )


def table(batch: int, here: int) -> live.Table:
    """The parts at this moment and at the peak."""
    points = timeline(batch)
    now, peak = points[here], points[peak_index(batch)]
    rows = [live.row(title, written(now)[part], written(peak)[part]) for part, title in PARTS.items()]
    return live.Table(
        f"“{now.title}”, and the peak, which is “{peak.title}”",
        live.columns("Part", "Now|GB", "At the peak|GB"),
        [*rows, live.row("All", gb(now.total), gb(peak.total))],
    )
