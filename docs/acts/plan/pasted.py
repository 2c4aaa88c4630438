"""Which of the texts that a reader has pasted count, and what of a plan none of them says."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from explorable import live
from ironlaw import accelerator
from ironlaw.files import Reading
from ironlaw.files.trainers import KINDS

from .labels import OFF, spell

TRAININGS = (*KINDS, "nanoGPT", "command", "DeepSpeed", "accelerate")
"""Kinds of text that say how something is trained."""
OF_A_RUN = ("out of memory", "log", "DeepSpeed's table")
"""Kinds of text that a run wrote, which do not say what it trains."""
PLAIN: Mapping[str, live.Value] = {
    "method": "full", "accumulate": 1, "checkpointing": "none", "precision": "", "optimizer": "adamw", "zero": 0,
    "tp": 1, "pp": 1, "flash": True, "chunked": False, "compiled": False, "offload": False,
}  # fmt: skip
"""Where controls stand for what the script of a training is not told: as the engine and such scripts have it."""
_RUN = frozenset(("model", "micro_batch", "sequence"))
"""Facts of which a command says one where it describes a whole run, as a trainer's file does."""
_ALWAYS = ("model", "method", "rank", "batch", "sequence", "checkpointing")
"""Controls that are told where they stand and no text has set them; of `PLAIN` the others too that stand elsewhere."""
_COUNTED = ("batch", "sequence", "accumulate", "tp", "pp")


def latest(found: Sequence[Sequence[Reading]]) -> list[list[Reading]]:
    """What counts of each text: of what there is one of, the last that was given.

    The headers of a checkpoint's files count together.
    """
    taken: set[str] = set()
    kept: list[list[Reading]] = []
    for inside in reversed(found):
        kept.insert(0, [])
        for reading in reversed(inside):
            if not _places(reading) & taken:
                kept[0].insert(0, reading)
                taken |= _places(reading)
    return kept


def _places(reading: Reading) -> set[str]:
    """What a text is the only one of."""
    if reading.kind == "safetensors":
        return set()
    said = reading.facts.said().keys() - reading.silent
    whole = reading.kind in KINDS or (reading.kind == "command" and said & _RUN)
    return ({"a run"} if whole else set()) | ({reading.kind} if reading.kind not in KINDS else set())


def replaced(found: Sequence[Sequence[Reading]], kept: Sequence[Sequence[Reading]]) -> list[str]:
    """A sentence on each text, or part of one, that counts no more."""
    gone = [reading for was, stays in zip(found, kept, strict=True) for reading in was if reading not in stays]
    return [f"The {one.kind} that you gave before counts no more: this one takes its place." for one in gone]


def standing(
    readings: Sequence[Reading], told: Collection[str], state: live.State, controls: Mapping[str, live.Value]
) -> list[str]:
    """What a plan needs and the files of a training do not say, as it stands on the page.

    Args:
        readings: The files.
        told: Names of the facts that they say.
        state: Where the controls stood.
        controls: What the files set.
    """
    if not any(reading.kind in (*TRAININGS, "log") for reading in readings):
        return []
    at = {**state.controls, **controls}
    stands = []
    if "gpu" not in told and "gpu" not in controls:
        stands.append(accelerator(str(at["gpu"])).title)
    if "devices" not in told:
        stands.append(f"{at['gpus']:,} card{'s' * (int(at['gpus']) > 1)} in all")
    moved = (name for name, plain in PLAIN.items() if name not in _ALWAYS and at[name] != plain)
    silent = {*controls, *(("rank",) if at["method"] == "full" else ())}
    stands += [labeled(name, at[name]) for name in (*_ALWAYS, *moved) if name not in silent]
    logged = any(reading.kind == "log" for reading in readings) and int(at["gpus"]) > 1
    if logged and "zero" not in told and at["zero"] == PLAIN["zero"]:
        stands.append(labeled("zero", at["zero"]))
    if "tokens" not in controls:
        stands.append(f"a run of {float(at['tokens']):,.0f} million tokens")
    return [f"Not read from your files, and standing here: {', '.join(stands)}. Choose yours."] if stands else []


def labeled(name: str, value: live.Value) -> str:
    """A control where it stands, by its label; of a check box whether it is ticked."""
    if isinstance(value, bool):
        return spell(name, "on" if value else OFF[0])
    return spell(name, f"{value:,}" if name in _COUNTED else value)
