"""The training run that the book follows, from out of memory to a weekend: its order, and what its strips say."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import pytest

from book.story import Stop, draw, numbers, strip
from explorable.figures.child import respond
from explorable.measured.values.expressions import Evaluator
from explorable.measured.values.inline import split_format
from ironlaw import accelerator, vocabulary

ROOT = Path(__file__).parents[2]
CHAPTER = ROOT / "docs/chapter"
ACT = re.compile(r"^/// act \| ([\w-]+)", re.MULTILINE)


@pytest.fixture(scope="module")
def stops() -> list[Stop]:
    answer = respond({"story": str(CHAPTER / "story.py"), "engine": str(ROOT / "engine/ironlaw")})
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
    fused, halved = named(stops, "recompute"), named(stops, "precision")
    assert 1 - fused.hours / named(stops, "roofline").hours == pytest.approx(1 / 3, abs=0.04)
    assert fused.hours / halved.hours == pytest.approx(2, abs=0.2)
    assert halved.mfu < fused.mfu
    assert halved.dollars < 700 < fused.dollars
    assert halved.hours / 24 == pytest.approx(8, abs=0.5)
    copies = named(stops, "parallelism")
    assert copies.hours < 48 < halved.hours
    assert 24 <= named(stops, "run").hours < 27, "from Friday evening to Saturday evening"
    assert copies.dollars == pytest.approx(halved.dollars, rel=0.02)


def test_the_last_strips_money_suffices_for_the_steps_but_not_for_all_exams(stops: list[Stop]) -> None:
    """Every question of HellaSwag has four rows of full length, and 20 micro-batches of 16 on 8 cards are validated."""
    rows = 4 * 10_042 + 20 * 16 * 8
    steps = named(stops, "run").dollars
    assert steps < 700 < steps * (1 + rows / (3 * 250 * 1024))
    assert steps * (1 + rows / (3 * 2000 * 1024)) < 700


def test_the_last_stop_is_the_published_run_and_meets_its_log(stops: list[Stop]) -> None:
    data = tomllib.loads((ROOT / "tools/accuracy/data/llm_c.toml").read_text("utf-8"))
    row = next(table for table in data["table"] if "1558M on eight H100" in table["title"])
    seconds = row["rows"][0][row["columns"].index("seconds")]
    assert stops[-1].seconds == pytest.approx(seconds, rel=0.03)


def test_the_last_strip_splits_the_fall_of_the_bill_into_the_peak_in_use_and_the_share_of_it(stops: list[Stop]) -> None:
    first, last = stops[0], stops[-1]
    card = accelerator("h100-sxm")
    peaks, shares = card.peak("bf16") / card.peak("fp32"), last.mfu / first.mfu
    assert first.dollars / last.dollars == pytest.approx(peaks * shares, rel=1e-3)
    text = (CHAPTER / "run.md").read_text("utf-8").partition("/// strip | run\n")[2]
    said = [split_format(one)[0] for one in re.findall(r"`\{engine\} ([^`]+)`", text)]
    values = [Evaluator(vocabulary).evaluate(one).quantity.magnitude for one in said]
    assert values == pytest.approx([first.dollars / last.dollars, peaks, shares], rel=1e-3)
    assert shares < 1
    assert named(stops, "memory").mfu < named(stops, "roofline").mfu < named(stops, "recompute").mfu


def test_the_home_page_counts_with_the_price_of_the_strips_and_ends_as_the_book_does(stops: list[Stop]) -> None:
    answer = respond({"figure": str(CHAPTER / "figures/iron_law_run.py"), "engine": str(ROOT / "engine")})
    assert "error" not in answer, answer
    states, controls = (
        json.loads(answer["moving"]["states"]),
        {one["name"]: one for one in answer["moving"]["controls"]},
    )
    assert controls["price"]["default"] == controls["price"]["values"][0] == "2024"
    shown = {share: money(states, controls, share=share) for share in controls["share"]["values"]}
    assert "over $700" in shown[controls["share"]["default"]]
    assert "within $700" in shown[50]
    assert all(f"${stop.dollars / stop.hours / stop.cards:.2f} " in shown[50] for stop in stops)
    assert all("$3.50 " in stop.price for stop in stops)


def test_the_operations_of_the_home_page_have_three_digits() -> None:
    """To two digits they once gave 29.8 hours where 30.3 stood."""
    answer = respond({"figure": str(CHAPTER / "figures/iron_law_run.py"), "engine": str(ROOT / "engine")})
    said = " ".join(json.dumps(answer, ensure_ascii=False).split())
    found = re.search(r"(\d\.\d+) times 10 to the power of (\d+) operations", said)
    assert found
    assert len(found[1]) == len("3.45")
    assert float(f"{found[1]}e{found[2]}") == pytest.approx(3.45e20, rel=0.002)


def money(states: list[list[Any]], controls: dict[str, dict[str, Any]], **wanted: object) -> str:
    """What the home page's instrument says of the bill, at its defaults but for `wanted`."""
    place = 0
    for name, control in controls.items():
        values = control["values"]
        place = place * len(values) + values.index(wanted.get(name, control["default"]))
    _, _, readings = states[place]
    return " ".join(readings[1])


def test_every_strip_moves_the_run_but_the_first_which_begins_it_and_the_last_which_ends_it(stops: list[Stop]) -> None:
    for before, now in pairwise(stops[:-1]):
        assert (f"{before.dollars:.2g}", before.cards) != (f"{now.dollars:.2g}", now.cards), now.page
    assert replace(stops[-1], page="", beside="") == replace(stops[-2], page="", beside="")
    for place, stop in enumerate(stops):
        holder, _ = strip(Element("div"))
        draw(holder, stops, place)
        [picture] = holder.iter("svg")
        said = picture.get("aria-label", "")
        assert f"${stop.dollars:,.0f}" in said
        assert f"{stop.memory:.0f} GB" in said
        assert holder.find("dl") is not None


def test_a_strip_names_the_price_of_its_bill(stops: list[Stop]) -> None:
    for place, stop in enumerate(stops):
        bill = next(number for number in numbers(stops, place) if number.name == "the bill")
        assert stop.price in bill.remarks
        assert stop.beside in bill.remarks
        beside = float(stop.beside.partition("$")[2].replace(",", ""))
        if place < len(stops) - 1:
            assert beside > stop.dollars, "published steps took longer than the count"
        else:
            assert beside == pytest.approx(stop.dollars, rel=0.01), "this run's log sides with the count"


def test_a_strip_says_what_changed_and_fails_in_words(stops: list[Stop]) -> None:
    first, *_ = numbers(stops, 0)
    assert "does not fit" in first.remarks[0]
    for place, (before, now) in enumerate(pairwise(stops), 1):
        for number in numbers(stops, place):
            assert (number.before == "") == ((before.memory, before.seconds) == (now.memory, now.seconds)) or (
                number.before != number.text
            )
    box = Element("div")
    holder, words = strip(box)
    assert "predicted" in "".join(box.itertext())
    draw(holder, stops, 0)
    assert "does not fit" in "".join(holder.itertext())
    assert words.tag == "div"
