"""Prediction first, for every act that asks: its page, source and search entries tell nothing of the answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from explorable.live.build.description import describe
from explorable.live.build.measured import Evidence
from explorable.live.build.rooms import Written
from explorable.live.runtime.acts import LoadedAct
from explorable.live.runtime.contract import ChoiceQuestion, NumberQuestion
from tests.docs.acts import SHOWN, files_of, hidden_texts, loaded

ROOT = Path(__file__).parents[2]
ASKING = [name for name in SHOWN if "question=None" not in next(iter(files_of(name).values()))]
EVIDENCE = Evidence(ROOT / "gpu_bench/results", ROOT)
LEAST = 25
"""Characters of a sentence that no other text has by chance."""
NO_TEXT = re.compile(r"(?s)<(script|style)\b.*?</\1>")


@cache
def act(name: str) -> LoadedAct:
    return loaded(name, *EVIDENCE.asked_by(files_of(name)))


def text_of(page: str) -> str:
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", NO_TEXT.sub("", page))))


def secrets(name: str) -> Iterator[str]:
    """Patterns of what is to be found out: the answer with its unit, and every sentence that explains it."""
    question = act(name).act.question
    assert question is not None
    described: Any = describe(act(name))
    if isinstance(question, NumberQuestion):
        predictions: list[Any] = [question.minimum, question.maximum]
        for digits in (0, 1, 2):
            yield rf"(?<![\d.,]){re.escape(f'{question.answer():,.{digits}f}')}\s?{re.escape(question.unit)}(?!\w)"
    else:
        assert isinstance(question, ChoiceQuestion)
        predictions = [option.value for option in question.options]
    sentences = hidden_texts(act(name))
    for prediction in predictions:
        verdict: Any = act(name).reveal({**described["state"], "prediction": prediction, "revealed": True})
        for paragraph in (verdict["headline"], *verdict["paragraphs"]):
            sentences += re.split(r"(?<=[.!?]) ", paragraph)
    yield from (re.escape(sentence) for sentence in sentences if len(sentence) > LEAST)


def told(name: str, text: str) -> list[str]:
    return [found[0] for secret in secrets(name) if (found := re.search(secret, text))]


def homes(site: Path, name: str) -> list[Path]:
    return [
        page
        for page in site.rglob("*.html")
        if f'data-name="{Written.read(name).name}"' in page.read_text(encoding="utf-8")
    ]


def test_every_mission_and_act_is_looked_at() -> None:
    assert len(ASKING) == 16


@pytest.mark.parametrize("name", ASKING)
def test_no_page_with_the_act_tells_its_answer(site: Path, name: str) -> None:
    pages = homes(site, name)
    assert pages
    for page in pages:
        source = page.read_text(encoding="utf-8")
        # The visible text, and the source, which also has labels, descriptions for links, states of controls.
        for text in (text_of(source), unescape(source)):
            assert told(name, text) == [], page.relative_to(site)


@pytest.mark.parametrize("name", ASKING)
def test_no_search_entry_of_the_lab_tells_its_answer(site: Path, name: str) -> None:
    entries = json.loads((site / "search/search_index.json").read_text(encoding="utf-8"))["docs"]
    here = [
        text_of(f"{entry['title']} {entry['text']}")
        for entry in entries
        if entry["location"].startswith(("lab/", "missions/"))
    ]
    assert len(here) > len(ASKING)
    assert told(name, " ".join(here)) == []


def test_formulas_and_figures_that_would_tell_wait_for_the_lock(site: Path) -> None:
    """The math peek of an audit could be opened before, and the explosion's figure on a wall shows each cure."""
    styles = "".join(one.read_text(encoding="utf-8") for one in (site / "assets/live").glob("live-*.css"))
    assert re.search(r"\[data-reveal-first\]\[data-locked=.?true.?\][^{}]*\.il-math[^{}]*\{display:none", styles)
    assert re.search(r"\[data-locked=.?true.?\]\)\s*\.il-after-lock[^{}]*\{display:none", styles)
    for name in ("cloud", "edge", "mobile", "tiny"):
        page = (site / f"missions/{name}-wall/index.html").read_text(encoding="utf-8")
        assert re.search(r'(?s)<div class="il-after-lock">.*?<live-figure.*?</div>', page)
        assert "<live-figure" not in page.split('<div class="il-after-lock">')[0]


def test_an_answer_that_is_told_is_found(site: Path) -> None:
    page = text_of((site / "lab/instructor/index.html").read_text(encoding="utf-8"))
    assert told("optimizer-memory-tax", page)
