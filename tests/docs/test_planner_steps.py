"""The search for changes stops often enough for the page to answer a hand, whatever the plan."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from docs.acts.plan import tips
from ironlaw.answers.estimate import prepare
from ironlaw.memory import ledger
from ironlaw.time import step
from tests.docs.planner import at

MOST = 12
"""Configurations that are counted between two stops: a dozen take a second in a browser, where many dozens did not."""


@pytest.mark.parametrize(
    "controls",
    [
        pytest.param({"model": "google/gemma-2-27b", "sequence": 131_072}, marks=pytest.mark.full),
        pytest.param({"model": "meta-llama/Meta-Llama-3.1-405B", "gpus": 8}, marks=pytest.mark.full),
        {"model": "deepseek-ai/DeepSeek-V3", "gpus": 8, "method": "qlora", "sequence": 16_384},
    ],
)
def test_a_search_for_changes_counts_few_configurations_at_a_time(
    monkeypatch: pytest.MonkeyPatch, controls: dict[str, Any]
) -> None:
    counted: list[str] = []

    def noted(of: Any, *words: Any) -> Any:
        counted.append(of.__name__)
        return of(*words)

    monkeypatch.setattr(ledger, "_plan", partial(noted, ledger._plan))
    monkeypatch.setattr(step, "_with_kernels", partial(noted, step._with_kernels))
    for cached in (prepare, ledger._plans, step._step_plan):
        cached.cache_clear()
    monkeypatch.setattr(tips, "PATIENCE", -1.0)
    found, most = [], 0
    for one in tips.suggest(at(**controls)):
        most = max(most, len(counted))
        counted.clear()
        if one is tips.DONE:
            break
        found.append(one.title)
    assert any(found)
    assert most <= MOST
