"""Kernels made ready for many evaluations: each phase of a step as seconds that are polynomials of batch and sequence.

What depends only on model, configuration and chip is done once here: rates, tiles, and the sum of everything that is
bound by memory traffic, which is one polynomial however many kernels there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from engine.config.setup import Setup
from engine.core.polynomial import Polynomial, polynomial
from engine.core.sizes import NOTHING, TOKENS, Size, as_size
from engine.core.units import Count, FlopsPerSecond, Ratio, Seconds
from engine.graph.ir import Matmul
from engine.graph.kernels import Kernel, Phase
from engine.hardware.accelerators import Accelerator
from engine.time.gemm import (
    SIXTEEN_BIT,
    DeepProduct,
    RowProduct,
    Rows,
    deep_product,
    gemm_seconds,
    pipeline_depth,
    row_product,
    sustained,
)

ATTENTION_SHARES: dict[str, tuple[Ratio, Ratio]] = {"data-center": (0.73, 0.63), "geforce": (1.0, 0.94)}
"""Shares of the dense peak that fused attention reaches forward and backward at head size 128, if none is on record.

Data center, and chips of no family: FlashAttention-2's best on an A100 (arXiv 2307.08691); Hopper's are on record and
lower, 335 and 322 of 989 TFLOP/s. GeForce: 173 of 165 TFLOP/s forward on an RTX 4090, above the peak at the nominal
clock (github.com/ROCm/flash-attention, issue 27); backward, not published, is 77 of 82 TFLOP/s forward on an RTX A5000,
whose multiprocessors are those of a GeForce card (github.com/gpu-mode/ring-attention, issue 10).
"""

EXPONENTIAL_SHARES: dict[str, Ratio] = {"data-center": 1 / 3, "geforce": 1 / 12}
"""Seconds of a score's exponential over those of its products at head size 128.

A multiprocessor computes 16 exponentials a clock (CUDA C++ programming guide, arithmetic instructions), and 2,048 FLOPs
of 16-bit products on an A100, on a GeForce card with fp32 sums 512: exponentials hide four times better. There head
size 64 is no slower than 128: 173 TFLOP/s on an RTX 4090, as above.
"""

ATTENTION_GENERATION_SPEEDUP = 2
"""FlashAttention-2 over FlashAttention. Source: Dao 2023, arXiv 2307.08691, abstract."""


@dataclass(frozen=True, slots=True)
class Product:
    """A matrix product: its shape, the rate of its format, its traffic in seconds, and what its pipeline is worth."""

    shape: RowProduct | DeepProduct | Matmul
    rate: FlopsPerSecond
    traffic: Polynomial
    depth: Count

    def arithmetic(self, batch: Count, sequence: Count, rows: Rows, units: Count) -> Seconds:
        """Seconds of arithmetic alone; `rows` are the tokens."""
        if isinstance(self.shape, RowProduct):
            return self.shape.seconds(rows)
        if isinstance(self.shape, DeepProduct):
            return self.shape.seconds(rows.count, rows.math)
        p = self.shape
        m, n, k, count = (size(batch, sequence) for size in (p.m, p.n, p.k, p.count))
        return gemm_seconds(m, n, k, self.rate, units, count, depth=self.depth)


CountedProduct = tuple[Product, tuple[tuple[Phase, Count], ...]]
"""A product and how often it runs in each phase of a micro-batch."""


@dataclass(frozen=True, slots=True)
class FusedAttention:
    """Fused attention: seconds of its arithmetic in full, seconds of its traffic, and how often it runs."""

    arithmetic: Polynomial
    traffic: Polynomial
    count: Count


@dataclass(frozen=True, slots=True)
class PhaseWork:
    """What runs in one phase of a micro-batch besides matrix products.

    Attributes:
        attention: Fused attention kernels.
        moved: Seconds of all kernels that are bound by traffic.
        arithmetic: Seconds of kernels without products that are bound by arithmetic, on the smallest chips.
        launches: Kernels, those of products included.
    """

    attention: tuple[FusedAttention, ...]
    moved: Polynomial
    arithmetic: Polynomial
    launches: Count


@dataclass(frozen=True, slots=True)
class Work:
    """Kernels that run together on one batch and sequence, made ready.

    Attributes:
        pieces: How often they run in a micro-batch, each time on so many parts of the sequence.
        phases: What runs in each phase besides matrix products.
        products: The distinct matrix products, each with how often it runs in which phase.
    """

    pieces: Count
    phases: tuple[tuple[Phase, PhaseWork], ...]
    products: tuple[CountedProduct, ...]


def compile_work(c: Setup, head_size: Count, kernels: Mapping[Phase, Iterable[Kernel]], pieces: Count = 1) -> Work:
    """Kernels by phase, made ready for a setup's chip. Equal products of different phases are kept once.

    Args:
        c: The setup.
        head_size: Of attention.
        kernels: What runs in each phase.
        pieces: How often all of it runs in a micro-batch, on as many parts of the sequence.
    """
    products: dict[Product, Counter[Phase]] = {}
    phases = [(phase, _gather(c, head_size, list(run), products)) for phase, run in kernels.items()]
    counted = tuple((product, tuple(counts.items())) for product, counts in products.items())
    return Work(pieces, tuple((phase, work) for phase, work in phases if work.launches), counted)


def attention_rate(c: Setup, head_size: Count, dtype: str, phase: Phase) -> FlopsPerSecond:
    """FLOPs per second of fused attention. A smaller head leaves more exponentials per product."""
    peak = c.chip.peak(dtype)
    generation = f"flash-{c.attention.generation}"
    measured = (c.chip.fused_attention(generation) or c.chip.attention) if dtype in SIXTEEN_BIT else None
    family = c.chip.family or "data-center"
    forward, backward = (peak * share for share in ATTENTION_SHARES[family])
    if measured:
        forward, backward = measured.forward, measured.backward
    full = backward if phase == "backward" else forward
    if c.attention.generation == 1:
        full = full / ATTENTION_GENERATION_SPEEDUP
    exponentials = EXPONENTIAL_SHARES[family]
    if head_size < 128:
        full = full * (1 + exponentials) / (1 + exponentials * 128 / head_size)
    # Formats without fused attention on record: their products are no faster in it than alone.
    return min(full, peak if dtype in SIXTEEN_BIT else sustained(c.chip, dtype))


def _gather(c: Setup, head_size: Count, kernels: list[Kernel], products: dict[Product, Counter[Phase]]) -> PhaseWork:
    """Sort kernels of one phase by what bounds them; traffic and small arithmetic become one polynomial each."""
    attention: list[FusedAttention] = []
    moved = arithmetic = NOTHING
    launches = 0
    rate = c.chip.streaming
    vector_rate = c.chip.peak("fp32")
    for kernel in kernels:
        launches += kernel.count
        traffic = polynomial(kernel.bytes, 1 / rate)
        if kernel.product is not None:
            form = _format(c, kernel)
            kept, depth = sustained(c.chip, form), pipeline_depth(form)
            product = Product(_shape(c.chip, kernel.product, kept, depth), kept, traffic, depth)
            products.setdefault(product, Counter())[kernel.phase] += kernel.count
        elif kernel.kind == "attention":
            rounded = attention_rate(c, head_size, _format(c, kernel), kernel.phase)
            attention.append(FusedAttention(polynomial(kernel.flops, 1 / rounded), traffic, kernel.count))
        elif kernel.flops(1, 1024) * rate > kernel.bytes(1, 1024) * vector_rate:
            arithmetic = arithmetic + kernel.flops * kernel.count
        else:
            moved = moved + kernel.bytes * kernel.count
    return PhaseWork(
        attention=tuple(attention),
        moved=polynomial(moved, 1 / rate),
        arithmetic=polynomial(arithmetic, 1 / vector_rate),
        launches=launches,
    )


def _format(c: Setup, kernel: Kernel) -> str:
    """The format in which a kernel multiplies: TF32 takes operands of FP32 as they are."""
    assert kernel.dtype is not None
    name = kernel.dtype.name
    return "tf32" if name == "fp32" and c.precision.product_format == "tf32" else name.partition("-")[0]


def _shape(chip: Accelerator, product: Matmul, rate: FlopsPerSecond, depth: Count) -> RowProduct | DeepProduct | Matmul:
    """A product over tokens made ready for many evaluations; others stay as they are."""
    units = chip.multiprocessors
    if product.count != as_size(1):
        return product
    if product.m == TOKENS:
        return row_product(_constant(product.n), _constant(product.k), rate, units, depth)
    return deep_product(_constant(product.m), _constant(product.n), rate, units, depth)


def _constant(size: Size) -> Count:
    """The value of a size that depends neither on batch nor on sequence."""
    ((power, value),) = size.terms
    assert power == (0, 0)
    return value
