"""A symbolic PyTorch tape: writes down what each eager operation computes, in which format, and what it saves.

A framework's forward pass is transcribed line by line against these methods (`engine.activations`). What is saved
follows PyTorch 2.13's derivative formulas (`tools/autograd/derivatives.yaml`); formats follow the autocast operation
lists of `torch.amp`. Facts are for CUDA: normalization statistics in fp32, dropout masks of one byte.
"""

from __future__ import annotations

from engine.blocks import Component, Matmul, Op, Section, Value
from engine.dtypes import BOOL, FP32, INT64, DType
from engine.precision import Precision
from engine.sizes import BATCH, SEQUENCE, TOKENS, Size, as_size
from engine.units import Count


def _wider(a: DType, b: DType) -> DType:
    """The format PyTorch promotes a sum of two formats to."""
    return a if a.bits >= b.bits else b


class Tape:
    """Collects the operations of one section. `prefix` is put before every value's name."""

    def __init__(self, prefix: str, precision: Precision) -> None:
        self._prefix = prefix
        self._precision = precision
        self._ops: list[Op] = []

    def section(self, name: str, count: Count = 1) -> Section:
        """The section recorded so far."""
        return Section(name, tuple(self._ops), count)

    def value(self, name: str, size: Size, dtype: DType, component: Component = "activations") -> Value:
        """A tensor of this section; as such it costs nothing until an operation saves it."""
        return Value(self._prefix + name, size, dtype, component)

    def hidden(self, width: Count) -> Value:
        """The section's input: a hidden state of `width` per token in the residual stream's format."""
        return self.value("input", TOKENS * width, self._precision.residual)

    def embedding(self, name: str, width: Count, indices: Size) -> Value:
        """Look up one row of `width` per index. Saves the indices (int64)."""
        index = self.value(f"{name}.indices", indices, INT64)
        out = self.value(name, indices * width, self._precision.weights)
        self._ops.append(Op(name, "embedding", (index,), (out,), (index,)))
        return out

    def cast(self, name: str, x: Value, dtype: DType) -> Value:
        """`x.to(dtype)`: nothing happens when the format is already right. Saves nothing."""
        if x.dtype == dtype:
            return x
        out = self.value(f"{name}.cast", x.size, dtype, x.component)
        self._ops.append(Op(f"{name}.cast", "cast", (x,), (out,)))
        return out

    def linear(
        self, name: str, x: Value, inputs: Count, outputs: Count, *, bias: bool, component: Component = "activations"
    ) -> Value:
        """`x @ weight.T + bias` for every token. Saves its input, and the weight's cast under autocast."""
        compute = self._precision.compute
        x = self.cast(name, x, compute)
        saved: tuple[Value, ...] = (x,)
        if self._precision.autocast:
            saved += (self.value(f"{name}.weight.cast", as_size(inputs * outputs), compute, "casts"),)
        out = self.value(name, TOKENS * outputs, compute, component)
        product = Matmul(as_size(1), TOKENS, as_size(outputs), as_size(inputs))
        weights = inputs * outputs + (outputs if bias else 0)
        self._ops.append(Op(name, "matmul", (x,), (out,), saved, (product,), weights, compute))
        return out

    def layer_norm(self, name: str, x: Value, width: Count, *, bias: bool) -> Value:
        """Layer normalization. Saves its input, mean and reciprocal deviation; in fp32 under autocast."""
        x = self.cast(name, x, self._precision.weights)
        mean, rstd = (self.value(f"{name}.{part}", TOKENS, FP32) for part in ("mean", "rstd"))
        out = self.value(name, x.size, x.dtype)
        weights = 2 * width if bias else width
        self._ops.append(
            Op(name, "norm", (x,), (out, mean, rstd), (x, mean, rstd), (), weights, self._precision.weights)
        )
        return out

    def activation(self, name: str, x: Value) -> Value:
        """A fused pointwise nonlinearity (GELU, SiLU, ReLU's relatives). Saves its input."""
        out = self.value(name, x.size, x.dtype)
        self._ops.append(Op(name, "elementwise", (x,), (out,), (x,)))
        return out

    def add(self, name: str, a: Value, b: Value) -> Value:
        """A sum, in the wider of both formats; the smaller operand is broadcast. Saves nothing."""
        larger = max(a, b, key=lambda value: value.size(2, 2))
        out = self.value(name, larger.size, _wider(a.dtype, b.dtype))
        self._ops.append(Op(name, "elementwise", (a, b), (out,)))
        return out

    def dropout(self, name: str, x: Value, probability: float) -> Value:
        """Dropout. Saves a mask of one byte per element, or does nothing at probability 0."""
        if probability == 0:
            return x
        mask = self.value(f"{name}.mask", x.size, BOOL)
        out = self.value(name, x.size, x.dtype)
        self._ops.append(Op(name, "dropout", (x,), (out, mask), (mask,)))
        return out

    def _copy(self, name: str, x: Value) -> Value:
        """A contiguous copy, made because a batched product cannot read the transposed view. Saves nothing."""
        out = self.value(name, x.size, x.dtype)
        self._ops.append(Op(name, "copy", (x,), (out,)))
        return out

    def flash_attention(
        self, name: str, projections: tuple[Value, ...], heads: Count, head_size: Count, probability: float
    ) -> Value:
        """Fused causal attention. Saves its inputs, its output and one fp32 log-sum-exp per head and token.

        Args:
            name: Name of the operation.
            projections: The storages of query, key and value: one when they are views of a merged projection.
            heads: Query heads.
            head_size: Width of a head.
            probability: Attention dropout; the kernel keeps a random seed instead of a mask.
        """
        del probability  # two integers of generator state, whatever the probability
        out = self.value(name, TOKENS * heads * head_size, projections[0].dtype)
        lse = self.value(f"{name}.logsumexp", TOKENS * heads, FP32)
        saved = (*projections, out, lse)
        self._ops.append(Op(name, "attention", projections, (out, lse), saved, attention_products(heads, head_size)))
        return out

    def standard_attention(
        self, name: str, projection: Value, heads: Count, head_size: Count, probability: float
    ) -> Value:
        """Causal attention with the T x T scores in memory, from a merged projection of query, key and value.

        Saves contiguous copies of query, key and value, the T x T mask, the probabilities, and under dropout the
        dropped-out probabilities and their mask. Under autocast the softmax runs in fp32.
        """
        compute = projection.dtype
        width = TOKENS * heads * head_size
        pairs = BATCH * SEQUENCE * SEQUENCE * heads
        scores_product, output_product = attention_products(heads, head_size)
        q, k, v = (self._copy(f"{name}.{part}", self.value("", width, compute)) for part in ("q", "k", "v"))
        scores = self.value(f"{name}.scores", pairs, compute)
        self._ops.append(Op(f"{name}.scores", "matmul", (q, k), (scores,), (q, k), (scores_product,)))
        scaled = self.value(f"{name}.scaled", pairs, compute)
        self._ops.append(Op(f"{name}.scale", "elementwise", (scores,), (scaled,)))
        future = self.value(f"{name}.future", SEQUENCE * SEQUENCE, BOOL)
        masked = self.value(f"{name}.masked", pairs, compute)
        self._ops.append(Op(f"{name}.masked_fill", "elementwise", (scaled, future), (masked,), (future,)))
        masked = self.cast(f"{name}.softmax", masked, self._precision.weights)
        weights = self.value(f"{name}.softmax", pairs, masked.dtype)
        self._ops.append(Op(f"{name}.softmax", "softmax", (masked,), (weights,), (weights,)))
        weights = self.cast(f"{name}.output", self.dropout(f"{name}.dropout", weights, probability), compute)
        out = self.value(f"{name}.heads", width, compute)
        self._ops.append(Op(f"{name}.output", "matmul", (weights, v), (out,), (weights, v), (output_product,)))
        return self._copy(name, out)

    def cross_entropy(self, name: str, logits: Value) -> Value:
        """Mean cross-entropy. Saves the log-probabilities (fp32 under autocast) and the targets (int64)."""
        logits = self.cast(name, logits, self._precision.weights)
        targets = self.value(f"{name}.targets", TOKENS, INT64)
        log_probabilities = self.value(f"{name}.log_probabilities", logits.size, logits.dtype, "logits")
        loss = self.value(name, as_size(1), logits.dtype)
        self._ops.append(Op(f"{name}.log_softmax", "softmax", (logits,), (log_probabilities,), (log_probabilities,)))
        saved = (log_probabilities, targets)
        self._ops.append(Op(name, "loss", (log_probabilities, targets), (loss,), saved))
        return loss


def attention_products(heads: Count, head_size: Count) -> tuple[Matmul, Matmul]:
    """Scores (T x d by d x T) and output (T x T by T x d) per query head, without the saving of a causal mask."""
    count = BATCH * heads
    return (
        Matmul(count, SEQUENCE, SEQUENCE, as_size(head_size)),
        Matmul(count, SEQUENCE, as_size(head_size), SEQUENCE),
    )
