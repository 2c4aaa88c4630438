"""Training memory of one device: the ledger of named tensors for a model, optimizer, precision and batch."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from engine.activations import Attention, sections
from engine.blocks import Section
from engine.errors import EngineError, require_positive
from engine.models import Transformer
from engine.models import model as model_by_name
from engine.optimizers import Optimizer
from engine.optimizers import optimizer as optimizer_by_name
from engine.precision import Precision
from engine.precision import precision as precision_by_name
from engine.tensors import MemoryLedger, Tensor
from engine.units import Count, Ratio


def training_memory(
    model: str | Transformer,
    *,
    optimizer: str | Optimizer = "adam",
    precision: str | Precision = "fp32",
    batch: Count = 1,
    sequence: Count | None = None,
    attention: Attention = "flash",
    dropout: Ratio = 0.0,
    backend: str = "cuda",
) -> MemoryLedger:
    """Every tensor a training step keeps, with its bytes.

    Args:
        model: A name from `list_models()` or a `Transformer`.
        optimizer: A name from `list_optimizers()`.
        precision: A name from `list_precisions()`.
        batch: Sequences in the micro-batch; a NumPy array sweeps.
        sequence: Tokens in a sequence; the model's longest when None.
        attention: `"flash"` or `"standard"`.
        dropout: Probability of embedding, attention and residual dropout.
        backend: Whose kernels run, `"cuda"` or `"cpu"`.

    Raises:
        EngineError: For an unknown name or a value out of range.
    """
    if isinstance(model, str):
        model = model_by_name(model)
    optimizer, precision = optimizer_by_name(optimizer), precision_by_name(precision)
    sequence = model.max_seq if sequence is None else sequence
    require_positive("batch", batch)
    require_positive("sequence", sequence)
    longest = sequence.max() if hasattr(sequence, "max") else sequence
    if model.position == "learned" and longest > model.max_seq:
        raise EngineError(f"sequence {longest} is too long; {model.name} allows at most {model.max_seq}")
    saved = _saved_tensors(sections(model, precision, attention, dropout, backend), batch, sequence)
    return MemoryLedger(_static_tensors(model, optimizer, precision) + tuple(saved))


@lru_cache(maxsize=256)
def _static_tensors(model: Transformer, optimizer: Optimizer, precision: Precision) -> tuple[Tensor, ...]:
    return tuple(_static(model, optimizer, precision))


def _static(model: Transformer, optimizer: Optimizer, precision: Precision) -> Iterator[Tensor]:
    for p in model.parameter_tensors:
        yield Tensor(p.name, "parameters", p.elements, precision.weights, p.count)
    if precision.master:
        for p in model.parameter_tensors:
            yield Tensor(f"{p.name}.master", "master", p.elements, precision.master, p.count)
    for p in model.parameter_tensors:
        yield Tensor(f"{p.name}.grad", "gradients", p.elements, precision.gradients, p.count)
    for state in optimizer.states:
        for p in model.parameter_tensors:
            name = f"{p.name}.{state.name}"
            yield Tensor(name, "optimizer", p.elements, precision.states, p.count, part=state.name)


def _saved_tensors(parts: tuple[Section, ...], batch: Count, sequence: Count) -> Iterator[Tensor]:
    for section in parts:
        for value in section.saved:
            elements = value.size(batch, sequence)
            yield Tensor(value.name, value.component, elements, value.dtype, section.count, part=section.name)
