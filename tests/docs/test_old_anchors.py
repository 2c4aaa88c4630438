"""Links that readers have: each anchor of the commit in `old_anchors.json` still leads somewhere."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools.old_anchors import LIST, anchors

ROOT = Path(__file__).parents[2]
OLD: dict[str, list[str]] = json.loads(LIST.read_text("utf-8"))["pages"]
_GIVEN = re.compile(r'(?<=id=")[\w.-]+(?=")|(?<=\{ #)[\w.-]+(?= \})')
"""Anchors that a page's Markdown gives besides those of its headings and numbered things."""


def source(page: str) -> Path:
    """The Markdown of a page."""
    folder = ROOT / "docs" / page
    return folder / "index.md" if (folder / "index.md").is_file() else ROOT / "docs" / f"{page.rstrip('/')}.md"


def test_the_list_holds_what_readers_could_link_to() -> None:
    assert len(OLD) > 60
    assert {"the-experiment", "tab-hybrid-controls", "eq-predicted-update"} <= set(OLD["chapter/prediction/"])


@pytest.mark.parametrize("page", OLD)
def test_every_old_anchor_leads_somewhere(page: str) -> None:
    text = source(page).read_text("utf-8")
    lost = set(OLD[page]) - {*anchors(text), *_GIVEN.findall(text)}
    assert not lost, f"docs/{page}: give these anchors to what took their place, as `[text](page.md){{ #anchor }}`"


def test_anchors_are_those_of_headings_and_numbered_things_outside_fences() -> None:
    text = "# T\n\n## Two *words*\n\n## Two words\n\n## Own { #mine }\n\n/// figure | f\n///\n\n```md\n## No\n```\n"
    assert list(anchors(text)) == ["two-words", "two-words_1", "mine", "fig-f"]


def test_a_commit_that_is_not_there_is_one_line() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tools.old_anchors", "no-such"], cwd=ROOT, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
