"""Real records from which one name is deleted: whatever is wrong then is a line that says what, in plain words."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from gpu_bench.__main__ import main
from gpu_bench.record.store import RESULTS
from tests.gpu_bench.record.mutations import Place, at, kind, places

_OTHERS = ("smoke", "pipeline", "roofline")
FILES = [
    *sorted(file for suite in ("failures", "hybrid") for file in (RESULTS / suite).glob("*.json")),
    *(next((RESULTS / suite).glob("*.json")) for suite in _OTHERS),
]
PARTS = 30
"""The names of a record are divided into so many tests, of which a short run has one."""
_EXCEPTION = re.compile(r"[A-Z][a-z]+(Error|Iteration|Exception)")


def _kinds(record: dict[str, Any]) -> list[Place]:
    """The first place of every kind: of each list's items one, and of the runs the one others are held against."""
    found: dict[str, Place] = {}
    for place in places(record):
        if isinstance(place[-1], str):
            name = kind(place)
            if place[:2] == ("arms", "runs") and len(place) > 3 and place[2] not in ("plain", "clean"):
                name = kind((*place[:2], 0, *place[3:]))
            found.setdefault(name, place)
    return [*found.values()]


def _said(record: dict[str, Any], folder: Path, name: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What `validate` prints of faults, each of which names the file; without that name."""
    file = folder / name.parent.name / name.name
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(record), encoding="utf-8")
    status = main(["validate", str(file)])
    *lines, total = capsys.readouterr().out.splitlines()
    assert (status, total) == (int(bool(lines)), f"1 records, {int(bool(lines))} faulty")
    assert all(line.startswith(f"{file}: ") for line in lines)
    return [line.removeprefix(f"{file}: ") for line in lines]


@pytest.mark.sampled(2 * PARTS)
@pytest.mark.parametrize(("file", "part"), [(file, part) for file in FILES for part in range(PARTS)])
def test_a_record_without_one_name_is_a_line_in_plain_words(
    file: Path, part: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = json.loads(file.read_text(encoding="utf-8"))
    for place in _kinds(record)[part::PARTS]:
        parent = at(record, place[:-1])
        value = parent.pop(place[-1])
        for line in _said(record, tmp_path, file, capsys):
            assert not _EXCEPTION.search(line), (place, line)
        parent[place[-1]] = value


_CLIPPING, _DIGITS, _MEMORY = (
    next(file for file in FILES if file.name.startswith(name))
    for name in ("failure-clipping", "hybrid-digits-ci", "hybrid-memory")
)


@pytest.mark.parametrize(
    ("file", "place", "line"),
    [
        (_CLIPPING, "case/kind", "at /case: 'kind' is a required property"),
        (_CLIPPING, "arms/runs/clean", "at /arms/runs: the reference is missing"),
        (_CLIPPING, "arms/runs/clean/settings/steps", "at /arms/runs/clean/settings: 'steps' is a required property"),
        (_CLIPPING, "arms/runs/clean/seeds/0/curves/loss", "at /arms/runs/clean/seeds/0/curves: 'loss' is a required"),
        (_DIGITS, "arms/runs/plain", "at /arms/runs: 'plain' is a required property"),
        (_DIGITS, "arms/runs/plain/seeds/1", "at /arms/runs/plain/seeds: there are 4 repeats, the case has 5"),
        (_DIGITS, "arms/runs/plain/seeds/1/test/accuracy", "at /arms/runs/plain/seeds/1/test: 'accuracy' is a"),
        (_MEMORY, "arms/runs/plain/seeds/1/memory", "at /arms/runs/plain/seeds/1: 'memory' is a property of all"),
    ],
)
def test_what_runs_are_held_against_is_asked_for_by_its_name(
    file: Path, place: str, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = json.loads(file.read_text(encoding="utf-8"))
    *above, name = (int(key) if key.isdigit() else key for key in place.split("/"))
    del at(record, tuple(above))[name]
    assert _said(record, tmp_path, file, capsys)[0].startswith(line)
