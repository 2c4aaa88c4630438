"""The training run that the book follows, from out of memory to a weekend: its order, and what its strips say."""

from __future__ import annotations

import re
import tomllib
from itertools import pairwise
from pathlib import Path
from xml.etree.ElementTree import Element

import pytest

from plugins.book.child import respond
from plugins.book.story import Stop, fill, numbers, strip

ROOT = Path(__file__).parents[2]
CHAPTER = ROOT / "docs/chapter"
ACT = re.compile(r"^/// act \| ([\w-]+)", re.MULTILINE)


@pytest.fixture(scope="module")
def stops() -> list[Stop]:
    answer = respond({"story": str(CHAPTER / "story.py"), "engine": str(ROOT / "engine")})
    assert "error" not in answer, answer
    return [Stop(**stop) for stop in answer["stops"]]


def named(stops: list[Stop], page: str) -> Stop:
    return next(stop for stop in stops if stop.page == page)


def test_every_stop_is_a_page_that_ends_with_its_strip_in_the_order_of_the_book(stops: list[Stop]) -> None:
    for stop in stops:
        text = (CHAPTER / f"{stop.page}.md").read_text("utf-8")
        assert text.count(f"/// strip | {stop.page}\n") == 1, stop.page
    order = (ROOT / "mkdocs.yml").read_text("utf-8")
    places = [order.index(f"chapter/{stop.page}.md") for stop in stops]
    assert places == sorted(places)


def test_acts_are_numbered_in_the_order_in_which_the_book_plays_them() -> None:
    pages = re.findall(r"(?:chapter|lab)/[\w-]+\.md", (ROOT / "mkdocs.yml").read_text("utf-8"))
    texts = {page: (ROOT / "docs" / page).read_text("utf-8") for page in pages}
    played = [act for page, text in texts.items() if page.startswith("chapter/") for act in ACT.findall(text)]
    homes = {page: ACT.findall(text)[0] for page, text in texts.items() if re.fullmatch(r"lab/act\d\.md", page)}
    numbered = [f"lab/act{number}.md" for number in range(1, len(homes) + 1)]
    assert list(homes) == numbered
    assert [act for act in played if act in homes.values()] == [homes[page] for page in numbered]
    for number, page in enumerate(numbered, 1):
        assert f"\n# Act {number}: " in texts[page]


def test_the_run_does_not_start_until_the_page_on_memory(stops: list[Stop]) -> None:
    first = next(stop for stop in stops if stop.fits)
    assert first.page == "memory"
    after = stops[stops.index(first) :]
    assert all(stop.fits for stop in after)


def test_what_the_strips_say_in_words_is_so(stops: list[Stop]) -> None:
    why, law = named(stops, "why"), named(stops, "iron-law")
    assert why.dollars / law.dollars == pytest.approx(4, abs=0.3)
    assert law.mfu < why.mfu
    assert named(stops, "memory").hours / (24 * 7) == pytest.approx(4, abs=0.3)
    assert named(stops, "memory").dollars > 3 * 700
    assert 1 - named(stops, "roofline").hours / named(stops, "memory").hours == pytest.approx(1 / 6, abs=0.03)
    assert named(stops, "bottlenecks").hours / named(stops, "precision").hours == pytest.approx(2, abs=0.2)
    fused = named(stops, "recompute")
    assert fused.dollars < 700 < named(stops, "precision").dollars
    assert fused.hours / 24 == pytest.approx(8, abs=0.5)
    copies = named(stops, "parallelism")
    assert copies.hours < 48 < fused.hours
    assert copies.dollars == pytest.approx(fused.dollars, rel=0.02)


def test_the_last_stop_is_the_published_run_and_meets_its_log(stops: list[Stop]) -> None:
    data = tomllib.loads((ROOT / "tools/accuracy/data/llm_c.toml").read_text("utf-8"))
    row = next(table for table in data["table"] if "1558M on eight H100" in table["title"])
    seconds = row["rows"][0][row["columns"].index("seconds")]
    assert stops[-1].seconds == pytest.approx(seconds, rel=0.03)


def test_a_strip_says_what_changed_and_fails_in_words(stops: list[Stop]) -> None:
    first, *_ = numbers(stops, 0)
    assert "does not fit" in first.remark
    for place, (before, now) in enumerate(pairwise(stops), 1):
        for number in numbers(stops, place):
            assert (number.before == "") == ((before.memory, before.seconds) == (now.memory, now.seconds)) or (
                number.before != number.text
            )
    box = Element("div")
    holder, words = strip(box)
    fill(holder, stops, 0)
    assert "does not fit" in "".join(holder.itertext())
    assert words.tag == "div"
