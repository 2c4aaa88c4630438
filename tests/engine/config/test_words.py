"""Wrong words of a setup: each is refused in one line with the word as written, its value and what is allowed."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from ironlaw import (
    EngineError,
    Transformer,
    estimate,
    explain,
    fit,
    fits,
    job_time,
    link,
    list_accelerators,
    setup,
    step_time,
    training_memory,
)
from ironlaw.answers import prepare
from ironlaw.hardware.cluster import cluster
from ironlaw.time import step_points

COUNTS = ("accumulate", "batch", "dp", "interleave", "micro_batches", "node_size", "pp", "sequence", "tp")
SWITCHES = ("balanced", "optimizer_in_backward", "overlap", "overlap_tensor", "sequence_parallel")
NAMES = (
    "accumulation", "attention", "backend", "checkpointing", "execution", "framework", "gpu", "link", "loss", "model",
    "network", "offload", "optimizer", "precision", "runtime", "schedule", "update",
)  # fmt: skip
NUMBERS = ("dropout", "network_gbit")
MAY_BE_MISSING = ("accumulation", "execution", "link", "precision", "update", "network_gbit", "sequence", "dropout")
NOTHING_OF_ANYTHING: tuple[Any, ...] = (
    "", "no", "8", "x" * 500, [], {}, object(), b"x", 1j, Decimal(4), float("nan"), float("inf"), -1, -1.5,
    10**400, 10**5000, np.array([]), np.array(["a"]), np.array([None]), np.array([1.5, 2.0]), np.float64("nan"),
)  # fmt: skip
"""Values that no word of a setup takes."""
NO_NAMES: tuple[Any, ...] = ("", 0, False, [], ())


def refusal(ask: Callable[..., Any], *words: Any, **choices: Any) -> str:
    """The one line with which a question is refused."""
    with pytest.raises(EngineError) as error:
        ask(*words, **choices)
    line = str(error.value)
    assert "\n" not in line
    return line


def refuse_word(word: str, value: Any) -> str:
    """The line for one wrong word, on one device and on two."""
    chosen = {"model": "gpt2"} | {word: value}
    line = refusal(setup, **chosen)
    if word != "dp":
        assert refusal(setup, **({"dp": 2} | chosen)) == line
    assert line.startswith(f"{word} ")
    return line


@pytest.mark.parametrize("word", [*COUNTS, *SWITCHES, *NAMES, *NUMBERS, "attention_generation", "metrics", "zero"])
def test_a_value_that_no_word_takes_is_one_line_with_the_word_as_written(word: str) -> None:
    for value in NOTHING_OF_ANYTHING:
        line = refuse_word(word, value)
        assert "allowed" in line
        assert len(line.partition(" is ")[0]) <= len(word) + 1 + 60
    if word not in MAY_BE_MISSING:
        refuse_word(word, None)


@pytest.mark.parametrize("word", COUNTS)
def test_counts_are_whole_numbers_from_one_to_a_billion(word: str) -> None:
    for value in (0, 1.5, 2.0, True, np.float64(2), np.bool_(True)):
        assert refuse_word(word, value).endswith("it must be a whole number of at least 1")
    assert "is not allowed; it must be a whole number of at most" in refuse_word("batch", 10**9 + 1)


@pytest.mark.parametrize("word", SWITCHES)
def test_a_switch_is_true_or_false_and_no_text_that_counts_as_true(word: str) -> None:
    for value in ("no", "False", 0, 1, None, np.bool_(False)):
        assert refuse_word(word, value).endswith("it must be True or False")


@pytest.mark.parametrize("word", NAMES)
def test_an_empty_value_is_not_taken_for_the_default_name(word: str) -> None:
    for value in NO_NAMES:
        refuse_word(word, value)


def test_zero_and_generation_are_whole_numbers_of_their_few() -> None:
    for value in (2.0, True, 4, "1"):
        assert refuse_word("zero", value).endswith("allowed: 0, 1, 2, 3")
    for value in (True, 2.0, "2"):
        refuse_word("attention_generation", value)


@pytest.mark.parametrize("value", ["8", 0, -1, float("nan"), float("inf"), 10**400, 10**7, True, np.array([1.0])])
def test_a_networks_rate_is_a_number_above_zero(value: Any) -> None:
    refuse_word("network_gbit", value)


def test_unknown_links_are_refused_on_one_device_too_and_the_nearest_is_named() -> None:
    assert refuse_word("network", "ethernet-1000").startswith("network 'ethernet-1000' is unknown, did you mean ether")
    assert refuse_word("link", "nvlink-44").startswith("link 'nvlink-44' is unknown, did you mean nvlink-4?; allowed:")
    assert refuse_word("gpu", "h100").startswith("gpu 'h100' is unknown, did you mean h100-nvl?; allowed: a100-40,")
    assert refuse_word("model", "gtp2").startswith("model 'gtp2' is unknown, did you mean gpt2?; allowed: ")
    assert setup("gpt2", network="ethernet-100", network_gbit=100, link="pcie-5-x16").cluster is None


@pytest.mark.parametrize("word", ["seq", "btch"])
def test_an_unknown_word_is_refused_with_the_nearest_and_all(word: str) -> None:
    meant = {"seq": "sequence", "btch": "batch"}[word]
    for ask in (setup, estimate, job_time):
        line = refusal(ask, "gpt2", "h200", **{word: 128})
        assert line.startswith(f"word {word!r} is unknown, did you mean {meant}?; allowed: model, gpu, batch,")


def test_words_without_a_name_are_four_and_each_is_given_once() -> None:
    line = refusal(estimate, "gpt2", "h200", 8, 1024, "bf16")
    assert line == "word 'bf16' is not allowed; it must be given by name, after model, gpu, batch, sequence"
    line = refusal(setup, "gpt2", "h200", gpu="h200")
    assert line == "gpu 'h200' is not allowed, as it is given without a name too; it must be given once"
    assert refusal(setup).startswith("model is missing")


# ---- NumPy ----


def test_numpys_whole_numbers_are_as_good_as_pythons() -> None:
    n: Any = np.int64
    shape: dict[str, Any] = {"layers": 4, "hidden": 256, "heads": 4, "vocab": 1000, "max_seq": 64, "ffn": 512}
    mine: Any = Transformer("t", **{name: n(value) for name, value in shape.items()})
    assert mine == Transformer("t", **shape)
    assert all(type(getattr(mine, name)) is int for name in shape)
    words: dict[str, Any] = {
        "batch": 2, "sequence": 32, "dp": 2, "tp": 2, "pp": 2, "micro_batches": 4, "accumulate": 2, "zero": 1,
        "interleave": 2, "node_size": 4, "metrics": 1, "attention_generation": 1,
    }  # fmt: skip
    by_numpy = estimate(mine, "h200", **{name: np.int32(value) for name, value in words.items()}).as_dict()
    assert by_numpy == estimate(Transformer("t", **shape), "h200", **words).as_dict()
    assert json.loads(json.dumps(by_numpy)) == by_numpy
    plan = prepare(setup("gpt2"))
    assert json.dumps(plan(n(3), n(128)).as_dict()) == json.dumps(plan(3, 128).as_dict())
    flat: Any = np.array(3)
    assert setup("gpt2", batch=flat) == setup("gpt2", batch=3)


def test_a_sweep_is_calibrated_like_each_of_its_points() -> None:
    plan, batches = prepare(setup("gpt2", "h200")), np.arange(1, 65)
    swept: Any = plan(batches)  # type: ignore[arg-type]
    last = plan(64).calibrated
    assert last is not None
    for name in ("step_s", "tokens_per_s", "allocated_peak", "needed", "device_total"):
        for value in ("expected", "low", "high"):
            found = getattr(getattr(swept.calibrated, name), value)
            assert found.shape == batches.shape
            assert found[-1] == pytest.approx(getattr(getattr(last, name), value))
    assert list(swept.as_dict()) == list(plan(64).as_dict())
    assert swept.verdict.tolist() == [plan(int(batch)).verdict for batch in batches]


def test_narrow_arrays_do_not_overflow() -> None:
    narrow: Any = np.array([100], dtype=np.int8)
    alone = training_memory("gpt2", batch=100, sequence=100).device_total
    assert training_memory("gpt2", batch=narrow, sequence=narrow).device_total == alone
    assert prepare(setup("gpt2"))(narrow, narrow).memory_bytes.device_total == alone


@pytest.mark.parametrize(
    ("batch", "sequence", "line"),
    [
        (np.arange(1, 65), np.arange(1, 4), "batch array([ 1, 2, 3,"),
        (
            np.array([], dtype=int),
            8,
            "batch array([], dtype=int64) is not allowed; it must be an array that is",
        ),
        (np.array([2**41]), 8, "batch array([2199023255552]) is not allowed; it must be a whole number of at most"),
        (np.array([10**9]), 1024, "batch 1000000000 is not allowed with sequence 1024, as the 64 bits of arrays"),
        (np.array([0, 1]), 8, "batch array([0, 1]) is not allowed; it must be a whole number of at least 1"),
    ],
)
def test_arrays_that_cannot_be_swept_are_refused(batch: Any, sequence: Any, line: str) -> None:
    plan = prepare(setup("gpt2"))
    for ask in (plan, lambda b, s: step_time("gpt2", batch=b, sequence=s)):
        assert refusal(ask, batch, sequence).startswith(line)


def test_questions_with_one_answer_say_what_takes_arrays() -> None:
    batches: Any = np.arange(1, 65)
    for ask in (estimate, fit, explain, step_points):
        line = refusal(ask, "gpt2", batch=batches)
        assert line.startswith("batch array([ 1, 2, 3,")
        assert "arrays are allowed in step_time, in training_memory and in prepare(setup)(batch, sequence)" in line
    assert "prepare(setup) of one device" in refusal(prepare(setup("gpt2", dp=8)), batches)
    assert "arrays are allowed in" in refusal(job_time, "gpt2", batch=batches, dp=8)


# ---- shapes ----


@pytest.mark.parametrize("name", ["tied", "bias", "qkv_bias", "parallel", "embedding_norm"])
def test_a_shapes_switches_are_true_or_false(name: str) -> None:
    shape: dict[str, Any] = {name: "no"}
    line = refusal(Transformer, "t", 2, 64, 4, 100, 64, **shape)
    assert line == f"{name} 'no' is not allowed; it must be True or False"


@pytest.mark.parametrize("value", [-1, 1.5, False, 0.0, "0", None, np.array([1, 2]), 10**400])
@pytest.mark.parametrize("name", ["position_offset", "kv_heads", "head_size", "ffn"])
def test_a_shapes_optional_counts_are_whole_numbers(name: str, value: Any) -> None:
    shape: dict[str, Any] = {name: value}
    assert refusal(Transformer, "t", 2, 64, 4, 100, 64, **shape).startswith(f"{name} ")


def test_a_shapes_names_are_texts() -> None:
    shape: dict[str, Any]
    for shape in ({"norm": []}, {"mlp": np.array([1])}, {"position": None}, {"name": 3}):
        words: dict[str, Any] = {"name": "t", "layers": 2, "hidden": 64, "heads": 4, "vocab": 9, "max_seq": 8} | shape
        assert refusal(Transformer, **words).startswith(next(iter(shape)))


# ---- chips that cannot be timed ----


@pytest.mark.parametrize("gpu", ["tpu-v4", "tpu-v5p"])
def test_a_chip_without_an_fp32_rate_answers_what_memory_asks(gpu: str) -> None:
    assert fits("gpt2", gpu) is True
    alone, usual = training_memory("gpt2", gpu), training_memory("gpt2", "h100-sxm")
    assert alone.allocated_peak == usual.allocated_peak
    for ask in (estimate, step_time, job_time, explain, fit, step_points):
        line = refusal(ask, "gpt2", gpu)
        assert line.startswith(
            f"gpu {gpu!r} is not allowed, as nobody published its fp32 rate: only training_memory and fits answer"
        )
        named = line.rpartition("allowed: ")[2].split(", ")
        assert set(named) <= set(list_accelerators())
        assert all(estimate("gpt2", name).time.step_s > 0 for name in named)


def test_a_cluster_made_by_hand_is_checked_as_well() -> None:
    chip = setup("gpt2").chip
    assert refusal(cluster, chip, network="nvlink-4").startswith("network 'nvlink-4' is not allowed, as it joins")
    assert refusal(cluster, chip, inside=[]).startswith("link [] is unknown")
    assert refusal(cluster, chip, node_size=0).startswith("node_size 0 is not allowed")
    assert cluster(chip, inside="pcie-5-x16").inside == link("pcie-5-x16")
