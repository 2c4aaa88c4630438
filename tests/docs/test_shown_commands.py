"""What an act shows is what the command line gives that its page shows."""

from __future__ import annotations

import itertools
import json
import random
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from explorable.live.build.description import describe
from explorable.live.runtime.acts import LoadedAct
from ironlaw.cli import main
from tests.conftest import FULL
from tests.docs.acts import SHOWN, loaded, number, state_of

DOCS = Path(__file__).parents[2] / "docs"
WITHOUT = {
    "mfu-gap": "its step waits for a disk and for loader processes, which the command line leaves out",
    "roofline-explorer": "it takes one layer apart",
    "scaling-explorer": "it compares a job with a single GPU",
    "step-peak": "its headline follows the reader through the step; the page's own command gives the peak, see below",
    "trust-but-measure": "it counts activations of models that a record describes",
    **{
        f"{part}: {track}": "its network is not one of the engine's transformers"
        for track in ("edge", "mobile", "tiny")
        for part in ("state-audit", "pipeline-race", "scaling-wall")
    },
    "pipeline-race: cloud": "its pipeline has stages that the command line leaves out",
}
"""Acts that show no command line, and why."""
NUMBERS: Mapping[str, Callable[[Any], float]] = {
    "GB": lambda answer: float(answer["memory_bytes"]["device_total"] / 1e9),
    "%": lambda answer: float(100 * answer["time"]["mfu"]),
}
"""What a headline is of a command's answer, by its unit."""


def answer_of(command: str) -> Any:
    """What a command line prints as JSON."""
    python, flag, module, *words = shlex.split(command)
    assert (python, flag, module) == ("python", "-m", "ironlaw")
    printed = StringIO()
    with redirect_stdout(printed):
        assert main([*words, "--json"]) in (0, 1)
    return json.loads(printed.getvalue())


def settings(act: LoadedAct, count: int) -> list[dict[str, Any]]:
    """The start, the reveal's setting, and some of those that the page offers, the same in every run."""
    described: Any = describe(act)
    draw = random.Random(act.act.name)
    offered = {
        control["name"]: [one["value"] for one in control["options"]] if control["kind"] == "choice" else [False, True]
        for control in described["controls"]
    }
    told = act.act.staging.setting if act.act.staging else {}
    return [{}, dict(told), *({name: draw.choice(values) for name, values in offered.items()} for _ in range(count))]


def every(act: LoadedAct) -> Iterator[dict[str, Any]]:
    """All settings of the choices that the page offers; what is shown or hidden changes no number that matters."""
    described: Any = describe(act)
    offered = {
        control["name"]: [one["value"] for one in control["options"]]
        for control in described["controls"]
        if control["kind"] == "choice"
    }
    for values in itertools.product(*offered.values()):
        yield dict(zip(offered, values, strict=True))


def test_every_act_shows_a_command_line_or_says_why_not() -> None:
    shown = set()
    for name in SHOWN:
        act = loaded(name)
        question = act.act.question
        prediction = None if question is None else getattr(question, "minimum", None)
        if question is not None and prediction is None:
            prediction = question.options[0].value  # type: ignore[union-attr]
        view: Any = act.compute(state_of(act, prediction, revealed=question is not None))
        if view["command"]:
            shown.add(name)
    assert shown.isdisjoint(WITHOUT)
    assert shown | set(WITHOUT) == set(SHOWN)


# The planner's controls are of other kinds: `test_planner_exports.py` holds its headline against its command line.
@pytest.mark.parametrize("name", [name for name in SHOWN if name not in WITHOUT and name != "plan"])
def test_the_headline_of_an_act_is_what_its_command_line_gives(name: str) -> None:
    act = loaded(name)
    prediction = 0.5 if name.startswith("scaling-wall") else 12
    for setting in every(act) if FULL and name == "optimizer-memory-tax" else settings(act, 12):
        for context in act.act.contexts:
            state = state_of(act, prediction, revealed=True, **setting) | {"context": context.name}
            view: Any = act.compute(state)
            headline = view["headline"]
            exact = NUMBERS[headline["unit"]](answer_of(view["command"]))
            digits = len(headline["value"].partition(".")[2])
            assert number(headline["value"]) == pytest.approx(exact, abs=0.51 * 10**-digits), view["command"]


def test_the_command_of_the_page_on_the_peak_gives_the_peak_of_its_picture() -> None:
    page = (DOCS / "lab" / "peak.md").read_text(encoding="utf-8")
    [command] = re.findall(r"`(python -m ironlaw fit [^`]+)`", page)
    [batch] = re.findall(r"--batch (\d+)", command)
    act = loaded("step-peak")
    view: Any = act.compute(state_of(act, batch=int(batch)))
    [peak] = view["data"]["peak"]
    answer = answer_of(command.replace(" fit ", " estimate "))
    assert peak["gb"] == pytest.approx(answer["memory_bytes"]["device_total"] / 1e9)
    assert (view["failure"] is None) == answer["fits"]


@pytest.mark.parametrize("page", ["act1.md", "peak.md"])
def test_the_programs_of_a_page_count_the_update_that_its_act_counts(page: str) -> None:
    """PyTorch's default update makes temporary tensors that the acts do not count."""
    text = (DOCS / "lab" / page).read_text(encoding="utf-8")
    [program] = re.findall(r'```live name="fits"\n(.*?)```', text, re.DOTALL)
    assert 'update="fused"' in program
