"""Static memory: the named tensors that do not depend on the batch, on one device of a layout.

Weights that DeepSpeed's ZeRO-3 fetches as the step comes to them, from the host's memory or from other devices, are
whole on a device only then. A hook before each module gathers its weights, and those that come next, up to a bucket
ahead, while fewer than a maximum are there. A hook behind it releases them, but for small ones and those that are used
again within a number of elements: the last of the forward pass stay for the backward pass. Here a block is fetched at
once. Source: DeepSpeed at commit edaa722, `zero/partitioned_param_coordinator.py` (`fetch_sub_module`,
`__params_to_release`), and `zero/stage3.py` for what is pinned in the host's memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache

from ironlaw.config.layout import Stage
from ironlaw.config.resolved import Setup
from ironlaw.core.units import Bytes, Count
from ironlaw.graph.adaptation import Held, held, routing
from ironlaw.memory.tensors import Place, Tensor
from ironlaw.models.transformer import Parameter, Transformer, layer_parameters
from ironlaw.numerics.dtypes import DType

EMBEDDINGS = ("wte.", "wpe.", "ln_0.")
_DIVIDING = (["data"], ["data", "context"])
"""The groups that divide states, without and with context parallelism."""
NEVER_DIVIDED = 4
"""The stage of ZeRO that divides what none divides."""


@lru_cache(maxsize=512)
def stage_parameters(stage: Stage) -> tuple[Parameter, ...]:
    """The parameter tensors of a pipeline stage's tensor shard, each with how often it occurs there.

    A last stage of a tied model holds its own copy of the token embedding for the head (Megatron-LM).
    """
    return tuple(_parameters(stage.model, stage))


def stage_held(c: Setup, stage: Stage) -> tuple[Held, ...]:
    """The parameter tensors of a stage as they are kept: trained, frozen, in 4 bits, or of an adapter."""
    return _stage_held(c.replica, stage.at_rest)


@lru_cache(maxsize=512)
def _stage_held(c: Setup, stage: Stage) -> tuple[Held, ...]:
    parameters = stage_parameters(stage)
    if c.layout.pipeline == 1 or c.adaptation.everything:
        return held(parameters, c.adaptation, routing(c.model))
    numbered = (replace(p, layers=tuple(stage.layers)) if "*" in p.name else p for p in parameters)
    # The head's copy of a shared table is trained where the table is.
    shared = c.model.tied and not c.adaptation.trains("wte.weight")
    return tuple(
        replace(one, trained=False) if shared and one.parameter.name == "lm_head.weight" else one
        for one in held(numbered, c.adaptation, routing(c.model))
    )


def trained_parameters(c: Setup, stage: Stage) -> tuple[Parameter, ...]:
    """The parameter tensors of a stage that have gradients and states."""
    if c.adaptation.everything:
        return stage_parameters(stage)
    return tuple(one.parameter for one in stage_held(c, stage) if one.trained)


def trained_elements(c: Setup, stage: Stage, *, whole: bool = False) -> int:
    """How many parameters of a stage are trained; if `whole`, with the experts of all devices that share these."""
    ways = c.layout.expert if whole else 1
    return sum(p.elements * p.count * (ways if is_expert(p.name) else 1) for p in trained_parameters(c, stage))


def is_expert(name: str) -> bool:
    """Whether a tensor is of the experts, which devices share apart from the others."""
    return ".mlp.experts." in name


def holders(c: Setup, p: Parameter) -> Count:
    """Devices with the same parameter, among which ZeRO divides it."""
    return c.layout.expert_peers if is_expert(p.name) else c.layout.peers


def _parameters(m: Transformer, stage: Stage) -> Iterator[Parameter]:
    for p in m.parameter_tensors:
        if p.name.startswith("blocks."):
            yield p if p.layers else Parameter(p.name, p.shape, p.role, stage.blocks)
        elif p.name.startswith(EMBEDDINGS):
            if stage.first:
                yield p
            elif p.name == "wte.weight" and m.tied and stage.last:
                yield Parameter("lm_head.weight", p.shape, "matrix")
        elif stage.last:
            yield p


def static_tensors(c: Setup, stage: Stage) -> tuple[Tensor, ...]:
    """Parameters, master copy, gradients and optimizer states of a stage, and what sharding needs besides.

    Args:
        c: The setup.
        stage: One of its stages.
    """
    # Which kernels update says nothing of what is held.
    layout = replace(c.layout, data=c.layout.different_replicas, micro_batches=1)
    update = c.update if c.update.kind == "fused" else replace(c.update, kind="fused")
    return _static_tensors(replace(c.replica, layout=layout, update=update), stage.at_rest)


@lru_cache(maxsize=512)
def _static_tensors(c: Setup, stage: Stage) -> tuple[Tensor, ...]:
    return tuple(_tensors(c, stage))


def _tensors(c: Setup, stage: Stage) -> Iterator[Tensor]:
    layout, precision, update = c.layout, c.precision, c.update
    kept, parameters = stage_held(c, stage), trained_parameters(c, stage)
    states_at: Place = "device" if update.offload == "none" else "host"
    gradients_at: Place = "host" if update.gradients_away else "device"
    weights_at: Place = "host" if update.weights_away else "device"
    # FSDP's shards are in the master's format; 16 bits have only the gathered weights and whole gradients. Precisions
    # that sum gradients in FP32 beside 16-bit weights are those of other programs, which keep a copy.
    buffers, fetches = update.buffers, is_fetched(c)
    mixed = precision.gradients == precision.weights and not precision.accumulation
    shards = precision.master if c.fully_sharded and mixed else None

    def tensor(
        p: Parameter,
        suffix: str,
        component: str,
        elements: Count,
        dtype: DType,
        zero: int,
        place: Place,
        part: str = "",
    ) -> Tensor:
        sharded = layout.peers > 1 and layout.zero >= zero
        share = _share(c, p, elements) if sharded else elements
        groups = (["tensor"] if layout.tensor > 1 else []) + (_DIVIDING[layout.context > 1] if sharded else [])
        if layout.expert > 1 and is_expert(p.name):
            groups = ["expert", *(groups if layout.expert_peers > 1 else [])]
        return Tensor(p.name + suffix, component, share, dtype, p.count, part, "+".join(groups), place)

    for one in kept:
        p = one.parameter
        if one.quantized and c.adaptation.quantization:
            for suffix, elements, dtype in c.adaptation.quantization.tensors(p.elements):
                # Scales and codes are no parameters, so every device has all of them.
                zero = NEVER_DIVIDED if suffix else 3
                at: Place = "device" if suffix else weights_at
                yield tensor(p, suffix, "parameters", elements, dtype, zero, at, "quantized")
        else:
            dtype = c.gradients if one.adapter else c.base.weights
            if shards and (one.adapter or not c.adaptation.has_adapters or c.adaptation.base == "fp32"):
                dtype = shards
            part = "adapter" if one.adapter else "" if one.trained else "frozen"
            if fetches and stays(c, one):
                yield tensor(p, "", "parameters", p.elements, dtype, NEVER_DIVIDED, "device", part)
            else:
                yield tensor(p, "", "parameters", p.elements, dtype, 3, weights_at, part)
    if c.reference and not c.adaptation.has_adapters:
        for p in stage_parameters(stage):
            yield tensor(p, ".reference", "parameters", p.elements, c.reference, 3, "device", "reference")
    if precision.master and not shards:
        for p in parameters:
            yield tensor(p, ".master", "master", p.elements, precision.master, 1, states_at)
    # PyTorch runs an update as soon as a parameter's gradient is there, so no two are alive at once.
    held = _largest_parameter(parameters) if update.in_backward else parameters
    for p in held:
        yield tensor(p, ".grad", "gradients", p.elements, shards or c.gradients, 2, gradients_at)
        if precision.accumulation:
            yield tensor(p, ".grad_sum", "gradients", p.elements, precision.accumulation, 2, gradients_at, "sum")
        elif buffers and precision.master and gradients_at == "host":  # which updates FP32 copies by FP32 gradients
            yield tensor(p, ".grad_fp32", "gradients", p.elements, precision.master, 2, gradients_at, "fp32")
    for p in parameters:
        for state in c.optimizer.state_tensors(p, c.states):
            suffix = state.name.removeprefix(p.name)
            place: Place = "host" if state.paged else states_at
            yield tensor(p, suffix, "optimizer", state.elements, state.dtype, 1, place, state.vector)
    if buffers:
        yield from _buckets(c, buffers.bucket, parameters)
        if fetches:
            yield from _live(c, stage, kept)
        return
    # PyTorch's DDP, as it comes, copies all gradients into buckets.
    if layout.peers > 1 and layout.zero == 0 and c.framework.name == "torch":
        for p in parameters:
            yield Tensor(f"{p.name}.bucket", "buckets", p.elements, c.gradients, p.count)
    if (layout.peers > 1 and layout.zero >= 2) or update.offload == "gradients":
        for p in _largest_layer(c, stage.model, parameters):
            yield Tensor(f"{p.name}.bucket", "buckets", p.elements, c.gradients, p.count)
    if layout.peers > 1 and layout.zero == 3:
        # The block at work and the next one, fetched ahead.
        for one in block_held(c, stage):
            yield Tensor(f"{one.parameter.name}.gathered", "gathered", *_stored(c, one), 2)
        if not c.framework.by_hand:  # FSDP2's root, whole from the beginning to the end
            for one in (one for one in kept if not one.parameter.name.startswith("blocks.")):
                yield Tensor(f"{one.parameter.name}.gathered", "gathered", *_stored(c, one))


def stays(c: Setup, one: Held) -> bool:
    """Whether DeepSpeed keeps a parameter whole on every device, as it does with small ones."""
    buffers = c.update.buffers
    return buffers is not None and not one.quantized and one.parameter.elements <= buffers.persistent


def _buckets(c: Setup, elements: Count, parameters: tuple[Parameter, ...]) -> Iterator[Tensor]:
    """DeepSpeed's buffer for gradients on their way out, and below ZeRO-3 the largest gradient.

    There one that offloads brings sums back from the host in a buffer of that size; otherwise it is the gradient that
    goes into the bucket. Gathering updated weights takes no buffer: each goes to its place (`all_gather_dp_groups`).

    Source: `zero/stage3.py` (`ipg_buckets`), `zero/stage_1_and_2.py` (`setup_buckets`,
    `temp_grad_buffer_for_gpu_offload`), at the commit of `Buffers`.
    """
    dtype = c.precision.compute if c.adaptation.has_adapters else c.gradients
    yield Tensor("reduced.bucket", "buckets", elements, dtype)
    if not is_fetched(c):
        (largest,) = _largest_parameter(parameters)
        yield Tensor(f"{largest.name}.bucket", "buckets", largest.elements, dtype)


def _live(c: Setup, stage: Stage, kept: Iterable[Held]) -> Iterator[Tensor]:
    """The weights that are whole on a device at once, of each format its share."""
    fetched = [one for one in kept if not stays(c, one)]
    block = sum(one.parameter.elements * one.parameter.count for one in block_held(c, stage) if not stays(c, one))
    outside = (one.parameter.elements for one in fetched if not one.parameter.name.startswith("blocks."))
    every = sum(one.parameter.elements * one.parameter.count for one in fetched)
    live, whole = live_share(c, every, max(block, *outside, 0))
    formats: dict[DType, Count] = {}
    for one in fetched:
        elements, dtype = _stored(c, one)
        formats[dtype] = formats.get(dtype, 0) + elements * one.parameter.count
    for dtype, elements in formats.items():
        yield Tensor(f"{dtype.name}.gathered", "gathered", -(-elements * live // whole), dtype)


def _share(c: Setup, p: Parameter, elements: Count) -> Count:
    """What the fullest device has of a tensor that those with the same parameters divide.

    FSDP2 divides rows. An adapter may have fewer of them than there are replicas: a device then has a whole one.
    """
    devices, rows = holders(c, p), p.shape[0]
    if c.layout.zero == 3 and not c.adaptation.everything and elements == p.elements:
        return -(-rows // devices) * (elements // rows)
    return -(-elements // devices)


def _stored(c: Setup, one: Held) -> tuple[Count, DType]:
    """Elements and format of a parameter as it is kept; of one in 4 bits, those of its packed weights."""
    quantization = c.adaptation.quantization
    if one.quantized and quantization:
        _, elements, dtype = next(quantization.tensors(one.parameter.elements))
        return elements, dtype
    return one.parameter.elements, c.gradients if one.adapter else c.base.weights


def stored_bytes(c: Setup, kept: Iterable[Held]) -> Bytes:
    """Bytes of all occurrences of some parameters as they are kept and, where sharded, gathered."""
    return sum(stored_formats(c, kept).values())


def stored_formats(c: Setup, kept: Iterable[Held]) -> dict[DType, Bytes]:
    """The same by format."""
    found: dict[DType, Bytes] = {}
    for one in kept:
        elements, dtype = _stored(c, one)
        found[dtype] = found.get(dtype, 0) + dtype.bytes(elements) * one.parameter.count
    return found


def block_held(c: Setup, stage: Stage) -> tuple[Held, ...]:
    """The parameter tensors of the largest block as they are kept, one that has adapters where only some have."""
    return _block_held(c.replica, stage.at_rest)


@lru_cache(maxsize=512)
def _block_held(c: Setup, stage: Stage) -> tuple[Held, ...]:
    blocks = (replace(p, count=stage.blocks) for p in largest_block(stage.model))
    # Of a parameter that some blocks train and others do not, the trained one comes first and is taken.
    kinds = {one.parameter.name: one for one in reversed(held(blocks, c.adaptation, routing(c.model)))}
    return tuple(replace(one, parameter=replace(one.parameter, count=1)) for one in reversed(kinds.values()))


def _largest_parameter(parameters: tuple[Parameter, ...]) -> tuple[Parameter, ...]:
    largest = max(parameters, key=lambda p: p.elements)
    return (Parameter(largest.name, largest.shape, largest.role),)


@lru_cache(maxsize=512)
def largest_block(m: Transformer) -> tuple[Parameter, ...]:
    """The parameters of one block, of the kind that has the most."""
    blocks = [
        tuple(Parameter(f"blocks.*.{p.name}", p.shape, p.role) for p in layer_parameters(m.hidden, layer))
        for layer, _ in m.kinds
    ]
    return max(blocks, key=lambda block: sum(p.elements for p in block))


def _largest_layer(c: Setup, m: Transformer, parameters: tuple[Parameter, ...]) -> tuple[Parameter, ...]:
    """The parameters of one block, or the largest of the others where it is larger than a block."""
    block = largest_block(m)
    if not c.adaptation.everything:
        block = tuple(Parameter(p.name, p.shape, p.role) for p in parameters if p.name.startswith("blocks."))
    others = [p for p in parameters if not p.name.startswith("blocks.")]
    largest = max(others, key=lambda p: p.elements, default=None)
    if largest and largest.elements > sum(p.elements for p in block):
        return (largest,)
    return block


def is_fetched(c: Setup) -> bool:
    """Whether DeepSpeed fetches weights: they live in the host's memory, or devices divide them."""
    divided = c.layout.peers > 1 and c.layout.zero == 3
    return c.update.buffers is not None and (divided or c.update.offload == "parameters")


def kept_between(c: Setup) -> Count:
    """Elements of weights that stay from the forward pass to the backward pass.

    So many others come between: those behind them, forward and backward, and once more where blocks are recomputed.
    """
    assert c.update.buffers
    return c.update.buffers.reuse // (3 if c.checkpointing.every else 2)


def live_share(c: Setup, every: Count, unit: Count) -> tuple[Count, Count]:
    """Elements of weights that are whole on a device at once, and those of all.

    Args:
        c: The setup.
        every: Elements of all weights that are fetched.
        unit: Those of the largest block, or of another parameter where it is larger.
    """
    assert c.update.buffers
    ahead = min(c.update.buffers.prefetch, max(c.update.buffers.live - unit, 0))
    return min(every, max(unit + ahead, kept_between(c))), max(every, 1)
