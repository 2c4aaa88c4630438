"""What to change: every single change that the engine knows, tried one by one."""

from __future__ import annotations

from collections.abc import Iterator

from ironlaw.answers.advice import Advice, advices

from explorable import live
from ironlaw import GB

from .choices import CONTROLS, words_of

_NAMES = {"lora_rank": "rank", "micro_batches": "accumulate"}
_OFFERED = {control.name for control in CONTROLS}


def suggest(state: live.State) -> Iterator[live.Suggestion]:
    """Changes of the plan, as they are found. One without a title was tried and does not help."""
    words = words_of(state)
    for advice in advices(words):
        controls = controls_of(advice)
        if controls is None or advice.worth <= 0:
            yield live.Suggestion("", "", {}, 0.0)
        else:
            yield live.Suggestion(advice.title, sentence(advice), controls, advice.worth)


def sentence(advice: Advice) -> str:
    """What a change saves and costs."""
    saved, slower = advice.saves_bytes / GB, advice.time_factor - 1
    memory = f"{abs(saved):.1f} GB {'less' if saved > 0 else 'more'}"
    time = "as fast" if abs(slower) < 0.005 else f"{abs(slower):.0%} {'slower' if slower > 0 else 'faster'}"
    fits = {"fits": "Then it fits.", "uncertain": "Then it may fit.", "not": "It does not fit yet."}[advice.verdict]
    return " ".join(part for part in (f"{memory}, {time}.", fits, advice.gives_up) if part)


def controls_of(advice: Advice) -> dict[str, live.Value] | None:
    """The controls that a change sets; None where the page has none for it."""
    found: dict[str, live.Value] = {}
    for word, value in advice.words.items():
        if word == "attention":
            found["flash"] = value == "flash"
        elif word == "loss":
            found["chunked"] = value == "chunked:8"
            if value not in ("full", "chunked:8"):
                return None
        elif word == "execution":
            found["compiled"] = value == "compiled"
        elif word == "offload":
            found["offload"] = value == "optimizer"
        elif _NAMES.get(word, word) in _OFFERED:
            found[_NAMES.get(word, word)] = value
        else:
            return None
    return found
