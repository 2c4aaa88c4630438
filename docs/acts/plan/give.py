"""The plan as texts for other programs."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import Any

from explorable import live
from ironlaw import setup

from .choices import require_layout, words_of

DEFAULTS = {word.name: word.default for word in signature(setup).parameters.values() if word.default is not word.empty}
NAMES = {
    "command": "The same numbers in a shell",
    "torchrun": "torchrun",
    "accelerate": "accelerate.yaml",
    "deepspeed": "deepspeed.json",
    "fsdp": "fsdp.yaml",
    "markdown": "For an issue (Markdown)",
    "json": "plan.json",
}


def command(words: Mapping[str, Any]) -> str:
    """The line for a shell that gives the same numbers."""
    from ironlaw.files.exports import command as line

    return line(_said(words))


def exports(state: live.State) -> Mapping[str, str]:
    """What each text is called, and the text."""
    from ironlaw.files.exports import exports as texts_of

    require_layout(state)
    return {NAMES.get(name, name): text for name, text in texts_of(_said(words_of(state))).items()}


def _said(words: Mapping[str, Any]) -> dict[str, Any]:
    """The words that say something: what stands at its default is left out."""
    return {word: value for word, value in words.items() if value is not None and DEFAULTS.get(word) != value}
