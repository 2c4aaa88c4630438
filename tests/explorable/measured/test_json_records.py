"""Records of a book that describes them by a schema alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from explorable import book
from explorable.book import Book
from explorable.measured.tables import table
from explorable.measured.tables.options import parse_options
from explorable.measured.values.recorded import Records
from explorable.records import JsonRecords

SCHEMA = {"properties": {"weir": {"type": "number", "unit": "m"}}}


def test_a_fault_says_whose_rule_it_breaks(tmp_path: Path) -> None:
    (tmp_path / "weir.schema.json").write_text(json.dumps(SCHEMA))
    _, faults = JsonRecords(tmp_path / "weir.schema.json").checked(b'{"weir": "high", "device": {}}', "line/a--b.json")
    assert {one.partition(", ")[2] for one in faults} == {
        "and every record of explorable has that",
        "says weir.schema.json",
    }


@pytest.mark.parametrize("command", ["", "python measure.py {suite}"])
def test_a_book_that_does_not_say_what_measures_offers_no_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    records = JsonRecords(tmp_path / "schema.json", command)
    monkeypatch.setattr(book, "_used", [Book(records=records)])
    options = parse_options("caption: Weirs\ncolumns: [{label: A, path: status}]")
    made = table._not_measured(options, "line")
    assert ("how" in [one.text for one in made.iter()]) is bool(command)
    repeated = table._repeat([], "line")
    assert repeated == ""
    with pytest.raises(Exception, match="no record in suite 'line'") as told:
        Records(tmp_path / "records", ()).one("line/a")
    assert ("''" in str(told.value), "measure.py line" in str(told.value)) == (False, bool(command))
