"""The other kinds of case, and for every kind which data describes one and which module measures it."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

from gpu_bench.cases import roofline
from gpu_bench.cases.case import Case, ModelName, TrainingCase, case_of
from gpu_bench.cases.planned import PlannedPoint
from gpu_bench.cases.sizes import SIZES
from gpu_bench.distributed.case import ScalingCase
from gpu_bench.experiments.failures.case import FailureCase
from gpu_bench.experiments.hybrid.case import HybridCase, MemoryCase
from gpu_bench.input_pipeline.case import LoaderCase, TokenizeCase
from gpu_bench.record.rules import Count, Rule, Seconds, Steps, Tokens, Words

PASSES = ("forward", "backward")
"""What is timed of attention, each apart, in the order of the points."""


MOST_BATCHES, MOST_POINTS = 100, 10_000
"""How many batches a search tries at most, and how many points a case has: far more than anything here takes."""


@dataclass(frozen=True, kw_only=True)
class AttentionCase(Case):
    """Attention alone, timed forward and backward over a range of sequence lengths."""

    kind: Literal["attention"] = "attention"
    variants: Annotated[tuple[Words, ...], Rule(fewest=1)]  # Its forms, in the order of the tables
    sizes: Annotated[tuple[Count, ...], Rule(fewest=1)]  # Sequence lengths
    formats: Annotated[tuple[Words, ...], Rule(fewest=1)]  # Number formats, e.g. `bf16`
    batch: Count = 1  # Sequences
    heads: Count = 1  # Heads
    head_size: Count = 64  # Width of a head
    rounds: Count = 30  # Timed forward and backward passes of each point

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_points(len(PASSES) * len(self.variants) * len(self.sizes) * len(self.formats))

    @property
    def extent(self) -> str:
        """The number of points."""
        return f"{len(self.variants) * len(self.sizes) * len(self.formats)} points"

    def points(self) -> tuple[PlannedPoint, ...]:
        """The forward and the backward pass of every setting; variants to compare follow one another."""
        return tuple(
            self._point({"variant": variant, "format": form, "size": size, "pass": one})
            for form, size, variant in itertools.product(self.formats, self.sizes, self.variants)
            for one in PASSES
        )

    def _point(self, settings: Mapping[str, str | int]) -> PlannedPoint:
        return PlannedPoint(" ".join(map(str, settings.values())), settings, self.work_of(settings) or {})

    def work_of(self, settings: Mapping[str, Any]) -> dict[str, int] | None:
        """What one pass of a point does, whatever way a variant does it.

        Two products of T x T x D per head forward and four backward, over the causal half, so that no variant can
        seem faster than the device.
        """
        size, products = settings["size"], 2 if settings["pass"] == "forward" else 4
        square = self.batch * self.heads * size**2 * self.head_size
        return {"flops": products * square, "tokens": self.batch * size}


def _check_points(count: int) -> None:
    if count > MOST_POINTS:
        raise ValueError(f"the case has {count:,} points; allowed: {MOST_POINTS:,}")


@dataclass(frozen=True, kw_only=True)
class FitCase(Case):
    """The largest batch that fits a card, for one policy after another, each tried in a fresh process.

    A GPU of the card's size runs as it is; a larger one, and a CPU, has its memory limited.
    """

    kind: Literal["fit"] = "fit"
    model: ModelName  # A size from `gpt2.SIZES`
    sequence: Tokens  # Tokens per sequence
    card: Words  # A card of that size, a name of the engine's
    memory_limit: Annotated[int, Rule("B", above=0)]  # Bytes that programs can allocate on it
    # Names from `card.POLICIES`, from the most conservative to the most aggressive
    policies: Annotated[tuple[Words, ...], Rule(fewest=1)]
    # Batches that are tried, ascending
    batches: Annotated[tuple[Count, ...], Rule(fewest=1)] = (
        1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512
    )  # fmt: skip
    steps: Steps = 20  # Training steps that a batch must survive

    def __post_init__(self) -> None:
        super().__post_init__()
        if len({*self.policies}) != len(self.policies):
            raise ValueError(f"policies has {len(self.policies)} names; allowed: each once")
        if list(self.batches) != sorted({*self.batches}) or len(self.batches) > MOST_BATCHES:
            raise ValueError(f"batches are {len(self.batches)}; allowed: at most {MOST_BATCHES}, ascending")

    @property
    def extent(self) -> str:
        """The card, and how many policies are tried."""
        return f"{len(self.policies)} policies on {self.card}"


Part = Literal["matmul", "copy", "operations"]
Format = Literal["fp32", "tf32", "bf16", "fp16", "fp8"]
FORMATS: tuple[Format, ...] = get_args(Format)


@dataclass(frozen=True, kw_only=True)
class RooflineCase(Case):
    """Matrix products of many shapes, copies of many sizes, or the operations of one training step."""

    kind: Literal["roofline"] = "roofline"
    part: Part  # Which of the three
    # Number formats, a subset of `FORMATS`; unused by copies
    formats: Annotated[tuple[Format, ...], Rule(fewest=1)] = ("bf16",)
    # Products, `MxNxK`: (M, K) times (K, N)
    shapes: tuple[Annotated[str, Rule(pattern="[1-9][0-9]{0,8}x[1-9][0-9]{0,8}x[1-9][0-9]{0,8}")], ...] = ()
    sizes: tuple[Annotated[int, Rule("B", least=1)], ...] = ()  # Copies: bytes of the source
    model: ModelName = "gpt2-xl"  # Operations: whose sizes they have
    batch: Count = 1  # Operations: sequences
    sequence: Tokens = 1  # Operations: tokens per sequence
    rounds: Count = 20  # Samples of each point
    time_limit_s: Seconds = 600.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.part == "matmul") != bool(self.shapes) or (self.part == "copy") != bool(self.sizes):
            raise ValueError(f"part is {self.part!r}; allowed: shapes with matmul, and sizes with copy, and no others")
        _check_points(len(self.formats) * max(1, len(self.shapes)))
        _check_points(len(self.sizes))

    @property
    def extent(self) -> str:
        """The number of points, or whose operations they are."""
        if self.part == "operations":
            return f"operations of {self.model}"
        return f"{len(self.formats) * len(self.shapes) or len(self.sizes)} points"

    def points(self) -> tuple[PlannedPoint, ...]:
        """What is timed, in its order."""
        match self.part:
            case "matmul":
                return tuple(roofline.product(name, *sides) for name in self.formats for sides in self.products())
            case "copy":
                return tuple(map(roofline.copy, self.sizes))
            case "operations":
                size = SIZES[self.model]
                listed = (roofline.operations(size, self.batch, self.sequence, name) for name in self.formats)
                return tuple(itertools.chain.from_iterable(listed))

    def work_of(self, settings: Mapping[str, Any]) -> dict[str, int] | None:
        """What one call of a point does; None for the operations of a step, whose work their own list says."""
        match settings["operation"]:
            case "copy":
                return {"flops": 0, "bytes": 2 * settings["size"]}
            case "matmul":
                return {"flops": 2 * settings["m"] * settings["n"] * settings["k"]}
            case _:
                return None

    def products(self) -> tuple[tuple[int, int, int], ...]:
        """The shapes as numbers: M, N, K."""
        return tuple((int(m), int(n), int(k)) for m, n, k in (shape.split("x") for shape in self.shapes))


@dataclass(frozen=True)
class Kind:
    """One kind of case."""

    case: type[Case]  # The class of its cases
    # Where `run_repeat(case, device, repeat)` is, which measures one repeat and returns plain data. The module imports
    # PyTorch, so only workers load it
    module: str
    # The part of the record that it fills: `training` (step times, memory, loss, ...), `points`, `fit` or `arms`
    result: str
    # Whether `run_repeat` takes `kept`, the file where it leaves what the next process goes on from
    resumes: bool = False


KINDS: dict[str, Kind] = {
    "training": Kind(TrainingCase, "gpu_bench.measure.repeat", "training"),
    "attention": Kind(AttentionCase, "gpu_bench.measure.attention", "points"),
    "fit": Kind(FitCase, "gpu_bench.measure.fit", "fit", resumes=True),
    "tokenize": Kind(TokenizeCase, "gpu_bench.input_pipeline.tokenize", "points"),
    "loader": Kind(LoaderCase, "gpu_bench.input_pipeline.loading", "points"),
    "roofline": Kind(RooflineCase, "gpu_bench.measure.roofline", "points"),
    "scaling": Kind(ScalingCase, "gpu_bench.distributed.measure", "points"),
    "hybrid": Kind(HybridCase, "gpu_bench.experiments.hybrid.evaluate", "arms"),
    "hybrid-memory": Kind(MemoryCase, "gpu_bench.experiments.hybrid.evaluate", "arms"),
    "failure": Kind(FailureCase, "gpu_bench.experiments.failures.training", "arms"),
}


def case_from_dict(data: Mapping[str, Any]) -> Case:
    """The inverse of `Case.as_dict`. Raises `ValueError` on an unknown kind, and an unknown or missing field."""
    kind = data.get("kind", "training")
    if kind not in KINDS:
        raise ValueError(f"kind is {kind!r}; allowed: {', '.join(KINDS)}")
    return case_of(KINDS[kind].case, data)
