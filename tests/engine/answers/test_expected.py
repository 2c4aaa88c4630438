"""Expected values and bands beside an estimate: consistent with each other, and never mixed into the physics."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironlaw import estimate, fit, fits, list_accelerators, list_models, setup
from ironlaw.answers import prepare
from ironlaw.answers.estimate import features
from ironlaw.calibration import calibrate
from ironlaw.cli import main

RUNS = st.fixed_dictionaries(
    {
        "model": st.sampled_from(["gpt2", "gpt2-xl", "llama3-8b"]),
        "gpu": st.sampled_from(["a100-80", "h100-sxm", "rtx-4090", "b200", "v100-32"]),
        "batch": st.sampled_from([1, 8]),
        "dp": st.sampled_from([1, 8, 512]),
        "execution": st.sampled_from(["eager", "compiled"]),
    }
)


@given(RUNS)
def test_expected_values_lie_in_their_bands_and_agree_with_each_other(words: dict[str, Any]) -> None:
    found = estimate(**words)
    seen = found.calibrated
    assert seen is not None
    for value in (seen.step_s, seen.tokens_per_s, seen.allocated_peak, seen.needed, seen.device_total):
        assert 0 < value.low < value.expected < value.high
        assert value.runs >= value.sources >= 0
    tokens = found.time.step_s * found.time.tokens_per_s
    assert seen.step_s.expected * seen.tokens_per_s.expected == pytest.approx(tokens)
    assert seen.step_s.low * seen.tokens_per_s.high == pytest.approx(tokens)
    outside = found.memory_bytes.device_total - found.memory_bytes.allocated_peak
    for end in ("low", "expected", "high"):
        assert getattr(seen.needed, end) == pytest.approx(getattr(seen.allocated_peak, end) + outside)


def test_fewer_runs_alike_never_make_a_band_of_what_is_needed_much_narrower() -> None:
    """It once was that of the driver for known setups and that of the allocator, half as wide, for all others."""

    def width(*words: str, **choices: Any) -> tuple[float, int]:
        seen = estimate("gpt2-xl", *words, batch=1, precision="mixed", **choices).calibrated
        assert seen is not None
        return seen.needed.high / seen.needed.low, seen.needed.runs

    known, runs = width("a100-80")
    for words, choices in ((("rtx-4090",), {}), (("a100-80",), {"execution": "compiled"}), (("a100-80",), {"dp": 64})):
        wide, fewer = width(*words, **choices)
        assert fewer < runs
        assert wide > 0.99 * known


@given(RUNS)
def test_experience_multiplies_the_physics_and_leaves_it_alone(words: dict[str, Any]) -> None:
    found = estimate(**words)
    time = calibrate("time", found.time.step_s, features(setup(**words)))
    assert found.calibrated is not None
    assert found.calibrated.step_s == time


def test_the_command_line_gives_the_expected_values_beside_the_physics(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["estimate", "--model", "gpt2", "--gpu", "a100-80", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert set(answer["calibrated"]) == {"step_s", "tokens_per_s", "allocated_peak", "needed", "device_total"}
    for value in answer["calibrated"].values():
        assert {"expected", "low", "high", "runs"} <= set(value)
    assert answer["time"]["step_s"] == estimate("gpt2", "a100-80").time.step_s
    assert main(["estimate", "--model", "gpt2", "--gpu", "a100-80"]) == 0
    few = capsys.readouterr().out
    assert "Expected, by published runs" in few
    assert "needed" in few
    assert "process" in few


@given(st.sampled_from(list_models()), st.sampled_from(list_accelerators()), st.sampled_from([1, 16]))
def test_there_is_one_answer_to_whether_it_fits(name: str, gpu: str, batch: int) -> None:
    words = {"model": name, "gpu": gpu, "batch": batch, "sequence": 256}
    try:
        c = setup(**words)  # type: ignore[arg-type]
        found = estimate(c)
    except ValueError:  # a chip that lacks a rate
        return
    memory = found.memory_bytes
    assert fits(c) == found.fits == (memory.device_total <= memory.capacity)


@given(RUNS)
def test_the_verdict_is_where_the_capacity_lies_in_the_band(words: dict[str, Any]) -> None:
    found = estimate(**words)
    assert found.calibrated is not None
    band, capacity = found.calibrated.needed, found.memory_bytes.capacity
    words_of = {band.high <= capacity: "fits", band.low > capacity: "not"}
    assert found.verdict == words_of.get(True, "uncertain")
    assert found.as_dict()["verdict"] == found.verdict
    assert found.fits or found.verdict != "fits"


def test_fit_gives_the_same_answer() -> None:
    for gpu in ("rtx-4060", "rtx-4090", "h200"):
        assert fit("gpt2-xl", gpu).fits == fits("gpt2-xl", gpu)


def test_the_time_of_a_pipeline_that_may_not_fit_is_said_not_to_be_trusted() -> None:
    words: dict[str, Any] = {"sequence": 2048, "tp": 8, "micro_batches": 16, "framework": "megatron"}
    plan = prepare(setup("llama2-70b", "a100-80", pp=4, **words))
    said = {}
    for batch in range(1, 12):
        found = plan(batch, 2048)
        doubted = any("not to be trusted" in sentence for sentence in found.as_dict()["assumptions"])
        assert doubted == (found.verdict == "uncertain")
        said[found.verdict] = doubted
    assert said == {"fits": False, "uncertain": True, "not": False}
    undivided = [
        prepare(setup("llama2-7b", "a100-80", precision="bf16"))(2, sequence) for sequence in range(512, 4097, 256)
    ]
    assert "uncertain" in {found.verdict for found in undivided}
    assert not any("trusted" in sentence for found in undivided for sentence in found.assumptions)
