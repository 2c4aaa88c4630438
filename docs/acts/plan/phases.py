"""The phases of a run, and which of them is the fullest; where they are not known, the moments of a step, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from explorable import live
from ironlaw import GB, EngineError, Setup, training_memory
from ironlaw.files.launch import nodes
from ironlaw.memory.phases import Phase, memory_phases
from ironlaw.memory.tensors import EVALUATION, ROLLOUT, MemoryPlan

SAID = {
    "load": "loading",
    "first step": "the first step",
    "step": "a later step",
    "evaluation": "evaluation",
    "save": "saving",
    ROLLOUT: "generating texts",
}
EVALUATED = "evaluation"
"""The phase between steps."""
STEP = "a step"
"""The phase whose moments are known."""
MOMENT = {
    "forward, loss": "in the loss, at the end of the forward pass",
    "backward, loss": "in the loss, at the start of the backward pass",
    "optimizer step": "in the optimizer's step",
}
"""Where a step is fullest, if not in a block."""
MARK = "▸ "
"""Before the name of the fullest moment in the picture."""
STATES = ("optimizer states", "gradients", "weights")
"""What ZeRO's stages 1, 2 and 3 divide beside what the stage before divides."""
WHY = {
    "dp": "several cards",
    "cp": "several cards",
    "ep": "several cards",
    "tp": "several cards",
    "pp": "several cards",
    "execution": "torch.compile",
    "loss": "a loss in pieces",
    "checkpointing": "this checkpointing",
    "optimizer_in_backward": "an update in the backward pass",
    "offload": "what DeepSpeed offloads",
}
"""What the engine names when it cannot count the phases, in the page's words."""


@lru_cache(maxsize=64)
def phases_of(asked: Setup) -> tuple[tuple[live.Row, ...], str]:
    """Rows of the second chart in order of time, phases and behind "a step" its moments, or these alone; a sentence."""
    ledger = training_memory(asked)
    beside, step, evaluation = ledger.device_total - ledger.allocated_peak, ledger.step_peak, ledger.evaluation
    within = [
        (one.name, one.bytes, one.bytes + beside) for one in ledger.moments if not one.name.startswith(EVALUATION)
    ]
    try:
        phases = memory_phases(asked).phases
    except EngineError as error:
        why = WHY.get(error.what, error.what)
        left = "Loading and saving" if evaluation else "Loading, evaluation and saving"
        said = (
            f"{fullest_moment(step.name)} {left} are not counted with {why}: of the "
            f"moments of a step “{step.name}” is the fullest, with {step.bytes / GB:.1f} GB allocated."
        )
        if evaluation:
            fuller = "more" if evaluation.bytes > step.bytes else "less"
            said += f" Evaluation {evaluated(asked)} takes {fuller}: {evaluation.bytes / GB:.1f} GB."
            within.append((EVALUATED, evaluation.bytes, evaluation.bytes + beside))
        return tuple(_row(at, *one) for at, one in enumerate(within)), said
    lines: list[tuple[str, float, float] | tuple[str, float, float, float]] = []
    for one in phases:
        lines.append((STEP if one.name == "step" else one.name, one.allocated, one.process, one.reserved))
        lines += [moment for moment in within if one.name == "step" and not moment[0].startswith(ROLLOUT)]
    return tuple(
        _row(at, *line) for at, line in enumerate(lines)
    ), f"{fullest_moment(step.name)} {_fullest(phases, asked)}"


def fullest_moment(name: str) -> str:
    """Where a step is fullest, in a sentence."""
    return f"A step is fullest {MOMENT.get(name, f'at “{name}”')}."


def stack(
    asked: Setup, phases: Sequence[live.Row], moments: Mapping[str, Mapping[str, float]], fullest: Mapping[str, float]
) -> tuple[live.Row, ...]:
    """The parts of each row of the second chart, one after the other, and the process, which has what is reserved too.

    Args:
        asked: The plan.
        phases: The rows.
        moments: GB of the parts at each moment of a step.
        fullest: Those at the fullest moment, which is the peak of a step.
    """
    ledger = training_memory(asked)
    plan, evaluation = ledger.plan, ledger.evaluation
    named = {EVALUATED: evaluation.name} if evaluation else {}
    if ledger.rollout:
        named[ROLLOUT] = ledger.rollout.name
    if ledger.peak.name != ledger.step_peak.name:
        fullest = moments[ledger.step_peak.name]
    rows: list[live.Row] = []
    for row in phases:
        name = str(row["phase"])
        moment = named.get(name, name)
        found = moments.get(moment) or _parts(name, float(str(row["allocated"])), plan, fullest)
        base = 0.0
        of: live.Row = {"phase": name, "said": f"{MARK * (moment == ledger.peak.name)}{name}", "at": row["at"]}
        for part, size in found.items():
            rows.append({**of, "part": part, "from": base, "to": base + size})
            base += size
        rows.append({**of, "part": "process", "from": 0.0, "to": row["gb"]})
    return tuple(rows)


def _parts(name: str, allocated: float, plan: MemoryPlan, fullest: Mapping[str, float]) -> dict[str, float]:
    """GB of the parts of a phase, which add up to what is allocated and the driver's."""
    workspace = plan.workspace_bytes / GB
    if name in (STEP, "first step"):
        found = dict(fullest)
        # The first step's states are made at its end; what else it has less or more of is temporary.
        more = allocated + found["other"] - workspace - sum(found.values())
        for part in ("optimizer", "temporary", "activations") if more < 0 else ("temporary",):
            change = max(more, -found[part])
            found[part] += change
            more -= change
        return found
    found = dict.fromkeys(fullest, 0.0) | {"other": workspace + plan.context_bytes / GB}
    left = allocated - workspace
    states = () if name == "load" else (("optimizer", ("optimizer",)),)
    for part, components in (("parameters", ("parameters", "master")), *states):
        found[part] = min(sum(plan.static_sums.get(one, 0) for one in components) / GB, left)
        left -= found[part]
    return found | {"temporary": left}


def held(asked: Setup) -> str:
    """What each of several cards holds whole, and what they divide, in a sentence; nothing for one card."""
    layout = asked.layout
    if layout.devices == 1:
        return ""
    zero = layout.zero if layout.peers > 1 else 0
    shares = [f"1/{layout.tensor} of every matrix"] * (layout.tensor > 1)
    shares += [f"1/{layout.pipeline} of the blocks"] * (layout.pipeline > 1)
    shares += [f"1/{layout.context} of every sequence"] * (layout.context > 1)
    # As ZeRO's stages divide them, one after the other.
    divided, whole = STATES[:zero], STATES[zero:]
    said = [f"each holds {' and '.join(shares)}"] if shares else []
    if divided:
        gathers = ", with the layers at work gathered whole" if zero == 3 else ""
        who = "all" if layout.peers == layout.devices else f"{layout.peers:,} of them"
        said.append(f"{who} divide {_listed(divided)}, 1/{layout.peers:,} to a card{gathers}")
    if not shares:
        said.append(f"each holds {_listed((*whole, 'activations', 'logits'))} of its own sequences undivided")
    elif whole:
        said.append(f"each holds {_listed(whole)} of its share undivided")
    machines, each = nodes(asked)
    uneven = asked.cluster is not None and machines > 1 and layout.devices % asked.cluster.node_size
    counted = f", counted as {machines:,} machines of {each:,} each," if uneven else ""
    return f"Of {layout.devices:,} cards{counted} {'; '.join(said)}."


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


def evaluated(asked: Setup) -> str:
    """With what evaluation is counted."""
    about = asked.evaluation
    batch, whose = (about.batch, "") if about and about.batch else (asked.batch, "the training's ")
    kept = f" and the logits of {about.kept:,} batch{'es' * (about.kept > 1)} kept" if about and about.kept else ""
    return f"with {whose}{batch:,} sequence{'s' * (batch > 1)} at a time{kept}"


def _fullest(phases: Sequence[Phase], asked: Setup) -> str:
    """What is allocated decides: what was once reserved the process keeps to the end."""
    ranked = sorted(phases, key=lambda phase: -phase.allocated)
    first, *others = ((SAID[phase.name], f"{phase.allocated / GB:.1f}") for phase in ranked)
    rest = ", ".join(f"{name} {size}" for name, size in others)
    return f"The fullest phase is {first[0]}: {first[1]} GB allocated; {rest}; evaluation {evaluated(asked)}."


def phase_table(phases: Sequence[live.Row], asked: Setup) -> live.Table:
    """The rows of the second chart of a plan as a table."""
    rows = [
        live.row(str(row["phase"]), f"{row['allocated']:.1f}", str(row["reserved"]), f"{row['gb']:.1f}")
        for row in phases
    ]
    columns = live.columns("Phase", "Allocated|GB", "Reserved|GB", "Process|GB")
    counted = f"; evaluation {evaluated(asked)}" if any(row["phase"] == EVALUATED for row in phases) else ""
    return live.Table(
        "The most memory, phase by phase and through a step: allocated to tensors, reserved by PyTorch, of the process"
        f"{counted}",
        columns,
        rows,
    )
