"""Times and memory in the logs of nanoGPT, llm.c, torchtitan, Megatron-LM, `transformers`' Trainer and axolotl.

A log's first lines hold compilation and warm-up, so the median of the later half of its lines counts.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ironlaw.core.errors import LARGEST, EngineError
from ironlaw.core.units import GIB
from ironlaw.files import nano_gpt, values
from ironlaw.files.facts import SMALLEST, Facts, Observed, Reading
from ironlaw.files.switches import BUDGET, FLOAT_8, SCHEDULE, SELECTIVE, with_switches
from ironlaw.hardware.accelerators import by_driver

_NUMBER = r"(\d[\d,]{0,20}(?:\.\d+)?(?:[eE][-+]?\d{1,2}|[kK]\b)?)"
_SHARE = r"(-?\d+(?:\.\d+)?)%"
LONGEST_LINE = 2000
"""Characters of a line of a log that are read."""
_NANO = re.compile(rf"iter \d+: loss [\d.naninf]+, time {_NUMBER}ms(?:, mfu {_SHARE})?")
_LLMC = re.compile(rf"(?>.*?step\s+\d+(?:/\d+)? \|).*?\| {_NUMBER} ms \|(?: {_SHARE} \w+ MFU \|)? {_NUMBER} tok/s")
_DRESS = re.compile(r"^\[rank\d{1,6}\]: ?|\[(?:\d{1,3}(?:;\d{1,3}){0,4})?m", re.MULTILINE)
"""Which process has written a line; a colour of which a web page has left out the escape."""
_TITAN = re.compile(
    rf"(?>.*?step:\s*(\d{{1,12}}))(?>.*?memory:\s*{_NUMBER}GiB\([\d.]+%\)\s+[tw]ps:\s*{_NUMBER})(?>.*?mfu:\s*{_SHARE})",
    re.DOTALL,
)
"""A line from its start, each part where it first stands: what follows is not looked for from elsewhere."""
_TITAN_BEGINS = re.compile(r"(?:Trainer is initialized|Training starts at step \d+,) with (.*)")
_TITAN_SAYS = {
    "local batch size": "micro_batch", "global batch size": "global_batch", "sequence length": "sequence",
    "gradient accumulation steps": "accumulate", "total steps": "steps",
}  # fmt: skip
"""What torchtitan calls a fact as it begins."""
_TITAN_MODEL = re.compile(r"\bModel (\w+ \w+) size: [\d,]+ total")
_TITAN_MESH = re.compile(r"device mesh with (?:parallelism:((?: \w+=\d+,?)+)|\[([\w', ]+)\], \[([\d, ]+)\])")
"""Names and sizes together, as it prints them now, or one list after the other."""
_TITAN_SCHEDULE = re.compile(r"Using pipeline schedule (\w+) with (\d{1,6}) microbatches")
_TITAN_CARD = re.compile(r"capacity: ([\w .-]{1,99}?)(?: \(\d+\))? with ")
"""With the card's place in its machine, as it printed it before, or without."""
_TITAN_FIRST = "Its only step is the first, with compilation and warm-up in it: it is not taken as measured speed."
"""What torchtitan calls its own way, which keeps other tensors than Megatron's of that name."""
_TITAN_UNCOUNTED = {FLOAT_8: "Float8 .{0,60}active", BUDGET: "Applied memory.budget activation checkpointing"}
_TITAN_GROUPS = {"pp": "pipeline", "cp": "context", "tp": "tensor"}
_MEGATRON = re.compile(rf"elapsed time per iteration \(ms\): {_NUMBER}")
_MEGATRON_MEMORY = re.compile(rf"max allocated: {_NUMBER} \| reserved: {_NUMBER}")
_MEGATRON_BATCH = re.compile(r"global batch size:\s*(\d+)", re.ASCII)
_RATE = rf"(?>.*?'train_steps_per_second':\s*'?{_NUMBER})"
_SUMMARY = re.compile(rf"(?>.*?'train_runtime':\s*'?{_NUMBER}){_RATE}")
_SAMPLES = re.compile(rf"(?>.*?'train_samples_per_second':\s*'?{_NUMBER}){_RATE}")
_BEGUN = {
    "micro_batch": "Instantaneous batch size per device",
    "global_batch": r"Total train batch size[^=\n]{0,99}+",
    "accumulate": "Gradient Accumulation steps",
    "steps": "Total optimization steps",
}
"""Fact -> how a Trainer's line on it begins."""
_ROUNDED = 5e-4
"""By how much a Trainer's rates may be off: it prints three decimals."""
_TOKENS = re.compile(rf"'train_tokens_per_second':\s*'?{_NUMBER}")
_BAR = re.compile(rf"(?<!\d)\d+/(\d{{1,12}}) \[([\d:]+)<[\d:]+,\s+{_NUMBER}(s/it|it/s)")
"""A progress bar: its steps, the time since it began, and how fast the last of them were."""
_AXOLOTL = re.compile(rf"'memory/max_(?:mem_)?allocated ?\((?:gib|GiB)\)':\s*'?{_NUMBER}")
_AXOLOTL_RESERVED = re.compile(rf"'memory/device_(?:mem_)?reserved ?\((?:gib|GiB)\)':\s*'?{_NUMBER}")
_AXOLOTL_SPEED = re.compile(rf"'tokens_per_second_per_gpu':\s*'?{_NUMBER}")


def read(text: str) -> Reading | None:
    """What a log says of time and memory; None when it has no line of a program that is known.

    Raises:
        EngineError: A time or a rate is zero, or a figure is so large that nothing can have been measured so.
    """
    text = "\n".join(line[:LONGEST_LINE] for line in _DRESS.sub("", text).splitlines())
    for one in (_llmc, _nano_gpt, _torchtitan, _megatron, _transformers):
        if (found := one(text)) is not None:
            return found
    return None


def _lines(pattern: re.Pattern[str], text: str) -> list[tuple[str, ...]]:
    """What a pattern finds from the start of each line, once."""
    return [found.groups() for line in text.splitlines() if (found := pattern.match(line))]


def _numbers(found: Sequence[str]) -> list[float]:
    return [float(one.replace(",", "").lower().replace("k", "e3")) for one in found]


def _settled(found: Sequence[str]) -> float:
    """The median of the later half, which has no compilation and no warm-up in it."""
    return statistics.median(_numbers(found[len(found) // 2 :]))


def _share(found: Sequence[str]) -> float | None:
    """A utilization printed as a percentage; programs print a negative one until they know it."""
    values = [value for value in found if 0 < float(value) <= 100]
    return _settled(values) / 100 if values else None


def _nano_gpt(text: str) -> Reading | None:
    lines = _NANO.findall(text)
    if not lines:
        return None
    step, share = [line[0] for line in lines], _share([line[1] for line in lines if line[1]])
    measured = Observed(program="nanoGPT", step_s=_settled(step) / 1e3, mfu=share, lines=len(lines))
    # What its configurator has printed, the options behind the file.
    given = nano_gpt.settings(text)
    # One option or two are not enough to know its file by, and stand for what its configuration says.
    few = {name: value for name, value in _OVERRIDING.findall(text) if not given}
    read = nano_gpt.read(given or few, "log", alone=bool(given)) if given or few else Reading("log")
    return replace(read, measured=_checked(measured))


_OVERRIDING = re.compile(r"^Overriding: (\w{1,40}) = ([^\n]{1,99}?)\s*$", re.MULTILINE)


def _llmc(text: str) -> Reading | None:
    lines = _lines(_LLMC, text)
    if not lines:
        return None
    step, share, speed = zip(*lines, strict=True)
    return _log(
        Observed(
            program="llm.c",
            step_s=_settled(step) / 1e3,
            mfu=_share([*filter(None, share)]),
            tokens_per_s=_settled(speed),
            lines=len(lines),
        ),
        Facts(**_sizes(text, _LLMC_SIZES)),
    )


_LLMC_SIZES = {"micro_batch": r"micro batch size B +\|", "sequence": r"sequence length T +\|"}
"""Fact -> the row of llm.c's table that says it."""


def _torchtitan(text: str) -> Reading | None:
    lines, begun = _lines(_TITAN, text), _titan(text)
    if not lines:
        return begun if begun.facts.method else None
    steps, memory, speed, share = zip(*lines, strict=True)
    warm = any(int(step) > 1 for step in steps)
    measured = Observed(
        program="torchtitan",
        tokens_per_s_device=_settled(speed) if warm else None,
        mfu=_share(share) if warm else None,
        # It prints what PyTorch reserved at the fullest moment.
        reserved=round(max(_numbers(memory)) * GIB) or None,
        lines=len(lines),
    )
    missing = begun.missing if warm else (*begun.missing, _TITAN_FIRST)
    return replace(begun, measured=_checked(measured), missing=missing)


def _titan(text: str) -> Reading:
    """What torchtitan prints as it begins, with its defaults; of a text without any of it only what that says."""
    begins, meshes = _TITAN_BEGINS.findall(text), _TITAN_MESH.findall(text)
    named = "".join(_TITAN_MODEL.findall(text)[-1:])
    said = re.findall(r"([a-z ]+)[ :]+(\d+)", begins[-1]) if begins else ()
    found: dict[str, Any] = {
        _TITAN_SAYS[name.strip()]: values.count(name, size) for name, size in said if name.strip() in _TITAN_SAYS
    }
    if meshes:
        named_sizes, names, counts = meshes[-1]
        pairs = re.findall(r"(\w+)=(\d{1,6})(?!\d)", named_sizes) or zip(
            re.findall(r"\w+", names), re.findall(r"\d{1,6}", counts), strict=False
        )
        sizes = {name: int(size) for name, size in pairs}
        found |= {fact: sizes.get(name) or None for name, fact in {**_TITAN_GROUPS, "ep": "expert"}.items()}
        found["devices"] = math.prod(sizes.get(name) or 1 for name in ("dp_replicate", "dp_shard", *_TITAN_GROUPS))
        if (shard := sizes.get("dp_shard", 1)) > 1:
            found |= {"runtime": "fsdp", "zero": 3, "shard": shard}
    usual: dict[str, Any] = {}
    if found or named:
        # Where it does not say how it divides, it does so over all devices.
        usual = {"weights": "fp32", "compute": "bf16", **({} if meshes else {"runtime": "fsdp", "zero": 3})}
        found |= {"method": "full", "stage": "pretrain"}
    if re.search("Applied [FH]SDP", text):
        found |= {"runtime": "fsdp", "zero": 3}
    if cards := _TITAN_CARD.findall(text):
        found["gpu"] = by_driver(cards[-1])
    if "Applied full activation checkpointing" in text:
        found["checkpointing"] = True
    strange = False
    if (found.get("pipeline") or 1) > 1 and (local := found.get("micro_batch")):
        # The local batch is cut into micro-batches, of one sample each unless told otherwise.
        schedule = _TITAN_SCHEDULE.search(text)
        each = max(local // max(int(schedule[2]), 1), 1) if schedule else 1
        found |= {"micro_batch": each, "accumulate": local // each * (found.get("accumulate") or 1)}
        strange = schedule is not None and schedule[1] != "1F1B"
    if "Compiling each TransformerBlock with torch.compile" in text:
        found["compiled"] = True
    if re.search("Appl(?:ying|ied) CPU Offloading", text):
        found |= {"offload_optimizer": True, "offload_parameters": True}
    selective = f"Applied {SELECTIVE}" in text
    others = [name for name, said in _TITAN_UNCOUNTED.items() if re.search(said, text)]
    others += [SCHEDULE] if strange else []
    facts = Facts(model=values.model(named.replace(" ", "-")), **found)
    found_too = Reading(
        "log",
        facts.completed(Facts(**usual)),
        silent=frozenset(usual.keys() - facts.said().keys()),
        missing=("Its selective recomputation is not counted.",) if selective else (),
        called=named,
        uncounted={SELECTIVE: "checkpointing"} if selective else {},
    )
    return with_switches(found_too, others)


def _megatron(text: str) -> Reading | None:
    steps = _MEGATRON.findall(text)
    if not steps:
        return None
    memory, batches = _MEGATRON_MEMORY.findall(text), set(_MEGATRON_BATCH.findall(text))
    allocated, reserved = zip(*memory, strict=True) if memory else ((), ())
    measured = Observed(
        program="Megatron-LM",
        step_s=_settled(steps) / 1e3,
        allocated=(round(max(_numbers(allocated)) * 2**20) or None) if allocated else None,
        reserved=(round(max(_numbers(reserved)) * 2**20) or None) if reserved else None,
        lines=len(steps),
    )
    batch = values.count("global batch size", batches.pop()) if len(batches) == 1 else None
    return _log(measured, Facts(global_batch=batch, **_sizes(text, _MEGATRON_SIZES)))


def _sizes(text: str, said: Mapping[str, str]) -> dict[str, Any]:
    """Facts that a program prints, by how it says them: the last of each."""
    found = {fact: re.findall(rf"(?<![\w-])(?:{name}) {{0,60}}(\d{{1,9}})\b", text)[-1:] for fact, name in said.items()}
    return {fact: values.count(fact, size[0]) for fact, size in found.items() if size and int(size[0])}


_MEGATRON_SIZES = {
    "devices": "world size:", "tensor": "tensor-model-parallel size:", "pipeline": "pipeline-model-parallel size:",
    "context": "context-parallel size:", "micro_batch": r"micro_batch_size \.{1,60}",
    "sequence": r"seq_length \.{1,60}",
}  # fmt: skip
"""Fact -> how Megatron-LM says it as it begins."""


def _transformers(text: str) -> Reading | None:
    summary, bars = _lines(_SUMMARY, text), _of_training(_BAR.findall(text))
    found = [_TOKENS.findall(_rates(text, of_all))[-1:] for of_all in (True, False)]
    found += [one.findall(text) for one in (_AXOLOTL, _AXOLOTL_RESERVED)]
    speed, speed_of_one, allocated, reserved = (max(_numbers(one), default=None) for one in found)
    per_gpu = _AXOLOTL_SPEED.findall(text)
    facts = _begun(text)
    if not (summary or bars or speed or speed_of_one or allocated or per_gpu):
        return Reading("log", facts) if facts.said() else None
    step = None
    if summary and (rate := _numbers(summary[-1])[1]):
        step = 1 / rate
    elif bars:
        later = [(_numbers([one])[0], unit) for one, unit in bars[len(bars) // 2 :]]
        times = [value if unit == "s/it" else 1 / value for value, unit in later if value]
        step = statistics.median(times) if times else None
    measured = Observed(
        program="axolotl" if allocated or per_gpu else "transformers",
        step_s=step,
        samples_per_step=facts.global_batch or _samples(text),
        tokens_per_s=speed,
        tokens_per_s_device=_settled(per_gpu) if per_gpu else speed_of_one,
        allocated=round(allocated * GIB) if allocated else None,
        reserved=round(reserved * GIB) if reserved else None,
        lines=len(summary) + len(bars) + len(per_gpu),
    )
    return _log(measured, facts)


def _of_training(bars: Sequence[tuple[str, str, str, str]]) -> list[tuple[str, str]]:
    """The speeds that the bar wrote which ran longest: others are of evaluations and of files that are read."""
    longest: dict[str, int] = {}
    for steps, since, _, _ in bars:
        seconds = sum(int(part or 0) * 60**place for place, part in enumerate(reversed(since.split(":"))))
        longest[steps] = max(seconds, longest.get(steps, 0))
    chosen = max(longest, key=longest.__getitem__, default="")
    return [(speed, unit) for steps, _, speed, unit in bars if steps == chosen]


def _begun(text: str) -> Facts:
    """The counts that a Trainer prints as it begins, the last time that it does."""
    found: dict[str, Any] = {}
    for name, line in _BEGUN.items():
        if told := re.findall(rf"{line}\s*=\s*(\d[\d,]{{0,15}})", text):
            found[name] = values.count(name, told[-1].replace(",", ""))
    if stages := _STAGE.findall(text):
        found |= {"runtime": "deepspeed", "zero": int(stages[-1])}
        cards = _WORLD.findall(text)
        found["devices"] = values.count("world_size", cards[-1]) if cards else None
        found |= _sizes(text, _DEEPSPEED_SIZES)
    return Facts(**found)


_DEEPSPEED_SIZES = {"micro_batch": r"train_micro_batch_size_per_gpu(?: \.{1,60})?"}
_STAGE = re.compile(r"\bzero_optimization_stage \.{1,40} ([0-3])\b")
_WORLD = re.compile(r"\bworld_size \.{1,40} (\d{1,7})\b")
"""What DeepSpeed prints of its settings."""


def _samples(text: str) -> int | None:
    """Samples of a step by a Trainer's summary; None where its rounded rates leave it open.

    The last step of an epoch may have fewer, so that the mean lies below a whole number.
    """
    if not (found := _lines(_SAMPLES, text)):
        return None
    samples, steps = _numbers(found[-1])
    if steps <= _ROUNDED:
        return None
    least, most = (samples - _ROUNDED) / (steps + _ROUNDED), (samples + _ROUNDED) / (steps - _ROUNDED)
    # Where no whole number lies between them, the next one above.
    first, last = math.ceil(least), math.floor(most)
    return first if last <= first and 1 <= first <= LARGEST else None


def _rates(text: str, of_all: bool) -> str:
    """Lines of a Trainer's steps, whose tokens are those of all processes, or its summary's, which counts one's."""
    return "\n".join(line for line in text.splitlines() if ("train_steps_per_second" in line) != of_all)


def _log(measured: Observed, facts: Facts | None = None) -> Reading:
    return Reading("log", facts or Facts(), _checked(measured))


def _checked(measured: Observed) -> Observed:
    """The figures, if they can have been measured. Raises `EngineError` for one that cannot."""
    for what, value in (
        ("time of a step in seconds", measured.step_s),
        ("tokens per second", measured.tokens_per_s),
        ("tokens per second of a GPU", measured.tokens_per_s_device),
        ("allocated memory in GiB", measured.allocated and measured.allocated / GIB),
        ("reserved memory in GiB", measured.reserved and measured.reserved / GIB),
    ):
        if value is not None and not SMALLEST <= value <= LARGEST:
            allowed = f"at least {SMALLEST:g} and at most {LARGEST:,}"
            raise EngineError(what, value, allowed, because=f"as the log of {measured.program} has it")
    return measured
