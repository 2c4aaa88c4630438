"""The phases of a run, and which of them is the fullest; where they are not known, the moments of a step, and why."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from explorable import live
from ironlaw import GB, EngineError, Setup, training_memory
from ironlaw.memory.phases import Phase, memory_phases

SAID = {
    "load": "loading",
    "first step": "the first step",
    "step": "a later step",
    "evaluation": "evaluation",
    "save": "saving",
}
STATES = ("optimizer states", "gradients", "weights")
"""What ZeRO's stages 1, 2 and 3 divide beside what the stage before divides."""
WHY = {
    "dp": "several cards",
    "tp": "several cards",
    "pp": "several cards",
    "execution": "torch.compile",
    "loss": "a loss in pieces",
    "checkpointing": "this checkpointing",
    "optimizer_in_backward": "an update in the backward pass",
}
"""What the engine names when it cannot count the phases, in the page's words."""


@lru_cache(maxsize=64)
def phases_of(asked: Setup) -> tuple[tuple[live.Row, ...], str]:
    """Rows of the second chart, and a sentence: which phase is the fullest, or why only moments of a step are known."""
    try:
        phases = memory_phases(asked).phases
    except EngineError as error:
        ledger = training_memory(asked)
        beside = ledger.device_total - ledger.allocated_peak
        why = WHY.get(error.what, error.what)
        said = (
            f"Loading, evaluation and saving are not counted with {why}: of the moments of a step “{ledger.peak.name}” "
            f"is the fullest, with {ledger.peak.bytes / GB:.1f} GB allocated."
        )
        return tuple(_row(at, one.name, one.bytes, one.bytes + beside) for at, one in enumerate(ledger.moments)), said
    names = ("a step" if one.name == "step" else one.name for one in phases)
    rows = tuple(
        _row(at, name, one.allocated, one.process, one.reserved)
        for at, (name, one) in enumerate(zip(names, phases, strict=True))
    )
    return rows, _fullest(phases)


def held(asked: Setup) -> str:
    """What each of several cards holds whole, and what they divide, in a sentence; nothing for one card."""
    layout = asked.layout
    if layout.devices == 1:
        return ""
    zero = layout.zero if layout.data > 1 else 0
    shares = [f"1/{layout.tensor} of every matrix"] * (layout.tensor > 1)
    shares += [f"1/{layout.pipeline} of the blocks"] * (layout.pipeline > 1)
    # As ZeRO's stages divide them, one after the other.
    divided, whole = STATES[:zero], STATES[zero:]
    said = [f"each holds {' and '.join(shares)}"] if shares else []
    if divided:
        gathers = ", with the layers at work gathered whole" if zero == 3 else ""
        who = "all" if layout.data == layout.devices else f"{layout.data:,} of them"
        said.append(f"{who} divide {_listed(divided)}, 1/{layout.data:,} to a card{gathers}")
    said.append(f"each holds {_listed((*whole, 'activations', 'logits'))} of its own sequences undivided")
    return f"Of {layout.devices:,} cards {'; '.join(said)}."


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _row(at: int, name: str, allocated: float, process: float, reserved: float = 0) -> live.Row:
    return {
        "phase": name,
        "at": at,
        "gb": process / GB,
        "allocated": allocated / GB,
        "reserved": f"{reserved / GB:.1f}" if reserved else "not counted",
    }


def _fullest(phases: Sequence[Phase]) -> str:
    """What is allocated decides: what was once reserved the process keeps to the end."""
    ranked = sorted(phases, key=lambda phase: -phase.allocated)
    first, *others = ((SAID[phase.name], f"{phase.allocated / GB:.1f}") for phase in ranked)
    rest = ", ".join(f"{name} {size}" for name, size in others)
    return f"The fullest phase is {first[0]}: {first[1]} GB allocated; {rest}."


def phase_table(phases: Sequence[live.Row]) -> live.Table:
    """The rows of the second chart as a table."""
    rows = [
        live.row(str(row["phase"]), f"{row['allocated']:.1f}", str(row["reserved"]), f"{row['gb']:.1f}")
        for row in phases
    ]
    columns = live.columns("Phase", "Allocated|GB", "Reserved|GB", "Process|GB")
    return live.Table(
        "The most memory, phase by phase: allocated to tensors, reserved by PyTorch, of the process", columns, rows
    )
