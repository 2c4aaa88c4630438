"""The link to the form for a wrong number: it fills fields that the form has, and is nowhere without a repository."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import yaml

from explorable.measured import wrong
from explorable.measured.links import Links

TEMPLATES = Path(__file__).parents[3] / ".github/ISSUE_TEMPLATE"
KNOWN = {"page": "https://example.org/book/chapter/why/", "version": "1.0, build abc"}


def test_the_link_fills_fields_of_the_issue_form() -> None:
    links = Links("index.md", {}, "records", form=wrong.form("https://github.com/some/book/", **KNOWN))
    [link] = links.report("12.5 GB", 'Computed: "a" & b = 12.5')
    address = urlsplit(link.get("href", ""))
    assert address.netloc + address.path == "github.com/some/book/issues/new"
    asked = {name: value for name, [value] in parse_qs(address.query).items()}
    form = yaml.safe_load((TEMPLATES / asked.pop("template")).read_text("utf-8"))
    assert asked == {**KNOWN, "number": "12.5 GB", "origin": 'Computed: "a" & b = 12.5'}
    fields = {part["id"]: part["type"] for part in form["body"]}
    # GitHub fills in fields of text only.
    assert all(fields[name] in ("input", "textarea") for name in asked)


def test_the_link_asks_and_judges_nothing() -> None:
    """It stands behind every check, also where both texts agree: "This number is wrong" read as the check's verdict."""
    [link] = Links("index.md", {}, "records", form=wrong.form("https://github.com/some/book/", **KNOWN)).report(
        "1", "2"
    )
    assert link.text == "Number wrong? Tell us"


def test_without_a_repository_there_is_no_link() -> None:
    assert Links("index.md", {}, "records", form=wrong.form("", **KNOWN)).report("1", "2") == []
