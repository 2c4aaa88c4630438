"""What files of one run say together: which of them counts where they differ, and of which group of devices."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce

from ironlaw.core.errors import EngineError
from ironlaw.core.units import Count
from ironlaw.files import trainers
from ironlaw.files.facts import (
    AUTO,
    DIVIDES,
    MAYBE_ALONE,
    OVERRIDDEN,
    Facts,
    Reading,
)
from ironlaw.files.switches import REFERENCE

NODE = 8
"""Devices that a machine has where nobody says (`ironlaw.setup`): fewer of them on one machine are a part of it."""
UNUSED = "DeepSpeed's file counts for nothing here: another text divides by FSDP, and none names it."
"""Said of a file of DeepSpeed that no program reads."""


@dataclass(frozen=True)
class Joined:
    """What files say together.

    Attributes:
        readings: The files.
        facts: What they say, and what their programs do where they are silent. Of several groups that hold the same
            they are those of one group.
        silent: Names of the facts that none of them says: defaults of their programs.
        groups: Groups of devices of which each holds the whole model, divided among them (hybrid sharding).
    """

    readings: tuple[Reading, ...]
    facts: Facts
    silent: frozenset[str]
    groups: Count = 1


def joined(readings: Iterable[Reading]) -> Joined:
    """What files say together.

    Raises:
        EngineError: Files contradict each other.
    """
    files = _told(_used(tuple(readings)))
    # A trainer's file knows its program better than the command that starts it.
    read = sorted(files, key=lambda reading: reading.kind == "command")
    # nanoGPT's options override its file.
    told = {name for one in read if one.kind == "command" for name in one.facts.said().keys() - one.silent}
    # A log has the cards that ran, a command those that it starts, a table those of one machine at one moment.
    counted = {one.kind for one in read if one.facts.devices}
    lower = {
        "nanoGPT": told,
        "nvidia-smi": {"devices"} if counted > {"nvidia-smi"} else set(),
        "command": {"devices", "nodes"} if "log" in counted else set(),
    }
    if any(one.kind == "accelerate" and one.facts.checkpointing for one in read):
        # Of the two FSDP recomputes: Trainer refuses its own beside that.
        lower |= {kind: {*lower.get(kind, ()), "checkpointing"} for kind in (*trainers.KINDS, "command")}
    if any(one.kind == "command" and one.facts.stage and "stage" not in one.silent for one in read):
        # The script says which trainer it is, and its file's keys only seem to.
        lower |= {"TRL": {*lower.get("TRL", ()), "stage", "referenced"}}
    if any(one.kind == "command" and OVERRIDDEN in one.missing for one in read):
        lower |= {kind: {*lower.get(kind, ()), *told} for kind in trainers.KINDS}
    if makes_optimizer(read):
        theirs = {"optimizer", "update"}
        lower |= {kind: {*lower.get(kind, ()), *theirs} for one in read if (kind := one.kind) != "DeepSpeed"}
    own = [one.facts.without({*one.silent, *lower.get(one.kind, ())}) for one in read]
    said = reduce(Facts.joined, own, Facts())
    facts = reduce(Facts.completed, (reading.facts for reading in read), said)
    if facts.devices is None and said.micro_batch and said.accumulate and said.global_batch:
        replicas, rest = divmod(said.global_batch, said.micro_batch * said.accumulate)
        facts = replace(facts, devices=None if rest or not replicas else replicas * facts.together)
    if facts.method in ("full", "freeze"):
        facts = replace(facts, rank=None)
    if facts.runtime == "fsdp" and trains_everything(facts) and (said.weights is None or _is_mixed(read, facts)):
        # Under FSDP accelerate divides trained weights in FP32, in whatever format a program loads them.
        facts = replace(facts, weights=None)
    elif trains_everything(facts) and facts.weights in ("bf16", "fp16") and facts.compute == "fp32":
        facts = replace(facts, compute=facts.weights)  # without mixed precision products have the weights' format
    facts, groups = _one_group(facts)
    files = tuple(_of_one_group(one, groups) for one in files) if groups > 1 else files
    return Joined(files, facts, frozenset(facts.said().keys() - said.said().keys()), groups)


def _is_mixed(readings: Iterable[Reading], facts: Facts) -> bool:
    """Whether a program asks accelerate for mixed precision, which makes FP32 of what is trained; pure 16 bits do not.

    Source: accelerate 1.15 (`utils/fsdp_utils.py`, `fsdp2_prepare_model`; `Accelerator.prepare_model`).
    """
    # Of LLaMA-Factory, also by a command: its `pure_bf16`.
    own = [one for one in readings if one.facts.unprepared and "weights" not in one.silent]
    pure = any(one.facts.weights in ("bf16", "fp16") for one in own)
    return facts.compute in ("bf16", "fp16", *AUTO) and not pure


def _one_group(facts: Facts) -> tuple[Facts, Count]:
    """The facts of one group of devices that divide what they hold, and how many such groups there are.

    Raises:
        EngineError: So many devices are not whole groups.
    """
    together, shard, copies, devices = facts.together, facts.shard, facts.copies or 1, facts.devices
    if shard == 1 and copies > 1:
        return replace(facts, zero=0), 1
    if not facts.zero or facts.runtime != "fsdp":
        return facts, 1
    if shard is None and devices is not None:
        machines = facts.nodes or (-(-devices // NODE) if facts.hybrid else 1)
        groups = machines if facts.hybrid else copies
        shard, rest = divmod(devices, groups * together)
        if rest or not shard:
            raise EngineError("devices", devices, f"a multiple of {groups * together}", because=_GROUPED)
    if shard is None:
        return facts, 1
    size = shard * together
    devices = devices or size * copies
    if devices % size:
        raise EngineError("devices", devices, f"a multiple of {size}", because=_GROUPED)
    groups = devices // size
    batch = facts.global_batch
    if groups == 1:
        return replace(facts, devices=devices), 1
    batch = None if batch is None or batch % groups else batch // groups
    return replace(facts, devices=size, nodes=None, global_batch=batch), groups


_GROUPED = "which are whole groups that divide a model (hybrid sharding)"


def _of_one_group(read: Reading, groups: int) -> Reading:
    """What was measured of all groups together, as of one."""
    measured = read.measured
    if measured is None:
        return read
    rate, samples = measured.tokens_per_s, measured.samples_per_step
    rate = None if rate is None else rate / groups
    return replace(read, measured=replace(measured, tokens_per_s=rate, samples_per_step=samples and samples // groups))


def _used(files: tuple[Reading, ...]) -> tuple[Reading, ...]:
    """The files; one of DeepSpeed says nothing where a program divides by FSDP and none names that file.

    A Trainer reads DeepSpeed's file where its `deepspeed` names it, and refuses that beside FSDP.
    """
    divided = any(one.facts.runtime == "fsdp" for one in files)
    if not divided or any(DIVIDES in line for one in files for line in one.missing):
        return files
    return tuple(Reading("DeepSpeed", Facts(), missing=(UNUSED,)) if one.kind == "DeepSpeed" else one for one in files)


def _told(files: tuple[Reading, ...]) -> tuple[Reading, ...]:
    """The files; where a command says which trainer it is, a file's keys alone decide it no more."""
    told = {one.facts.stage for one in files if one.kind == "command" and "stage" not in one.silent} - {None}
    return tuple(_of_trainer(one, of_grpo="grpo" in told) for one in files) if told else files


def _of_trainer(read: Reading, *, of_grpo: bool) -> Reading:
    """A file without what only its keys seemed to say of its trainer."""
    uncounted = {name: word for name, word in read.uncounted.items() if name != REFERENCE}
    read = replace(read, missing=tuple(line for line in read.missing if line != MAYBE_ALONE), uncounted=uncounted)
    if of_grpo or read.kind != "TRL" or read.facts.stage != "grpo":
        return read
    facts = read.facts.without({"stage", "rollout", "referenced", "sequence"})
    return replace(read, facts=facts.completed(Facts(sequence=1024)), silent=read.silent | {"sequence"})


def makes_optimizer(readings: Iterable[Reading]) -> bool:
    """Whether DeepSpeed's file has an optimizer, which it makes in place of the script's."""
    return any(one.kind == "DeepSpeed" and one.facts.optimizer for one in readings)


def trains_everything(facts: Facts) -> bool:
    """Whether the weights of the model itself are trained."""
    return facts.method in (None, "full", "freeze")
