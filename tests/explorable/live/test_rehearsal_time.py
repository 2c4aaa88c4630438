"""The time limit holds for every call of an act; a rehearsal, which makes some hundred calls, has several limits."""

from __future__ import annotations

from pathlib import Path

import pytest

from explorable.live.build.measured import Evidence
from explorable.live.build.rooms import Written
from explorable.live.build.runner import Runner
from explorable.shared.cache import Cache

LIMIT_S = 1.0
ACT = """
import time
from explorable.live import *

def compute(state):
    until = time.process_time() + 0.06
    while time.process_time() < until:
        pass
    return View({}, Figure("a", "1", "GB"), "s")

ACT = Act("slow", "Slow", 3, "s", (Context("c", "C", "d"),),
          NumberQuestion("How much?", "%", 0, 100, lambda: 35.0), (), compute,
          lambda prediction, state: Verdict(False, "h", ()), {})
"""


@pytest.mark.full
def test_a_rehearsal_may_take_longer_than_one_call(tmp_path: Path) -> None:
    act = tmp_path / "acts/slow/act.py"
    act.parent.mkdir(parents=True)
    # The ends and the middle of every slider are played.
    controls = "".join(f'Slider("n{n}", "N", 0, 10, 5, step=1), ' for n in range(6))
    act.write_text(ACT.replace("(), compute,", f"({controls}), compute,"))
    evidence = Evidence(tmp_path / "records", tmp_path)
    runner = Runner(Cache(None), tmp_path / "bytecode", LIMIT_S, tmp_path / "acts", "acts", evidence)
    try:
        assert runner.act(Written("slow", "")).view["summary"] == "s"
    finally:
        runner.close()
