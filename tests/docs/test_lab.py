"""The lab as a whole: the ledger agrees with what the acts show, and every row of the sources is linked."""

from __future__ import annotations

import itertools
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorable.live.build.description import describe
from explorable.live.build.rooms import Written
from explorable.live.runtime.acts import LoadedAct
from explorable.live.runtime.contract import APART_PX, SCALE_PX
from explorable.live.runtime.validation import MOST_WORDS
from tests.docs.acts import loaded, number, state_of

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted((DOCS / "lab").glob("*.md"))
ASKING = ("optimizer-memory-tax", "mfu-gap", "laptop-challenge", "trust-but-measure")


@cache
def act(name: str) -> LoadedAct:
    return loaded(name)


def settings_of(name: str) -> st.SearchStrategy[dict[str, Any]]:
    """Every setting of an act's controls."""
    described: Any = describe(act(name))
    values = {
        control["name"]: st.sampled_from([one["value"] for one in control["options"]])
        if control["kind"] == "choice"
        else st.booleans()
        for control in described["controls"]
    }
    return st.fixed_dictionaries(values)


def view(name: str, prediction: float, controls: dict[str, Any]) -> Any:
    return act(name).compute(state_of(act(name), prediction, revealed=True, **controls))


@given(settings_of("mfu-gap"), st.sampled_from((0, 12.5, 35, 100)))
def test_act_3_writes_the_mfu_of_its_gauge_and_the_readers_own_estimate(
    controls: dict[str, Any], prediction: float
) -> None:
    shown = view("mfu-gap", prediction, controls)
    fields = shown["ledger"]
    gauge = next(row for row in shown["data"]["gauges"] if row["gauge"] == "mfu")
    assert fields["final_mfu_pct"] == pytest.approx(gauge["value"])
    assert fields["baseline_mfu_estimate_pct"] == prediction
    assert (fields["precision_chosen"], fields["gradient_checkpointing"]) == (
        controls["precision"],
        controls["checkpointing"],
    )
    assert "optimizer_chosen" not in fields


@given(settings_of("laptop-challenge"))
def test_the_challenge_is_won_where_it_says_so(controls: dict[str, Any]) -> None:
    shown = view("laptop-challenge", 8, controls)
    fields = shown["ledger"]
    assert fields["laptop_fit_achieved"] == (shown["failure"] is None) == (shown["success"] is not None)
    assert fields["laptop_fit_achieved"] == ("it fits, and it trains" in shown["headline"]["label"])
    assert (fields["optimizer_chosen"], fields["precision_chosen"]) == (controls["optimizer"], controls["precision"])


def test_the_least_memory_in_the_ledger_is_the_answer_of_the_challenge() -> None:
    challenge = act("laptop-challenge")
    state = state_of(challenge, 8)
    fields: Any = challenge.compute(state)
    verdict: Any = challenge.reveal(state)
    assert fields["ledger"]["laptop_minimum_memory_gb"] == pytest.approx(verdict["gap"]["answer"])
    floor = next(row for row in verdict["tables"]["floors"]["rows"] if row["a"] == "Stable training")
    assert number(floor["e"]) == pytest.approx(verdict["gap"]["answer"], abs=0.005)


@given(settings_of("optimizer-memory-tax"), st.sampled_from(("node", "laptop")))
def test_act_1_writes_the_chosen_optimizer_and_precision(controls: dict[str, Any], context: str) -> None:
    tax = act("optimizer-memory-tax")
    shown: Any = tax.compute(state_of(tax, 12, **controls) | {"context": context})
    assert shown["ledger"] == {
        "optimizer_chosen": controls["optimizer"],
        "precision_chosen": controls["precision"],
    }


@pytest.mark.parametrize("name", ["mfu-gap", "laptop-challenge", "trust-but-measure"])
@pytest.mark.parametrize("position", [0.0, 0.1, 0.5, 1.0])
def test_the_gap_that_the_sentence_names_is_that_of_the_ledger(name: str, position: float) -> None:
    question: Any = act(name).act.question
    prediction = question.minimum + position * (question.maximum - question.minimum)
    verdict: Any = act(name).reveal(state_of(act(name), prediction))
    said = re.search(r"([\d.]+) times (?:that|what you said|your)", verdict["headline"])
    far = re.search(r"([\d.]+) [GM]B (more|less)", verdict["headline"])
    if said is not None:
        assert float(said[1]) == pytest.approx(verdict["gap"]["factor"], abs=0.05)
    elif far is not None:
        sign = 1 if far[2] == "more" else -1
        assert sign * float(far[1]) == pytest.approx(verdict["gap"]["difference"], abs=0.006)
    else:
        assert verdict["correct"] or prediction == 0


@given(settings_of("mfu-gap"), settings_of("laptop-challenge"))
def test_the_score_is_the_mfu_of_a_step_that_runs_and_the_speed_of_a_recipe_that_wins(
    bench: dict[str, Any], recipe: dict[str, Any]
) -> None:
    shown = view("mfu-gap", 50, bench)
    assert shown["score"] == (None if shown["failure"] else shown["ledger"]["final_mfu_pct"])
    won = view("laptop-challenge", 8, recipe)
    assert (won["score"] is None) == (won["success"] is None)
    early: Any = act("mfu-gap").compute(state_of(act("mfu-gap"), 50, **bench))
    assert early["score"] is None


@pytest.mark.parametrize("name", ASKING)
def test_the_sentence_of_a_reveal_has_at_most_sixty_words(name: str) -> None:
    verdict: Any = act(name).reveal(state_of(act(name), 8 if name != "optimizer-memory-tax" else 3, revealed=True))
    assert len(verdict["headline"].split()) <= MOST_WORDS


def test_what_explains_an_answer_reads_well_after_right_and_after_not_so() -> None:
    """A wrong answer was once told: "Not so. So it is where memory is fullest"."""
    for name in ASKING:
        for reflection in act(name).act.reflections:
            for option in (option for blank in reflection.blanks for option in blank.options):
                assert not option.why.startswith(("So ", "That is so")), (name, option.why)


# ---- pages ----


def text(pages: list[Path]) -> str:
    return "\n".join(page.read_text(encoding="utf-8") for page in pages)


def test_every_row_of_the_plans_table_8_is_linked_from_the_page_that_uses_it() -> None:
    claims = tomllib.loads((DOCS / "claims/lab-two-acts.toml").read_text(encoding="utf-8"))["claim"]
    rows = {claim["id"] for claim in claims if claim["id"].startswith("table8-")}
    assert len(rows) > 15
    linked = set(re.findall(r"`\{claim\} ([\w-]+)`", text(PAGES)))
    assert rows - linked == set()


def test_a_class_sees_the_acts_in_the_order_of_the_lab() -> None:
    [listed] = re.findall(r'<live-class data-acts="([^"]+)"', (DOCS / "lab/class.md").read_text(encoding="utf-8"))
    navigation = (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8")
    pages = dict.fromkeys(re.findall(r"((?:lab|missions)/[\w-]+\.md)", navigation))
    acts = [
        found
        for page in pages
        for found in re.findall(r"^/// act \| ([\w-]+(?:: \w+)?)$", (DOCS / page).read_text(), re.MULTILINE)
    ]
    asking = [name for name in acts if act(name).act.question is not None]
    assert listed.split() == [Written.read(name).name for name in asking]


def test_every_act_is_on_one_page_of_the_lab_and_its_minutes_are_those_of_the_overview() -> None:
    overview = (DOCS / "lab/index.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^\| \[.*?\]\(([\w-]+\.md)\) \|.*\| (\d+) \|$", overview, re.MULTILINE))
    for name in ASKING:
        (page,) = (page for page in PAGES if f"/// act | {name}\n" in page.read_text(encoding="utf-8"))
        assert int(listed[page.name]) == act(name).act.minutes


def test_the_home_page_tells_the_minutes_of_the_first_act() -> None:
    """It once said 5 where the act said 12."""
    home = (DOCS / "index.md").read_text(encoding="utf-8")
    [minutes] = re.findall(r"<small>(\d+) minutes</small>\]\(lab/act1\.md\)", home)
    assert int(minutes) == act("optimizer-memory-tax").act.minutes


def test_the_overviews_tell_the_same_minutes() -> None:
    instructor = (DOCS / "lab/instructor.md").read_text(encoding="utf-8")
    for name in ASKING:
        (page,) = (page for page in PAGES if f"/// act | {name}\n" in page.read_text(encoding="utf-8"))
        assert re.search(rf"\]\({page.name}\) \| {act(name).act.minutes} \|", instructor)


def test_a_page_with_an_act_leads_to_the_ledger() -> None:
    for page in PAGES:
        written = page.read_text(encoding="utf-8")
        if any(f"/// act | {name}\n" in written for name in ASKING):
            assert "](ledger.md)" in written, page.name


NEXT = re.compile(r"^\*\*Next: .*?\[[^]]+\]\(([^)]+)\)\*\*, because .+\.$", re.MULTILINE)


def test_the_map_is_a_way_that_each_step_leads_along_with_its_reason() -> None:
    written = (DOCS / "lab/index.md").read_text(encoding="utf-8")
    listed = written[written.index('class="il-map"') : written.index("</div>")]
    steps = [(DOCS / "lab" / link).resolve() for link in re.findall(r"^\d\. .*?\]\((.+?)\)", listed, re.MULTILINE)]
    *walked, missions, defense = steps
    for page, following in zip(walked, [*walked[1:], missions], strict=True):
        (named,) = NEXT.findall(page.read_text(encoding="utf-8"))
        assert (page.parent / named).resolve() == following
    for track in ("cloud", "edge", "mobile", "tiny"):
        parts = [missions.parent / f"{track}-{part}.md" for part in ("audit", "race", "wall")]
        assert all(f"../missions/{part.name}" in listed for part in parts)
        for page, following in zip(parts, [*parts[1:], defense], strict=True):
            (named,) = NEXT.findall(page.read_text(encoding="utf-8"))
            assert page.parent / named == following
    acts = {page for page in DOCS.glob("lab/*.md") if "\n/// act |" in page.read_text(encoding="utf-8")}
    assert acts == set(walked)


@pytest.mark.parametrize("name", ASKING)
def test_well_known_answers_lie_apart_on_the_scale_that_a_phone_shows(name: str) -> None:
    """The build holds every act to it (rehearsal.py); here the two that once lay six pixels apart."""
    question: Any = act(name).act.question
    places = [
        SCALE_PX * (value - question.minimum) / (question.maximum - question.minimum)
        for value in sorted({question.answer(), *question.beliefs()})
    ]
    assert all(right - left >= APART_PX for left, right in itertools.pairwise(places))
    if name == "laptop-challenge":
        assert len(places) == 4
        assert question.beliefs()[0] == pytest.approx(8.05, abs=0.01)
