"""What can be chosen in Act 2: everything measured, then what is planned.

Measured values come from committed records, which the build hands over with the act. Where nothing is measured the act
says so, and which command would measure it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from explorable import live
from ironlaw import Transformer, model

RECORDS = live.records(
    "*",
    "case.model",
    "case.precision",
    "case.batch",
    "case.sequence",
    "case.attention",
    "case.dropout",
    "device.type",
    "model.layers",
    "model.hidden",
    "model.heads",
    "model.vocab",
    "model.max_seq",
    "memory.held.activations",
)
NAMES = {"gpt2": "GPT-2", "gpt2-medium": "GPT-2 M", "gpt2-large": "GPT-2 L", "gpt2-xl": "GPT-2 XL", "nano": "nano"}
FORMATS = {"fp32": "FP32", "tf32": "TF32", "amp-bf16": "autocast BF16", "amp-fp16": "autocast FP16", "bf16": "BF16"}
MOST = 9
"""Configurations to choose from, at most: more would not be read."""
SOURCE_BATCH = 32
"""The textbook's own example: GPT-2 XL, this batch, 1,024 tokens, 16 bits."""


@dataclass(frozen=True)
class Configuration:
    """What is trained, as far as activations depend on it."""

    model: str
    precision: str
    batch: int
    sequence: int
    attention: str = "flash"
    dropout: float = 0.0
    device: str = "cuda"

    @property
    def key(self) -> str:
        """The value of its option."""
        parts = (self.model, self.precision, self.batch, self.sequence, self.attention, self.dropout, self.device)
        return " ".join(str(part) for part in parts)

    @property
    def label(self) -> str:
        """How a reader chooses it."""
        extras = "".join(
            text
            for text, there in (
                (", standard attention", self.attention == "standard"),
                (f", dropout {self.dropout:g}", self.dropout > 0),
                (", on a CPU", self.device == "cpu"),
            )
            if there
        )
        name = NAMES.get(self.model, self.model)
        return f"{name}, {FORMATS.get(self.precision, self.precision)}, {self.batch} × {self.sequence:,}{extras}"


PLANNED = (
    Configuration("gpt2-xl", "amp-bf16", 4, 1024),
    Configuration("gpt2-medium", "amp-bf16", 4, 1024),
)
"""What the first hour measures on a GPU; offered also while nothing is measured."""
COMMAND = "python -m gpu_bench run --suite first-hour"


def configuration_of(record: live.MeasuredRecord) -> Configuration:
    """The configuration that a record measured."""
    at = record.values
    return Configuration(
        str(at["case.model"]),
        str(at["case.precision"]),
        int(at["case.batch"] or 0),
        int(at["case.sequence"] or 0),
        str(at["case.attention"]),
        float(at["case.dropout"] or 0),
        str(at["device.type"]),
    )


@cache
def measured() -> dict[str, tuple[live.MeasuredRecord, ...]]:
    """Records with a count of activations, by the key of their configuration, one per device."""
    found: dict[str, dict[str, live.MeasuredRecord]] = {}
    for record in RECORDS:
        if record.values["memory.held.activations"]:
            # The optimizer holds no activations: of several cases that differ in it, any will do.
            found.setdefault(configuration_of(record).key, {}).setdefault(record.device, record)
    return {key: tuple(devices.values()) for key, devices in found.items()}


@cache
def configurations() -> dict[str, Configuration]:
    """What can be chosen: everything measured, then what is planned."""
    every = [configuration_of(records[0]) for records in measured().values()]
    # The largest models first: that is where memory matters.
    every.sort(key=lambda one: (list(NAMES).index(one.model) if one.model in NAMES else -1) % 4, reverse=True)
    chosen = {one.key: one for one in (*every, *PLANNED)}
    return dict(list(chosen.items())[:MOST])


@cache
def hunted() -> Configuration:
    """The question's configuration: the largest that was measured with a fused attention, if possible in one format."""
    plain = [
        one
        for one in configurations().values()
        if one.attention == "flash" and not one.dropout and one.key in measured()
    ]
    return next((one for one in plain if one.precision in ("fp32", "bf16")), plain[0] if plain else PLANNED[-1])


def shape(configuration: Configuration) -> Transformer:
    """The transformer: by name, or by the shape that the record states."""
    if configuration.model in ("gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl"):
        return model(configuration.model)
    at = measured()[configuration.key][0].values
    layers, hidden, heads, vocab, longest = (
        int(at[f"model.{name}"] or 0) for name in ("layers", "hidden", "heads", "vocab", "max_seq")
    )
    return Transformer(configuration.model, layers, hidden, heads, vocab, longest)
