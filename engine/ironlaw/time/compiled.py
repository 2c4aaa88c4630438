"""Kernels made ready for many evaluations: each phase of a step as seconds that are polynomials of batch and sequence.

What depends only on model, configuration and chip is done once here: rates, tiles, and the sum of everything that is
bound by memory traffic, which is one polynomial however many kernels there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ironlaw.config.resolved import Setup
from ironlaw.core.sizes import NOTHING, TOKENS, Polynomial, Size, as_size, polynomial
from ironlaw.core.units import Count, FlopsPerSecond, Ratio, Seconds
from ironlaw.graph.ir import Matmul
from ironlaw.graph.kernels import Kernel, Phase
from ironlaw.hardware.accelerators import Accelerator
from ironlaw.time.attention import attention_rate, kernel_share, ring_share
from ironlaw.time.gemm import gemm_seconds, pipeline_depth, sustained
from ironlaw.time.token_products import DeepProduct, RowProduct, Rows, deep_product, row_product

DECODING = 3e9
"""4-bit weights that a multiprocessor makes whole in a second, at most, by bitsandbytes: on an A100 a kernel bound by
traffic took 2.0 to 2.2 times less (arXiv 2604.02556). Where memory is slow, traffic takes longer still."""


@dataclass(frozen=True, slots=True)
class Product:
    """A matrix product: shape, rate of its format, seconds of traffic, and the cost of its pipeline as a depth."""

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
    """Fused attention: seconds of its arithmetic in full, of its traffic, how often it runs, and its window.

    In a ring of several devices, `passed` are the bytes that a device sends on in a step.
    """

    arithmetic: Polynomial
    traffic: Polynomial
    count: Count
    window: Count
    ring: Count = 1
    passed: Size = NOTHING

    def share(self, sequence: Count) -> Ratio:
        """Time relative to all products, where a device has so many tokens of a sequence."""
        return kernel_share(sequence, self.window) if self.ring == 1 else ring_share(sequence, self.ring)


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
        pieces: How often they run in a micro-batch, each time on so many parts of the sequence; 0 where it depends on
            the tokens.
        phases: What runs in each phase besides matrix products.
        products: The distinct matrix products, each with how often it runs in which phase.
    """

    pieces: Count
    phases: tuple[tuple[Phase, PhaseWork], ...]
    products: tuple[CountedProduct, ...]


def compile_work(c: Setup, kernels: Mapping[Phase, Iterable[Kernel]], pieces: Count = 1) -> Work:
    """Kernels by phase, made ready for a setup's chip. Equal products of different phases are kept once.

    Args:
        c: The setup.
        kernels: What runs in each phase.
        pieces: How often all of it runs in a micro-batch, on as many parts of the sequence.
    """
    products: dict[Product, Counter[Phase]] = {}
    phases = [(phase, _gather(c, list(run), products)) for phase, run in kernels.items()]
    counted = tuple((product, tuple(counts.items())) for product, counts in products.items())
    return Work(pieces, tuple((phase, work) for phase, work in phases if work.launches), counted)


def _gather(c: Setup, kernels: list[Kernel], products: dict[Product, Counter[Phase]]) -> PhaseWork:
    """Sort kernels of one phase by what bounds them; traffic and small arithmetic become one polynomial each."""
    attention: dict[int, FusedAttention] = {}
    moved = arithmetic = NOTHING
    launches = 0
    rate = c.chip.streaming
    vector_rate = c.chip.peak("fp32")
    # Sections that are alike run the very same kernels.
    again = Counter(map(id, kernels))
    for kernel in {id(kernel): kernel for kernel in kernels}.values():
        count = kernel.count * again[id(kernel)]
        launches += count * kernel.ring
        traffic = polynomial(kernel.bytes, 1 / rate)
        if kernel.product is not None:
            form = _format(c, kernel)
            kept, depth = sustained(c.chip, form), pipeline_depth(form)
            product = Product(_shape(c.chip, kernel.product, kept, depth), kept, traffic, depth)
            products.setdefault(product, Counter())[kernel.phase] += count
        elif kernel.kind == "attention":
            rounded = attention_rate(c, kernel.head_size, _format(c, kernel), kernel.phase)
            arithmetic_time = polynomial(kernel.flops, 1 / rounded)
            ring, passed = kernel.ring, kernel.passed
            attention[id(kernel)] = FusedAttention(arithmetic_time, traffic, kernel.count, kernel.window, ring, passed)
        elif kernel.flops(1, 1024) * rate > kernel.bytes(1, 1024) * vector_rate:
            arithmetic = arithmetic + kernel.flops * count
        else:
            moved = moved + kernel.bytes * count
            if kernel.decoded and c.chip.multiprocessors:
                slow = round(kernel.decoded * rate / (DECODING * c.chip.multiprocessors))
                moved = moved + as_size(max(0, slow - kernel.bytes(1, 1))) * count
    return PhaseWork(
        attention=tuple(attention[id(kernel)] for kernel in kernels if id(kernel) in attention),
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
    if product.groups > 1:
        ((power, chosen),) = (product.m if product.m.terms[0][0] != (0, 0) else product.k).terms
        share = chosen / product.groups
        if power == product.m.terms[0][0]:
            return row_product(_constant(product.n), _constant(product.k), rate, units, depth, product.groups, share)
        return deep_product(_constant(product.m), _constant(product.n), rate, units, depth, product.groups, share)
    one_expert = any(size != TOKENS and size.terms[0][0] == (1, 1) for size in (product.m, product.k))
    if one_expert or product.count != as_size(1):
        return product
    if product.m == TOKENS:
        return row_product(_constant(product.n), _constant(product.k), rate, units, depth)
    return deep_product(_constant(product.m), _constant(product.n), rate, units, depth)


def _constant(size: Size) -> Count:
    """The value of a size that depends neither on batch nor on sequence."""
    ((power, value),) = size.terms
    assert power == (0, 0)
    return value
