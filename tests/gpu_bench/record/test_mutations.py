"""Falsified records: a changed value is refused if it follows from other values, or if it is impossible."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpu_bench.record import load
from gpu_bench.record.load import RecordError
from gpu_bench.record.store import RESULTS
from tests.conftest import tries
from tests.gpu_bench.record.mutations import falsified_at, kind, places

COMMITTED = sorted(RESULTS.rglob("*.json"))


TIMED = next(file for file in COMMITTED if file.parts[-2] == "smoke")
"""A record of timed steps, of an earlier version."""
NEVER = {
    "not a number", "infinite", "negative", "nested", "control character", "half a character", "renamed", "year 2099",
    "no such day",
}  # fmt: skip
"""Changes that are refused at every place of a record."""
FREE = ("provenance.packages", "provenance.environment")
"""Names of what a machine has installed."""


def _faults(text: str) -> list[str]:
    try:
        record = load.parse(text.encode("utf-8", "surrogatepass"))
    except RecordError as error:
        return [str(error)]
    return load.faults(record)


@settings(max_examples=tries(200), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), fresh=st.booleans())
def test_what_no_value_may_become_is_refused_at_every_place(
    record: dict[str, Any], data: st.DataObject, fresh: bool
) -> None:
    """A record of this checkout and one of an earlier version, as today's, falsified at any one place."""
    whole = record if fresh else load.parse(TIMED.read_bytes())
    place = data.draw(st.sampled_from(sorted(places(whole), key=str)), label="place")
    ways = [way for way in falsified_at(whole, place) if way[0] in NEVER and json.loads(way[2]) != whole]
    if not ways or (place[0] == "case" and len(place) == 2) or kind(place).startswith(FREE):
        return
    name, _, text = data.draw(st.sampled_from(ways), label="way")
    assert _faults(text), f"{name} at {kind(place)} was accepted"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(
            (name, 10**400)
            for name in ("seed", "devices", "memory_limit", "minimum_memory", "repeats", "steps", "batch")
        ),
        *((name, 1e300) for name in ("learning_rate", "time_limit_s", "energy_s")),
    ],
)
def test_a_setting_that_no_machine_could_have_is_refused(name: str, value: float) -> None:
    whole = json.loads(TIMED.read_text(encoding="utf-8"))
    assert name in whole["case"]
    whole["case"][name] = value
    assert f"/case/{name}" in "".join(_faults(json.dumps(whole)))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (b"[" * 200_000, "nested too deeply"),
        (b'{"a": ' * 200_000, "nested too deeply"),
        (b'{"a": NaN}', "NaN is not a finite number"),
        (b'{"a": 1e999}', "inf is not a finite number"),
        (b'{"a": 1, "a": 2}', "given twice"),
        (b'{"a": "\\u001b[31m"}', "control character"),
        (b'{"a": "\\ud800"}', "control character"),
        (b'{"\\ud800": 1}', "at '/': the text contains the control character"),
        (b"\xff\xfe", "not valid JSON"),
        (b"[]", "not a JSON object"),
        (b'{"a": ' + b"9" * 10_000 + b"}", "not valid JSON"),
        (b'{"schema_version": 4, "case": {"kind": ["x"]}}', "at /"),
        (b'{"schema_version": 4, "case": {"kind": {"a": 1}}}', "at /"),
        (b'{"schema_version": 2}', "at /schema_version: 2 is too small; allowed: 4 or more"),
    ],
)
def test_whatever_is_wrong_with_a_file_is_one_line(text: bytes, line: str, tmp_path: Path) -> None:
    file = tmp_path / "suite" / "case--device.json"
    file.parent.mkdir()
    file.write_bytes(text)
    record, faults = load.read(file)
    assert record is None
    assert line in faults[0]
    assert "\n" not in faults[0]


def _below(value: Any, levels: int) -> Any:
    """A value below so many names of the greatest length."""
    return {"k" * load.LONGEST_NAME: _below(value, levels - 1)} if levels else value


@pytest.mark.parametrize(
    ("document", "line"),
    [
        ({"k" * 100_000: [1] * 20_000}, "has 100,000 characters; allowed: 200"),
        ({"k" * 1_000_000: [1] * 7_000}, "has 1,000,000 characters; allowed: 200"),
        # As long as names may be, and as deep, above very many numbers.
        (_below([1] * 500_000, 22), "at /"),
    ],
)
def test_a_small_file_takes_little_memory(document: Any, line: str, tmp_path: Path) -> None:
    """The place of every number, written out, took 2 GB for a file of 140 KB; half a GB is enough."""
    file = tmp_path / "suite" / "case--device.json"
    file.parent.mkdir()
    file.write_text(json.dumps(document, separators=(",", ":")), encoding="utf-8")
    code = (
        "import resource, sys\nfrom gpu_bench.__main__ import main\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2**29, 2**29))\nsys.exit(main(sys.argv[1:]))"
    )
    done = subprocess.run([sys.executable, "-c", code, "validate", str(file)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "")
    assert line in done.stdout.splitlines()[0]
    assert all(len(told) < 1000 for told in done.stdout.splitlines())


def test_a_name_that_is_given_twice_at_the_end_of_many_is_found_at_once() -> None:
    many = 50_000
    text = "{" + "".join(f'"k{index}": 1, ' for index in range(many)) + f'"k{many - 1}": 2}}'
    started = time.process_time()
    with pytest.raises(load.RecordError, match=f"the name 'k{many - 1}' is given twice"):
        load.parse(text.encode())
    assert time.process_time() - started < 5


def test_committed_records_are_read_as_they_stand() -> None:
    for file in COMMITTED:
        record, faults = load.read(file)
        assert faults == []
        assert record is not None
        before: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        assert {**record["case"], **before["case"]} == record["case"]
