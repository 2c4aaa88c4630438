"""What `torch.compile` makes of an operation list: which tensors it keeps for backward, and which it never makes.

AOTAutograd sees forward and backward at once and cuts between them where the fewest bytes cross: what products need is
kept, and what pointwise operations can make again from something kept, or from something smaller, is made again.
Inductor then runs operations without products as chains, whose inner values never exist in memory.

Source: PyTorch 2.13, `torch/_functorch/partitioners.py`, `min_cut_rematerialization_partition`; tested against it.
Three of its rules do more than minimize bytes. Products, look-ups and results of reductions are never computed
again. An operand of a product has to be in memory in backward too, so it is kept rather than made again. A sum whose
users are on both sides of a product is kept (`ban_if_used_far_apart`): that keeps the residual stream.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import groupby

from ironlaw.core.sizes import TOKENS, Size, total
from ironlaw.core.units import Bytes
from ironlaw.graph.ir import Op, Section, Value
from ironlaw.numerics.dtypes import BOOL, FP32

PRODUCTS = ("matmul", "attention")
STAND_ALONE = (*PRODUCTS, "view")
"""Kinds that no chain takes in: products, and views, whose parts' gradients backward joins into one tensor."""
NEVER_AGAIN = (*PRODUCTS, "embedding", "reduce")
"""Kinds whose results are kept or not needed, but not computed again."""

_Choice = tuple[Value, ...]


@lru_cache(maxsize=512)
def compiled(section: Section) -> Section:
    """A section as compiled code runs it: chains instead of single operations, saving what the partitioner keeps.

    Args:
        section: Operations of eager PyTorch (`ironlaw.graph.blocks.sections`).
    """
    if any(op.in_place for op in section.ops):  # a kernel that somebody wrote, which the compiler leaves alone
        return section
    merged = _without_repeated_casts(section)
    partitioned = replace(merged, ops=tuple(_Partitioner(merged).ops()))
    return replace(partitioned, ops=tuple(_chains(_with_lookups(partitioned))))


def _with_lookups(section: Section) -> Section:
    """The embedding section, which also saves one looked-up embedding for the first block; other sections unchanged.

    The first block keeps the two looked-up embeddings, of tokens and of positions, instead of their sum: they are in
    memory anyway, and the sum is not. The ledger counts one of them as the block's input, so the other is saved here.
    The section is also unchanged where dropout follows the sum in fp32: there the first norm keeps the result of the
    dropout, normalized.
    """
    if section.name != "embedding" or (section.ops[-1].kind == "dropout" and section.output.dtype == FP32):
        return section
    sums = [index for index, op in enumerate(section.ops) if op.passes_gradient and len(op.inputs) > 1]
    if not sums:
        return section
    ops = list(section.ops)
    ops[sums[0]] = replace(ops[sums[0]], saved=ops[sums[0]].inputs[1:])
    return replace(section, ops=tuple(ops))


def _without_repeated_casts(section: Section) -> Section:
    """The same casts of the same tensor are one (common subexpressions)."""
    first: dict[tuple[Value, str], Value] = {}
    instead: dict[Value, Value] = {}
    ops: list[Op] = []
    for op in section.ops:
        op = replace(op, inputs=_replaced(op.inputs, instead), saved=_replaced(op.saved, instead), holds=())
        if op.kind == "cast":
            out = op.outputs[0]
            same = first.setdefault((op.inputs[0], out.dtype.name), out)
            if same is not out:
                instead[out] = same
                continue
        ops.append(op)
    return replace(section, ops=tuple(ops))


def _replaced(values: Iterable[Value], instead: dict[Value, Value]) -> tuple[Value, ...]:
    return tuple(instead.get(value, value) for value in values)


class _Partitioner:
    """Decides for each operation of a section what it keeps."""

    def __init__(self, section: Section) -> None:
        self._section = section
        self._maker = {value.storage: op for op in section.ops for value in op.outputs if not value.view_of}
        self._kept: set[Value] = set()
        self._sums = set(_used_on_both_sides(section))

    def ops(self) -> Iterator[Op]:
        """The operations in order, saving what is kept on their behalf."""
        operands = {id(op): _operands(op) for op in self._section.ops if op.kind in (*PRODUCTS, "embedding")}
        self._kept.update(value for saved in operands.values() for value in saved)
        for op in self._section.ops:
            saved = operands.get(id(op))
            if saved is None:
                saved = tuple(dict.fromkeys(self._needed(op)))
                self._kept.update(saved)
            yield replace(op, saved=saved, outputs=(*op.outputs, *_new(op, saved)))

    def _needed(self, op: Op) -> Iterator[Value]:
        if op.kind == "norm" and len(op.outputs) == 3:
            yield from _norm(op)
            return
        if op.kind == "dropout":
            # The random bits are drawn once; their comparison with the probability is kept, one byte each.
            yield from (replace(mask, dtype=BOOL) for mask in op.saved)
            return
        for value in op.saved:
            yield from self._cheapest(value.storage)

    def _cheapest(self, value: Value) -> _Choice:
        """The fewest bytes from which `value` can be made again in backward: itself, or what it is made of."""
        maker = self._maker.get(value)
        alone = (value,)
        if value in self._kept or maker is None or maker.kind in NEVER_AGAIN or value in self._sums:
            return alone
        if maker.kind == "norm":
            return alone
        made_of = [source for x in maker.inputs for source in self._cheapest(x.storage)]
        if maker.kind == "dropout":
            made_of += [replace(mask, dtype=BOOL) for mask in maker.saved]
        again, kept = self._bytes(dict.fromkeys(made_of)), self._bytes(alone)
        if maker.kind == "softmax":
            made_of += _row_statistics(maker)
        # The logits are in memory anyway, so the log-probabilities are computed from them again, not stored.
        if again < kept or (again == kept and value.component == "logits"):
            return tuple(dict.fromkeys(made_of))
        return alone

    def _bytes(self, values: Iterable[Value]) -> Bytes:
        """Bytes that keeping `values` adds, for a long sequence."""
        return sum(value.bytes(1, 2048) for value in values if value not in self._kept)


def _operands(op: Op) -> _Choice:
    return tuple(value.storage for value in op.saved)


def _norm(op: Op) -> Iterator[Value]:
    """Layer normalization keeps its normalized input, once FP32 is no larger, instead of the input and its mean."""
    x, rstd = op.inputs[0].storage, op.outputs[2]
    if x.dtype == FP32:
        yield from (replace(op.outputs[0], name=f"{op.outputs[0].name}.normalized"), rstd)
    else:
        yield from (x, op.outputs[1], rstd)


def _row_statistics(op: Op) -> Iterator[Value]:
    """Maximum and sum of each of a softmax's rows, from which it is made again without a reduction."""
    out = op.outputs[0]
    rows = TOKENS if out.component == "logits" else _without_one_sequence(out.size)
    for part in ("max", "sum"):
        yield Value(f"{out.name}.{part}", rows, FP32, needs_gradient=False)


def _without_one_sequence(size: Size) -> Size:
    return Size(tuple(((batch, sequence - 1), count) for (batch, sequence), count in size.terms))


def _new(op: Op, saved: _Choice) -> Iterator[Value]:
    """What is kept that no operation of the eager list makes: normalized inputs, statistics of rows."""
    known = {*op.inputs, *op.outputs}
    return (value for value in saved if value.name.startswith(f"{op.outputs[0].name}.") and value not in known)


def _used_on_both_sides(section: Section) -> Iterator[Value]:
    """Results of pointwise operations that are used before and after a product, and the section's result."""
    products = [index for index, op in enumerate(section.ops) if op.kind in PRODUCTS]
    uses: dict[Value, list[int]] = {}
    for index, op in enumerate(section.ops):
        for value in op.inputs:
            uses.setdefault(value.storage, []).append(index)
    yield section.output
    for value, found in uses.items():
        if any(found[0] < product < found[-1] for product in products):
            yield value


def _chains(section: Section) -> Iterator[Op]:
    """Products and views as they are, and neighbouring operations between them as one each."""
    ops = _as_late_as_possible(section.ops)
    for (apart, _), neighbors in groupby(ops, lambda op: (op.kind in STAND_ALONE, op.region)):
        group = tuple(neighbors)
        if apart or (len(group) == 1 and group[0].kind == "embedding"):
            yield from group
        else:
            yield _chain(section, group)


def _as_late_as_possible(ops: Iterable[Op]) -> list[Op]:
    """Operations without products moved to just before the first that uses them."""
    order: list[Op] = []
    for op in reversed(tuple(ops)):
        place = 0
        if op.kind not in (*STAND_ALONE, "embedding"):
            made = set(op.outputs)
            place = next((i for i, user in enumerate(order) if any(v.storage in made for v in user.inputs)), 0)
        order.insert(place, op)
    return order


def _chain(section: Section, ops: tuple[Op, ...]) -> Op:
    made = {value for op in ops for value in op.outputs}
    elsewhere = {value.storage for op in section.ops if op not in ops for value in (*op.inputs, *op.saved)}
    saved = tuple(dict.fromkeys(value for op in ops for value in op.saved))
    leaving = [value for op in ops for value in op.outputs if value in elsewhere or value in saved]
    result = ops[-1].outputs[:1]  # a section's result is the first output of its last operation
    return Op(
        name="+".join(op.name for op in ops),
        kind="chain",
        inputs=tuple(dict.fromkeys(v for op in ops for v in op.inputs if v.storage not in made)),
        outputs=tuple(dict.fromkeys((*result, *leaving))),
        saved=saved,
        weights=sum(op.weights for op in ops),
        weight_dtype=next((op.weight_dtype for op in ops if op.weight_dtype), None),
        trains=sum(op.trains for op in ops),
        # What a kernel of one operation writes between its steps stays in a chain's registers.
        backward_workspace=total(op.backward_workspace for op in ops if op.kind != "elementwise"),
        region=ops[0].region,
    )
