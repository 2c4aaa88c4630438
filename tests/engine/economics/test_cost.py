"""Money and carbon: the LLaMA cards, the chapter's utility bill, and what must hold."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironlaw.core.errors import EngineError
from ironlaw.economics import cost


@pytest.mark.parametrize(
    ("gpu_hours", "watts", "megawatt_hours", "tonnes"),
    [
        # arXiv 2302.13971, table 15: LLaMA 7B, 13B, 33B, 65B and what it computes for OPT-175B and BLOOM.
        (82_432, 400, 36, 14),
        (135_168, 400, 59, 23),
        (530_432, 400, 233, 90),
        (1_022_362, 400, 449, 173),
        (809_472, 400, 356, 137),
        (1_082_880, 400, 475, 183),
    ],
)
def test_llama_card(gpu_hours: int, watts: int, megawatt_hours: int, tonnes: int) -> None:
    kilowatt_hours = cost.energy(gpu_hours, watts, pue=cost.LLAMA_PUE)
    assert kilowatt_hours / 1000 == pytest.approx(megawatt_hours, rel=0.02)
    assert cost.carbon(kilowatt_hours, cost.US_GRID_INTENSITY) == pytest.approx(tonnes, abs=1)


@pytest.mark.parametrize(
    ("gpu_hours", "watts", "tonnes"),
    [
        # Llama 2 card (arXiv 2307.09288, table 2) and Llama 3 card (github.com/meta-llama/llama3).
        (184_320, 400, 31.22),
        (368_640, 400, 62.44),
        (1_720_320, 400, 291.42),
        (1.3e6, 700, 390),
        (6.4e6, 700, 1900),
    ],
)
def test_llama_2_and_3_cards(gpu_hours: float, watts: int, tonnes: float) -> None:
    kilowatt_hours = cost.energy(gpu_hours, watts, pue=cost.LLAMA_PUE)
    assert cost.carbon(kilowatt_hours, cost.US_GRID_INTENSITY) == pytest.approx(tonnes, rel=0.015)


def test_utility_bill_of_llama_2_70b_on_1000_h100s() -> None:
    operations = 6 * 70e9 * 2e12
    hours = cost.device_hours(operations, 989e12, 0.5)
    assert cost.days(hours * 3600 / 1000) == pytest.approx(19.66, abs=0.01)
    rented = cost.rent(hours, 3.0)
    assert rented == pytest.approx(1.416e6, rel=1e-3)
    assert cost.buy(1000, 30_000) / rented == pytest.approx(21.2, abs=0.1)


def test_1e24_operations_are_32_years_at_a_petaflop_per_second_not_3000() -> None:
    years = cost.days(cost.training_seconds(1e24, 1, 1e15, 1.0)) / 365.25
    assert years == pytest.approx(31.7, abs=0.1)


@given(hours=st.floats(0, 1e7), devices=st.integers(1, 10_000))
def test_device_hours_do_not_depend_on_the_number_of_devices(hours: float, devices: int) -> None:
    operations = hours * 3600 * 1e15 * 0.4
    seconds = cost.training_seconds(operations, devices, 1e15, 0.4)
    assert seconds * devices / 3600 == pytest.approx(hours)


@given(utilization=st.floats(0.01, 0.9), gain=st.floats(0.001, 0.1), dollars=st.floats(1, 1e8))
def test_worth_of_utilization_is_the_difference_of_two_bills(utilization: float, gain: float, dollars: float) -> None:
    operations = dollars * 1e15 * utilization
    before = cost.training_seconds(operations, 1, 1e15, utilization)
    after = cost.training_seconds(operations, 1, 1e15, utilization + gain)
    assert cost.worth_of_utilization(before, utilization, gain) == pytest.approx(before - after, rel=1e-6)


def test_one_percent_is_worth_more_when_utilization_is_low() -> None:
    assert cost.worth_of_utilization(1e6, 0.30) > cost.worth_of_utilization(1e6, 0.60)
    assert cost.worth_of_utilization(1e6, 0.30, 0.30) == pytest.approx(5e5)


def test_node_overhead_of_a_dgx_h100_is_82_percent() -> None:
    assert pytest.approx(1.82, abs=0.005) == cost.NODE_OVERHEAD
    assert cost.energy(8, 700, node_overhead=cost.NODE_OVERHEAD) == pytest.approx(10.2)


def test_tokens_cost_the_same_by_rate_or_by_hour() -> None:
    assert cost.dollars_per_billion_tokens(3.6, 8, 8e3) == pytest.approx(1000.0)
    assert cost.joules_per_token(700, 8, 5600) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cost.training_seconds(1e20, 1, 1e15, 1.2), "utilization 1.2 is not allowed"),
        (lambda: cost.energy(1, 1, pue=0.9), "PUE 0.9 is not allowed"),
        (lambda: cost.worth_of_utilization(1, 0.995), "at most 1"),
    ],
)
def test_bad_input_is_one_line(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(EngineError, match=message):
        call()
