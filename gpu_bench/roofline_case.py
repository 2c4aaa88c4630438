"""Which ceilings are measured: cases as data. Nothing here imports PyTorch."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from gpu_bench.case import Case, ModelName

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

    def products(self) -> tuple[tuple[int, int, int], ...]:
        """The shapes as numbers: M, N, K."""
        return tuple((int(m), int(n), int(k)) for m, n, k in (shape.split("x") for shape in self.shapes))
