"""Why a plan is not possible, in the words of the page's controls."""

from __future__ import annotations

from explorable import live
from ironlaw import EngineError
from ironlaw.core.errors import MISSING, Instead

from .choices import CONTROLS

_CONTROLS = {"lora_rank": "rank", "micro_batches": "accumulate", "execution": "compiled", "attention": "flash"}
_BY_NAME = {control.name: control for control in CONTROLS}
NOT_DIVIDED = (
    "The weights below adapters are counted whole on every card here. Programs that divide them exist (FSDP with "
    "QLoRA, for one); this page cannot count them yet"
)
"""What to know of adapters where cards divide weights."""


def refusal(error: EngineError) -> str:
    """What does not go together, and what does, in one line without its full stop."""
    what = _control(error.what)
    if what is None:
        return str(error)
    beside = " and ".join(_said(name, value) for name, value in error.beside.items())
    excluded = f" does not go with {beside}" if beside else " is not possible"
    because = f", {error.because}" if error.because else ""
    lines = [f"{_said(error.what, error.value)}{excluded}{because}. Possible: {_allowed(what, error.allowed)}"]
    if error.what in ("zero", "tp", "pp") and error.beside.get("method") in ("lora", "qlora"):
        lines.append(NOT_DIVIDED)
    return ". ".join(lines)


def _control(word: str) -> live.Choice | live.Toggle | live.Slider | live.Note | None:
    return _BY_NAME.get(_CONTROLS.get(word, word))


def _said(word: str, value: object) -> str:
    control = _control(word)
    if control is None or value is MISSING:
        return word.replace("_", " ") if value is MISSING else f"{word.replace('_', ' ')} {value}"
    return f"“{control.label}: {_label(control, value)}”"


def _label(control: object, value: object) -> str:
    if isinstance(control, live.Choice):
        return next((option.label for option in control.options if option.value == value), str(value))
    return f"{value:,}" if isinstance(value, int) else str(value)


def _allowed(control: object, allowed: str | tuple[object, ...]) -> str:
    if isinstance(allowed, str):
        return allowed
    return ", or ".join(
        f"{_said(one.what, MISSING)} {one.allowed}" if isinstance(one, Instead) else _label(control, one)
        for one in allowed
    )
