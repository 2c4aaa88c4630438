"""The planner's sums: every number opens the one behind it, adds up to it, and leads to the page that explains it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from docs.acts.plan.act import ACT
from docs.acts.plan.choices import words_of
from docs.acts.plan.give import NAMES, exports
from docs.acts.plan.view import EXPLAINED, PAGES
from explorable.live import View
from ironlaw import GB, estimate
from tests.docs.planner import START, at


@pytest.mark.parametrize(
    "controls",
    [
        {"method": "full", "gpus": 8, "zero": 3, "precision": "amp-bf16"},
        {"method": "full", "gpus": 8, "zero": 3, "precision": "fp32", "checkpointing": "none"},
        {"method": "full", "gpus": 8, "zero": 3, "precision": "bf16", "chunked": True, "accumulate": 4},
        {"method": "full", "gpus": 8, "zero": 2, "precision": "megatron", "pp": 2, "accumulate": 4},
        {"method": "qlora", "batch": 4, "sequence": 777},
    ],
    ids=str,
)
def test_every_number_of_the_bar_opens_its_sum(controls: dict[str, Any]) -> None:
    """The rows add up to the headline, and what is gathered of other cards is a row of its own, and weights."""
    state = at(**controls)
    view = ACT.compute(state)
    *rows, last = view.tables["memory"].rows
    sizes = [float(str(row["b"]).replace(",", "").replace("−", "-")) for row in rows]
    assert sum(sizes) == pytest.approx(float(str(last["b"])), abs=0.001 * len(rows))
    assert f"{float(str(last['b'])):.1f}" == view.headline.value
    named = {str(row["a"]) for row in rows}
    gathers = "zero" in controls and controls["zero"] == 3
    assert any(name.startswith("gathered: ") for name in named) == gathers
    assert not [row for row in rows if str(row["a"]).startswith("gathered") and not str(row["c"])]
    weights = next(float(str(row["to"])) for row in view.data["bar"] if row["part"] == "parameters")
    assert weights > sum(size for row, size in zip(rows, sizes, strict=True) if "gathered" in str(row["a"])) - 1e-3


T4 = {
    "model": "meta-llama/Meta-Llama-3-70B", "method": "qlora", "gpu": "t4", "gpus": 8, "zero": 3, "sequence": 512,
    "rank": 8, "accumulate": 4, "precision": "amp-fp16", "more": '{"said": {"unprepared": true}}',
}  # fmt: skip
"""At its fullest moment the embedding and the head are there twice: gathered, and in the buffer they came in."""


@pytest.mark.parametrize(
    "controls",
    [
        T4,
        {**T4, "gpu": "h100-sxm", "accumulate": 1, "rank": 64},
        {"method": "full", "gpus": 8, "zero": 3, "precision": "amp-bf16"},
        {"gpus": 8, "zero": 3},
        {"gpus": 2, "zero": 3, "method": "qlora", "more": '{"base_format": "fp32"}', "sequence": 512},
        {"method": "qlora"},
        {"method": "lora", "precision": "amp-bf16", "more": '{"base_format": "fp32"}'},
    ],
    ids=str,
)
def test_parts_of_the_weights_in_the_sentence_add_up_and_are_those_of_the_table_and_of_the_text_to_take_along(
    controls: dict[str, Any],
) -> None:
    state = at(**controls)
    view = ACT.compute(state)
    said = f"{view.failure.excess if view.failure else ''} {view.success.what if view.success else ''}"
    found = re.search(r"Largest, with ([\d.]+) GB: weights \((.*)\)\.", said)
    assert found
    told: dict[str, float] = {}
    for size, kept, why in re.findall(r"([\d.]+) GB in (4 bits|[A-Z0-9]+)( gathered| copies)?", found[2]):
        told[kept + why] = told.get(kept + why, 0) + float(size)
    assert f"{found[1]} GB" == view.readings["Weights"]
    assert sum(told.values()) == pytest.approx(float(found[1]), abs=0.05 * (len(told) + 1))
    table: dict[str, float] = {}
    for row in view.tables["memory"].rows:
        name, held, how = str(row["a"]), float(str(row["b"]).replace("−", "-")), str(row["c"])
        if not name.startswith(("parameters", "master", "gathered")):
            continue
        count, width, kept = re.findall(r"((?:[\d,]+ × )?[\d,]+) × ([\d.]+) B \((\w+)\)", how)[0]
        times, _, elements = count.rpartition(" × ")
        assert held == pytest.approx(
            int(times or 1) * int(elements.replace(",", "")) * float(width) / GB, abs=0.0006
        ), row  # fmt: skip
        kept = "4 bits" if "quantized" in name or kept == "uint8" else kept.upper()
        kept += " gathered" * name.startswith("gathered")
        table[kept] = table.get(kept, 0) + held
    for kept, held in table.items():
        assert told.get(kept, 0) == pytest.approx(held, abs=0.11), kept
    assert {kept for kept in told if "copies" not in kept} <= table.keys()
    markdown = dict(re.findall(r"^\| ([^|]+) \| (-?[\d.,]+) \|$", exports(state)[NAMES["markdown"]], re.MULTILINE))
    taken = sum(float(size) for name, size in markdown.items() if name.startswith("gathered"))
    assert taken == pytest.approx(sum(held for kept, held in table.items() if "gathered" in kept), abs=0.02)
    assert sum(float(size) for name, size in markdown.items() if "*" not in name) == pytest.approx(
        float(view.headline.value), abs=0.11
    )


@pytest.mark.parametrize(
    ("controls", "said"),
    [
        ({}, ""),
        (
            {"zero": 3},
            "all divide optimizer states, gradients and weights, 1/8 to a card, with the layers at work",
        ),
        (
            {"zero": 2},
            "optimizer states and gradients, 1/8 to a card; each holds weights, activations and logits of its",
        ),
        (
            {"zero": 1, "tp": 2},
            "each holds 1/2 of every matrix; 4 of them divide optimizer states, 1/4 to a card; each holds gradients "
            "and weights of its share undivided.",
        ),
        ({"zero": 0}, "Of 8 cards each holds optimizer states, gradients, weights, activations and logits"),
    ],
    ids=str,
)
def test_what_each_of_several_cards_holds_is_said(controls: dict[str, Any], said: str) -> None:
    cards = {"gpus": 8, "method": "full", **controls} if controls else {}
    caption = ACT.compute(at(**cards)).tables["answer"].caption
    assert said in caption
    assert ("undivided" in caption) == bool(controls)
    # Cards that share matrices or blocks have shares of activations and logits too.
    assert ("activations and logits of its own sequences undivided" in caption) == (controls.keys() in ({"zero"},))


@pytest.mark.parametrize(
    "controls",
    [{}, {"method": "full", "gpus": 8, "zero": 3}, {"method": "qlora", "checkpointing": "none", "chunked": True}],
    ids=str,
)
def test_every_sum_leads_to_what_explains_it(controls: dict[str, Any]) -> None:
    view = ACT.compute(at(**controls))
    for name in ("sums", "memory"):
        table = view.tables[name]
        assert [column.numeric for column in table.columns] == [False, True, False, False]
        assert {str(row["d"]) for row in table.rows} <= {*table.links}


def test_what_explains_a_sum_is_a_section_of_the_built_site(site: Path) -> None:
    shown = (site / "plan/index.html").read_text("utf-8")
    for what, (_, address) in {**EXPLAINED, **PAGES}.items():
        page, _, place = address.partition("#")
        assert place, f"{what} leads to the top of {page}, and not to what explains it"
        assert f'id="{place}"' in (site / page / "index.html").read_text("utf-8"), f"{what} leads to {address}"
        assert what not in EXPLAINED or f'href="../{address}"' in shown


@pytest.mark.parametrize(
    ("controls", "few"),
    [({}, False), ({"gpu": "rtx-4090"}, True), ({"gpu": "rtx-4090", "method": "full"}, True)],
    ids=str,
)
def test_how_many_runs_stand_behind_a_band_is_said(controls: dict[str, Any], few: bool) -> None:
    state = at(**controls)
    seen = estimate(**words_of(state)).calibrated
    assert seen is not None
    view = ACT.compute(state)
    caption = view.tables["answer"].caption
    for band, what in ((seen.needed, "memory"), (seen.step_s, "time")):
        of = f" from {band.sources} source{'s' * (band.sources > 1)}" if band.runs else ""
        assert f"{band.runs or 'none'}{of} for {what}" in caption
    assert ("Few published runs are like this one" in caption) == few
    if view.success:
        said = "Few published runs are like it" if few else f"{seen.needed.runs} published runs like it"
        assert said in view.success.what


def test_what_the_driver_shows_stands_beside_what_is_needed() -> None:
    for state in (START, at(gpu="rtx-4090")):
        seen = estimate(**words_of(state)).calibrated
        assert seen is not None
        rows = {str(row["a"]): row for row in ACT.compute(state).tables["answer"].rows}
        assert rows["A card's memory"]["b"] == f"{seen.needed.expected / GB:.1f} GB"
        assert (
            rows["What nvidia-smi shows, with what PyTorch keeps"]["b"] == f"{seen.device_total.expected / GB:.1f} GB"
        )


def test_a_machines_own_memory_stands_where_the_plan_uses_it() -> None:
    table = ACT.compute(at(method="full", gpus=8, zero=3, offload=True)).tables["answer"]
    (row,) = [one for one in table.rows if "RAM" in str(one["a"])]
    whole = estimate(**words_of(at(method="full", gpus=8, zero=3, offload=True))).memory_bytes.host * 8 / GB
    assert row["b"] == f"{whole:.1f} GB" != "0.0 GB"
    assert "Loading takes up to 257.0 GB" in table.caption
    assert not [one for one in ACT.compute(START).tables["answer"].rows if "RAM" in str(one["a"])]


def test_no_row_of_a_machines_memory_says_nothing() -> None:
    for optimizer in ("paged-adamw", "paged-adamw-8bit"):
        rows = ACT.compute(at(optimizer=optimizer)).tables["answer"].rows
        assert "0.0 GB" not in {str(cell) for row in rows for cell in row.values()}


def test_money_is_the_product_of_what_its_sum_shows() -> None:
    for controls in ({"gpu": "rtx-4060", "model": "Qwen/Qwen3-0.6B"}, {}, {"price": 2.5, "gpus": 4}):
        view = ACT.compute(at(**controls))
        (money,) = [row for row in view.tables["sums"].rows if row["a"] == "Money"]
        days, unit, cards, price = re.match(r"([\d.]+) (\w+) × (\d+) cards? × ([\d.]+) USD", str(money["c"])).groups()  # type: ignore[union-attr]
        hours = float(days) * {"days": 24, "hours": 1, "minutes": 1 / 60}[unit]
        assert float(str(money["b"]).split()[0]) == pytest.approx(hours * int(cards) * float(price), rel=0.02)
        assert ("costs to buy" in str(money["c"])) == (controls.get("gpu") == "rtx-4060")


def test_uneven_counts_of_cards_are_told_as_the_machines_that_are_counted() -> None:
    def view(gpus: int) -> View:
        return ACT.compute(at(method="full", gpus=gpus, zero=3, offload=True))

    assert "Of 20 cards, counted as 4 machines of 5 each, all divide" in view(20).tables["answer"].caption
    assert "counted as" not in view(24).tables["answer"].caption
    host = [row["b"] for row in view(20).tables["answer"].rows if "RAM" in row["a"]]
    assert host == ["16.1 GB"]


def test_a_copy_of_the_logits_is_the_part_of_one_card() -> None:
    """Of cards that share every sequence, or every matrix."""
    run: dict[str, Any] = {"model": "Qwen/Qwen2.5-72B", "gpu": "h200", "method": "full", "sequence": 32_768}
    run |= {"gpus": 96, "zero": 3, "checkpointing": "full"}
    shared: tuple[dict[str, Any], ...] = ({}, {"more": '{"cp": 2}'}, {"tp": 4})
    said = [str(ACT.compute(at(**run, **one)).success) for one in shared]
    copies = [re.findall(r"logits a token are ([0-9.]+) GB a copy", one) for one in said]
    assert copies == [["19.9"], ["10.0"], ["5.0"]]
