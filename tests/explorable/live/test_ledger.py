"""What an act tells the reader's design ledger: fields, the gap in numbers, moves; and the pages that ask."""

from __future__ import annotations

import dataclasses
import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from explorable import live
from explorable.live.build.bundle import Wheel
from explorable.live.build.description import describe
from explorable.live.build.rehearsal import rehearse
from explorable.live.runtime.acts import ActError, LoadedAct
from explorable.live.runtime.validation import check_definition

if TYPE_CHECKING:
    from tests.explorable.live.conftest import Site


def view(state: live.State) -> live.View:
    return live.View({}, live.Figure("Sum", "1", "GB"), "A sum.")


ACT = live.Act(
    name="tiny-act",
    title="Tiny",
    minutes=3,
    situation="There is a model.",
    contexts=(live.Context("node", "Node", "80 GB"),),
    question=live.NumberQuestion("How much?", "%", -10, 100, lambda: 35.0),
    controls=(live.Toggle("double", "Double", False),),
    compute=view,
    reveal=lambda prediction, state: live.Verdict(False, "It is 35.", ()),
    charts={},
    ledger=lambda state: {"gradient_checkpointing": bool(state.controls["double"]), "final_mfu_pct": 35.0},
)
STATE: dict[str, Any] = {"context": "node", "controls": {"double": True}, "prediction": 70}


def loaded(**change: Any) -> LoadedAct:
    return LoadedAct(check_definition(dataclasses.replace(ACT, **change), "tiny-act"), "act.py")


def computed(act: LoadedAct, state: dict[str, Any]) -> Any:
    return act.compute(state)


def revealed(prediction: float, answer: float = 35.0) -> Any:
    question = live.NumberQuestion("How much?", "%", -10, 100, lambda: answer)
    verdict: Any = loaded(question=question).reveal({**STATE, "prediction": prediction})
    return verdict["gap"]


# ---- fields ----


def test_the_view_carries_what_the_act_writes_into_the_ledger() -> None:
    assert computed(loaded(), STATE)["ledger"] == {"gradient_checkpointing": True, "final_mfu_pct": 35.0}


def test_before_the_commitment_nothing_is_written_because_it_could_give_the_answer_away() -> None:
    assert computed(loaded(), {**STATE, "prediction": None})["ledger"] == {}


def test_an_instrument_writes_without_a_prediction() -> None:
    act = loaded(question=None, reveal=None)
    assert computed(act, {**STATE, "prediction": None})["ledger"]["gradient_checkpointing"] is True


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"final_mfu": 35.0}, "ledger has no field 'final_mfu'"),
        ({"optimizer_chosen": "lion"}, "'optimizer_chosen' cannot be 'lion'; allowed: adam, momentum, sgd"),
        ({"laptop_fit_achieved": 1}, "'laptop_fit_achieved' cannot be 1; allowed: True, False"),
        ({"final_mfu_pct": True}, "'final_mfu_pct' cannot be True; allowed: a number"),
        ({"final_mfu_pct": float("nan")}, "ledger['final_mfu_pct'] is nan"),
    ],
)
def test_what_a_ledger_cannot_hold_is_refused_in_one_line(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ActError) as raised:
        computed(loaded(ledger=lambda state: fields), STATE)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_the_build_finds_a_ledger_that_fails_only_after_the_commitment() -> None:
    with pytest.raises(ActError, match=r"with double = False.* ledger: .*there is no control 'a'; allowed: double"):
        rehearse(loaded(ledger=lambda state: {"final_mfu_pct": state.controls["a"]}))


# ---- the gap ----


@pytest.mark.parametrize(("prediction", "factor"), [(70, 2), (17.5, 2), (35, 1)])
def test_the_gap_is_a_distance_and_a_factor_of_at_least_one(prediction: float, factor: float) -> None:
    assert revealed(prediction) == {"answer": 35.0, "difference": 35.0 - prediction, "factor": factor, "unit": "%"}


@pytest.mark.parametrize(("prediction", "answer"), [(0, 35.0), (-1, 35.0), (50, 0.0)])
def test_where_a_ratio_says_nothing_there_is_no_factor(prediction: float, answer: float) -> None:
    assert revealed(prediction, answer) == {
        "answer": answer,
        "difference": answer - prediction,
        "factor": None,
        "unit": "%",
    }


# ---- moves, failures ----


def test_the_page_knows_whether_moves_are_listed() -> None:
    described: Any = describe(loaded(moves=True))
    assert described["moves"] is True


def test_moves_are_changes_of_controls_so_the_context_cannot_change() -> None:
    with pytest.raises(ValueError, match="moves has one context"):
        loaded(moves=True, contexts=(*ACT.contexts, live.Context("laptop", "Laptop", "8 GB")))


def test_a_failure_needs_an_act_that_keeps_a_place_for_it() -> None:
    failing = dataclasses.replace(view(ACT.default_state()), failure=live.Failure("Too much", "a", "b", "c"))
    with pytest.raises(ActError, match="does not say can_fail=True"):
        computed(loaded(compute=lambda state: failing), STATE)
    assert computed(loaded(compute=lambda state: failing, can_fail=True), STATE)["failure"]["title"] == "Too much"


# ---- the site ----

SOURCE = """
from explorable.live import *

def compute(state):
    return View({}, Figure("a", "1", "GB"), "s")

ACT = Act("NAME", "Tiny", 3, "s", (Context("c", "C", "d"),), QUESTION, (Toggle("late", "Late", False, LATE),),
          compute, REVEAL, {}, MOVES)
"""
ASKS = {
    "QUESTION": 'NumberQuestion("How much?", "%", 0, 100, lambda: 35.0)',
    "REVEAL": 'lambda prediction, state: Verdict(False, "h", ())',
    "LATE": "after_reveal=True",
}
ASKS_NOTHING = {"QUESTION": "None", "REVEAL": "None", "LATE": ""}


def write(site: Site, name: str, parts: dict[str, str], **change: str) -> None:
    """An act with a toggle, from the template above."""
    source = SOURCE
    for key, value in {"NAME": name, "MOVES": "", **parts, **change}.items():
        source = source.replace(key, value)
    site.write(f"acts/{name.replace('-', '_')}/act.py", source)


def test_the_site_lists_the_pages_that_have_acts(site: Site) -> None:
    write(site, "one", ASKS)
    write(site, "two", ASKS)
    write(site, "tool", ASKS_NOTHING)
    site.write("index.md", "# T\n\n/// act | tool\n///\n")
    site.write("lab/act.md", "# T\n\n/// act | one\n///\n\n/// act | two\n///\n")
    assert site.build(), site.messages
    listed = json.loads((site.root / "site/assets/live/acts.json").read_text(encoding="utf-8"))
    assert listed == {"": ["tool"], "lab/act/": ["one", "two"]}


def test_an_act_on_two_pages_is_at_home_in_the_lab(site: Site) -> None:
    write(site, "one", ASKS)
    write(site, "two", ASKS)
    site.write("index.md", "# T\n\n/// act | two\n///\n")
    site.write("chapter/part.md", "# T\n\n/// act | one\n///\n")
    site.write("lab/act.md", "# T\n\n/// act | one\nThe peek.\n///\n")
    assert site.build(), site.messages
    pages = ("index.html", "chapter/part/index.html", "lab/act/index.html")
    homes = [re.findall(r'data-home="(.*?)"', site.page(page)) for page in pages]
    assert homes == [[""], ["lab/act/"], ["lab/act/"]]
    listed = json.loads((site.root / "site/assets/live/acts.json").read_text(encoding="utf-8"))
    assert listed == {"lab/act/": ["one"], "": ["two"]}


def test_an_act_does_not_repeat_the_title_of_its_page(site: Site) -> None:
    write(site, "one", ASKS)
    site.write("index.md", '---\ntitle: "Act 1: Tiny"\n---\n\n# Act 1: Tiny\n\n/// act | one\n///\n')
    site.write("other.md", "# T\n\n/// act | one\n///\n")
    assert site.build(), site.messages
    pages = ("index.html", "other/index.html")
    classes = [re.findall(r'class="(il-act__title.*?)"', site.page(page)) for page in pages]
    assert classes == [["il-act__title il-vh"], ["il-act__title"]], "it stays for screen readers"


def test_two_acts_of_a_page_share_one_pattern(site: Site) -> None:
    write(site, "one", ASKS)
    write(site, "two", ASKS)
    site.write("index.md", "# T\n\n/// act | one\n///\n\n/// act | two\n///\n")
    site.write("other.md", "# T\n\n/// act | two\n///\n")
    assert site.build(), site.messages
    assert [site.page(page).count('id="il-hatch"') for page in ("index.html", "other/index.html")] == [1, 1]


def test_what_waits_for_the_reveal_is_hidden_until_then(site: Site) -> None:
    write(site, "one", ASKS, MOVES="moves=True")
    site.write("index.md", "# T\n\n/// act | one\n///\n")
    assert site.build(), site.messages
    page = site.page()
    assert re.search(r"<div [^>]*data-after-reveal hidden>.*?data-toggle=\"late\"", page, re.DOTALL)
    assert re.search(r'data-slot="moves"[^>]*hidden', page)


def test_the_engines_version_changes_with_its_content() -> None:
    versions = [Wheel("e", "1", "engine", "e.whl", {"e.py": data}).version for data in (b"x = 1", b"x = 1", b"x = 2")]
    assert versions[0] == versions[1] != versions[2]
    assert re.fullmatch(r"[\d.]+\+[0-9a-f]{8}", versions[0])
