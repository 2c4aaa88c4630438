"""Reported numbers: beside the engine's, with their source, and refused where something of them is missing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from explorable.measured.reported.data import load
from explorable.measured.reported.table import off
from tests.explorable.measured.made import Site

ROOT = Path(__file__).resolve().parents[3]
SOURCE = """[[source]]
id = "log"
title = "A log"
url = "https://example.org/log"
where = "its last line"
date = "2024-07-14"
read = "copy"
note = "read in a repost"
"""
ROW = """[[reported]]
id = "weights"
group = "small"
what = "GPT-2: weights"
settings = "in FP32"
value = 500.5
unit = "MB"
format = ".1f"
source = "log"
engine = 'model("gpt2").parameters * quantity(4, "B")'
"""
BLOCK = "# Page\n\n/// reported | small\ncaption: Weights\n///\n"


def write(site: Site, rows: str = ROW, sources: str = SOURCE) -> None:
    folder = site.folder / "docs/measured/reported"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "rows.toml").write_text(rows, "utf-8")
    (folder / "sources.toml").write_text(sources, "utf-8")


def test_a_block_names_its_own_columns(site: Site) -> None:
    write(site)
    site.page(BLOCK.replace("caption: Weights\n", "caption: Weights\nengine: On the box\ngap: Box over reached\n"))
    head = site.build().partition("<thead>")[2].partition("</thead>")[0]
    assert re.findall(r"<th [^>]*>([^<]*)</th>", head) == ["What", "On the box", "Reported", "Box over reached"]


def test_the_engine_stands_beside_what_was_reported_with_source_and_mark(site: Site) -> None:
    write(site)
    site.page(BLOCK)
    html = site.build()
    [row] = re.findall(r"<tr>\s*<th scope=\"row\">.*?</tr>", html, re.DOTALL)
    assert [re.sub(r"<.*?>", "", cell) for cell in re.findall(r"<td.*?</td>", row, re.DOTALL)] == [
        "497.8\xa0MB",
        "500.5\xa0MB",
        "−1 %",
    ]
    [reported] = re.findall(r"<a [^>]*il-reported[^>]*>", row)
    assert 'href="https://example.org/log"' in reported
    assert "A log: its last line, 2024-07-14, read in a copy; read in a repost" in reported
    assert "il-computed" in row
    assert 'il-measured"' not in row


def test_a_row_that_the_engine_cannot_answer_has_no_prediction(site: Site) -> None:
    write(site, re.sub(r"engine = .*\n", "", ROW))
    site.page(BLOCK)
    html = site.build()
    assert "The engine says" not in html
    assert "500.5\xa0MB" in html


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("value = 500.5\n", ""), "'value' is missing"),
        (('source = "log"', 'source = "lag"'), "there is no source 'lag'"),
        (('unit = "MB"', 'unit = "s"'), "docs/measured/reported/rows.toml:1): the value is in "),
        (('unit = "MB"', 'unit = "s"'), "which cannot be shown in 's'"),
        (('model("gpt2")', 'model("gpt9")'), "gpt9"),
        (("settings", "setings"), "setings"),
    ],
)
def test_a_mistake_names_file_line_and_what_is_wrong(site: Site, change: tuple[str, str], words: str) -> None:
    write(site, ROW.replace(*change))
    site.page(BLOCK)
    assert any(words in warning for warning in site.defects()), site.warnings


def test_a_source_needs_an_address_and_somebody_who_cites_it(site: Site) -> None:
    write(site, sources=SOURCE.replace("https://", "ftp://"))
    folder = site.folder / "docs/measured/reported"
    assert any("sources.toml" in defect.file for defect in load(folder, site.folder).defects)
    write(site, sources=SOURCE + SOURCE.replace('"log"', '"other"'))
    [defect] = load(folder, site.folder).defects
    assert str(defect).startswith("docs/measured/reported/sources.toml:9: nothing cites source 'other'. cite it in")


def test_the_books_own_rows_are_complete() -> None:
    loaded = load(ROOT / "docs/measured/reported", ROOT)
    assert not loaded.defects
    assert len(loaded.rows) > 50


@pytest.mark.parametrize(
    ("times", "said"), [(0.98, "2 % less"), (1.333, "33 % more"), (1.001, "0 %"), (3.0, "200 % more")]
)
def test_a_book_without_words_of_its_own_says_more_and_less(times: float, said: str) -> None:
    assert off(times) == said


def test_a_file_that_nothing_reads_is_a_fault(site: Site) -> None:
    write(site)
    (site.folder / "docs/measured/reported/floods.toml").write_text(ROW)
    [defect] = load(site.folder / "docs/measured/reported", site.folder).defects
    said = "docs/measured/reported/floods.toml: nothing reads it. write it into rows.toml and sources.toml beside it."
    assert str(defect) == said


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (('date = "2024-07-14"', "date = 2024-07-14"), """'date' is 2024-07-14. write a text in quotes, as "…"."""),
        (('title = "A log"', "title = true"), """'title' is true. write a text in quotes, as "…"."""),
        (("value = 500.5", "value = [500.5]"), "'value' is [500.5]. write a number."),
        (("value = 500.5", "value = -0.5"), "'value': -0.5 is less than or equal to the minimum of 0"),
    ],
)
def test_a_wrong_value_is_told_with_its_key_as_the_file_says_it(
    site: Site, change: tuple[str, str], words: str
) -> None:
    write(site, ROW.replace(*change), SOURCE.replace(*change))
    [defect, *_] = load(site.folder / "docs/measured/reported", site.folder).defects
    assert words in str(defect)
