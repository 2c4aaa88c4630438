"""The planner's answer: what it shows is the engine's, for every model and setting, and says how sure it is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docs.acts.plan.act import ACT
from docs.acts.plan.choices import CONTROLS, words_of
from explorable.live import Choice, Slider, State, Toggle
from ironlaw import GB, estimate
from ironlaw.models.config_json import published
from tests.docs.planner import START, UNCOUNTED, at

LINEAR = "Qwen/Qwen3-Next-80B-A3B-Instruct"


def test_what_is_shown_is_what_the_engine_answers() -> None:
    state = at(model="Qwen/Qwen3-8B", gpu="a100-80", method="qlora", batch=3, sequence=3000, rank=64)
    view, found = ACT.compute(state), estimate(**words_of(state))
    assert view.headline.value == f"{found.memory_bytes.device_total / GB:.1f}"
    parts = view.data["bar"]
    assert float(str(parts[-1]["to"])) == pytest.approx(found.memory_bytes.device_total / GB)
    assert view.readings["Verdict"] == "Fits" == (view.success.title if view.success else "")
    moving = ACT.compute(State(state.context, state.controls, moving=True))
    assert moving.headline == view.headline
    assert all(moving.data[name] == view.data[name] for name in moving.data)


@pytest.mark.sampled(16)
@pytest.mark.parametrize("model", published())
@pytest.mark.parametrize("method", ["full", "lora", "qlora"])
def test_every_model_has_an_answer(model: str, method: str) -> None:
    view = ACT.compute(at(model=model, method=method))
    assert (view.failure or view.success) is not None
    assert view.summary


@given(st.data())
def test_every_setting_has_an_answer_in_words(data: st.DataObject) -> None:
    """Whatever a reader chooses, the page answers or says in a sentence why not."""
    controls: dict[str, Any] = {}
    for control in data.draw(st.lists(st.sampled_from(CONTROLS), max_size=6)):
        if isinstance(control, Choice) and control.name != "model":
            controls[control.name] = data.draw(st.sampled_from([option.value for option in control.options]))
        elif isinstance(control, Toggle):
            controls[control.name] = data.draw(st.booleans())
        elif isinstance(control, Slider) and control.integer:
            controls[control.name] = data.draw(st.integers(int(control.minimum), int(control.maximum)))
    state = State("run", {**at(model="Qwen/Qwen2.5-0.5B").controls, **controls}, moving=True)
    view = ACT.compute(state)
    assert view.headline.value
    if view.failure:
        assert view.failure.title in ("Does not fit", "Uncertain", "Not possible together", UNCOUNTED)


def test_the_summary_never_mixes_what_is_counted_with_what_is_expected() -> None:
    state = at(method="full")
    view, found = ACT.compute(state), estimate(**words_of(state))
    assert found.calibrated is not None
    expected, counted = view.summary.split(" Counted, ")
    assert f"expect {found.calibrated.needed.expected / GB:.1f} GB" in expected
    assert view.readings["A step"] in expected
    assert f"{found.memory_bytes.device_total / GB:.1f} GB" in counted
    assert view.failure is None or view.failure.title == "Does not fit"
    fits = ACT.compute(at())
    assert fits.success is not None
    near = estimate(**words_of(at())).calibrated
    assert near is not None
    assert f"the errors on {near.needed.runs} published runs like it" in fits.success.what


@pytest.mark.sampled(10)
@pytest.mark.parametrize("name", sorted(published(), key=lambda name: name != LINEAR))
def test_every_model_of_the_menu_has_a_plan_or_a_reason_of_its_own(name: str) -> None:
    """Linear attention alone is counted in parameters only, and the page says so."""
    view = ACT.compute(at(model=name, sequence=512))
    assert ("linear attention" in view.summary) is (name == LINEAR)
    assert view.headline.label.startswith("Peak of a card") or "linear attention" in view.summary


def test_before_python_starts_the_page_says_of_the_plan_what_it_says_later(site: Path) -> None:
    page = (site / "plan/index.html").read_text("utf-8")
    (headline,) = re.findall(r'<p class="il-headline"[^>]*>.*?</p>', page)
    assert ACT.compute(START).success
    assert 'data-failed="false" data-reached="true"' in headline
    assert 'data-slot="headline-flag">Fits</span>' in headline


def test_uncertain_says_whether_the_count_fits_and_why_it_may_be_otherwise() -> None:
    seen = set()
    for sequence in range(512, 16_384, 512):
        state = at(gpu="a100-40", batch=4, sequence=sequence, chunked=True)
        view = ACT.compute(state)
        if view.failure is None or view.failure.title != "Uncertain":
            continue
        more = float(view.headline.value) > float(view.headline.unit.split()[1])
        seen.add(more)
        found = estimate(**words_of(state))
        assert found.calibrated
        yes = found.calibrated.needed.expected <= found.memory_bytes.capacity
        leaning = "probably yes" if yes else "probably not"
        assert view.failure.what.lower().startswith(f"{leaning}. ")
        assert view.summary.startswith(f"Uncertain, {leaning}: ")
        if float(view.headline.value) != float(view.headline.unit.split()[1]):
            assert ("By the count it does not fit" in view.failure.what) == more
            assert ("Some published runs took less than their count." in view.failure.excess) == more
    assert seen == {True, False}
