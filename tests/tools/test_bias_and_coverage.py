"""What the pages say of the direction of errors and of the band comes from the rows."""

from __future__ import annotations

import statistics
import tomllib
from pathlib import Path

import pytest

from explorable.measured.values.expressions import Evaluator
from explorable.measured.values.quantities import registry
from ironlaw import accelerator, vocabulary
from tools.accuracy.calculators import CALCULATORS
from tools.accuracy.experience import CARRIED, CHOSEN, experience
from tools.accuracy.methods import methods
from tools.accuracy.page import PARTS
from tools.accuracy.regimes import code_and_card, regimes
from tools.accuracy.report import report
from tools.accuracy.rows import load

ROOT = Path(__file__).parents[2]


def test_the_home_page_says_how_many_predicted_times_are_too_short() -> None:
    times = report().of("time")
    short = sum(c.predicted < c.published for c in times)
    said = PARTS["proof"]().findtext("p", "")
    assert f"; {short} of the {len(times)} are too short." in said


def test_the_planner_says_what_the_band_held_by_number_of_devices() -> None:
    alone = next(r for r in regimes(experience().judged) if r.what == "1 device")
    assert f"held {100 * alone.coverage:.0f}\N{NO-BREAK SPACE}% on 1 device, " in (PARTS["coverage"]().text or "")
    assert "/// accuracy | coverage\n" in (ROOT / "docs/plan/index.md").read_text("utf-8")


def test_pytorch_on_h100s_is_twice_as_far_from_the_physics_as_on_a100s_and_the_correction_evens_it_out() -> None:
    by_card = {r.what: r for r in regimes(experience().judged)}
    h100, a100 = (by_card[f"PyTorch on {accelerator(name).title}"] for name in ("h100-sxm", "a100-80"))
    assert h100.physics < report().groups[0].signed < a100.physics < 0
    assert h100.physics / a100.physics == pytest.approx(2, rel=0.2)
    times = [j for j in experience().judged if j.observation.kind == "time"]
    judged = {
        one: statistics.median(j.calibrated for j in times if code_and_card(j) == one.what) for one in (h100, a100)
    }
    assert judged[h100] < 0 < judged[a100]
    page = (ROOT / "docs/engine/accuracy.md").read_text("utf-8")
    assert "twice as far as PyTorch on A100s" in page


def test_the_verdict_says_that_a_utilization_chosen_afterwards_is_a_stronger_rival() -> None:
    said = PARTS["against-utilization"]().text or ""
    carried, chosen = (next(g for g in experience().goals if g.name == name) for name in (CARRIED, CHOSEN))
    assert f"nearer on {carried.reached}; against" in said
    assert f"own runs, on {chosen.reached}." in said
    page = (ROOT / "docs/engine/accuracy.md").read_text("utf-8")
    assert "/// accuracy | against-utilization\n" in page.partition("## The verdict")[2].partition("\n### ")[0]


def test_no_published_run_is_on_a_v100_as_the_walk_says() -> None:
    assert "no published run on a V100 checks it." in (ROOT / "docs/chapter/walkthrough.md").read_text("utf-8")
    assert not [row.name for row in load() if "v100" in str(row.get("gpu", "")).lower()]


def test_rivals_are_judged_on_the_rows_of_the_engine_and_named_where_they_are_nearer() -> None:
    text = " ".join(PARTS["rivals"]().itertext())
    lines = [line for line in methods() if line.level == "allocated" and line.asked]
    assert all(rival.rows <= line.asked for line in lines for rival in line.rivals if rival)
    said = text.partition("Nearer than this engine")[2]
    nearer = 0
    for line in lines:
        assert line.median is not None
        assert line.p90 is not None
        for name, rival in zip([c.name for c in CALCULATORS], line.rivals, strict=True):
            if rival and (rival.median < line.median or rival.p90 < line.p90):
                nearer += 1
                assert name in said
                assert f"90th percentile {100 * rival.p90:.1f} % against {100 * line.p90:.1f} %" in said
    assert said.count(" against ") == 2 * nearer
    assert ("nobody" in said) == (nearer == 0)


def test_the_first_measured_table_has_every_published_time_of_llm_c() -> None:
    """The kind rows and the others: each published value stands there, with the same error."""
    evaluate = Evaluator(vocabulary).evaluate
    rows = tomllib.loads((ROOT / "docs/measured/reported/rows.toml").read_text("utf-8"))["reported"]
    shown = []
    for row in rows:
        if row["group"] == "runs" and row["unit"] != "MiB":
            answer = evaluate(row["engine"]).quantity.to(registry().parse_units(row["unit"])).magnitude
            shown.append(round(row["value"] / answer - 1 if "token" in row["unit"] else answer / row["value"] - 1, 3))
    times = [c for c in report().of("time") if c.row.source.title.startswith("llm.c")]
    assert sorted(round(c.error, 3) for c in times) == pytest.approx(sorted(shown), abs=0.005)
