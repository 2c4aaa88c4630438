"""The sentences of the page on predicted steps are true of its records."""

from __future__ import annotations

import pytest

from book.runs import compared

HIGHER_RATES = ("fewer-steps-2x-rate", "fewer-steps-3x-rate")


@pytest.mark.parametrize("case", ["hybrid-digits", "hybrid-digits-ci"])
def test_no_predicting_run_beats_fewer_steps_at_a_higher_rate_which_are_faster(case: str) -> None:
    runs = {name: run["summary"] for name, run in compared("hybrid", case)["runs"].items()}
    judged = {name: summary for name, summary in runs.items() if summary["helps"] is not None}
    assert judged
    for name, summary in judged.items():
        for control in HIGHER_RATES:
            assert summary["against"][control]["high"] > 0, name
            assert summary["speedup"] < runs[control]["speedup"], name


def test_one_run_of_the_table_that_predicts_ends_a_little_below_triple_rate_by_less_than_the_seeds_differ() -> None:
    runs = {name: run["summary"] for name, run in compared("hybrid", "hybrid-digits")["runs"].items()}
    best = runs["fewer-steps-3x-rate"]["test_loss"]
    judged = {name: summary for name, summary in runs.items() if summary["helps"] is not None}
    assert [name for name, one in judged.items() if one["test_loss"] < best] == ["last-update-watched"]
    against = runs["last-update-watched"]["against"]["fewer-steps-3x-rate"]
    assert against["low"] < 0 < against["high"]


def test_weaker_controls_alone_would_have_said_otherwise() -> None:
    watched = compared("hybrid", "hybrid-digits")["runs"]["last-update-watched"]["summary"]["against"]
    assert watched["no-op"]["high"] < 0
    assert watched["fewer-steps"]["high"] < 0


def test_momentum_for_as_few_steps_ends_lowest_and_larger_batches_gain_time_alone() -> None:
    runs = {name: run["summary"] for name, run in compared("hybrid", "hybrid-digits")["runs"].items()}
    assert min(runs, key=lambda name: runs[name]["test_loss"]) == "fewer-steps-momentum"
    for name in ("fewer-steps-2x-batch", "fewer-steps-4x-batch"):
        assert runs[name]["speedup"] > runs[name]["bound"]
        assert runs[name]["test_loss"] > runs["fewer-steps-2x-rate"]["test_loss"]


def test_on_text_every_run_that_predicts_is_worse_than_skipping() -> None:
    runs = {name: run["summary"] for name, run in compared("hybrid", "hybrid-text")["runs"].items()}
    judged = {name: summary for name, summary in runs.items() if summary["helps"] is not None}
    assert judged
    assert all(summary["against"]["no-op"]["low"] > 0 for summary in judged.values())
    assert min(judged, key=lambda name: judged[name]["worse"]) == "last-update-aggressive"
    plain = runs["fewer-steps"]["against"]["plain"]
    assert plain["high"] - plain["low"] < 2 * 0.02


def test_on_all_of_mnist_every_run_that_predicts_ends_clearly_above_triple_rate_and_later() -> None:
    block = compared("hybrid", "hybrid-digits-full")
    runs = {name: run["summary"] for name, run in block["runs"].items()}
    judged = {name: summary for name, summary in runs.items() if summary["helps"] is not None}
    assert len(judged) == block["verdict"]["judged"] == block["verdict"]["fast_enough"]
    for summary in judged.values():
        assert summary["against"]["fewer-steps-3x-rate"]["low"] > 0
        assert summary["speedup"] < runs["fewer-steps-3x-rate"]["speedup"]
    assert runs["last-update-watched"]["against"]["fewer-steps"]["high"] < 0


def test_on_text_for_three_times_as_long_the_page_names_the_best_run_and_the_narrowest_interval() -> None:
    runs = {name: run["summary"] for name, run in compared("hybrid", "hybrid-text-long")["runs"].items()}
    judged = {name: summary for name, summary in runs.items() if summary["helps"] is not None}
    beside = {name: summary["against"]["no-op"] for name, summary in judged.items()}
    assert all(one["low"] > 0 for one in beside.values())
    assert min(judged, key=lambda name: judged[name]["worse"]) == "mean-update"
    assert min(beside, key=lambda name: beside[name]["high"] - beside[name]["low"]) == "linear-fit"
    plain = runs["fewer-steps"]["against"]["plain"]
    assert plain["high"] - plain["low"] < 2 * 0.02


def test_options_of_memory_save_what_the_page_says_and_none_but_accumulation_lowers_the_peak_of_training() -> None:
    runs = {name: run["summary"] for name, run in compared("hybrid", "hybrid-memory")["runs"].items()}
    told = {name: run["memory"]["as_planned"] for name, run in runs.items() if run["memory"]["planned"] is not None}
    assert {name for name, planned in told.items() if planned} == {
        "accumulated", "offloaded", "mixed-accumulated-offloaded"
    }  # fmt: skip
    plain = runs.pop("plain")["memory"]["computed"]
    lower = {name for name, run in runs.items() if run["memory"]["computed"] < plain}
    accumulated = {name for name in runs if "accumulated" in name}
    assert not any(run["memory"]["harmless"] for run in runs.values())
    assert runs["offloaded"]["memory"]["computed"] > plain
    assert lower - accumulated == {"mixed-offloaded", "mixed-dropped"}
