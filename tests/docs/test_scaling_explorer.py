"""The scaling explorer: efficiency falls as GPUs are added, and in every setting the parts sum to the step."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import pytest

from explorable.live.runtime.acts import LoadedAct
from ironlaw import GB, accelerator
from tests.docs.acts import drawn, fixed_colors, loaded, number, numbers, state_of

NAME = "scaling-explorer"
NETWORKS = ("ethernet-10", "ethernet-100", "infiniband-hdr", "infiniband-ndr")
SETTINGS = tuple(
    product(("gpt2", "gpt2-large", "gpt2-xl"), ("a100-80", "h100-sxm"), NETWORKS, (1, 4, 16, 32), (1, 4, 16))
)
CHOICES = (8, 16, 64, 256, 1024)


@pytest.fixture(scope="module")
def act() -> LoadedAct:
    return loaded(NAME)


def view(act: LoadedAct, setting: tuple[str, str, str, int, int], devices: int = 64) -> Any:
    names = ("model", "gpu", "network", "batch", "accumulate")
    controls: dict[str, Any] = dict(zip(names, setting, strict=True))
    return act.compute(state_of(act, devices=devices, **controls))


def efficiency(shown: Any) -> list[float]:
    return [row["efficiency"] for row in shown["data"]["curve"]]


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.sampled(5)
def test_efficiency_starts_at_one_and_never_rises(act: LoadedAct, setting: tuple[str, str, str, int, int]) -> None:
    curve = efficiency(view(act, setting))
    assert curve[0] == pytest.approx(100)
    assert all(0 < value <= 100 + 1e-9 for value in curve)
    assert all(later <= earlier + 1e-6 for earlier, later in pairwise(curve))


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.sampled(5)
def test_the_step_is_the_sum_of_its_parts_and_the_headline_follows(
    act: LoadedAct, setting: tuple[str, str, str, int, int]
) -> None:
    for devices in CHOICES:
        shown = view(act, setting, devices)
        *parts, whole = shown["tables"]["step"]["rows"]
        assert sum(number(row["b"]) for row in parts) == pytest.approx(number(whole["b"]), abs=0.2)
        assert sum(number(row["c"]) for row in parts) == pytest.approx(100, abs=0.2)
        current = next(row for row in shown["data"]["curve"] if row["current"])
        assert current["devices"] == str(devices)
        worth = devices * current["efficiency"] / 100
        assert number(shown["headline"]["value"]) == pytest.approx(worth, abs=0.051)
        assert f"{devices:,} GPUs" in shown["headline"]["label"]


def test_a_faster_network_or_a_rarer_exchange_never_costs_efficiency(act: LoadedAct) -> None:
    by_network = [efficiency(view(act, ("gpt2-xl", "a100-80", network, 4, 1))) for network in NETWORKS]
    by_exchange = [efficiency(view(act, ("gpt2-xl", "a100-80", "ethernet-10", 4, every))) for every in (1, 4, 16)]
    for group in (by_network, by_exchange):
        for slower, faster in pairwise(group):
            assert all(b >= a - 1e-6 for a, b in zip(slower, faster, strict=True))


def test_a_faster_gpu_on_the_same_network_scales_worse(act: LoadedAct) -> None:
    slow, fast = (efficiency(view(act, ("gpt2-xl", gpu, "ethernet-100", 4, 1))) for gpu in ("a100-80", "h100-sxm"))
    assert fast[-1] < slow[-1]


@pytest.mark.parametrize("setting", [one for one in SETTINGS if one[2] == "ethernet-10"])
def test_memory_runs_out_only_where_a_copy_exceeds_a_gpu_and_the_advice_fits(
    act: LoadedAct, setting: tuple[str, str, str, int, int]
) -> None:
    failure = view(act, setting)["failure"]
    if failure is None:
        return
    (needed,) = numbers(failure["what"], "GB")
    assert needed * GB > accelerator(setting[1]).usable_bytes - 0.05 * GB
    batch = int(failure["remedy"].split()[1])
    escaped = (*setting[:3], batch, setting[4])
    assert view(act, escaped)["failure"] is None


def test_both_failure_and_success_are_within_reach(act: LoadedAct) -> None:
    found = {view(act, one)["failure"] is None for one in SETTINGS if one[2] == "ethernet-10"}
    assert found == {True, False}


@pytest.mark.parametrize("chart", ["efficiency", "step"])
def test_charts_use_the_pages_colors(act: LoadedAct, chart: str) -> None:
    for setting in (SETTINGS[0], SETTINGS[-1]):
        assert not fixed_colors(drawn(NAME, chart, view(act, setting)["data"]))
