"""What a reader has measured, beside what the plan says."""

from __future__ import annotations

from explorable import live
from ironlaw import GB
from ironlaw.answers.estimate import Estimate

from .choices import measured_of


def measured_table(state: live.State, found: Estimate) -> dict[str, live.Table]:
    """A table with a line for each measured value; none where nothing was measured."""
    measured, seen = measured_of(str(state.controls["measured"])), found.calibrated
    if not measured or seen is None:
        return {}
    rows = []
    for name, label, band, unit in (
        ("step_s", "A step", seen.step_s, 1.0),
        ("tokens_per_s", "Tokens a second", seen.tokens_per_s, 1.0),
        ("allocated", "Allocated, GB", seen.allocated_peak, GB),
        ("process", "The driver's view, GB", seen.device_total, GB),
    ):
        if name in measured:
            value = measured[name]
            where = (
                "below the band" if value < band.low else "above the band" if value > band.high else "inside the band"
            )
            shown = (f"{x / unit:.4g}" for x in (value, band.expected, band.low, band.high))
            rows.append(live.row(label, *shown, where))
    columns = live.columns("", "Measured||n", "Expected||n", "From||n", "To||n", "")
    return (
        {"measured": live.Table("What you measured, beside nine in ten published runs like it", columns, rows)}
        if rows
        else {}
    )
