"""Which input pipelines are measured: cases as data. Nothing here imports PyTorch."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Literal

from gpu_bench.cases.case import Case, ModelName, Precision
from gpu_bench.cases.planned import PlannedPoint
from gpu_bench.record.rules import Count, Rule, Seconds, Steps, Tokens, Words

Source = Literal["text", "tokens"]
_SHORTEST_TEXT = 4 * 2**20
"""Bytes of source code that every Python's standard library has."""
_LOADER = re.compile(
    r"(?P<source>text|tokens), (?P<workers>[0-9]+) workers?(, prefetch (?P<prefetch>[1-9][0-9]*))?(?P<pinned>, pinned)?"
)


@dataclass(frozen=True)
class Loader:
    """One way to bring batches to the device."""

    source: Source  # `text` is encoded while training runs; `tokens` were encoded before
    workers: int  # Processes that make batches; 0 is the training process itself
    prefetch: int  # Batches that each worker has ready
    pinned: bool  # Whether batches lie in memory that the device copies from by itself


def loader_of(text: str) -> Loader:
    """Read `text, 4 workers, prefetch 2, pinned`; without `prefetch` it is PyTorch's 2. Raises `ValueError`."""
    found = _LOADER.fullmatch(text)
    if found is None:
        raise ValueError(f"loader is {text!r}; allowed: 'text, 4 workers, prefetch 2, pinned' or 'tokens, 0 workers'")
    source: Source = "text" if found["source"] == "text" else "tokens"
    return Loader(source, int(found["workers"]), int(found["prefetch"] or 2), found["pinned"] is not None)


@dataclass(frozen=True, kw_only=True)
class TokenizeCase(Case):
    """Real text to GPT-2's tokens, on one process, then on more."""

    kind: Literal["tokenize"] = "tokenize"
    # How many encode at the same time; those beyond the machine's cores are left out
    processes: Annotated[tuple[Count, ...], Rule(fewest=1)] = (1, 2, 4, 8, 16)
    chunk: Annotated[int, Rule("B", least=1)] = 2**18  # Bytes of text that each encodes in one round
    rounds: Count = 10  # Timed rounds

    @property
    def extent(self) -> str:
        """How many processes at most."""
        return f"up to {max(self.processes)} processes"

    def points(self, cores: int) -> tuple[PlannedPoint, ...]:
        """The numbers of processes that a machine with so many cores has room for, then one that begins anew."""
        counts = [count for count in self.processes if count <= cores]
        return (*(self._point(count, "warm") for count in counts), self._point(1, "cold"))

    def _point(self, count: int, order: str) -> PlannedPoint:
        words = "words met before" if order == "warm" else "from an empty cache of words"
        # A longer text may end before every process has its chunk.
        known = self.chunk * max(self.processes) <= _SHORTEST_TEXT
        return PlannedPoint(
            f"{count} process{'' if count == 1 else 'es'}, {words}",
            {"processes": count, "words": order},
            {"bytes": count * self.chunk if known else None, "tokens": None},
        )


@dataclass(frozen=True, kw_only=True)
class LoaderCase(Case):
    """The same training step, fed by one loader after another."""

    kind: Literal["loader"] = "loader"
    model: ModelName  # A size from `sizes.SIZES`
    precision: Precision
    batch: Count  # Sequences per step
    sequence: Tokens  # Tokens per sequence
    # As `loader_of` reads them; the first is what the others are compared with
    loaders: Annotated[tuple[Words, ...], Rule(fewest=1)]
    warmup: Steps = 10  # Training steps before the clock starts, for each loader
    steps: Steps = 30  # Timed training steps
    # Training steps under the profiler after the timed ones: it slows steps down, so they are apart
    profiled: Steps = 5
    time_limit_s: Seconds = 600.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for text in self.loaders:
            loader_of(text)

    @property
    def extent(self) -> str:
        """The number of loaders."""
        return f"{len(self.loaders)} loaders"

    def points(self) -> tuple[PlannedPoint, ...]:
        """One for each loader."""
        return tuple(self._point(text, loader_of(text)) for text in self.loaders)

    def _point(self, text: str, loader: Loader) -> PlannedPoint:
        settings = {
            "source": loader.source,
            "workers": loader.workers,
            "prefetch": loader.prefetch if loader.workers else None,
            "pinned": loader.pinned,
        }
        return PlannedPoint(text, settings, {"tokens": self.batch * self.sequence})
