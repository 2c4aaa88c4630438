"""Techniques: small frozen policies, one file each, and how a case names them."""

from __future__ import annotations

from functools import reduce

from gpu_bench.case import TrainingCase
from gpu_bench.gpt2 import SIZES, GPT2Config
from gpu_bench.recipe import Recipe, Technique
from gpu_bench.techniques.accumulation import Accumulated
from gpu_bench.techniques.activation import WithActivation
from gpu_bench.techniques.attention import WithAttention
from gpu_bench.techniques.checkpointing import Checkpointed
from gpu_bench.techniques.compilation import Compiled
from gpu_bench.techniques.fp8 import Float8Linears
from gpu_bench.techniques.in_backward import OptimizerInBackward
from gpu_bench.techniques.loss import ChunkedLoss
from gpu_bench.techniques.optimizer import Updated
from gpu_bench.techniques.precision import InPrecision
from gpu_bench.techniques.vocabulary import PaddedVocabulary


def techniques_of(case: TrainingCase) -> tuple[Technique, ...]:
    """The techniques that a case names, in the order in which they apply."""
    found: list[Technique] = [
        InPrecision(case.precision),
        WithAttention(case.attention, case.attention_kernel),
        WithActivation(case.activation),
        PaddedVocabulary(case.vocab_multiple),
        Checkpointed(case.checkpointing),
        Updated(case.optimizer, case.learning_rate, case.update),
        Accumulated(case.accumulate),
        Compiled(case.compile),
    ]
    if case.precision == "fp8":
        found.append(Float8Linears())
    if case.loss_chunks > 1:
        found.append(ChunkedLoss(case.loss_chunks))
    if case.optimizer_in_backward:
        found.append(OptimizerInBackward())
    return tuple(found)


def plain_recipe(case: TrainingCase) -> Recipe:
    """The case's model and clipping without any technique."""
    size: GPT2Config = SIZES[case.model]
    longest = max(size.max_seq, case.sequence)
    config = GPT2Config(**{**vars(size), "dropout": case.dropout, "max_seq": longest})
    return Recipe(config=config, clip_norm=case.clip_norm)


def recipe_of(case: TrainingCase) -> Recipe:
    """How to build the case's training step."""
    return reduce(lambda recipe, technique: technique.apply(recipe), techniques_of(case), plain_recipe(case))
