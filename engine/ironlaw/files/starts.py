"""The trainings that a text of a shell starts: by which program, behind what, and where they stand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ironlaw.core.errors import EngineError
from ironlaw.core.units import Count
from ironlaw.files import shell

_PROGRAM = re.compile(r"(?:\S*/)?(?:torchrun|accelerate|deepspeed|python[\d.]*|llamafactory-cli|axolotl|trl)")
_BEFORE = re.compile(r"\w+=.*|nohup|time|sudo|env|exec|eval|do|then|else|[{(!]|CMD|RUN|ENTRYPOINT", re.DOTALL)
"""What stands before a program: variables, words of the shell, programs that start it."""
_NO_TRAININGS = {
    "trl": ("vllm-serve", "chat", "env"),
    "llamafactory-cli": ("chat", "api", "export", "webui", "webchat", "eval", "version", "env"),
    "axolotl": ("preprocess", "inference", "evaluate", "merge-lora", "fetch", "vllm-serve", "quantize", "lm-eval"),
}
"""Program -> those of its commands that train nothing."""
_RUNNERS = ("uv", "poetry")
_SCHEDULED = {
    "nnodes": r"(?:-N\s?|--nodes[= ])(?:\d+-)?(\d+)",
    "gpus_per_node": r"--g(?:pus-per-node|res)[= ](?:\w+:)*(\d+)",
}
"""Option of a launcher -> how the scheduler writes it: its others change nothing here."""
LONGEST = 50_000
"""Characters of a command, whose words are found slowly."""


@dataclass(frozen=True)
class Start:
    """A command that starts a training: its words, and where it begins and ends in the text."""

    words: tuple[str, ...]
    start: Count
    end: Count

    @property
    def line(self) -> str:
        """Its words with a blank between them."""
        return " ".join(self.words)


def is_command(text: str) -> bool:
    """Whether a text begins as a command that starts a training, if need be behind others of the same line."""
    if not _MENTIONED.search(text, 0, LONGEST):
        return False
    for at, command in enumerate(shell.commands(text[:LONGEST])):
        if at and not command.follows:
            return False
        if any(_starts(command)):
            return True
    return False


_MENTIONED = re.compile(r"torchrun|accelerate|deepspeed|python|llamafactory-cli|axolotl|trl")


def _starts(command: shell.Command) -> Iterator[Start]:
    """The trainings that a command starts: one at most, but by a shell of its own."""
    words = [word.text for word in command.words]
    if len(words) > 2 and re.fullmatch("-l?c", words[-2]) and re.fullmatch(r"(?:\S*/)?(?:ba)?sh", words[-3]):
        place = command.words[-1].start + 1  # behind its quotation mark
        for inner in shell.commands(words[-1]):
            if (started := _started([*words[:-3], *(word.text for word in inner.words)])) is not None:
                yield Start(started, place + inner.start, place + inner.end)
    elif (started := _started(words)) is not None:
        yield Start(started, command.start, command.end)


def _started(words: Sequence[str]) -> tuple[str, ...] | None:
    """Words without a scheduler and its options, which say sizes as a launcher's; None where they start no training."""
    at = program_at(words, 0)
    if at < len(words) and words[at] == "srun":
        after = next((one for one in range(at + 1, len(words)) if _is_program(words, one)), None)
        if after is None:
            return None
        while _BEFORE.fullmatch(words[after - 1]):
            after -= 1
        said = " ".join(words[at + 1 : after])
        told = ((name, re.search(rf"(?<!\S){option}(?!\S)", said)) for name, option in _SCHEDULED.items())
        return (*words[:at], *(f"{name.upper()}={size[1]}" for name, size in told if size), *words[after:])
    return tuple(words) if _is_program(words, at) else None


def program_at(words: Sequence[str], at: int) -> int:
    """Where the program of a command stands, behind what may stand before it from a place on."""
    while at < len(words):
        if words[at] in _RUNNERS and words[at + 1 : at + 2] == ["run"]:
            at += 2
        elif _BEFORE.fullmatch(words[at]):
            at += 1
        else:
            break
    return at


def _is_program(words: Sequence[str], at: int) -> bool:
    """Whether a program that starts trainings stands at a place, with something behind it."""
    if at >= len(words) or not _PROGRAM.fullmatch(words[at]):
        return False
    if at + 1 == len(words) or words[at + 1] in _NO_TRAININGS.get(words[at].rpartition("/")[2], ()):
        return False
    return not words[at].endswith("accelerate") or (words[at + 1] == "launch" and at + 2 < len(words))


@lru_cache(maxsize=8)
def starts(text: str) -> tuple[Start, ...]:
    """The trainings that a text starts, in order.

    Raises:
        EngineError: It is too long, or a quotation mark has no second one.
    """
    if len(text) > LONGEST:
        raise EngineError("command", f"of {len(text)} characters", f"at most {LONGEST} characters long")
    try:
        return tuple(one for command in shell.commands(text, strict=True) for one in _starts(command))
    except shell.OpenQuoteError:
        raise EngineError("command", "with an open quotation mark", "with pairs of quotation marks") from None
