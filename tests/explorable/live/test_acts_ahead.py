"""Acts are baked before a page asks for them, and nothing of it shows but the time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from explorable.live.build.measured import Evidence
from explorable.live.build.rooms import Written
from explorable.live.build.runner import ActDefect, Runner
from explorable.shared.cache import Cache

ACT = """\
from explorable.live import *

def compute(state):
    return View({}, Figure("a", "1", "GB"), "%s")

ACT = Act("%s", "Tiny", 3, "s", (Context("c", "C", "d"),), NumberQuestion("Q?", "s", 0, 9, lambda: 3.0), (), compute,
          lambda prediction, state: Verdict(False, "h", ()), {})
"""


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[Runner]:
    """A runner of the acts `good`, and `bad`, which imports what the page's Python has not."""
    for name, text in (("good", ACT), ("bad", f"import subprocess\n{ACT}")):
        folder = tmp_path / "acts" / name
        folder.mkdir(parents=True)
        (folder / "act.py").write_text(text % (name, name))
    evidence = Evidence(tmp_path / "records", tmp_path)
    one = Runner(Cache(tmp_path / "cache"), tmp_path / "bytecode", 60.0, tmp_path / "acts", "acts", evidence)
    yield one
    one.close()


def test_an_act_is_ready_when_it_is_asked_for(runner: Runner, tmp_path: Path) -> None:
    runner.begin([Written("good", "")])
    until = time.monotonic() + 60
    while len(list((tmp_path / "cache").glob("*.json"))) < 2 and time.monotonic() < until:
        time.sleep(0.05)
    # Whatever becomes of the file meanwhile, the page shows what was read.
    (tmp_path / "acts/good/act.py").write_text("raise SystemExit")
    assert runner.act(Written("good", "")).view["summary"] == "good"
    with pytest.raises(ActDefect):
        runner.act(Written("good", ""))


def test_what_is_wrong_with_an_act_is_told_where_it_is_asked_for(runner: Runner) -> None:
    runner.begin([Written("bad", ""), Written("none", ""), Written("good", "")])
    assert runner.act(Written("good", "")).view["summary"] == "good"
    with pytest.raises(ActDefect, match="it imports subprocess"):
        runner.act(Written("bad", ""))
    with pytest.raises(LookupError):
        runner.act(Written("none", ""))


def test_a_build_that_ends_early_leaves_no_process_behind(runner: Runner) -> None:
    runner.begin([Written("good", "")])
    runner.close()
    assert runner._playing._process is None
