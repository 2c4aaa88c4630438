"""The estimate of a convolutional network: the same answer as a transformer's, with images for tokens.

Coarser than a transformer's, whose every tensor is listed: activations are two tensors per convolution, and a step is
its convolutions as matrix products, with normalization and activation as passes over their results (eager PyTorch).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ironlaw.answers.assumptions import hourly_price, memory_sentence, money_sentence
from ironlaw.answers.estimate import Estimate, JobStep, MemoryBytes, StepFlops, memory_bytes
from ironlaw.config.checks import require_formats
from ironlaw.config.layout import Layout
from ironlaw.config.optimizers import Optimizer
from ironlaw.config.optimizers import optimizer as optimizer_by_name
from ironlaw.config.setup import default_precision, joined
from ironlaw.config.words import in_words
from ironlaw.core.errors import EngineError, require_positive
from ironlaw.core.units import Count, Seconds
from ironlaw.economics.cost import dollars_per_billion_tokens, joules_per_token
from ironlaw.hardware.accelerators import Accelerator
from ironlaw.hardware.accelerators import accelerator as accelerator_by_name
from ironlaw.hardware.cluster import Cluster
from ironlaw.memory.ledger import CUBLAS_WORKSPACE, CUDA_CONTEXT
from ironlaw.models.transformer import Parameter
from ironlaw.networks.convnets import NETWORKS, ConvNet, Convolution, resnet50
from ironlaw.numerics.precision import Precision
from ironlaw.numerics.precision import precision as precision_by_name
from ironlaw.parallel.data_parallel import data_parallel_step
from ironlaw.time.gemm import gemm_seconds, sustained
from ironlaw.time.step import HOST_EAGER, KERNEL_GAP
from ironlaw.time.update import FOREACH_LAUNCHES, FOREACH_PASSES

POINTWISE_PASSES = 13
"""Reads and writes of a convolution's result by what follows it, forward and backward, in eager PyTorch.

Forward: normalization reads it twice and writes, the rectifier reads and writes. Backward: the rectifier reads two and
writes one, normalization reads its input and the gradient twice and writes.
"""
POINTWISE_LAUNCHES = 4
"""Kernels of normalization and rectifier, forward and backward."""


@dataclass(frozen=True, slots=True)
class ImageSetup:
    """One configuration of a convolutional network.

    Attributes:
        model: The network.
        chip: The accelerator.
        batch: Images in a micro-batch of one replica.
        precision: The number formats.
        optimizer: The optimizer.
        accumulate: Micro-batches per update.
        layout: Replicas, and whether they divide the optimizer's states.
        cluster: The devices and their links; None for a single device.
    """

    model: ConvNet
    chip: Accelerator
    batch: Count
    precision: Precision
    optimizer: Optimizer
    accumulate: Count
    layout: Layout
    cluster: Cluster | None


@in_words
def image_setup(
    model: str | ConvNet,
    gpu: str | Accelerator,
    *,
    batch: Count = 1,
    precision: str | None = None,
    optimizer: str = "momentum",
    accumulate: Count = 1,
    dp: Count = 1,
    zero: Any = 0,
    node_size: Count = 8,
    link: str | None = None,
    network: str = "infiniband-ndr",
) -> ImageSetup:
    """A configuration from names; arguments as in `ironlaw.config.setup.setup`, of which it takes those that apply.

    Raises:
        EngineError: An unknown name, or a value out of range.
    """
    if isinstance(model, str):
        if model not in NETWORKS:
            raise EngineError("model", model, NETWORKS)
        model = resnet50()
    chip = accelerator_by_name(gpu) if isinstance(gpu, str) else gpu
    require_positive("batch", batch)
    require_positive("accumulate", accumulate)
    formats = precision_by_name(precision or default_precision(chip))
    require_formats(chip, formats)
    layout = Layout(data=dp, zero=zero, micro_batches=accumulate)
    if layout.zero > 1:
        raise EngineError("zero", layout.zero, (0, 1), {"model": model.name})
    cluster = joined(chip, node_size, link, network) if dp > 1 else None
    return ImageSetup(model, chip, batch, formats, optimizer_by_name(optimizer), accumulate, layout, cluster)


def estimate_images(c: ImageSetup) -> Estimate:
    """Everything about one configuration of a convolutional network."""
    memory = _memory(c)
    seconds, bound_by = _step(c)
    images = c.batch * c.accumulate * c.layout.data
    flops = c.model.training_flops * images
    rate, devices = images / seconds, c.layout.devices
    utilization = flops / (seconds * devices * c.chip.peak(c.precision.compute.name))
    price = hourly_price(c.chip)
    return Estimate(
        parameters=c.model.parameters,
        memory_bytes=memory,
        flops=StepFlops(flops, flops),
        time=JobStep(seconds, rate, utilization, utilization, bound_by),
        energy_j_per_token=joules_per_token(c.chip.tdp, devices, rate),
        usd_per_1e9_tokens=None if price is None else dollars_per_billion_tokens(price, devices, rate),
        fits=memory.device_total <= memory.capacity,
        assumptions=tuple(_sentences(c)),
    )


def parameter_tensors(model: ConvNet) -> Iterator[Parameter]:
    """Every parameter tensor: filters, the two vectors of each normalization, and the classifier."""
    for layer in model.convolutions:
        filters = layer.inputs // layer.groups * layer.kernel**2
        yield Parameter(f"{layer.name}.weight", (layer.outputs, filters), "matrix")
        yield Parameter(f"{layer.name}.norm.weight", (layer.outputs,), "norm")
        yield Parameter(f"{layer.name}.norm.bias", (layer.outputs,), "norm")
    yield Parameter("classifier.weight", (model.classes, model.features), "matrix")
    yield Parameter("classifier.bias", (model.classes,), "bias")


def _memory(c: ImageSetup) -> MemoryBytes:
    precision, tensors = c.precision, tuple(parameter_tensors(c.model))
    elements = sum(p.elements for p in tensors)
    shares = c.layout.data if c.layout.zero else 1
    parameters, gradients = precision.weights.bytes(elements), precision.gradients.bytes(elements)
    states = sum(
        -(-state.dtype.bytes(state.elements) // shares)
        for p in tensors
        for state in c.optimizer.state_tensors(p, precision.states)
    )
    casts = precision.compute.bytes(sum(p.elements for p in tensors if p.role == "matrix")) if precision.autocast else 0
    static = {
        "parameters": parameters,
        "master": -(-precision.master.bytes(elements) // shares) if precision.master else 0,
        "optimizer": states,
        "buckets": gradients if c.layout.data > 1 and c.layout.zero == 0 else 0,
    }
    saved = {
        "activations": c.model.activation_bytes(c.batch, precision.compute.bits // 8),
        "casts": casts,
        "logits": 4 * c.batch * c.model.classes,
    }
    resident = sum(static.values()) + CUBLAS_WORKSPACE
    # Backward begins with everything kept, and makes gradients of the largest result and of its normalization.
    largest = precision.compute.bytes(max(layer.output_elements for layer in c.model.convolutions) * c.batch)
    outliving = gradients if c.accumulate > 1 else 0
    update = precision.states.bytes(c.optimizer.temporaries * elements) // shares
    return memory_bytes(
        static | saved | {"gradients": gradients},
        max(resident + sum(saved.values()) + 2 * largest + outliving, resident + gradients + update),
        c.chip.usable_bytes,
        workspace=CUBLAS_WORKSPACE,
        context=CUDA_CONTEXT,
    )


def _step(c: ImageSetup) -> tuple[Seconds, str]:
    compute = memory = 0.0
    for layer in c.model.convolutions:
        arithmetic, traffic = _convolution(c, layer)
        compute += arithmetic
        memory += traffic
    launches, update = (3 + POINTWISE_LAUNCHES) * len(c.model.convolutions), _update(c)
    micro_batch = compute + memory + launches * KERNEL_GAP
    device = c.accumulate * micro_batch + update + FOREACH_LAUNCHES * KERNEL_GAP
    alone = max(device, (c.accumulate * launches + FOREACH_LAUNCHES) * HOST_EAGER)
    exposed = _communication(c, micro_batch)
    parts = {
        "compute": c.accumulate * compute,
        "memory": c.accumulate * memory + update,
        "launch": alone - c.accumulate * (compute + memory) - update,
        "communication": exposed,
    }
    return alone + exposed, max(parts, key=lambda part: parts[part])


def _convolution(c: ImageSetup, layer: Convolution) -> tuple[Seconds, Seconds]:
    """Seconds of arithmetic, and of traffic on top of it, of one layer forward and backward."""
    size = c.precision.compute.bits // 8
    pixels = c.batch * layer.output_image**2
    depth = layer.inputs // layer.groups * layer.kernel**2
    rate, units = sustained(c.chip, c.precision.compute.name), c.chip.multiprocessors
    width = layer.outputs // layer.groups
    products = (
        gemm_seconds(pixels, width, depth, rate, units, layer.groups),
        gemm_seconds(pixels, depth, width, rate, units, layer.groups),
        gemm_seconds(width, depth, pixels, rate, units, layer.groups),
    )
    inputs, outputs = c.batch * layer.inputs * layer.image**2, c.batch * layer.output_elements
    streaming = c.chip.streaming
    traffic = (inputs + outputs + layer.outputs * depth) * size / streaming
    pointwise = POINTWISE_PASSES * outputs * size / streaming
    waiting = sum(max(traffic - arithmetic, 0.0) for arithmetic in products)
    return sum(products), waiting + pointwise


def _update(c: ImageSetup) -> Seconds:
    """Seconds of traffic of the optimizer's step, and of adding up gradients before it."""
    elements = c.model.parameters // (c.layout.data if c.layout.zero else 1)
    passes = FOREACH_PASSES.get(c.optimizer.name, FOREACH_PASSES["adamw"])
    accumulated = (c.accumulate - 1) * 3 * c.precision.gradients.bytes(c.model.parameters)
    return (passes * c.precision.states.bytes(elements) + accumulated) / c.chip.streaming


def _communication(c: ImageSetup, micro_batch: Seconds) -> Seconds:
    """Seconds of the gradients' all-reduce that the last backward pass does not hide."""
    if c.cluster is None:
        return 0.0
    within = c.layout.data <= c.cluster.node_size
    step = data_parallel_step(
        micro_batch,
        c.precision.gradients.bytes(c.model.parameters),
        c.layout.data,
        c.cluster.bandwidth(within_node=within),
        latency=c.cluster.latency(within_node=within),
    )
    return step.exposed


def _sentences(c: ImageSetup) -> Iterator[str]:
    yield "A token is an image of 224 x 224 pixels; --batch counts the images of one micro-batch."
    yield "Every convolution keeps its result and its normalized result; kernels are those of eager PyTorch."
    yield memory_sentence(c.chip)
    yield "The input pipeline never makes the device wait, which for images it often does."
    yield "MFU and HFU count the matrix products of forward and backward against the dense peak."
    if c.cluster:
        yield f"Devices are joined by {c.cluster.inside.title}, nodes by {c.cluster.network.title}."
    yield money_sentence(c.chip)
