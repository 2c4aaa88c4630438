"""A symbolic PyTorch tape: writes down what each eager operation computes, in which format, and what it saves.

A framework's forward pass is transcribed line by line against these methods (`ironlaw.graph.blocks`). What is saved
follows PyTorch 2.13's derivative formulas (`tools/autograd/derivatives.yaml`); formats follow the autocast operation
lists of `torch.amp`. Where CPU and CUDA kernels differ, `ironlaw.graph.tape` says how.

In a few facts PyTorch's kernels for CPU and for CUDA keep different tensors: its backend.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from ironlaw.core.errors import entry
from ironlaw.core.sizes import SEQUENCE, TOKENS, Size, as_size
from ironlaw.core.units import Count, Ratio
from ironlaw.graph.ir import Component, Kind, Matmul, Op, Region, Section, Value
from ironlaw.numerics.dtypes import BOOL, FP32, INT64, DType
from ironlaw.numerics.precision import Precision

BackendName = Literal["cuda", "cpu"]


@dataclass(frozen=True, slots=True)
class Backend:
    """What a device's kernels keep. Facts of PyTorch 2.13; the CPU's are tested against it.

    Attributes:
        name: `"cuda"` or `"cpu"`.
        fp32_statistics: Layer norm keeps mean and deviation in fp32; otherwise in the input's format.
        byte_masks: A dropout mask takes one byte an element; otherwise it has the input's format.
        fp32_softmax: Autocast runs a plain softmax in fp32.
        fused_dropout: The fused attention kernel applies dropout itself; otherwise PyTorch spells it out.
        fused_rms_norm: RMSNorm is one kernel that keeps its input and a statistic a row, as `torch.nn.RMSNorm`, Liger's
            and FlashAttention's are; otherwise separate operations, as Hugging Face transformers writes it.
    """

    name: BackendName
    fp32_statistics: bool
    byte_masks: bool
    fp32_softmax: bool
    fused_dropout: bool
    fused_rms_norm: bool = False


_BACKENDS: dict[str, Backend] = {
    backend.name: backend
    for backend in (Backend("cuda", True, True, True, True), Backend("cpu", False, False, False, False))
}


def backend(name: str | Backend) -> Backend:
    """The backend called `name` (a `Backend` passes through). Raises `EngineError` for an unknown name."""
    if isinstance(name, Backend):
        return name
    return entry("backend", name, _BACKENDS)


if TYPE_CHECKING:
    from ironlaw.graph.adaptation import Training

PAIRS = TOKENS * SEQUENCE
"""Query-key pairs of one head: B T^2."""


class Tape:
    """Collects the operations of one section.

    `prefix` is put before every value's name. With `sequence_shards` above one, norms and residuals are divided among
    so many devices along the sequence; matrix products see the gathered sequence. Code fused `by_hand`, Megatron's,
    saves their own shard of it, and has a kernel of its own for every norm. `training` says what is trained, where that
    is not everything.
    """

    def __init__(
        self,
        prefix: str,
        precision: Precision,
        backend: Backend,
        sequence_shards: Count = 1,
        *,
        by_hand: bool = False,
        training: Training | None = None,
        context: Count = 1,
    ) -> None:
        self.precision = precision
        self.backend = backend
        self.sequence_shards = sequence_shards
        self.by_hand = by_hand
        self.training = training
        self.context = context
        self._prefix = prefix
        self._ops: list[Op] = []
        self._input: Value | None = None
        self._region: Region = ""

    def section(self, name: str, count: Count = 1) -> Section:
        """The section recorded so far, in which only what is trained has gradients."""
        recorded = Section(name, tuple(self._ops), self._input, count)
        if self.training is None:
            return recorded
        from ironlaw.graph.frozen import without_needless

        return without_needless(recorded, self.training)

    @contextmanager
    def region(self, name: Region) -> Iterator[None]:
        """Mark the operations recorded inside as belonging to a region that can be recomputed on its own."""
        self._region = name
        yield
        self._region = ""

    def record(self, op: Op) -> Value:
        """Append an operation and return its result. What it saves is kept by storage: views cost nothing extra."""
        saved = tuple(dict.fromkeys(value.storage for value in op.saved))
        self._ops.append(replace(op, saved=saved, region=self._region))
        return op.outputs[0]

    def holding(self, x: Value) -> None:
        """Say that `x` was an argument of the function that ends here: Python frees it no earlier."""
        last = self._ops[-1]
        self._ops[-1] = replace(last, holds=(*last.holds, x.storage))

    def hidden(self, name: str, width: Count) -> Value:
        """The section's input: a hidden state of `width` per token in the residual stream's format."""
        size = (TOKENS * width).split(self.sequence_shards)
        self._input = self.value(name, size, self.precision.residual)
        return self._input

    def value(
        self,
        name: str,
        size: Size,
        dtype: DType,
        component: Component = "activations",
        *,
        needs_gradient: bool = True,
    ) -> Value:
        """A tensor of this section; as such it costs nothing until an operation saves it."""
        return Value(self._prefix + name, size, dtype, component, needs_gradient)

    def operation(
        self,
        name: str,
        kind: Kind,
        inputs: tuple[Value, ...],
        size: Size,
        dtype: DType,
        *,
        saves: Iterable[Value] = (),
        saves_result: bool = False,
        component: Component = "activations",
        passes_gradient: bool = False,
    ) -> Value:
        """Any operation without parameters or products: one result, and what it saves."""
        out = self.value(name, size, dtype, component)
        saved = (*saves, out) if saves_result else tuple(saves)
        return self.record(Op(name, kind, inputs, (out,), saved, passes_gradient=passes_gradient))

    def gather(self, name: str, x: Value) -> Value:
        """The whole sequence from every device's shard; `x` itself when the sequence is not divided."""
        if self.sequence_shards == 1:
            return x
        return self.operation(f"{name}.gather", "copy", (x,), x.size * self.sequence_shards, x.dtype)

    def scatter(self, name: str, x: Value) -> Value:
        """This device's shard of the sequence; `x` itself when the sequence is not divided."""
        if self.sequence_shards == 1:
            return x
        return self.operation(f"{name}.scatter", "copy", (x,), x.size.split(self.sequence_shards), x.dtype)

    def embedding(self, name: str, rows: Count, width: Count, indices: Size) -> Value:
        """Look up one of `rows` rows of `width` per index. Saves the indices (int64)."""
        index = self.value(f"{name}.indices", indices, INT64, needs_gradient=False)
        out = self.value(name, indices * width, self.precision.weights)
        return self.record(Op(name, "embedding", (index,), (out,), (index,), trains=rows * width))

    def split(self, name: str, x: Value, sizes: tuple[tuple[str, Size], ...]) -> tuple[Value, ...]:
        """Views of `x`, named and sized. Costs nothing forward; backward joins their gradients into one tensor."""
        views = tuple(Value(f"{x.name}.{part}", size, x.dtype, view_of=x) for part, size in sizes)
        self.record(Op(name, "view", (x,), views))
        return views

    def table(self, name: str, size: Size, dtype: DType) -> Value:
        """A constant table, made without gradient and kept for every layer's use."""
        out = self.value(name, size, dtype, needs_gradient=False)
        return self.record(Op(name, "elementwise", (), (out,), (out,)))

    def cast(self, name: str, x: Value, dtype: DType) -> Value:
        """`x.to(dtype)`: nothing happens when the format is already right. Saves nothing."""
        if x.dtype == dtype:
            return x
        return self.operation(f"{name}.cast", "cast", (x,), x.size, dtype, component=x.component)

    def linear(
        self,
        name: str,
        x: Value,
        inputs: Count,
        outputs: Count,
        *,
        bias: bool,
        component: Component = "activations",
        shard: Value | None = None,
    ) -> Value:
        """`x @ weight.T + bias` for every token. Saves its input, and the weight's cast under autocast.

        A layer of a block that multiplies in 8 bits saves its input before the cast, and no cast of its weight, which
        backward makes again (pytorch/ao, `torchao/float8/float8_linear.py`).

        When `x` was gathered from a `shard`, the shard is saved and gathered again in backward. An adapter's operations
        follow those of the matrix that it adapts.
        """
        if self.training and name in (self.training.adapted | self.training.quantized):
            from ironlaw.graph.adapters import adapted

            return adapted(self, self.training, name, x, inputs, outputs, bias=bias)
        return self.product(name, x, inputs, outputs, bias=bias, component=component, shard=shard)

    def product(
        self,
        name: str,
        x: Value,
        inputs: Count,
        outputs: Count,
        *,
        bias: bool = False,
        component: Component = "activations",
        shard: Value | None = None,
    ) -> Value:
        """A linear layer as such, without an adapter."""
        compute = self.precision.compute
        x = self.cast(name, x, compute)
        kept = x
        if shard and self.by_hand and self.sequence_shards > 1:
            kept = shard if shard.dtype == compute else self.value(f"{name}.shard", shard.size, compute)
        saved: tuple[Value, ...] = (kept,)
        cast = self.precision.autocast and self.precision.weights != compute
        if cast and (component == "logits" or not self.precision.in_fp8):
            weight = self.value(f"{name}.weight.cast", as_size(inputs * outputs), compute, "casts")
            saved = (kept, weight)
        out = self.value(name, TOKENS * outputs, compute, component)
        product = Matmul(as_size(1), TOKENS, as_size(outputs), as_size(inputs))
        weights = inputs * outputs + (outputs if bias else 0)
        return self.record(Op(name, "matmul", (x,), (out,), saved, (product,), weights, compute, trains=weights))

    def grouped(
        self,
        name: str,
        x: Value,
        offsets: Value,
        groups: Count,
        inputs: Count,
        outputs: Count,
        which: Value | None,
        *,
        matrices: Value | None,
    ) -> Value:
        """A product of each group of rows with a matrix of its own, in the weights' format.

        `x` has the rows sorted by group, and `offsets` says where each group ends. Saves both. Where there are biases,
        that of each row is looked up by `which` group it is of, and added. Where the matrices are not parameters but a
        tensor made of them, they are saved too.
        """
        stored = self.precision.weights
        x = self.cast(name, x, stored)
        rows = Size(tuple((power, count // inputs) for power, count in x.size.terms))
        product = Matmul(as_size(1), rows, as_size(outputs), as_size(inputs), groups)
        out = self.value(name, rows * outputs, stored)
        weights = groups * inputs * outputs
        if matrices:
            return self.record(Op(name, "matmul", (x, matrices), (out,), (x, offsets, matrices), (product,)))
        self.record(Op(name, "matmul", (x,), (out,), (x, offsets), (product,), weights, stored, trains=weights))
        if which is None:
            return out
        looked = self.value(f"{name}.bias", out.size, stored, needs_gradient=False)
        table = groups * outputs
        self.record(Op(f"{name}.bias", "copy", (which,), (looked,), (which,), weights=table, weight_dtype=stored))
        added = Value(f"{out.name}.biased", out.size, stored, view_of=out)
        return self.record(
            Op(f"{name}.add", "elementwise", (out, looked), (added,), trains=table, passes_gradient=True)
        )

    def layer_norm(self, name: str, x: Value, width: Count, *, bias: bool) -> Value:
        """Layer normalization. Saves its input, mean and reciprocal deviation; in fp32 under autocast."""
        x = self.cast(name, x, self.precision.wide)
        statistics = FP32 if self.backend.fp32_statistics else x.dtype
        mean, rstd = (
            self.value(f"{name}.{part}", TOKENS, statistics, needs_gradient=False) for part in ("mean", "rstd")
        )
        return self.weighted(name, "norm", x, x.dtype, 2 * width if bias else width, (mean, rstd))

    def rms_norm(self, name: str, x: Value, width: Count, rows: Size = TOKENS) -> Value:
        """RMSNorm in one kernel. Saves its input and the reciprocal root of the mean square, in fp32 on any backend."""
        rstd = self.value(f"{name}.rstd", rows, FP32, needs_gradient=False)
        return self.weighted(name, "norm", x, x.dtype, width, (rstd,))

    def weighted(
        self, name: str, kind: Kind, x: Value, dtype: DType, weights: Count, statistics: tuple[Value, ...] = ()
    ) -> Value:
        """An operation with trained weights, broadcast over tokens. Saves `x`, which their gradient needs, and more."""
        outputs, saved = (self.value(name, x.size, dtype), *statistics), (x, *statistics)
        stored = self.precision.weights
        return self.record(Op(name, kind, (x,), outputs, saved, weights=weights, weight_dtype=stored, trains=weights))

    def activation(self, name: str, x: Value) -> Value:
        """A fused pointwise nonlinearity (GELU, SiLU). Saves its input."""
        return self.operation(name, "elementwise", (x,), x.size, x.dtype, saves=(x,))

    def relu(self, name: str, x: Value) -> Value:
        """ReLU. Saves its result, which the next operation usually saves too."""
        return self.operation(name, "elementwise", (x,), x.size, x.dtype, saves_result=True)

    def nonlinearity(self, name: str, x: Value, kind: str) -> Value:
        """A nonlinearity by name: fused ones save their input, ReLU its result, `gelu-new` what its parts save."""
        if kind == "relu":
            return self.relu(name, x)
        if kind != "gelu-new":
            return self.activation(name, x)
        cube = self.power(f"{name}.pow", x)
        inner = self.operation(f"{name}.sum", "elementwise", (x, cube), x.size, x.dtype, passes_gradient=True)
        bent = self.operation(f"{name}.tanh", "elementwise", (inner,), x.size, x.dtype, saves_result=True)
        half = self.operation(f"{name}.half", "elementwise", (x,), x.size, x.dtype)
        more = self.operation(f"{name}.more", "elementwise", (bent,), x.size, x.dtype, passes_gradient=True)
        return self.multiply(name, half, more)

    def power(self, name: str, x: Value) -> Value:
        """`x ** n`. Saves `x`; backward writes the next lower power, and n times it, besides the gradient.

        Source: PyTorch 2.13, `torch/csrc/autograd/FunctionsManual.cpp`, `pow_backward`.
        """
        out = self.value(name, x.size, x.dtype)
        return self.record(Op(name, "elementwise", (x,), (out,), (x,), backward_workspace=2 * out.byte_size))

    def multiply(self, name: str, a: Value, b: Value) -> Value:
        """A product of two tensors. Saves each factor that the other one's gradient needs."""
        saves = [kept for kept, other in ((a, b), (b, a)) if other.needs_gradient]
        larger = max(a, b, key=lambda value: value.size(2, 2))
        return self.operation(name, "elementwise", (a, b), larger.size, wider(a.dtype, b.dtype), saves=saves)

    def add(self, name: str, a: Value, b: Value) -> Value:
        """A sum, in the wider of both formats; the smaller operand is broadcast. Saves nothing."""
        larger = max(a, b, key=lambda value: value.size(2, 2))
        dtype = wider(a.dtype, b.dtype)
        return self.operation(name, "elementwise", (a, b), larger.size, dtype, passes_gradient=True)

    def copy(self, name: str, x: Value) -> Value:
        """A contiguous copy. Saves nothing."""
        return self.operation(name, "copy", (x,), x.size, x.dtype, passes_gradient=True)

    def join(self, name: str, parts: tuple[Value, ...], size: Size) -> Value:
        """Parts side by side in a new tensor, in the widest of their formats. Saves nothing."""
        dtype = parts[0].dtype
        for part in parts[1:]:
            dtype = wider(dtype, part.dtype)
        return self.operation(name, "copy", parts, size, dtype)

    def dropout(self, name: str, x: Value, probability: Ratio) -> Value:
        """Dropout. Saves a mask, or does nothing at probability 0."""
        if probability == 0:
            return x
        dtype = BOOL if self.backend.byte_masks else x.dtype
        mask = self.value(f"{name}.mask", x.size, dtype, needs_gradient=False)
        out = self.value(name, x.size, x.dtype)
        return self.record(Op(name, "dropout", (x,), (out, mask), (mask,)))


def wider(a: DType, b: DType) -> DType:
    """The format that PyTorch promotes an operation on two formats to."""
    return a if a.bits >= b.bits else b
