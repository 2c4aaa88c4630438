"""The roofline explorer: every operation lies under its roof in every setting, and small batches leave the flat one."""

from __future__ import annotations

import re
from itertools import pairwise, product
from math import log10
from pathlib import Path
from typing import Any

import pytest

import explorable
from docs.acts.roofline_explorer.act import FRAME, STOPS
from explorable.live.runtime.acts import LoadedAct
from ironlaw import accelerator, model, setup
from ironlaw.time import step_points
from tests.docs.acts import drawn, fixed_colors, loaded, number, state_of, view_box

NAME = "roofline-explorer"
GPUS = {"v100-32": "fp16", "a100-80": "bf16", "h100-sxm": "bf16", "b200": "bf16", "rtx-4090": "bf16"}
SETTINGS = tuple(product(GPUS, (1, 5, 64), (64, 256, 1024), ("standard", "flash"), (False, True)))


@pytest.fixture(scope="module")
def act() -> LoadedAct:
    return loaded(NAME)


def view(act: LoadedAct, setting: tuple[str, int, int, str, bool]) -> Any:
    names = ("gpu", "batch", "sequence", "attention", "fused")
    controls: dict[str, Any] = dict(zip(names, setting, strict=True))
    return act.compute(state_of(act, **controls))


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.sampled(7)
def test_no_operation_rises_above_its_roof_and_shares_sum_to_one(
    act: LoadedAct, setting: tuple[str, int, int, str, bool]
) -> None:
    data = view(act, setting)["data"]
    chip = accelerator(setting[0])
    peak = chip.peak(GPUS[setting[0]]) / 1e12
    for point in data["points"]:
        assert point["y"] <= min(peak, point["x"] * chip.bandwidth / 1e12) * (1 + 1e-9)
    assert sum(point["share"] for point in data["points"]) == pytest.approx(1)


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.sampled(7)
def test_the_headline_is_the_share_of_what_the_table_calls_memory_bound(
    act: LoadedAct, setting: tuple[str, int, int, str, bool]
) -> None:
    shown = view(act, setting)
    rows = shown["tables"]["roofline"]["rows"][:-1]
    waiting = sum(number(row["g"]) for row in rows if row["e"] == "memory")
    assert number(shown["headline"]["value"]) == pytest.approx(waiting, abs=1)
    assert sum(number(row["g"]) for row in rows) == pytest.approx(100, abs=0.5)
    for row in rows:
        if number(row["b"]) >= 1:  # smaller ones are rounded too far to compare
            assert number(row["d"]) == pytest.approx(number(row["b"]) * 1e3 / number(row["c"]), rel=0.03, abs=0.06)


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.sampled(7)
def test_names_do_not_overlap_and_stay_in_the_frame(act: LoadedAct, setting: tuple[str, int, int, str, bool]) -> None:
    for bound in ("memory", "compute"):
        places = sorted(log10(row["at"]) for row in view(act, setting)["data"]["labels"] if row["bound"] == bound)
        # The plot is 310 pixels high, and a line of text takes 13 of them.
        decade = 310 / log10(FRAME["top"] / FRAME["bottom"])
        assert all((b - a) * decade > 13 for a, b in pairwise(places))
        assert all(log10(FRAME["bottom"]) < place < log10(FRAME["top"]) for place in places)


@pytest.mark.parametrize("gpu", GPUS)
def test_a_batch_that_is_dragged_costs_what_the_engine_says(act: LoadedAct, gpu: str) -> None:
    for batch, sequence, form, fused in product((1, 7, 64), (64, 1024), ("standard", "flash"), (False, True)):
        asked = setup(
            model("gpt2-xl"),
            gpu,
            batch,
            sequence,
            precision=GPUS[gpu],
            attention=form,
            execution="compiled" if fused else "eager",
        )
        exact = [
            point for point in step_points(asked) if point.phase == "forward" and point.count == asked.model.layers
        ]
        whole = view(act, (gpu, batch, sequence, form, fused))["tables"]["roofline"]["rows"][-1]
        assert number(whole["b"]) == pytest.approx(sum(one.flops for one in exact) / 1e9, rel=1e-3, abs=0.006)
        assert number(whole["c"]) == pytest.approx(sum(one.bytes for one in exact) / 1e6, rel=1e-3, abs=0.06)


def test_the_dragged_point_rests_where_the_batch_puts_it(act: LoadedAct) -> None:
    for batch in (1, 6, 64):
        data = view(act, ("a100-80", batch, 256, "flash", False))["data"]
        (stop,) = [row for row in data["path"] if row["batch"] == batch]
        (handled,) = data["handled"]
        assert (stop["x"], stop["y"]) == pytest.approx((handled["x"], handled["y"]))


def bound_of(shown: Any, name: str) -> str:
    return str(next(row["e"] for row in shown["tables"]["roofline"]["rows"] if row["a"] == name))


def test_a_single_short_sequence_moves_every_product_under_the_memory_roof(act: LoadedAct) -> None:
    large, small = view(act, ("a100-80", 4, 1024, "flash", False)), view(act, ("a100-80", 1, 64, "flash", False))
    for name in ("Query, key, value", "Projection", "MLP products"):
        assert bound_of(large, name) == "compute"
        assert bound_of(small, name) == "memory"


def test_small_operations_never_leave_the_memory_roof(act: LoadedAct) -> None:
    for gpu, batch, sequence in product(GPUS, (1, 64), (64, 1024)):
        shown = view(act, (gpu, batch, sequence, "flash", False))
        assert {bound_of(shown, name) for name in ("Norms", "GELU", "Residual sums")} == {"memory"}


def test_written_out_attention_moves_more_bytes_for_the_same_products(act: LoadedAct) -> None:
    written, fused = (view(act, ("a100-80", 4, 1024, form, False)) for form in ("standard", "flash"))
    moved = [
        sum(number(r["c"]) for r in shown["tables"]["roofline"]["rows"] if r["a"] in ("Attention", "Softmax"))
        for shown in (written, fused)
    ]
    assert moved[0] > 10 * moved[1]
    assert bound_of(written, "Attention") == "memory"
    assert bound_of(fused, "Attention") == "compute"


def test_fusing_small_operations_keeps_the_flops_and_saves_bytes(act: LoadedAct) -> None:
    eager, fused = (
        view(act, ("a100-80", 4, 1024, "flash", on))["tables"]["roofline"]["rows"][-1] for on in (False, True)
    )
    assert number(fused["b"]) == pytest.approx(number(eager["b"]), rel=0.01)
    assert number(fused["c"]) < number(eager["c"])
    assert number(fused["f"]) < number(eager["f"])


def test_the_stops_of_the_dragged_point_can_be_made_out_and_hide_no_point(act: LoadedAct) -> None:
    """They were once dots of 1.5 pixels over the points, in the color of the line that they lie on."""
    svg = drawn(NAME, "roofline", view(act, SETTINGS[0])["data"])
    marks = re.findall(
        r'<path aria-label="([^"]*)" role="graphics-symbol"[^>]* d="M([\d.]+),0A[^>]*?fill="([^"]*)"', svg
    )
    # A phone shows the chart at nine tenths.
    assert all(0.9 * float(radius) >= 3 for _, radius, color in marks if color == "var(--il-data)")
    points = [at for at, (label, *_) in enumerate(marks) if "share" in label]
    stops = [at for at, (_, _, color) in enumerate(marks) if color == "var(--il-data)"]
    assert len(stops) == len(STOPS)
    assert max(stops) < min(points), "what is drawn later lies above"
    styles = (Path(explorable.__file__).parent / "live/web/styles/hands.css").read_text(encoding="utf-8")
    (grip,) = re.findall(r'\[data-axis="xy"\]::before \{\n  background: ([^;]+);', styles)
    assert "transparent" in grip, "the grip lies on points too"


def test_the_chart_names_every_operation_and_keeps_its_size(act: LoadedAct) -> None:
    drawings = []
    for setting in (
        SETTINGS[0],
        SETTINGS[-1],
        ("b200", 64, 1024, "standard", False),
        ("v100-32", 1, 64, "flash", True),
    ):
        data = view(act, setting)["data"]
        drawings.append(drawn(NAME, "roofline", data))
        assert all(f">{row['text']}<" in drawings[-1] for row in data["labels"])
    assert not [color for svg in drawings for color in fixed_colors(svg)]
    assert len({view_box(svg) for svg in drawings}) == 1
