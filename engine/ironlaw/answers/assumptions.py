"""The assumptions behind an estimate's numbers, one sentence each."""

from __future__ import annotations

from collections.abc import Iterator

from ironlaw.config.resolved import Setup
from ironlaw.core.units import GB, Bytes, DollarsPerHour, FlopsPerSecond
from ironlaw.hardware.accelerators import Accelerator
from ironlaw.memory.ledger import CUDA_CONTEXT
from ironlaw.memory.static import trained_elements
from ironlaw.models.layers import Attention, Experts
from ironlaw.time.gemm import SIXTEEN_BIT, sustained
from ironlaw.time.update import HOST_MEMORY

YEARS_OF_USE = 3
"""Years over which the price of a card that nobody rents out is spread; an assumption."""
HOURS_PER_YEAR = 8760
UNCERTAIN_PIPELINE = (
    "The time is not to be trusted: this pipeline may or may not fit, and so close to the device's capacity the "
    "allocator frees and asks again, which has made published steps up to three times as long."
)


def hourly_price(chip: Accelerator) -> DollarsPerHour | None:
    """Dollars per hour: the rent on record, else the purchase price spread over three years, else None."""
    if chip.rent:
        return chip.rent.dollars
    if chip.purchase:
        return chip.purchase.dollars / (YEARS_OF_USE * HOURS_PER_YEAR)
    return None


def assumptions(c: Setup) -> tuple[str, ...]:
    """The assumptions of a configuration, one sentence each."""
    return tuple(_sentences(c))


def _layers(c: Setup) -> Iterator[str]:
    """What the numbers of layers with windows, softcaps, sinks or experts rest on."""
    kinds = [layer for layer, _ in c.model.kinds]
    special = [k.attention for k in kinds if isinstance(k.attention, Attention) and not k.attention.plain]
    if c.attention.kernel == "flash" and any(a.window or a.softcap or a.sinks for a in special):
        yield (
            "Windows, softcaps and sinks are inside the fused attention, as in FlashAttention's; PyTorch's own kernel "
            "takes a window as a mask, for which it keeps more. FLOPs count every pair, times only those in the window."
        )
    if any(isinstance(k.feed_forward, Experts) for k in kinds):
        yield from _experts(c)
        if c.precision.autocast:
            yield "Autocast does not reach the experts' products: they run in the fp32 of the weights."


def _experts(c: Setup) -> Iterator[str]:
    """How tokens are spread over experts, and these over devices."""
    ways = c.layout.expert
    if ways == 1:
        yield "Experts get equally many tokens; their products run in one launch a matrix."
        return
    part = next(k.feed_forward for k, _ in c.stages[0].model.kinds if isinstance(k.feed_forward, Experts))
    yield (
        f"{ways} devices share the experts, {part.held} each. Their tokens go to them and come back by all-to-all "
        "exchanges that nothing hides, as torchtitan sends them, without padding."
    )
    fullest = part.taken / part.chosen
    rounded = ", rounded up to whole experts a token" if fullest != c.layout.imbalance else ""
    yield f"The fullest of them gets {fullest:g} times the mean of the tokens{rounded}."


def _generated(c: Setup) -> Iterator[str]:
    """Who generates the texts that a step learns from."""
    if c.rollout:
        how = "by the model itself, all of a step at once" if c.rollout.by == "generate" else "by vLLM on the device"
        yield f"Texts are generated {how}: the memory of it is counted, the time is not."


def _dropped(c: Setup) -> Iterator[str]:
    """Where a model's file drops elements, for a model whose configuration says so."""
    if c.framework.by_hand or not (own := c.model.dropouts):
        return
    rates = own if c.dropout is None else own.at(c.dropout)
    places = {
        "attention's probabilities": rates.scores, "its result": rates.attention,
        "the feed-forward part's result": rates.feed_forward, "the embedding": rates.embedding,
    }  # fmt: skip
    said = ", ".join(f"{rate:g} on {place}" for place, rate in places.items() if rate)
    if said:
        yield f"Dropout is on, as in the configuration: {said}."


def _sentences(c: Setup) -> Iterator[str]:
    yield (
        f"A step is {_count(c.micro_batches, 'micro-batch', 'micro-batches')} on each of "
        f"{_count(c.replicas, 'replica', 'replicas')}; --batch counts the sequences of one micro-batch."
    )
    yield (
        "Tensors and kernels are those of Megatron-LM with fused kernels."
        if c.framework.by_hand
        else f"Tensors and kernels are those of {c.framework.execution} PyTorch 2.13, the optimizer's update is "
        f"{c.update.kind}."
    )
    if c.framework.compiled and not c.framework.by_hand:
        yield (
            "Compiled code keeps the logits and one gradient of them, as if model and loss were compiled apart: since "
            "PyTorch 2.6 one compiled function that returns nothing but the loss writes the gradient over the logits."
        )
    yield from _layers(c)
    yield from _dropped(c)
    if not c.adaptation.everything:
        yield _trained(c)
    yield from _generated(c)
    if c.optimizer.paged:
        yield "Paged states count as the host's memory; moving them while the device is full takes time not counted."
    yield memory_sentence(c.chip)
    if c.update.in_backward:
        yield "Updating in the backward pass excludes clipping by the global norm of the gradients."
    yield _rate(c)
    if c.precision.product_format == "fp32":
        yield "fp32 products keep all their bits: TF32 is off, as it is by default."
    if c.precision.in_fp8 and c.framework.by_hand:
        yield "Memory is counted as in 16 bits: what Transformer Engine keeps in 8 bits is not counted."
    yield "The input pipeline never makes the device wait, and nothing runs beside the job."
    yield (
        f"MFU counts {mfu_rule(c)} operations a token, HFU also what is computed again, against the dense "
        f"{c.precision.product_format} peak. Above it neither is given: causal kernels skip scores that it counts."
    )
    if c.layout.context > 1:
        yield (
            f"{c.layout.context} devices share every sequence; keys and values go around a ring beside attention, as "
            "Transformer Engine sends them (p2p)."
        )
    if c.cluster:
        size = c.cluster.filled(max(c.devices, c.cluster.node_size), c.layout.tensor)
        yield (
            f"Nodes of {size} devices are joined by {c.cluster.inside.title}, "
            f"and to each other by {c.cluster.network.title}."
        )
    if c.update.offload != "none" and c.host_link:
        fetched = " Weights come from there block by block." * c.update.weights_away
        yield (
            f"The host updates at {HOST_MEMORY / GB:g} GB/s of its memory, and is reached over {c.host_link.title} at "
            f"{c.host_link.achievable / GB:.1f} GB/s.{fetched}"
        )
    if c.checkpointing.away and c.host_link:
        yield (
            f"The inputs of blocks go to the host and come back over {c.host_link.title} at "
            f"{c.host_link.achievable / GB:.1f} GB/s, beside the device's work."
        )
    if not c.chip.title.startswith("NVIDIA"):
        yield f"{c.chip.title} is taken to run CUDA's kernels with CUDA's workspace, which it does not."
    yield f"Every device draws its {c.chip.tdp:g} W all the time; the host, the node and the building are not counted."
    yield money_sentence(c.chip)


def mfu_rule(c: Setup) -> str:
    """The operations of a token that MFU counts: of N parameters, or of F frozen and R trained ones."""
    return "6 N + 12 L h T" if c.adaptation.everything else "4 F + 6 R + 12 L h T"


_CASTS = (
    " Of each adapted matrix peft casts input and result from one to the other, and back, which it does not below NF4."
)


def _trained(c: Setup) -> str:
    """What is trained, and how the rest is kept."""
    how, whole = c.adaptation, c.whole
    trained = trained_elements(whole, whole.stages[0])
    if not how.has_adapters:
        return f"{trained:,} parameters (R) are trained, the others (F) are frozen."
    kind = "DoRA" if how.magnitudes else "LoRA"
    kept = c.base.weights.name
    if how.quantization:
        # Whose weights are no matrices in transformers 5, so that bitsandbytes leaves them as they are.
        experts = (
            ", experts left out," if any(isinstance(one.feed_forward, Experts) for one, _ in c.model.kinds) else ""
        )
        kept = f"the blocks' matrices{experts} in NF4, the rest in {kept}"
    casts = how.quantization is None and c.precision.autocast and c.base.weights.bits < c.gradients.bits
    return (
        f"{trained:,} parameters (R) are trained: {kind} of rank {how.rank} on {', '.join(how.targets)}, in "
        f"{c.gradients.name}; the model (F) is kept in {kept}.{_CASTS * casts}"
    )


def gigabytes(size: Bytes) -> str:
    """Bytes as GB; one unit, so that the figures can be compared."""
    return f"{size / GB:.3g} GB"


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def _teraflops(rate: FlopsPerSecond) -> str:
    return f"{rate / 1e12:,.0f} TFLOP/s" if rate >= 1e14 else f"{rate / 1e12:.3g} TFLOP/s"


def _rate(c: Setup) -> str:
    name = c.precision.product_format
    rate = _teraflops(sustained(c.chip, name))
    alike = SIXTEEN_BIT if name in SIXTEEN_BIT else (name,)
    kept = next((entry for entry in c.chip.sustained if entry.dtype in alike), None)
    if kept:
        return (
            f"Large matrix products run at {rate}; published are {kept.flops_per_second / 1e12:,.4g} TFLOP/s for "
            f"{kept.shape.replace('x', ' x ')} on random data, tiles and start included ({kept.source.url})."
        )
    best = next((entry for entry in c.chip.ceilings if entry.dtype in alike), None)
    if best:
        return f"Matrix products run below {rate}, the best published for this chip ({best.source.url})."
    return f"No {name} matrix product of this chip is published; they are taken to run below {rate}."


def memory_sentence(chip: Accelerator) -> str:
    """How much of a device's memory counts as available for tensors, as a sentence."""
    total, reserve = chip.memory_bytes, chip.memory_bytes - chip.usable_bytes
    return (
        f"The driver reports {gigabytes(total)} of memory, sold as {chip.nominal_gb:g} GB, and is taken to keep "
        f"{gigabytes(reserve)} for itself and {gigabytes(CUDA_CONTEXT)} for the process; fragmentation comes on top."
    )


def money_sentence(chip: Accelerator) -> str:
    """The assumed price of an hour of a device, and its source, as a sentence."""
    if chip.rent:
        return f"A device costs ${chip.rent.dollars:.2f} an hour ({chip.rent.source.url}, {chip.rent.source.date})."
    if chip.purchase:
        return (
            f"No rent is on record; the purchase price of ${chip.purchase.dollars:,.0f} is spread over {YEARS_OF_USE} "
            f"years of use without pause ({chip.purchase.source.url})."
        )
    return "No price of this chip is on record, so there are no dollars."
