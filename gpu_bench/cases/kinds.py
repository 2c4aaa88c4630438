"""The other kinds of case, and for every kind which data describes one and which module measures it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from gpu_bench.cases.case import Case, ModelName, Operation, TrainingCase, case_of
from gpu_bench.distributed.case import ScalingCase
from gpu_bench.failures.case import FailureCase
from gpu_bench.hybrid.case import HybridCase, MemoryCase
from gpu_bench.input_pipeline.case import LoaderCase, TokenizeCase


@dataclass(frozen=True, kw_only=True)
class OperationsCase(Case):
    """Single operations, each timed forward and backward over a range of sizes.

    Attributes:
        operation: What is timed.
        variants: Its forms, in the order of the tables.
        sizes: Attention: sequence lengths. Activation functions: elements of the tensor.
        formats: Number formats, e.g. `bf16`.
        batch: Attention: sequences.
        heads: Attention: heads.
        head_size: Attention: width of a head.
        rounds: Timed forward and backward passes of each point.
    """

    kind: str = "operations"
    operation: Operation
    variants: tuple[str, ...]
    sizes: tuple[int, ...]
    formats: tuple[str, ...]
    batch: int = 1
    heads: int = 1
    head_size: int = 64
    rounds: int = 30

    @property
    def extent(self) -> str:
        """The number of points."""
        return f"{len(self.variants) * len(self.sizes) * len(self.formats)} points"

    def work_of(self, settings: Mapping[str, Any]) -> dict[str, int] | None:
        """What one pass of a point does, whatever way a variant does it.

        Attention: two products of T x T x D per head forward and four backward, over the causal half, so that no
        variant can seem faster than the device. Activation functions: the bytes that must move, input and result
        forward, the kept tensor and two gradients backward.
        """
        forward, size = settings["pass"] == "forward", settings["size"]
        if self.operation == "attention":
            square = self.batch * self.heads * size**2 * self.head_size
            return {"flops": (2 if forward else 4) * square, "tokens": self.batch * size}
        return {"bytes": (2 if forward else 3) * size * (4 if settings["format"] == "fp32" else 2)}


@dataclass(frozen=True, kw_only=True)
class FitCase(Case):
    """The largest batch that fits a card, for one policy after another, each tried in a fresh process.

    A GPU of the card's size runs as it is; a larger one, and a CPU, has its memory limited.

    Attributes:
        model: A size from `gpt2.SIZES`.
        sequence: Tokens per sequence.
        card: A card of that size, a name of the engine's.
        memory_limit: Bytes that programs can allocate on it.
        policies: Names from `card.POLICIES`, from the most conservative to the most aggressive.
        batches: Batches that are tried, ascending.
        steps: Training steps that a batch must survive.
    """

    kind: str = "fit"
    model: ModelName
    sequence: int
    card: str
    memory_limit: int
    policies: tuple[str, ...]
    batches: tuple[int, ...] = (1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
    steps: int = 20

    @property
    def extent(self) -> str:
        """The card, and how many policies are tried."""
        return f"{len(self.policies)} policies on {self.card}"


Part = Literal["matmul", "copy", "operations"]
FORMATS = ("fp32", "tf32", "bf16", "fp16", "fp8")
_SHAPE = re.compile(r"[1-9][0-9]*x[1-9][0-9]*x[1-9][0-9]*")


@dataclass(frozen=True, kw_only=True)
class RooflineCase(Case):
    """Matrix products of many shapes, copies of many sizes, or the operations of one training step.

    Attributes:
        part: Which of the three.
        formats: Number formats, a subset of `FORMATS`; unused by copies.
        shapes: Products, `MxNxK`: (M, K) times (K, N).
        sizes: Copies: bytes of the source.
        model: Operations: whose sizes they have.
        batch: Operations: sequences.
        sequence: Operations: tokens per sequence.
        rounds: Samples of each point.
    """

    kind: str = "roofline"
    part: Part
    formats: tuple[str, ...] = ("bf16",)
    shapes: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()
    model: ModelName = "gpt2-xl"
    batch: int = 1
    sequence: int = 1
    rounds: int = 20
    time_limit_s: float = 600.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.formats:
            if name not in FORMATS:
                raise ValueError(f"format {name!r} does not exist; allowed: {', '.join(FORMATS)}")
        for shape in self.shapes:
            if not _SHAPE.fullmatch(shape):
                raise ValueError(f"shape is {shape!r}; allowed: MxNxK, e.g. 8192x8192x8192")
        if (self.part == "matmul") != bool(self.shapes) or (self.part == "copy") != bool(self.sizes):
            raise ValueError(f"part is {self.part!r}; allowed: shapes with matmul, and sizes with copy, and no others")

    @property
    def extent(self) -> str:
        """The number of points, or whose operations they are."""
        if self.part == "operations":
            return f"operations of {self.model}"
        return f"{len(self.formats) * len(self.shapes) or len(self.sizes)} points"

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
    """One kind of case.

    Attributes:
        case: The class of its cases.
        module: Where `run_repeat(case, device, repeat)` is, which measures one repeat and returns plain data. The
            module imports PyTorch, so only workers load it.
        resumes: Whether `run_repeat` takes `kept`, the file where it leaves what the next process goes on from.
        result: The part of the record that it fills: `training` (step times, memory, loss, ...), `points`, `fit` or
            `arms`.
    """

    case: type[Case]
    module: str
    result: str
    resumes: bool = False


KINDS: dict[str, Kind] = {
    "training": Kind(TrainingCase, "gpu_bench.measure.repeat", "training"),
    "operations": Kind(OperationsCase, "gpu_bench.measure.operations", "points"),
    "fit": Kind(FitCase, "gpu_bench.measure.fit", "fit", resumes=True),
    "tokenize": Kind(TokenizeCase, "gpu_bench.input_pipeline.tokenize", "points"),
    "loader": Kind(LoaderCase, "gpu_bench.input_pipeline.loading", "points"),
    "roofline": Kind(RooflineCase, "gpu_bench.measure.roofline", "points"),
    "scaling": Kind(ScalingCase, "gpu_bench.distributed.measure", "points"),
    "hybrid": Kind(HybridCase, "gpu_bench.hybrid.evaluate", "arms"),
    "hybrid-memory": Kind(MemoryCase, "gpu_bench.hybrid.evaluate", "arms"),
    "failure": Kind(FailureCase, "gpu_bench.failures.repeat", "arms"),
}


def case_from_dict(data: Mapping[str, Any]) -> Case:
    """The inverse of `Case.as_dict`. Raises `ValueError` on an unknown kind, and an unknown or missing field."""
    kind = data.get("kind", "training")
    if kind not in KINDS:
        raise ValueError(f"kind is {kind!r}; allowed: {', '.join(KINDS)}")
    return case_of(KINDS[kind].case, data)
