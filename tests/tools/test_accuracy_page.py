"""The page of the report: figures and tables say what the report says, and an unknown part fails a strict build."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from xml.etree.ElementTree import fromstring

import pytest
from markdown import Markdown

from explorable.measured import wrong
from explorable.shared.locate import LocateExtension
from explorable.site import Page
from ironlaw import model
from tools.accuracy.__main__ import main
from tools.accuracy.calculators import CALCULATORS, korthikanti_activations, medians, saved_activations
from tools.accuracy.page import PARTS, AccuracyExtension, time_plot
from tools.accuracy.report import report


def convert(part: str, repository: str = "") -> str:
    located, text = LocateExtension(), f"/// accuracy | {part}\n///\n"
    located.known |= AccuracyExtension.constructs
    form = wrong.form(repository, "https://example.org/book/engine/accuracy/", "")
    located.enter(Page("engine/accuracy.md", None, "engine/accuracy/", text, report=form), text)
    return Markdown(extensions=[located, AccuracyExtension()]).convert(text)


def test_every_page_that_says_how_short_steps_come_out_says_almost_a_tenth_and_they_do() -> None:
    [time] = [summary for summary in report().groups if summary.group == "time"]
    assert -0.10 < time.signed < -0.08
    docs = Path(__file__).parents[2] / "docs"
    pages = [docs / "engine/accuracy.md", *(docs / "chapter").glob("*.md")]
    texts = {page.stem: " ".join(page.read_text("utf-8").split()) for page in pages}
    said = {name for name, text in texts.items() if "almost a tenth" in text}
    assert said >= {"accuracy", "dividing"}


@pytest.mark.parametrize("part", sorted(PARTS))
@pytest.mark.sampled(4)
def test_every_part_is_well_formed_html(part: str) -> None:
    fromstring(convert(part))


def test_the_plot_has_one_mark_per_run_and_tells_its_story_in_words() -> None:
    svg = next(time_plot().iter("svg"))
    marks = [mark for mark in svg.iter() if mark.find("title") is not None]
    assert len(marks) == len(report().of("time"))
    assert "runs lie within 25 %" in svg.attrib["aria-label"]


def test_every_shape_of_a_plot_takes_its_color_from_the_site() -> None:
    svg = next(fromstring(convert("memory-plot")).iter("svg"))
    shapes = [shape for shape in svg.iter() if shape.tag in ("circle", "polygon", "polyline", "text")]
    assert all("var(--il-" in shape.attrib["style"] for shape in shapes)


def test_the_page_links_to_the_form_for_a_wrong_number_where_the_site_has_one() -> None:
    [link] = fromstring(convert("wrong", "https://example.org/x")).iter("a")
    asked = parse_qs(urlsplit(link.get("href", "")).query)
    assert asked["page"] == ["https://example.org/book/engine/accuracy/"]
    assert not list(fromstring(convert("wrong")))


def test_an_unknown_part_is_a_warning_that_names_the_near_one(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        convert("wort")
    assert "there is no part 'wort' of the accuracy report. perhaps 'worst' is meant" in caplog.text


def test_a_part_that_cannot_be_made_is_a_warning_with_its_line(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PARTS, "worst", lambda: fromstring("<p>"))
    with caplog.at_level(logging.WARNING):
        convert("worst")
    assert "engine/accuracy.md:1: tools.accuracy.page.made failed: ParseError" in caplog.text


def test_the_flat_formulas_answer_1224_and_4104_mib_for_gpt2() -> None:
    gpt2 = model("gpt2")
    assert korthikanti_activations(gpt2, 4, 1024, scores=False) / 2**20 == 1224
    assert korthikanti_activations(gpt2, 4, 1024, scores=True) / 2**20 == 4104


def test_the_engine_answers_what_pytorch_saves_in_each_precision() -> None:
    # 1,559, 2,338 and 3,116 MiB counted by PyTorch's saved-tensor hooks.
    ours = saved_activations()[0]
    for answer, counted in ((ours.bf16, 1559), (ours.autocast, 2338), (ours.fp32, 3116)):
        assert answer == pytest.approx(counted, rel=0.005)


def test_the_engine_is_nearer_to_published_peaks_than_any_calculator_listed() -> None:
    engine, *others = medians()
    assert engine is not None
    # FitCheck answers its own runs alone, to most of which it was fitted; the page says so.
    others = [other for one, other in zip(CALCULATORS, others, strict=True) if one.name != "FitCheck"]
    assert all(engine < other for other in others if other is not None)


def test_the_command_writes_every_row_with_its_source(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "deep" / "accuracy.json"
    assert main(["--json", str(target)]) == 0
    written = json.loads(target.read_text())
    assert len(written["rows"]) == len(report().comparisons)
    assert all(row["source"]["url"] for row in written["rows"])
    assert "\x1b" not in capsys.readouterr().out
