"""What a recipe does to the time of a step: a chunked loss runs the head again, updates differ, offloading waits."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from engine.config.layout import Stage
from engine.config.setup import Setup
from engine.core.polynomial import polynomial
from engine.core.sizes import NOTHING, Size
from engine.core.units import BytesPerSecond, Count, Seconds
from engine.graph.blocks import sections
from engine.graph.ir import Section
from engine.graph.kernels import forward_kernels
from engine.graph.operations import product_flops
from engine.memory.static import stage_parameters
from engine.time.compiled import Preparation
from engine.time.step import KERNEL_GAP, StepPlan
from engine.time.update import FOREACH_LAUNCHES, update_bytes

HOST_MEMORY: BytesPerSecond = 50e9
"""Bytes per second at which a host's processor updates parameters. An assumption: two channels of DDR5 at 60 %."""


def recipe_plan(plan: StepPlan, setup: Setup, stage: Stage) -> StepPlan:
    """A stage's plan with the update that the recipe asks for: fused, tensor by tensor, or not on this device."""
    update, launches = _update(setup, stage)
    return replace(plan, update=update, update_launches=launches)


def update_difference(plan: StepPlan, setup: Setup, stage: Stage) -> Seconds:
    """Seconds that the recipe's update takes longer than the one in `plan`."""
    update, launches = _update(setup, stage)
    return update - plan.update + (launches - plan.update_launches) * KERNEL_GAP


def _update(setup: Setup, stage: Stage) -> tuple[Seconds, Count]:
    recipe = setup.recipe
    if recipe.offload != "none":
        return 0.0, 0
    # bitsandbytes updates quantized states in one kernel a tensor, whatever PyTorch's own optimizers do.
    quantized = any(state.form == "quantized" for state in setup.optimizer.states)
    fused = quantized or recipe.update == "fused"
    moved = update_bytes(stage, setup.layout, setup.optimizer, setup.precision, fused=fused)
    tensors = sum(p.count for p in stage_parameters(stage))
    launches = 1 if fused else FOREACH_LAUNCHES
    if quantized or recipe.optimizer_in_backward or recipe.update == "for-loop":
        launches *= tensors
    return moved / setup.chip.streaming, launches


@lru_cache(maxsize=512)
def head_again(setup: Setup, stage: Stage, plan: StepPlan) -> StepPlan | None:
    """The output matrix and the loss as a chunked loss runs them again in the backward pass; None without chunks."""
    head = _head(setup, stage)
    if head is None:
        return None
    preparation = Preparation(setup.chip, False, stage.model.head_size)
    work = preparation.gather(forward_kernels(head, fused=setup.fused, phase="recompute"))
    return replace(
        plan,
        phases=(("recompute", work),),
        products=preparation.counted(),
        update=0.0,
        update_launches=0,
        accumulation=0.0,
        model_flops=polynomial(NOTHING),
        hardware_flops=polynomial(head_flops(setup, stage)),
    )


def head_flops(setup: Setup, stage: Stage) -> Size:
    """FLOPs of a micro-batch that a chunked loss does again, as a polynomial in batch and sequence."""
    total = NOTHING
    head = _head(setup, stage)
    for op in head.ops if head else ():
        total = total + product_flops(op)
    return total


def _head(setup: Setup, stage: Stage) -> Section | None:
    if setup.recipe.chunks == 1 or not stage.last:
        return None
    parts = sections(
        stage.model,
        setup.precision,
        setup.attention,
        setup.dropout,
        "cuda",
        setup.framework,
        setup.layout.sequence_shards,
    )
    return next(part for part in parts if part.name == "head")


def offload_seconds(setup: Setup, stage: Stage, backward: Seconds) -> Seconds:
    """Seconds per step that a device waits for its host: gradients out, the update there, weights back in.

    Gradients that are offloaded as they appear travel while the backward pass runs; the others follow it. All devices
    of a node share the host's memory.

    Args:
        setup: The configuration.
        stage: The pipeline stage.
        backward: Seconds of the backward passes of a step.

    Source of the scheme: Ren et al. 2021, "ZeRO-Offload", arXiv 2101.06840, section 4.
    """
    if setup.recipe.offload == "none" or setup.host_link is None:
        return 0.0
    shares = setup.layout.data if setup.layout.zero >= 1 else 1
    elements = -(-sum(p.elements * p.count for p in stage_parameters(stage)) // shares)
    rate = setup.host_link.achievable
    out = setup.precision.gradients.bytes(elements) / rate
    if setup.recipe.offload == "gradients":
        out = max(out * setup.micro_batches - backward, 0.0)
    neighbors = min(setup.layout.devices, setup.cluster.node_size) if setup.cluster else 1
    update = update_bytes(stage, setup.layout, setup.optimizer, setup.precision, fused=True)
    return out + neighbors * update / HOST_MEMORY + setup.precision.weights.bytes(elements) / rate
