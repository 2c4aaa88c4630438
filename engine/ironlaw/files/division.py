"""How many devices share a job, and what of it lives in host memory, as the words of a setup."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ironlaw.config.choices import Buffers
from ironlaw.config.layout import expert_shard
from ironlaw.core.errors import EngineError
from ironlaw.files.facts import Facts
from ironlaw.files.together import NODE, trains_everything
from ironlaw.models import model as by_name
from ironlaw.models.transformer import Transformer

_ONE_GROUP = "with hybrid sharding a plan counts one group of devices that divide a model"


def division(facts: Facts, said: Mapping[str, Any], assumed: list[str]) -> dict[str, Any]:
    """How many devices share what, and how often a step accumulates."""
    tensor, pipeline = said.get("tp", facts.tensor) or 1, said.get("pp", facts.pipeline) or 1
    context = said.get("cp", facts.context) or 1
    replicas = said.get("dp") or _replicas(facts.devices, tensor * pipeline * context)
    if replicas is None and facts.zero:
        assumed.append("One device: no file says how many there are.")
    accumulate = facts.accumulate
    if facts.accumulate_all is not None and accumulate is None:
        accumulate, rest = divmod(facts.accumulate_all, replicas or 1)
        if replicas is None:
            assumed.append(f"One card does all {accumulate} passes of an update, which nanoGPT's cards share.")
        if rest:
            why = "which share the passes"
            raise EngineError("devices", facts.devices, f"a divisor of {facts.accumulate_all}", because=why)
    if facts.global_batch is not None:
        each = (facts.micro_batch or 1) * (replicas or 1)
        accumulate = accumulate or max(facts.global_batch // each, 1)
        if each * accumulate != facts.global_batch:
            assumed.append(f"A step has {each * accumulate:,} sequences, and a file says {facts.global_batch:,}.")
    found: dict[str, Any] = {"dp": replicas, "tp": facts.tensor, "pp": facts.pipeline, "cp": facts.context}
    found["sequence_parallel"] = facts.sequence_parallel if tensor > 1 else None
    found["balanced"] = facts.balanced if pipeline > 1 else None
    if (facts.expert or 1) > 1:
        if (replicas or 1) * context % (facts.expert or 1):
            assumed.append(f"No file says which {facts.expert} devices share the experts: the answer is without it.")
        else:
            found["ep"] = facts.expert
    # A pipeline's passes are its micro-batches; without one they accumulate.
    found["micro_batches" if pipeline > 1 else "accumulate"] = accumulate
    if (replicas or 1) * context > 1:
        found["zero"] = facts.zero
        if facts.nodes and (facts.nodes > 1 or (facts.devices or 1) > NODE):
            found["node_size"] = -(-(facts.devices or 1) // facts.nodes)
        if facts.runtime == "deepspeed" and (facts.zero or 0) <= 1 and trains_everything(facts):
            found["runtime"] = "deepspeed"
    assumed += _not_counted(facts)
    return found


def _replicas(devices: int | None, together: int) -> int | None:
    """Replicas of a model that so many devices hold together; None where nobody says how many devices there are."""
    if devices is not None and devices % together:
        raise EngineError("devices", devices, f"a multiple of {together}, which share a model")
    return devices if devices is None else devices // together


def grouped(facts: Facts, groups: int, given: Mapping[str, Any], assumed: list[str]) -> None:
    """Say that one group is counted, and refuse more replicas than one has.

    Raises:
        EngineError: Somebody chose more.
    """
    several = facts.runtime == "fsdp" and (facts.hybrid or (facts.shard or 1) > 1 or (facts.copies or 1) > 1)
    size = facts.devices or given.get("node_size") or NODE
    most = facts.shard or size // facts.together
    if several and facts.zero and given.get("dp", 1) > most:
        raise EngineError("dp", given["dp"], f"at most {most}", because=f"{_ONE_GROUP}, and this is more")
    if several and facts.zero and facts.devices is None and not given.get("dp"):
        assumed.append(f"{_ONE_GROUP[0].upper()}{_ONE_GROUP[1:]}: at most {most}, as a machine mostly has.")
    if groups > 1:
        assumed.append(
            f"Counted is one of {groups:,} groups of {size:,} devices, each with the whole model: a card's memory is "
            "the same, and what groups send each other takes time besides."
        )


def model_of(model: Any) -> Transformer:
    """A model by its name, or itself."""
    return by_name(model) if isinstance(model, str) else model


def unshared_experts(facts: Facts, words: Mapping[str, Any], model: Any) -> str:
    """Why devices cannot share a model's experts here; empty where they can."""
    if not trains_everything(facts):
        return "where parts of a model are trained"
    if facts.runtime == "deepspeed":
        return "with DeepSpeed"
    if words.get("reference"):
        return "beside a reference"
    try:
        _ = model and expert_shard(model_of(model), facts.expert or 1)
    except EngineError as error:
        return f"for a model {error.because}"
    return ""


def offload(facts: Facts, model: Any, words: Mapping[str, Any]) -> dict[str, Any]:
    """What lives in host memory, and the sizes of DeepSpeed's buffers where it offloads, or divides gradients.

    Trainer and accelerate fill in `auto` by the model's width (transformers, `integrations/deepspeed.py`).
    """
    place, stage = _place(facts), words.get("zero") or 0
    several = (words.get("dp") or 1) * (words.get("cp") or 1) > 1
    divides = facts.runtime == "deepspeed" and stage >= 2 and several
    if place == "shards" and not several:
        place = "optimizer"
    if place not in ("gradients", "parameters") and not divides:
        return {"offload": place} if place else {}
    said = dict(pair.split(":") for pair in (facts.offload_sizes or "").split(",") if pair)
    twice = said.pop("double", "0") == "1"
    if "auto" in said.values() and model is not None:
        width = (by_name(model) if isinstance(model, str) else model).hidden
        filled = {"bucket": width**2, "prefetch": int(0.9 * width**2), "persistent": 10 * width}
        said = {name: f"{filled[name]}" if size == "auto" else size for name, size in said.items()}
    sizes = Buffers(**{name: int(size) for name, size in said.items() if size != "auto"})
    sizes = replace(sizes, bucket=sizes.bucket * 2) if twice and stage != 3 else sizes
    return {"offload": place, "offload_sizes": sizes.name}


def _place(facts: Facts) -> str | None:
    """What of a training lives in host memory: a choice of `ironlaw.config.choices.Offload`.

    With the optimizer DeepSpeed takes FP32 weights and gradients there, under ZeRO-3 the weights too if asked. Its
    gradients beside adapters are few, and stay.
    """
    whole, states = trains_everything(facts), facts.offload_optimizer
    stage = facts.zero or 0 if facts.runtime == "deepspeed" else 0
    if stage == 3 and facts.offload_parameters and (states or not whole):
        return "parameters"
    if facts.runtime == "fsdp" and facts.zero == 3 and facts.offload_parameters:
        return "shards"
    if stage >= 2 and states and whole:
        return "gradients"
    return "optimizer" if states else None


def _not_counted(facts: Facts) -> list[str]:
    """What the engine does not count of how a job is divided, a sentence each."""
    found: list[str] = []
    if facts.runtime != "deepspeed":
        if facts.offload_parameters and _place(facts) != "shards":
            found.append("Parameters are counted on the device: those in host memory come and go.")
        return found
    place, whole = _place(facts), trains_everything(facts)
    if facts.offload_parameters and (facts.zero or 0) < 3:
        found.append("DeepSpeed keeps weights in host memory with ZeRO 3 alone: offload_param counts for nothing.")
    elif facts.offload_parameters and place != "parameters":
        found.append(
            "DeepSpeed takes the weights (offload_param) to host memory too; without offload_optimizer they are "
            "counted on the card."
        )
    if facts.offload_optimizer and whole and place != "gradients" and place != "parameters":
        found.append(
            "DeepSpeed takes FP32 weights and gradients (offload_optimizer) to host memory too; below ZeRO 2 gradients "
            "are counted on the card."
        )
    if place in ("gradients", "parameters"):
        if place == "parameters" and not facts.offload_optimizer:
            found.append("With the weights (offload_param) the adapters' states are counted in host memory.")
        found.append("Host memory is counted without what PyTorch rounds pinned blocks up to: a power of two.")
    elif (facts.zero or 0) <= 1 and not trains_everything(facts):
        found.append("DeepSpeed's buffers are not counted beside adapters.")
    return found
