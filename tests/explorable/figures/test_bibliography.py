"""Works that a sentence would name alike get letters, as reference lists have them."""

from __future__ import annotations

from pathlib import Path

from explorable.figures.bibliography import load

ENTRY = (
    "@misc{{{key}, author = {{{author}}}, title = {{{title}}}, year = {{2024}}, url = {{https://example.org/{key}}}}}\n"
)


def test_works_of_the_same_authors_and_year_are_told_apart(tmp_path: Path) -> None:
    entries = [
        ("one", "Ada Lovelace", "Notes"),
        ("two", "Ada Lovelace", "Letters"),
        ("three", "Emmy Noether", "Ideals"),
    ]
    file = tmp_path / "references.bib"
    file.write_text("".join(ENTRY.format(key=key, author=author, title=title) for key, author, title in entries))
    assert {key: work.short for key, work in load(file).items()} == {
        "one": "Lovelace, 2024b",
        "two": "Lovelace, 2024a",
        "three": "Noether, 2024",
    }
