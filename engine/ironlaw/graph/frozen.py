"""What a section keeps when not everything in it is trained: only what the gradients that are wanted need.

PyTorch saves a tensor only if a gradient that is asked for needs it. The input of a linear layer is there for its
weight's gradient, the weight for its input's; a product of two tensors keeps each factor for the other's gradient.
Where nothing before an operation is trained, it keeps nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ironlaw.core.units import Count
from ironlaw.graph.adaptation import Training
from ironlaw.graph.ir import Op, Section, Value


def without_needless(section: Section, training: Training) -> Section:
    """The section with gradients of what is trained alone, and without what nobody's gradient needs.

    Args:
        section: Operations as if everything were trained.
        training: What is trained in it.
    """
    own = dict(training.parameters)
    instead: dict[Value, Value] = {}
    if section.input and not training.input_gradient:
        instead[section.input] = replace(section.input, needs_gradient=False)
    ops = []
    for op in section.ops:
        inputs = tuple(_now(value, instead) for value in op.inputs)
        matrix, elements = _trained(op, own)
        passes = any(value.needs_gradient for value in inputs)
        if not passes and not elements:
            instead |= {v: replace(v, needs_gradient=False, view_of=_whole(v, instead)) for v in op.outputs}
        else:
            instead |= {v: replace(v, view_of=_whole(v, instead)) for v in op.outputs if v.view_of}
        kept = tuple(_now(value, instead) for value in op.saved)
        # Tables without inputs are constants for the layers that follow; an index of rows is for their gradient.
        wanted = passes or elements or not inputs or _part_of_experts(op.name, own)
        saved = tuple(_needed(op, inputs, kept, matrix)) if wanted else ()
        outputs, holds = (tuple(_now(value, instead) for value in some) for some in (op.outputs, op.holds))
        ops.append(replace(op, inputs=inputs, outputs=outputs, saved=saved, trains=elements, holds=holds))
    return replace(section, ops=tuple(ops), input=section.input and _now(section.input, instead))


def _now(value: Value, instead: dict[Value, Value]) -> Value:
    return instead.get(value, value)


def _whole(value: Value, instead: dict[Value, Value]) -> Value | None:
    return value.view_of and _now(value.view_of, instead)


def _trained(op: Op, own: dict[str, Count]) -> tuple[bool, Count]:
    """Whether an operation's matrix or scale is trained, and how many elements of it are, biases included."""
    if not op.trains or op.name.endswith((".lora_A", ".lora_B", ".magnitude")):
        return bool(op.trains), op.trains
    if op.name.startswith("mlp.experts."):
        one = _part_of_experts(op.name, own)
        return one > 0, one
    module = op.name.removesuffix(".scaled")  # a norm whose weight multiplies in fp32
    weight, bias = own.get(f"{module}.weight", 0), own.get(f"{module}.bias", 0)
    return weight > 0, weight + bias


def _part_of_experts(name: str, own: dict[str, Count]) -> Count:
    """Trained elements behind an operation of experts, whose matrices are one parameter each, and whose biases are."""
    module, _, bias = name.removeprefix("mlp.experts.").partition(".")
    return own.get(f"mlp.experts.{module}_proj" + ("_bias" if bias else ""), 0)


def _needed(op: Op, inputs: tuple[Value, ...], saved: tuple[Value, ...], matrix: bool) -> Iterator[Value]:
    """Of what an operation saves when all is trained, that which some gradient needs."""
    passes = any(value.needs_gradient for value in inputs)
    read = [value.storage for value in inputs]
    for value in saved:
        if op.kind == "embedding":
            wanted = matrix
        elif op.weights and op.kind == "matmul":
            wanted = passes if value.component == "casts" else matrix or value not in read
        elif op.weights and op.kind == "elementwise":  # Gemma's norms multiply by a tensor made of the weight
            wanted = matrix if value in read else passes
        elif op.kind in ("matmul", "elementwise") and len(inputs) > 1:
            others = [other for other in inputs if other.storage != value]
            wanted = len(others) == len(inputs) or any(other.needs_gradient for other in others)
        else:
            wanted = True
        if wanted:
            yield value
