"""The plugin `explorable`: which book a site is, from `mkdocs.yml` or from a module; a wrong one is one line."""

from __future__ import annotations

from pathlib import Path

import pytest
from mkdocs.config import load_config

from explorable.book import Book, NoRecords, current, from_plain, library_of
from explorable.hosts.mkdocs.plugin import ExplorablePlugin
from explorable.live.runtime import exchange
from explorable.measured.errors import MeasuredError
from explorable.measured.values.quantities import parse_format, quantity, show
from explorable.records import JsonRecords
from explorable.shared.errors import UnbuildableError
from explorable.shared.svg import INK

SECOND = Path(__file__).parents[1] / "second_book"


def made(folder: Path, options: str) -> ExplorablePlugin:
    """The plugin of a site with these options."""
    (folder / "docs").mkdir(exist_ok=True)
    (folder / "mkdocs.yml").write_text(f"site_name: x\nplugins: [{{explorable: {options}}}]\n")
    plugin = load_config(str(folder / "mkdocs.yml")).plugins["explorable"]
    assert isinstance(plugin, ExplorablePlugin)
    return plugin


def test_options_say_what_the_book_is(tmp_path: Path) -> None:
    options = (
        f"{{id: queues, library: {SECOND}/queues, ledger: {SECOND}/ledger.json, colors: {{wait: '#006395'}}, "
        f"numbers: {{schema: {SECOND}/records.schema.json, command: 'measure {{suite}}', "
        "units: 'customer = [customer]'}}"
    )
    made(tmp_path, options).build.use_book()
    book = current()
    assert (book.id, book.module, list(book.ledger_fields()["properties"])) == (
        "queues",
        "queues",
        ["longest_wait_min"],
    )
    assert isinstance(book.records, JsonRecords)
    assert book.records.command("line") == "measure line"
    assert show(quantity(4.2, "customer"), parse_format("customer .1f")).glued == "4.2\u00a0customers"
    assert from_plain(book.plain()).units == book.units
    with pytest.raises(MeasuredError, match="unknown unit 'token'"):
        parse_format("token")
    assert (INK["wait"], "memory" in INK) == ("#006395", False)
    assert list(exchange._decisions()) == ["longest_wait_min"]


def test_a_book_may_say_nothing(tmp_path: Path) -> None:
    made(tmp_path, "{}").build.use_book()
    assert (current().library, current().ledger_fields()["properties"]) == (None, {})
    assert isinstance(current().records, NoRecords)
    assert exchange._decisions() == {}


def test_a_module_may_say_it(tmp_path: Path) -> None:
    (tmp_path / "one_book.py").write_text("from explorable.book import Book\nBOOK = Book(id='told')\n")
    made(tmp_path, "{book: one_book}").build.use_book()
    assert current() == Book(id="told", records=current().records)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("{id: My Book}", "id: 'My Book' is not allowed; allowed: lower-case letters"),
        ("{library: no_such_package}", "there is no package 'no_such_package'; install it"),
        ("{colors: {wait: blue}}", "colors: 'wait: blue' is not allowed; allowed: .* '#006395'"),
        ("{numbers: {units: guest}}", r"numbers: units: 'guest' defines no unit; allowed: .*'guest = \[guest\]'"),
        ("{numbers: {units: 'x = 9**9 * byte'}}", "numbers: units: 'x = .*' defines no unit"),
        ("{numbers: {units: 'byte = [byte]'}}", "numbers: units: there is a unit 'byte' already"),
        ("{numbers: {units: 'dozen = 12 * gast'}}", "numbers: units: 'gast' is not defined"),
        ("{book: no_such_module}", "there is no module 'no_such_module'"),
        ("{book: json}", "the module 'json' has no BOOK"),
    ],
)
def test_a_wrong_option_is_one_line(tmp_path: Path, options: str, said: str) -> None:
    with pytest.raises(UnbuildableError, match=said) as caught:
        made(tmp_path, options).build.use_book()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("part", ["measured", "figures"])
def test_a_part_s_library_that_is_not_there_is_one_line(tmp_path: Path, part: str) -> None:
    with pytest.raises(
        UnbuildableError, match=f"^{part}: option 'engine' is 'no_such', which is not a Python package$"
    ):
        library_of(part, "no_such", tmp_path)


def test_a_site_may_have_some_of_the_parts(tmp_path: Path) -> None:
    assert list(made(tmp_path, "{}").build.parts) == ["live", "measured", "figures"]
    assert list(made(tmp_path, "{parts: [live], figures: {chapter: x}}").build.parts) == ["live"]


RECORD = """{"status": "ok", "case": {}, "summary": {"waiting": {"median": 5, "iqr": 1, "n": 9}},
"device": {"name": "x"}, "provenance": {"finished": "2026-01-01", "git_commit": null, "dirty": false}}"""


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (RECORD, None),
        ("{", "not valid JSON"),
        (RECORD.replace('"ok"', "5"), "at status: 5 is not of type 'string'"),
        (RECORD.replace('"n": 9', '"n": "9"'), "at summary.waiting.n: '9' is not of type 'integer'"),
    ],
)
def test_records_are_what_their_schema_says(text: str, fault: str | None) -> None:
    document, faults = JsonRecords(SECOND / "records.schema.json").checked(text.encode(), "line/one--x.json")
    assert (document is None) == bool(fault)
    assert [one[: len(fault)] for one in faults] == [fault] if fault else not faults
