"""Why a plan is not possible, in the labels of the controls that a reader moves."""

from __future__ import annotations

from explorable import live
from ironlaw import EngineError
from ironlaw.core.errors import MISSING, Instead, in_python

from .choices import CONTROLS

SET_BY = {
    "attention": "flash",
    "loss": "chunked",
    "execution": "compiled",
    "lora_rank": "rank",
    "micro_batches": "accumulate",
}
"""Words of a setup that a control of another name sets."""
OFF = ("standard", "full", "eager", "none")
"""What a check box that is not ticked makes of its word."""
_CONTROLS = {control.name: control for control in CONTROLS if not isinstance(control, live.Note)}
NOT_DIVIDED = (
    "The weights below adapters are divided here by FSDP and by pipelines alone, and are otherwise whole on every "
    "card. Programs that divide them in other ways exist; this page cannot count them yet"
)
"""What to know of adapters where cards divide weights."""


def worded(error: EngineError) -> str:
    """An error of the engine in one line, as the page names things."""
    allowed = error.allowed
    if not isinstance(allowed, str):
        ways = (_way_out(error.what, one) for one in allowed if _reachable(error.what, one))
        allowed = tuple(dict.fromkeys(ways))
    line = EngineError(error.what, error.value, allowed, error.beside, error.because).worded(spell)
    if not is_uncounted(error):
        return line
    line = line.replace(" is not allowed with ", " cannot be counted yet with ").replace("; allowed: ", "; what can: ")
    return f"{line}. {NOT_DIVIDED}"


def is_uncounted(error: EngineError) -> bool:
    """Whether programs can do it, and only the engine cannot count it."""
    return error.what in ("zero", "tp") and error.beside.get("method") in ("lora", "qlora")


def spell(what: str, value: object = MISSING, *, accepted: bool = False) -> str:
    """An argument as the label of its control, with the option that is chosen; by its word where it has no control."""
    control = _control(what)
    if control is None:
        return in_python(what, value, accepted=accepted)
    return f"“{control.label}”" if value is MISSING else f"“{control.label}: {_value(what, value)}”"


def _control(what: str) -> live.Choice | live.Toggle | live.Slider | None:
    return _CONTROLS.get(SET_BY.get(what, what))


def _reachable(what: str, allowed: object) -> bool:
    """Whether a reader can choose an allowed value; a menu does not have all that the engine knows."""
    control = _control(what)
    if isinstance(allowed, Instead) or not isinstance(control, live.Choice):
        return True
    return any(option.value == allowed for option in control.options)


def _way_out(what: str, allowed: object) -> object:
    if isinstance(allowed, Instead):
        return Instead(allowed.what, _value(allowed.what, allowed.allowed))
    shown = _value(what, allowed)
    return f"“{shown}”" if " " in shown else shown


def _value(what: str, value: object) -> str:
    control = _control(what)
    if isinstance(control, live.Toggle):
        return "off" if value in OFF else "on"
    if isinstance(control, live.Choice):
        return next((option.label for option in control.options if option.value == value), str(value))
    return str(value)
