"""What is measured: cases as frozen data, gathered in suites. Nothing here imports PyTorch, so `list` is instant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

ModelName = Literal["nano", "gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl"]
Precision = Literal["fp32", "tf32", "amp-bf16", "amp-fp16", "bf16"]
"""amp = autocast over FP32 parameters; bf16 = parameters, gradients and optimizer state all in BF16."""
OptimizerName = Literal["sgd", "momentum", "rmsprop", "adam", "adamw"]
Attention = Literal["flash", "standard"]
Device = Literal["any", "cuda"]

_ALLOWED: dict[str, tuple[str, ...]] = {
    "model": get_args(ModelName),
    "precision": get_args(Precision),
    "optimizer": get_args(OptimizerName),
    "attention": get_args(Attention),
    "device": get_args(Device),
}


@dataclass(frozen=True)
class Case:
    """One configuration to train and measure. Everything that can move a number is a field.

    Attributes:
        name: Unique name; the record's file name starts with it.
        model: A size from `gpt2.SIZES`.
        batch: Sequences per step.
        sequence: Tokens per sequence.
        warmup: Training steps before the clock starts; more follow, up to four times as many, until times are steady.
        steps: Timed training steps in each repeat.
        repeats: Fresh processes. The repeats of different cases are interleaved, so that a slow drift hits all alike.
        device: What the case needs.
        minimum_memory: Device memory in bytes below which the case is not attempted.
        time_limit_s: Seconds that one repeat may take before it is ended.
    """

    name: str
    model: ModelName
    precision: Precision
    optimizer: OptimizerName
    learning_rate: float
    batch: int
    sequence: int
    attention: Attention = "flash"
    dropout: float = 0.0
    clip_norm: float = 1.0
    warmup: int = 5
    steps: int = 20
    repeats: int = 3
    device: Device = "any"
    minimum_memory: int = 0
    time_limit_s: float = 120.0
    seed: int = 1234

    def __post_init__(self) -> None:
        for field, allowed in _ALLOWED.items():
            if getattr(self, field) not in allowed:
                raise ValueError(f"{field} is {getattr(self, field)!r}; allowed: {', '.join(allowed)}")
        for field in ("batch", "sequence", "warmup", "steps", "repeats"):
            if getattr(self, field) < 1:
                raise ValueError(f"{field} is {getattr(self, field)}; allowed: 1 or more")

    @property
    def tokens_per_step(self) -> int:
        """Tokens whose loss is back-propagated in one step."""
        return self.batch * self.sequence

    def as_dict(self) -> dict[str, Any]:
        """The case as plain data, as it stands in a record."""
        return asdict(self)


def case_from_dict(data: Mapping[str, Any]) -> Case:
    """The inverse of `Case.as_dict`. Raises `ValueError` on an unknown or missing field."""
    known = {field.name for field in fields(Case)}
    unknown = sorted(set(data) - known)
    if unknown:
        raise ValueError(f"unknown field {unknown[0]!r}; allowed: {', '.join(sorted(known))}")
    try:
        return Case(**data)
    except TypeError as error:
        raise ValueError(str(error)) from error


def _nano(precision: Precision, optimizer: OptimizerName, learning_rate: float) -> Case:
    return Case(
        name=f"gpt2-nano-{precision}-{optimizer}",
        model="nano",
        precision=precision,
        optimizer=optimizer,
        learning_rate=learning_rate,
        batch=8,
        sequence=128,
    )


def _gpt2(model: ModelName, precision: Precision, batch: int, gigabytes: int) -> Case:
    return Case(
        name=f"{model}-{precision}-adamw-b{batch}",
        model=model,
        precision=precision,
        optimizer="adamw",
        learning_rate=3e-4 if model == "gpt2" else 1e-4,
        batch=batch,
        sequence=1024,
        steps=30,
        device="cuda",
        minimum_memory=gigabytes * 10**9,
        time_limit_s=300.0,
    )


SUITES: dict[str, tuple[Case, ...]] = {
    # The optimizer tax, small enough for two CPU cores: the same model and data, one, two and three copies of weights.
    "smoke": (
        _nano("fp32", "sgd", 0.1),
        _nano("fp32", "momentum", 0.02),
        _nano("fp32", "adam", 1e-3),
        _nano("amp-bf16", "sgd", 0.1),
        _nano("amp-bf16", "momentum", 0.02),
        _nano("amp-bf16", "adam", 1e-3),
    ),
    # GPT-2 at its smallest and largest, as a first look at a GPU. The memory bounds leave room on 24 and 80 GB cards.
    "gpt2": (
        _gpt2("gpt2", "amp-bf16", 16, 22),
        _gpt2("gpt2", "fp32", 16, 32),
        _gpt2("gpt2-xl", "amp-bf16", 8, 78),
        _gpt2("gpt2-xl", "fp32", 4, 78),
    ),
}
"""Suite name -> its cases, the most valuable first: a run that is cut short has measured what matters most."""


def find_cases(suite: str | None, names: tuple[str, ...]) -> tuple[tuple[str, Case], ...]:
    """Pairs of suite name and case for what was asked: a suite, single cases by name, or the named cases of a suite.

    Raises:
        ValueError: When a name does not exist; the message says what exists.
    """
    if suite is not None and suite not in SUITES:
        raise ValueError(f"suite {suite!r} does not exist; allowed: {', '.join(SUITES)}")
    pool = [(key, case) for key, cases in SUITES.items() if suite in (None, key) for case in cases]
    known = {case.name for _, case in pool}
    for name in names:
        if name not in known:
            raise ValueError(f"case {name!r} does not exist; allowed: {', '.join(sorted(known))}")
    return tuple((key, case) for key, case in pool if not names or case.name in names)
