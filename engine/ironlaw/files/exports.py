"""A plan as texts to take away: our command line, launch commands, files of other programs, a block for an issue.

They are written from the setup that was understood, never from a pasted text: numbers, and names that the engine knows.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ironlaw import __version__
from ironlaw.files import launch
from ironlaw.files.words import Understood
from ironlaw.models.config_json import published

if TYPE_CHECKING:
    from ironlaw.answers.estimate import Estimate, MemoryBytes
    from ironlaw.config.resolved import Setup

_NEGATED = ("double_quantization", "overlap")
"""Words that are true unless the command line denies them."""
_GONE = "not alive at the peak, less what is temporary then"
TRL, MEGATRON, DEEPSPEED, FIRST = "-m trl.scripts.sft", "pretrain_gpt.py", "deepspeed.json", launch.FIRST
YOURS = {
    TRL: f"{TRL} to your script, if it takes TRL's options",
    "--mock-data": "--mock-data to --data-path and yours, with its tokenizer",
    "YOUR_MODEL": "YOUR_MODEL to its folder or its name on the hub",
    "YOUR_DATASET": "YOUR_DATASET to the same of your texts",
    FIRST: f"{FIRST} to the name of one machine, and run it on each",
    DEEPSPEED: f"{DEEPSPEED} to where you keep the plan's DeepSpeed file",
}
"""What a reader changes in a launch line, by the mark that stands there."""
OTHERWISE = (
    "The plan counts PyTorch's operations; Megatron-LM keeps 16-bit weights and fuses more: read back, this line is "
    "counted as that, and needs less."
)


def exports(asked: Understood | Mapping[str, Any], *, hub: bool = True) -> Mapping[str, str]:
    """The texts of a plan by kind; those that cannot say what the setup asks are left out.

    `"command"` is ours, `"torchrun"` starts TRL's script, or Megatron-LM's where matrices or layers or sequences are
    divided;
    `"accelerate"` and `"fsdp"` (a Trainer's settings) are YAML, `"deepspeed"` and `"json"` are JSON; `"markdown"` is a
    block for an issue.

    Args:
        asked: What files said, or the words of `ironlaw.setup`.
        hub: Whether the launch line may name the model, where no files were read.

    Raises:
        EngineError: The words are none of a setup.
    """
    from ironlaw.answers.estimate import prepare
    from ironlaw.config.setup import setup

    words = asked.words if isinstance(asked, Understood) else asked
    c = setup(**words)
    found = prepare(c)()
    name = words.get("model")
    if isinstance(asked, Understood):
        hub = all(one.called in ("", name) for one in asked.readings)
    line, files = command(words), _files(c, hub and name)
    data = {"version": __version__, "command": line, "setup": _plain(words), "verdict": found.verdict,
            "estimate": found.as_dict()}  # fmt: skip
    texts = {"command": line, **files, "markdown": _markdown(c, found, line), "json": json.dumps(data, indent=2) + "\n"}
    return {kind: text for kind, text in texts.items() if text}


def command(words: Mapping[str, Any]) -> str:
    """Our command line that gives the same numbers."""
    parts = ["python -m ironlaw estimate"]
    for word, value in words.items():
        flag = "--seq" if word == "sequence" else f"--{word.replace('_', '-')}"
        if word == "model" and not isinstance(value, str):
            parts.append("--config config.json")
        elif isinstance(value, bool):
            if value is not (word in _NEGATED):
                parts.append(flag if value else f"--no-{flag.removeprefix('--')}")
        elif value is not None:
            parts.append(f"{flag} {shlex.quote(str(value))}")
    return " ".join(parts)


def _plain(words: Mapping[str, Any]) -> dict[str, Any]:
    return {word: value if isinstance(value, str | int | float) else asdict(value)
            for word, value in words.items() if value is not None}  # fmt: skip


def _files(c: Setup, model: object) -> dict[str, str]:
    trainer, divided = launch.trainer(c), launch.fsdp(c)
    texts = {"torchrun": _torchrun(c, trainer, model)}
    if (found := launch.accelerate(c)) is not None:
        texts["accelerate"] = _yaml(found)
    # DeepSpeed's ZeRO and FSDP divide the same in this precision.
    if (not divided or c.precision.name == launch.DIVIDED) and (found := launch.deepspeed(c)) is not None:
        texts["deepspeed"] = json.dumps(found, indent=2) + "\n"
    if trainer and divided:
        texts["fsdp"] = _yaml({**trainer, **divided})
    return texts


def _torchrun(c: Setup, trainer: launch.Settings | None, model: object) -> str:
    machines, each = launch.nodes(c)
    start = [f"--nproc-per-node {each}"]
    if machines > 1:
        start = [f"--nnodes {machines}", *start, f"--rdzv-backend c10d --rdzv-endpoint {FIRST}:29500 --rdzv-id plan"]
    if c.framework.by_hand or c.layout.model_parallel:
        settings, script = launch.megatron(c), MEGATRON
    else:
        settings, script = trainer, TRL
        # The hub's name is the script's too; of any other model it is left to the reader.
        name = model if model in published() else "YOUR_MODEL"
        own = {"model_name_or_path": name, "dataset_name": "YOUR_DATASET", "output_dir": "out"}
        settings = settings and {**own, **settings}
        if settings and launch.uses_deepspeed(c) and launch.deepspeed(c):
            settings = {**settings, "deepspeed": DEEPSPEED}
        elif settings and (divided := launch.fsdp(c)):
            settings = {**settings, "fsdp": divided["fsdp"]}
        elif c.layout.zero or c.update.offload != "none" or launch.uses_deepspeed(c):
            settings = None
    if settings is None:
        return ""
    words = (f"--{name}" if value is None else f"--{name} {_word(value)}" for name, value in settings.items())
    line = " ".join(("torchrun", *start, script, *words))
    yours = "; ".join(what for mark, what in YOURS.items() if mark in line)
    otherwise = f"# {OTHERWISE}\n" if script == MEGATRON and not c.framework.by_hand else ""
    return f"# Change {yours}.\n{otherwise}{line}"


def _word(value: object) -> str:
    if isinstance(value, list):
        return shlex.join(map(str, value))
    return shlex.quote(str(value))


def _yaml(settings: launch.Settings, indent: str = "") -> str:
    lines = []
    for name, value in settings.items():
        if isinstance(value, Mapping):
            lines.append(f"{indent}{name}:\n{_yaml(value, indent + '  ')}")
        elif isinstance(value, list):
            lines.append(f"{indent}{name}:\n" + "".join(f"{indent}  - {json.dumps(one)}\n" for one in value))
        else:
            # What JSON writes of a switch, a number or a text is YAML too; a plain name needs no quotation marks.
            plain = isinstance(value, str) and value.replace("_", "").replace(" ", "").isalnum()
            plain = plain and str(value).lower() not in ("no", "none")
            lines.append(f"{indent}{name}: {value if plain else json.dumps(value)}\n")
    return "".join(lines)


def _markdown(c: Setup, found: Estimate, line: str) -> str:
    memory, seen = found.memory_bytes, found.calibrated
    rows = [f"| {name} | {size / 1e9:,.2f} |" for name, size in parts(c, memory).items()]
    passes = f"{c.batch:,} x {c.sequence:,} tokens a pass, {c.tokens:,} a step"
    what = f"{c.model.name}, {c.adaptation.method}, {passes}, {c.precision.name}, {c.optimizer.name}"
    where = f"{c.devices:,} x {c.chip.title}"
    verdict = {"fits": "fits", "uncertain": "uncertain whether it fits", "not": "does not fit"}[found.verdict]
    time = f"{found.time.step_s:.4g} s by the physics"
    if seen:
        step, held = seen.step_s, seen.needed
        time = f"{step.expected:.4g} s expected, {step.low:.4g} to {step.high:.4g} s in 90 % of runs; {time}"
        verdict += f": {held.expected / 1e9:,.1f} GB expected, {held.low / 1e9:,.1f} to {held.high / 1e9:,.1f} GB"
    return "\n".join(
        (
            f"**Plan:** {what}, {where}",
            "",
            f"- Verdict: {verdict} of {memory.capacity / 1e9:,.1f} GB a device",
            f"- Step: {time}",
            f"- Throughput: {found.time.tokens_per_s:,.0f} tokens/s by the physics",
            "",
            "| memory of the busiest device | GB |",
            "|---|---:|",
            *rows,
            f"| **all** | {memory.device_total / 1e9:,.2f} |",
            "",
            f"`{line}` (ironlaw {__version__})",
            "",
        )
    )


def parts(c: Setup, memory: MemoryBytes) -> dict[str, int]:
    """What a device holds at the peak, by component and with what is there for a moment; they add up to all of it."""
    from ironlaw.answers.peak import peak

    fullest = peak(c)
    found = {name: size for name, size in fullest.components.items() if size}
    for part in fullest.parts:
        if part.kind != "temporary":
            found[part.name] = found.get(part.name, 0) + part.bytes
    left = fullest.of("temporary")
    found["temporary at the peak, less what is not alive then" if left > 0 else _GONE] = left
    ends = {name: getattr(memory, name) for name in ("workspace", "runtime", "context")}
    return {name: size for name, size in (found | ends).items() if size}
