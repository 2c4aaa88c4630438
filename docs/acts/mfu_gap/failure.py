"""Out of memory: what failed, by how much, and the fewest changes that help."""

from __future__ import annotations

from dataclasses import fields

from explorable import live

from .pipeline import A100, DEVICE, SETTINGS, Setting, fits, need
from .texts import gb


def out_of_memory(setting: Setting) -> live.Failure:
    """The failure of a setting that does not fit, and the fewest changes that make it fit."""
    fewest = min(len(setting.changes_to(other)) for other in SETTINGS if fits(other))
    near = [other for other in SETTINGS if fits(other) and len(setting.changes_to(other)) == fewest]
    best: dict[str, Setting] = {}
    for other in sorted(near, key=need):
        # Of several steps on one lever the largest that fits gives up the least.
        best[",".join(f.name for f in fields(other) if getattr(setting, f.name) != getattr(other, f.name))] = other
    offers = [f"{' with '.join(setting.changes_to(other))} ({gb(need(other))} GB)" for other in best.values()]
    lead = "One change is enough" if fewest == 1 else "No single change is enough; together"
    over = need(setting) - A100.usable_bytes
    return live.Failure(
        "Out of memory",
        f"At batch {setting.batch} the step needs {gb(need(setting))} GB at its fullest.",
        f"The A100 can give {DEVICE}: {gb(over)} GB too much.",
        f"{lead}: {', or '.join(offers)}.",
    )
