"""Which part of a card is the largest and why, and what a plan takes of a machine's own memory, in sentences."""

from __future__ import annotations

from collections.abc import Mapping

from ironlaw import GB, Setup, training_memory
from ironlaw.answers.estimate import Estimate
from ironlaw.answers.peak import Peak
from ironlaw.config.changed import changed
from ironlaw.files.launch import nodes, uses_fsdp
from ironlaw.graph.adaptation import routing
from ironlaw.memory.deepspeed import GROUP_COMMUNICATOR, PAIR_COMMUNICATOR
from ironlaw.memory.tensors import EVALUATION, REFERENCE
from ironlaw.numerics.dtypes import FP32

from .phases import evaluated

NOTED = 0.15
"""The share of a card's peak from which on logits are told of beside a larger part."""
_LEAST = 0.05
"""GB of weights, and of a machine's own memory, from which on they are told."""
WEIGHTS = ("parameters", "master", "casts", "gathered")
"""Components of the ledger that are weights or copies of them."""
PACKED = "uint8"
"""The format in which weights of 4 bits lie in memory, two to a byte."""
_COPIES, _GATHERED = " copies for products", " gathered"
_UNROUNDED = (
    " of embeddings, output and norms, which QLoRA does not round",
    " of experts, embeddings, output and norms",
)
"""What stays as it is beside 4 bits, of a model without experts and of one with."""


def cause(asked: Setup, sizes: Mapping[str, float], fullest: Peak) -> str:
    """What the largest part of a card's memory is, and the logits where they count.

    Args:
        asked: The plan.
        sizes: GB of the parts, as the picture has them.
        fullest: The fullest moment of its step.
    """
    largest, weights = max(sizes, key=lambda part: sizes[part]), _weights(asked, sizes["parameters"], fullest)
    told = {
        "parameters": f"weights ({weights})",
        "gradients": "gradients, one for each weight that is trained",
        "optimizer": f"what {asked.optimizer.name} remembers of each weight that is trained",
        "activations": "activations, what blocks keep for the backward pass",
        "logits": "logits and loss",
        "temporary": f"temporary tensors of the moment “{fullest.moment}”",
        "other": "vLLM, the driver and buffers" if asked.rollout and asked.rollout.share else "the driver and buffers",
    }
    said = f"Largest, with {sizes[largest]:.1f} GB: {told[largest]}."
    batch, between = asked.data.batch, fullest.moment.startswith(EVALUATION)
    if between and asked.evaluation:
        batch = asked.evaluation.batch or batch
        step = training_memory(asked).step_peak
        said = f"Evaluation {evaluated(asked)} is fuller than a step, which allocates {step.bytes / GB:.1f} GB. {said}"
    # Of cards that share a sequence or matrices, each has its part.
    tokens, vocab = batch * asked.own_sequence, asked.model.vocab / asked.layout.tensor
    copy = tokens * vocab / asked.loss.chunks * 4 / GB
    if sizes["logits"] + sizes["temporary"] * ("loss" in fullest.moment) > NOTED * sum(sizes.values()):
        said += (
            f" The vocabulary counts too: {asked.model.vocab:,} logits a token are {copy:.1f} GB a copy in FP32, and "
            "the loss keeps several."
        )
    if asked.adaptation.quantization and largest != "parameters":
        said += f" Weights: {weights}."
    return " ".join(filter(None, (said, _prepared(asked))))


def experts(asked: Setup) -> str:
    """What 4 bits do not reach of a model with experts, and what to do, before all else; nothing for other plans."""
    if not asked.adaptation.quantization or routing(asked.model) == "none":
        return ""
    kept, whole = asked.base.weights, sum(
        one.bytes for one in training_memory(asked).tensors
        if one.component == "parameters" and one.part == "frozen" and one.place == "device"
    ) / GB  # fmt: skip
    said = (
        "QLoRA rounds linear layers, and experts, which transformers 5 keeps as one tensor, are none: "
        f"{whole:.1f} GB of weights stay in {kept.name.upper()}."
    )
    if kept is not FP32:
        return said
    return (
        f"{said} In 16 bits they would be {whole / 2:.1f} GB: leave out peft's prepare_model_for_kbit_training, which "
        "makes them FP32, or train LoRA over 16-bit weights."
    )


def _prepared(asked: Setup) -> str:
    """Why activations beside weights of 4 bits take more than with LoRA, where peft has made the rest FP32."""
    if not asked.adaptation.quantization or asked.adaptation.base != FP32.name:
        return ""
    here, short = (
        training_memory(one).bytes_by_component()["activations"] / GB
        for one in (asked, changed(asked, {"base_format": "16-bit"}))
    )
    if here - short < _LEAST:
        return ""
    whole = asked.checkpointing.kind != "full"
    inside = ", and so is what layers of 4 bits make of it, as they return the format that goes in" if whole else ""
    return (
        f"Of activations {here:.1f} GB are kept for the backward pass, and {short:.1f} GB would be if peft had made "
        "nothing FP32: its prepare_model_for_kbit_training does so with embeddings and norms, and what goes from block "
        f"to block is FP32 then{inside}. LoRA over weights of 16 bits has none of that."
    )


def _weights(asked: Setup, counted: float, fullest: Peak) -> str:
    """GB of weights by how they are kept; they add up to what is counted of them at the fullest moment."""
    found: dict[str, float] = {}

    def add(kept: str, size: float) -> None:
        found[kept] = found.get(kept, 0) + size / GB

    for one in training_memory(asked).tensors:
        # What FSDP has gathered is there at some moments only, and then in several copies: they are among the parts.
        if one.component in WEIGHTS and one.component in fullest.components and one.place == "device":
            kept = "4 bits" if one.part == "quantized" else one.dtype.name.upper()
            why = {"casts": _COPIES, "gathered": _GATHERED}.get(one.component, "")
            if one.part == REFERENCE:
                why = " of the reference model"
            if one.part == "frozen" and asked.adaptation.quantization:
                why = _UNROUNDED[routing(asked.model) != "none"]
            add(kept + why, one.bytes)
    for part in fullest.parts:
        if part.kind == "weights":
            kept = "4 bits" if part.dtype == PACKED else part.dtype.upper()
            add(kept + (_GATHERED if _GATHERED.strip() in part.name else _COPIES), part.bytes)
    missing = sum(found.values()) - counted
    for kept in sorted(found, key=lambda kept: _COPIES not in kept):  # of which not all may be there
        taken = min(max(missing, 0), found[kept])
        found[kept] -= taken
        missing -= taken
    return ", ".join(f"{size:.1f} GB in {kept}" for kept, size in found.items() if size >= _LEAST)


def offloaded(asked: Setup, found: Estimate) -> str:
    """GB that a machine's own memory keeps of what is offloaded; nothing where that is none to speak of."""
    host = found.memory_bytes.host * nodes(asked)[1] / GB
    return f"{host:.1f} GB" if host >= _LEAST else ""


def away(asked: Setup) -> str:
    """What DeepSpeed has on a card at once besides, and what it takes to a machine's own memory."""
    if asked.update.offload == "shards":
        kept = "weights, gradients and optimizer states"
        return f"A machine's own memory holds its cards' shards of {kept}, as FSDP offloads them."
    if asked.update.buffers is None:
        return ""
    ledger, place = training_memory(asked), asked.update.offload
    on_card = {"gathered weights": ledger.component("gathered"), "gradients on their way": ledger.component("buckets")}
    there = ", ".join(f"{size / GB:.2g} GB of {what}" for what, size in on_card.items() if size / GB >= _LEAST)
    if place in ("none", "optimizer"):
        return f"DeepSpeed's buffers, as your file sizes them, hold up to {there} on a card." if there else ""
    weights = "weights, " if place == "parameters" else ""
    return (
        f"A machine's own memory holds {weights}gradients and the optimizer's states, as DeepSpeed offloads them; a "
        f"card has {there or 'none'} at once."
    )


def generating(asked: Setup) -> str:
    """What of GRPO's time is not counted; nothing where no texts are generated."""
    if asked.rollout is None:
        return ""
    return "The time in which texts are generated is not counted: step, run and money are those of learning alone."


def communicators(asked: Setup) -> str:
    """What NCCL takes of a card where it is not in the count; nothing for one card."""
    if asked.devices == 1 or asked.framework.runtime == "deepspeed":
        return ""
    each = PAIR_COMMUNICATOR if asked.devices == 2 else GROUP_COMMUNICATOR
    return (
        f"Not in the count: NCCL's own buffers, outside of PyTorch's tensors; on A100s {each / GB:.1f} GB of a card "
        "were measured for each group of cards that communicates."
    )


def beyond(asked: Setup) -> str:
    """What to know of sequences that are longer than the model's configuration gives; nothing of others."""
    if asked.sequence <= asked.model.max_seq:
        return ""
    return (
        f"{asked.sequence:,} tokens are more than the {asked.model.max_seq:,} that the model's configuration gives "
        "(max_position_embeddings): memory and time are counted all the same."
    )


def loading(asked: Setup, away: str, *, lean: bool) -> str:
    """The most of a machine's own memory that loading takes, and why that is not what is offloaded to it.

    Args:
        asked: The plan.
        away: What `offloaded` says of it.
        lean: Whether one process of a machine reads the model where FSDP divides it.
    """
    adapted = asked.adaptation.has_adapters
    wide = asked.precision.master or asked.precision.weights
    # Below adapters in the format in which a program keeps what is frozen; what will have 4 bits comes in 16.
    short = adapted and not (asked.adaptation.base == "fp32" and asked.adaptation.quantization is None)
    kept = asked.precision.compute if short else FP32 if adapted else wide
    one, cards = kept.bytes(asked.model.parameters) / GB, nodes(asked)[1]
    memory, wanted = "GB of a machine's own memory (RAM)", asked.precision.compute
    if lean and uses_fsdp(asked):
        said = (
            f"Loading takes up to {one:,.1f} {memory}: one process of it reads the whole model in {kept.name.upper()}, "
            "and the others get their parts from it (cpu_ram_efficient_loading)."
        )
    elif asked.layout.zero == 3 and asked.devices > 1 and not uses_fsdp(asked) and wanted.bits == 16:
        one = wanted.bytes(asked.model.parameters) / GB
        said = (
            f"Loading takes {one:,.1f} {memory} where one process reads the model in {wanted.name.upper()} and sends "
            f"the others their parts, as transformers does with ZeRO 3; {one * cards:,.1f} GB where each reads it, as "
            "where the model is made before TrainingArguments; twice that in FP32, as TRL does without dtype."
        )
    else:
        said = (
            f"Loading takes up to {one * cards:,.1f} {memory} where every process reads the whole model in "
            f"{kept.name.upper()}, {one:,.1f} GB each."
        )
    if not away:
        return said
    return (
        f"{said} That is at the start and goes again, before the optimizer's states are made; the {away} are what is "
        "offloaded for as long as it trains, and every machine has to have."
    )
