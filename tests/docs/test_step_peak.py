"""The peak of a step: the picture is the engine's account, its highest moment decides, and it gives nothing away."""

from __future__ import annotations

from typing import Any

import pytest

from docs.acts.step_peak.timeline import BATCHES, PARTS, peak_index, timeline
from explorable import live
from explorable.live.build.description import describe
from explorable.live.runtime.acts import LoadedAct
from ironlaw import GB, accelerator, fits, training_memory
from tests.docs.acts import drawn, fixed_colors, loaded, public_text, state_of, view_box

NAME = "step-peak"


@pytest.fixture(scope="module")
def act() -> LoadedAct:
    return loaded(NAME)


def view(act: LoadedAct, batch: int, moment: int) -> Any:
    return act.compute(state_of(act, batch=batch, moment=moment))


@pytest.mark.parametrize("batch", BATCHES)
def test_the_highest_moment_is_what_the_engine_says_a_card_must_have(batch: int) -> None:
    account = training_memory("gpt2", "rtx-4060", batch, optimizer="sgd", precision="fp32", update="fused")
    points = timeline(batch)
    assert max(point.total for point in points) == account.device_total
    assert account.peak.name == "backward, loss"
    assert points[peak_index(batch)].title == "Backward, the loss"
    outside = account.device_total - account.allocated_peak
    known = {moment.name: moment.bytes + outside for moment in account.moments}
    totals = {point.title: point.total for point in points}
    for title, name in (
        ("Forward, block 12", "forward, last block"),
        ("Forward, the loss", "forward, loss"),
        ("Backward, block 12", "backward, last block"),
        ("Backward, block 1", "backward, first block"),
        ("Backward, the embedding", "backward, embedding"),
        ("The update", "optimizer step"),
    ):
        assert totals[title] == pytest.approx(known[name], abs=2), title


@pytest.mark.parametrize("batch", BATCHES)
def test_no_part_is_negative_and_the_step_ends_as_it_began(batch: int) -> None:
    points = timeline(batch)
    assert all(size >= 0 for point in points for size in point.sizes.values())
    assert points[0].sizes == points[-1].sizes
    kept = training_memory("gpt2", batch=batch, optimizer="sgd", precision="fp32").saved_bytes
    assert max(point.sizes["activations"] for point in points) == kept


@pytest.mark.parametrize("batch", BATCHES)
def test_memory_runs_out_where_the_engines_one_function_says_so(act: LoadedAct, batch: int) -> None:
    shown = view(act, batch, 0)
    assert (shown["failure"] is None) == fits("gpt2", "rtx-4060", batch, optimizer="sgd", precision="fp32")
    room = accelerator("rtx-4060").usable_bytes
    assert f"the card can give {room / GB:.2f} GB" in shown["summary"]


def test_beside_a_moment_that_fits_it_says_that_the_peak_does_not(act: LoadedAct) -> None:
    """A moment with 3.54 of 8.05 GB was once called out of memory."""
    shown = view(act, 8, 6)
    assert float(shown["headline"]["value"]) < accelerator("rtx-4060").usable_bytes / GB
    assert shown["failure"]["title"] == "Out of memory at the peak"


@pytest.mark.parametrize("batch", BATCHES)
def test_every_moment_says_its_total_and_the_columns_add_up_to_it(act: LoadedAct, batch: int) -> None:
    described: Any = describe(act)
    slider = described["controls"][0]
    moments = range(slider["minimum"], slider["maximum"] + 1)
    assert len(moments) == len(timeline(batch))
    for moment in moments:
        point = timeline(batch)[moment]
        shown = view(act, batch, moment)
        assert shown["headline"] == {"label": point.title, "value": f"{point.total / GB:,.2f}", "unit": "GB"}
        column = [row for row in shown["data"]["areas"] if row["at"] == moment]
        assert sum(row["to"] - row["from"] for row in column) == pytest.approx(point.total / GB)
        assert [row["part"] for row in column] == list(PARTS)
        *rows, whole = shown["tables"]["step"]["rows"]
        for cell in ("b", "c"):
            assert round(sum(float(row[cell]) for row in rows), 2) == float(whole[cell]), "shown digits add up"


def test_the_dot_that_is_dragged_stands_at_the_sliders_moment(act: LoadedAct) -> None:
    (hand,) = act.act.hands
    assert isinstance(hand, live.Handle)
    for moment in (0, 14, 29):
        (row,) = view(act, 4, moment)["data"][hand.mark]
        assert (row[hand.field], row["gb"]) == (moment, timeline(4)[moment].total / GB)


def test_it_gives_nothing_away(act: LoadedAct) -> None:
    known = public_text(act)
    assert "Adam" not in known
    assert "optimizer" not in known.lower().replace("plain sgd", "")


def test_the_picture_keeps_its_size_and_the_pages_colors(act: LoadedAct) -> None:
    drawings = [drawn(NAME, "step", view(act, batch, 14)["data"]) for batch in BATCHES]
    assert len({view_box(svg) for svg in drawings}) == 1
    assert not [color for svg in drawings for color in fixed_colors(svg)]
    assert ">peak 5.98 GB<" in drawings[2]
