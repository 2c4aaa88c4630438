"""The plan as texts for other programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from explorable import live

from .choices import words_of

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
    return ""


def exports(state: live.State) -> Mapping[str, str]:
    """What each text is called, and the text."""
    from ironlaw.files.exports import exports as texts_of

    return {NAMES.get(name, name): text for name, text in texts_of(words_of(state)).items()}
