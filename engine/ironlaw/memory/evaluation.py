"""What evaluation between steps allocates: a forward pass that keeps nothing, and logits that are kept for metrics.

Trainer's loop keeps the losses alone where a script computes no metrics. Otherwise it gathers the logits of all
replicas and joins them to those before, which makes a new tensor of all, until `eval_accumulation_steps` batches are
there. Autocast keeps casts of trained weights until a forward pass is over, and gives logits in FP32. Python's frames
hold what a block, its second half and the head are called with. Tested against PyTorch.

Source: transformers 5.23, `Trainer.evaluation_loop`, `prediction_step`, `trainer_pt_utils.py` (`nested_concat`);
accelerate (`convert_outputs_to_fp32`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ironlaw.config.resolved import Setup
from ironlaw.core.sizes import NOTHING, Size, as_size, total
from ironlaw.core.units import Bytes
from ironlaw.graph.ir import Section
from ironlaw.memory.linear_loss import ways
from ironlaw.memory.liveness import WorkingSet, cached_casts, forward_sizes
from ironlaw.memory.peak import StepMemory
from ironlaw.memory.tensors import EVALUATION, Candidate
from ironlaw.numerics.dtypes import FP32


def evaluated(
    c: Setup, sections: tuple[tuple[Section, WorkingSet], ...], resident: Bytes, step: StepMemory
) -> Iterator[Candidate]:
    """What is allocated at the moments of evaluation, by what is there all the time and by the moments of a step."""
    about = c.evaluation
    assert about is not None

    def at(moment: str, size: Size, piece: Size = NOTHING) -> Candidate:
        size, piece = (one if about.batch is None else one.of_batch(about.batch) for one in (size, piece))
        name = f"{EVALUATION}, {moment}"
        return Candidate(name, size + as_size(resident + step.whole.at(name)), piece)

    logits = _logits(c, sections[-1][0]) if sections[-1][0].name == "head" else NOTHING
    before = logits * (c.layout.peers * max(about.kept - 1, 0))
    eager = not c.framework.compiled
    casts = total(one.casts * (part.count * eager) for part, one in sections if part.name == "block")
    for part, one in sections:
        if part.name == "head" and not (about.whole or about.kept) and c.loss.in_pieces:
            yield from (at("loss", before + casts + whole, piece) for whole, piece in _pieces(c, one, step))
        elif part.name == "head":
            yield from (at("loss", before + casts + size) for size in _passing(part, eager=eager))
        elif part.name == "block":
            # What comes before the first block, and between the last and the head, is smaller.
            others = before + casts + (one.entering + one.casts * -1 if eager else NOTHING)
            yield from (at("block", others + size) for size in _passing(part, eager=eager))
    if about.kept and logits.terms:
        # Gathered, and joined to those before them.
        joined = 2 * about.kept * c.layout.peers if about.kept > 1 else c.layout.peers + (c.layout.peers > 1)
        yield at("logits", logits * joined)


def _passing(part: Section, *, eager: bool) -> tuple[Size, ...]:
    """What is alive while each operation of a section runs and nothing is kept for a backward pass."""
    part = replace(part, count=1)
    entering = [part.input.storage] if part.input else []
    return forward_sizes(part, (*cached_casts(part), *entering) if eager else ())


def _logits(c: Setup, head: Section) -> Size:
    """Bytes of a batch's logits of one device, as the loop gets them."""
    made = next(op.outputs[0] for op in head.ops if op.kind == "matmul")
    return made.size * (FP32 if c.precision.autocast else made.dtype).bytes(1)


def _pieces(c: Setup, head: WorkingSet, step: StepMemory) -> Iterator[tuple[Size, Size]]:
    """A loss in pieces: what is there besides a piece, and the piece."""
    if step.linear:
        # A piece is a part of the tokens, rounded up to a power of two: less than twice as many.
        parts = ways(c)
        for piece in step.linear.pieces:
            terms = (Size((((j, j), -(-size * 2**j // parts**j)),)) for (_, j), size in piece.terms)
            yield head.entering + total(terms), NOTHING
        return
    for piece in head.passing:
        yield head.casts + head.entering, piece
