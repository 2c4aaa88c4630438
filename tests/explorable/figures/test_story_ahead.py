"""The story is told once in a build, and no page with a strip waits for the figures of the pages behind it."""

from __future__ import annotations

from pathlib import Path

from explorable.figures.figures import STORY, Figures
from explorable.figures.part import asked_for
from explorable.shared.cache import Cache
from tests.explorable.strict_build import share_bytecode

TOLD = """
from dataclasses import dataclass
from pathlib import Path

@dataclass
class Stop:
    page: str
    fits: bool = True

def stops():
    with Path(__file__).with_name("order.txt").open("a") as order:
        order.write("story ")
    return [Stop("memory")]
"""
DRAWN = """
from pathlib import Path

def draw():
    with Path(__file__).parents[1].joinpath("order.txt").open("a") as order:
        order.write("figure ")
    raise ValueError("nothing to see")
"""


def test_a_page_with_a_strip_asks_for_the_story() -> None:
    assert asked_for("/// figure | a\n///\n\n/// strip | memory\nWords\n///\n") == ["a", STORY]
    assert asked_for("/// figure | a\n///\n\n/// instrument | b\n///\n") == ["a", "b"]


def test_a_page_that_asks_again_does_not_wait_for_what_was_begun_since(tmp_path: Path) -> None:
    share_bytecode(tmp_path / "cache")
    (tmp_path / "figures").mkdir()
    (tmp_path / "story.py").write_text(TOLD)
    (tmp_path / "figures/a.py").write_text(DRAWN)
    figures = Figures(tmp_path / "figures", None, Cache(None), tmp_path / "cache/bytecode")
    figures.begin([STORY, "a"])
    first = figures.stops()
    assert [stop["page"] for stop in first] == ["memory"]
    assert figures.stops() == first
    figures.close()
    assert (tmp_path / "order.txt").read_text().split().count("story") == 1
