"""The runs of the evaluation and the rule that judges them: data, committed after one short look, before the records.

The rule. A run that predicts *helps* if, over the paired seeds, three things hold: it takes 1 / `SPEEDUP` of plain
training's time or less; its quality is at most `QUALITY` times plain training's; and it beats every control, in that
the whole 95 % interval of the paired differences of log quality lies below zero. Quality is the loss on tested digits,
and of text the perplexity. The controls see as many batches as the conservative preset leaves real steps, some of them
in larger batches. Each of the three is reported for every run. Time is processor time on a CPU, and time on the clock
on a GPU.

Options of memory. Those of `MEMORY_ARMS`, alone and combined, are held against what the plan expects of GPT-2 Small
(lines 226 to 252). An option is *as planned* if its peak is within `NEAR` of `PLANNED` times plain training's: the peak
of predicted steps for options that concern those alone, that of all steps for the others. It is *harmless* if its
quality is at most `HARMLESS` times plain training's.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Literal

from gpu_bench.experiments.hybrid.schedule import AGGRESSIVE, COMPUTED, CONSERVATIVE, Phase, Position, Schedule, advance
from gpu_bench.record.rules import Amount, Count

PredictorName = Literal["none", "no-op", "last-update", "mean-update", "linear-fit", "dynamic-modes", "recurrent"]
OptimizerState = Literal["keep", "offload", "drop"]
REMEMBERED: dict[PredictorName, int] = {
    "none": 0,
    "no-op": 1,
    "last-update": 1,
    "mean-update": 8,
    "linear-fit": 8,
    "dynamic-modes": 8,
    "recurrent": 8,
}
"""Updates of the weights that are kept to predict from."""
SPEEDUP, QUALITY = 1.4, 1.02
"""The plan's success criteria: 40 % faster, at a loss at most 2 % higher."""


@dataclass(frozen=True, kw_only=True)
class Arm:
    """One way to train."""

    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}
    predictor: PredictorName = "none"  # What predicts; `none` is plain training
    preset: Literal["conservative", "aggressive"] = "conservative"  # The schedule
    optimizer: Literal["adam", "sgd"] = "adam"  # Its rule
    rate: Amount = 1.0  # By what the case's learning rate is multiplied
    larger: Count = 1  # By what the case's batch is multiplied, and the number of steps divided
    control: bool = False  # Whether runs that predict have to beat it
    fewer: bool = False  # Whether only as many steps are taken as the conservative preset computes
    forward: bool = False  # Whether predicted steps compute their loss, which lets the trainer notice that it diverges
    mixed: bool = False  # Whether matrix products are computed in BF16 whatever the case's precision: autocast
    parts: Count = 1  # Into how many micro-batches a batch is divided, whose gradients are accumulated
    # Where the optimizer's state is while steps are predicted; see `trainer.Options`
    optimizer_state: OptimizerState = "keep"

    def as_dict(self) -> dict[str, Any]:
        """The settings as plain data."""
        return asdict(self)

    def schedule(self, steps: int) -> Schedule:
        """The preset's rules, with warm-up in at most a sixth of the steps. The no-op predictor needs no confidence."""
        rules = CONSERVATIVE if self.preset == "conservative" else AGGRESSIVE
        threshold = 0.0 if self.predictor == "no-op" else rules.confidence_threshold
        return replace(rules, warmup_steps=max(1, min(rules.warmup_steps, steps // 6)), confidence_threshold=threshold)

    def taken(self, steps: int) -> int:
        """The steps of a run where plain training has so many."""
        left = computed(self.schedule(steps), steps) if self.fewer else steps
        return max(1, left // self.larger)


def phases(rules: Schedule, steps: int) -> dict[Phase, int]:
    """How many of so many steps are of each phase if confidence allows every prediction and nothing diverges."""
    at = Position()
    found: dict[Phase, int] = {"warmup": 0, "full": 0, "predict": 0, "correct": 0}
    for _ in range(steps):
        found[at.phase] += 1
        at = advance(rules, at, 1.0)
    return found


def computed(rules: Schedule, steps: int) -> int:
    """How many of these are computed."""
    found = phases(rules, steps)
    return sum(found[phase] for phase in COMPUTED)


_FEWER = Arm(fewer=True, control=True)
MOMENTUM_RATE = 50.0
"""The rate of SGD with momentum as a multiple of Adam's."""

ARMS: dict[str, Arm] = {
    "plain": Arm(),
    "plain-momentum": Arm(optimizer="sgd", rate=MOMENTUM_RATE),
    "fewer-steps": _FEWER,
    "fewer-steps-2x-rate": replace(_FEWER, rate=2.0),
    "fewer-steps-3x-rate": replace(_FEWER, rate=3.0),
    "fewer-steps-momentum": replace(_FEWER, optimizer="sgd", rate=MOMENTUM_RATE),
    "fewer-steps-2x-batch": replace(_FEWER, larger=2, rate=2.0),
    "fewer-steps-4x-batch": replace(_FEWER, larger=4, rate=4.0),
    "no-op": Arm(predictor="no-op", control=True),
    "last-update": Arm(predictor="last-update"),
    "last-update-watched": Arm(predictor="last-update", forward=True),
    "last-update-aggressive": Arm(predictor="last-update", preset="aggressive"),
    "mean-update": Arm(predictor="mean-update"),
    "linear-fit": Arm(predictor="linear-fit"),
    "dynamic-modes": Arm(predictor="dynamic-modes"),
    "recurrent": Arm(predictor="recurrent"),
}
"""Every run by name. All start from the same weights and see batches in the same order."""

_STATES: tuple[tuple[str, OptimizerState], ...] = (("", "keep"), ("offloaded", "offload"), ("dropped", "drop"))
MEMORY_ARMS: dict[str, Arm] = {"plain": Arm()} | {
    "-".join(filter(None, (mixed, parts, state))) or "predicting": Arm(
        predictor="last-update", forward=True, mixed=bool(mixed), parts=4 if parts else 1, optimizer_state=kept
    )
    for mixed in ("", "mixed")
    for parts in ("", "accumulated")
    for state, kept in _STATES
}
"""The options of memory, alone and combined, of the run that the plan's trainer makes: it watches the loss."""
PLANNED = {
    "mixed": 0.5,
    "accumulated": 0.7,
    "offloaded": 0.5,
    "dropped": 0.5,
    "mixed-accumulated-offloaded": 0.3,
    "mixed-accumulated-dropped": 0.3,
}
"""The memory that the plan expects with an option, as a share of that without any: 1, 1.4, 1 and 0.6 GB of 2."""
NEAR, HARMLESS = 0.10, 1.01
"""The plan's criteria of its options: savings within 10 % of the estimates, quality less than 1 % worse."""
