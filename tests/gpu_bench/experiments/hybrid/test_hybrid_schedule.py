"""The phases of hybrid training: rules that hold whatever the confidence and whenever a run diverges."""

from __future__ import annotations

from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_bench.experiments.hybrid.schedule import AGGRESSIVE, CONSERVATIVE, Phase, Position, Schedule, advance

counts = st.integers(1, 12)
rules = st.builds(
    Schedule,
    warmup_steps=counts,
    full_steps=counts,
    max_predict_steps=counts,
    confidence_threshold=st.floats(0, 1),
    correction_interval=counts,
)
happenings = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=150)


def phases(rules: Schedule, confidences: list[tuple[float, bool]]) -> list[Phase]:
    """The phase of each step; a divergence can only be noticed in an excursion."""
    at, seen = Position(), []
    for confidence, diverged in confidences:
        seen.append(at.phase)
        at = advance(rules, at, confidence, diverged=diverged and at.phase in ("predict", "correct"))
    return seen


@given(rules, happenings)
def test_what_every_schedule_keeps(rules: Schedule, happened: list[tuple[float, bool]]) -> None:
    seen = phases(rules, happened)
    assert set(seen[: rules.warmup_steps]) == {"warmup"}
    assert "warmup" not in seen[rules.warmup_steps :]
    runs = [(phase, len(list(run))) for phase, run in groupby(seen)]
    for index, (phase, length) in enumerate(runs):
        if phase == "predict":
            assert length <= rules.correction_interval
            assert runs[index - 1][0] in ("warmup", "full", "correct")
        if phase == "correct":
            assert length == 1
            assert runs[index - 1] == ("predict", rules.correction_interval)
        if phase == "full" and index < len(runs) - 1:
            assert length % rules.full_steps == 0
            assert runs[index + 1][0] == "predict"
    for excursion, steps in groupby(seen, key=lambda phase: phase in ("predict", "correct")):
        if excursion:
            assert list(steps).count("predict") <= rules.max_predict_steps


@given(rules, st.integers(1, 150))
def test_without_confidence_nothing_is_predicted_and_with_it_something_is(rules: Schedule, steps: int) -> None:
    sure = phases(rules, [(1.0, False)] * (rules.warmup_steps + steps))
    assert sure[rules.warmup_steps] == "predict"
    if rules.confidence_threshold > 0:
        assert "predict" not in phases(rules, [(0.0, False)] * steps)


def test_presets_are_those_of_the_plan() -> None:
    for preset, expected in ((CONSERVATIVE, (0.60, 50, 15)), (AGGRESSIVE, (0.55, 75, 10))):
        assert (preset.confidence_threshold, preset.max_predict_steps, preset.correction_interval) == expected


@pytest.mark.parametrize(
    ("field", "value"), [("full_steps", 0), ("correction_interval", -1), ("confidence_threshold", 1.5)]
)
def test_impossible_schedules_are_refused(field: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"{field} .* is not allowed"):
        Schedule(**{field: value})  # type: ignore[arg-type]
