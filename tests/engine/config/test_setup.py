"""The setup: every question takes it or its words, and what cannot be is refused in one line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ironlaw import EngineError, Setup, estimate, explain, fit, job_time, model, setup, step_time, training_memory
from ironlaw.answers import prepare
from ironlaw.parallel.job import job_plan
from ironlaw.time import step_plan, step_points
from tests.conftest import tries

QUESTIONS: dict[str, Callable[..., Any]] = {
    "estimate": estimate,
    "explain": explain,
    "fit": fit,
    "job_time": job_time,
    "step_points": step_points,
    "step_time": step_time,
    "training_memory": training_memory,
}
words: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "batch": st.sampled_from([1, 2, 8]),
        "sequence": st.sampled_from([16, 1024]),
        "precision": st.sampled_from([None, "fp32", "bf16"]),
        "optimizer": st.sampled_from(["adamw", "sgd"]),
        "attention": st.sampled_from(["flash", "standard"]),
        "checkpointing": st.sampled_from(["none", "full", "every:3"]),
        "loss": st.sampled_from(["full", "chunked:4"]),
        "dropout": st.sampled_from([0.0, 0.1]),
        "execution": st.sampled_from([None, "compiled"]),
        "dp": st.sampled_from([1, 2]),
        "tp": st.sampled_from([1, 2]),
        "pp": st.sampled_from([1, 5]),
        "micro_batches": st.sampled_from([1, 5]),
    }
)


@pytest.mark.parametrize("question", QUESTIONS)
@settings(max_examples=15)
@given(words=words)
def test_a_question_gives_the_same_for_a_setup_and_for_its_words(question: str, words: dict[str, Any]) -> None:
    ask = QUESTIONS[question]
    by_setup = ask(setup("gpt2", "h100-sxm", **words))
    assert by_setup == ask("gpt2", "h100-sxm", **words)
    rest = {name: value for name, value in words.items() if name not in ("batch", "sequence")}
    assert by_setup == ask(model("gpt2"), "h100-sxm", words["batch"], words["sequence"], **rest)


@pytest.mark.parametrize("question", QUESTIONS)
def test_words_beside_a_setup_are_refused(question: str) -> None:
    made = setup("gpt2")
    allowed = "is not allowed with a Setup; allowed: a Setup alone, the words of one"
    for more in ({"gpu": "h200"}, {"batch": 8}, {"dp": 2, "zero": 1}):
        with pytest.raises(EngineError, match=allowed) as error:
            QUESTIONS[question](made, **more)
        assert (error.value.what, error.value.value) == next(iter(more.items()))
    with pytest.raises(EngineError, match=r"^gpu 'h200' is not allowed with a Setup"):
        QUESTIONS[question](made, "h200", 8, dp=2)


@settings(max_examples=tries(40))
@given(words, st.sampled_from([1, 3, 64]), st.sampled_from([8, 512]))
def test_plans_take_other_batches_and_sequences(words: dict[str, Any], batch: int, sequence: int) -> None:
    c = setup("gpt2", "h100-sxm", **words)
    there = c.at(batch, sequence)
    assert (there.batch, there.sequence, there.layout, there.cluster) == (batch, sequence, c.layout, c.cluster)
    assert prepare(c)(batch, sequence) == estimate(there)
    assert job_plan(c)(batch, sequence) == job_time(there)
    assert step_plan(c)(batch, sequence) == step_time(there)


def test_a_plan_of_one_device_takes_arrays() -> None:
    batches: Any = np.array([1, 2, 8, 40])
    plan = prepare(setup("gpt2-xl", "h200", checkpointing="full"))
    swept, alone = plan(batches, 512), [plan(int(batch), 512) for batch in batches]
    assert np.allclose(swept.time.step_s, [one.time.step_s for one in alone], rtol=1e-12)
    assert np.array_equal(swept.memory_bytes.device_total, [one.memory_bytes.device_total for one in alone])
    assert np.array_equal(swept.fits, [one.fits for one in alone])


def test_a_setup_names_everything_once() -> None:
    c = setup(
        "gpt2-xl",
        "a100-80",
        4,
        512,
        dp=2,
        tp=5,
        pp=3,
        micro_batches=6,
        accumulate=2,
        node_size=5,
        network="ethernet-100",
    )
    assert (c.model.name, c.chip.name, c.precision.name, c.optimizer.name) == (
        "gpt2-xl",
        "a100-80",
        "amp-bf16",
        "adamw",
    )
    assert (c.batch, c.sequence, c.micro_batches, c.replicas, c.devices) == (4, 512, 12, 2, 30)
    assert c.tokens == 4 * 512 * 12 * 2
    assert [stage.blocks for stage in c.stages] == [16, 16, 16]
    assert c.cluster is not None
    assert c.cluster.network.name == "ethernet-100"
    assert setup("gpt2").cluster is None
    again = setup("gpt2-xl", "a100-80", 4, 512, dp=2, tp=5, pp=3, micro_batches=12, node_size=5, network="ethernet-100")
    assert (c, hash(c)) == (again, hash(again))
    assert isinstance(c, Setup)
    assert (c.whole.devices, c.whole.cluster, c.whole.micro_batches) == (1, None, 12)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"zero": 1}, "zero 1 is not allowed with dp 1; allowed: 0, or dp of at least 2"),
        ({"zero": 3, "tp": 2}, "zero 3 is not allowed with dp 1; allowed: 0, or dp of at least 2"),
        (
            {"pp": 4, "interleave": 2, "micro_batches": 4},
            "interleave 2 is not allowed with pp 4 and model gpt2, which has 12 blocks to divide; allowed: 1, 3",
        ),
        (
            {"pp": 4, "interleave": 3, "micro_batches": 6},
            "interleave 3 is not allowed with pp 4, which must divide the number of micro-batches in a step, 6; ",
        ),
        (
            {"loss": "chunked:4", "keep_logits": True},
            "keep_logits True is not allowed with loss chunked:4; allowed: False, or loss full",
        ),
        ({"loss": "fused", "tp": 2}, "tp 2 is not allowed with loss fused; allowed: 1"),
        (
            {"logits": "shifted"},
            "logits 'shifted' is unknown, did you mean fp32-shifted?; allowed: 16-bit, 16-bit-shifted, fp32, ",
        ),
        (
            {"loss": "chunked:4", "logits": "fp32-shifted"},
            "logits 'fp32-shifted' is not allowed with loss chunked:4; allowed: 16-bit, fp32",
        ),
        (
            {"execution": "compiled", "logits": "fp32"},
            "execution 'compiled' is not allowed with logits fp32; allowed: eager",
        ),
        ({"loss": "chunked:1025"}, "loss 'chunked:1025' is not allowed with sequence 1024, which has fewer"),
        (
            {"loss": "chunked:17", "sequence": 16},
            "loss 'chunked:17' is not allowed with sequence 16, which has fewer tokens; allowed: full, chunked:K",
        ),
        (
            {"tp": 12},
            "tp 12 is not allowed with node_size 8, of which it must be a part or a multiple; allowed: 1, 2, 4",
        ),
        ({"tp": 2, "node_size": 3}, "tp 2 is not allowed with node_size 3, of which it must be"),
        (
            {"dp": 2, "network": "nvlink-4"},
            "network 'nvlink-4' is not allowed, as it joins devices inside a node; allowed: ",
        ),
        (
            {"dp": 2, "network": "pcie-5-x16"},
            "network 'pcie-5-x16' is not allowed, as it joins devices inside a node; allowed: ",
        ),
        (
            {"framework": "megatron", "precision": "amp-bf16"},
            "precision 'amp-bf16' is not allowed with framework megatron, which keeps 16-bit weights; allowed: fp32",
        ),
        (
            {"framework": "megatron", "precision": "amp-fp16"},
            "precision 'amp-fp16' is not allowed with framework megatron, which keeps 16-bit weights; allowed: fp32",
        ),
        (
            {"model": "llama3-8b", "sequence": 2**20 + 1},
            "sequence 1048577 is not allowed with model llama3-8b; it must be at most 1048576",
        ),
        ({"network_gbit": 0, "dp": 2}, "network_gbit 0 is not allowed; it must be a finite number above 0"),
        ({"metrics": -1}, "metrics -1 is not allowed; it must be a whole number of at least 0"),
        (
            {"gpu": "a100-80", "attention_generation": 3},
            "attention_generation 3 is not allowed with gpu a100-80; allowed: 1, 2",
        ),
        ({"attention_generation": 5}, "attention_generation 5 is unknown; allowed: 1, 2, 3, 4"),
        ({"execution": "fast"}, "execution 'fast' is unknown; allowed: eager, compiled"),
        ({"runtime": "ray"}, "runtime 'ray' is unknown; allowed: none, deepspeed"),
        (
            {"gpu": "v100-16", "precision": "bf16"},
            "precision 'bf16' is not allowed with gpu v100-16, which has no bf16; allowed: fp32, amp-fp16, fp16, mixed",
        ),
    ],
)
@pytest.mark.parametrize("ask", [setup, estimate, job_time])
def test_what_cannot_be_is_refused_in_one_line_with_the_option_the_value_and_what_is_allowed(
    ask: Callable[..., Any], words: dict[str, Any], message: str
) -> None:
    chosen = {"model": "gpt2", "gpu": "h100-sxm"} | words
    with pytest.raises(EngineError) as error:
        ask(chosen.pop("model"), **chosen)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "words",
    [
        {"dp": 2, "zero": 3},
        {"pp": 4, "interleave": 3, "micro_batches": 8},
        {"loss": "chunked:1024"},
        {"loss": "chunked:16", "sequence": 16},
        {"tp": 12, "node_size": 4},
        {"tp": 2, "node_size": 6},
        {"dp": 2, "network": "ethernet-10"},
        {"framework": "megatron", "precision": "bf16"},
        {"model": "llama3-8b", "sequence": 2**20},
    ],
)
def test_what_lies_just_inside_the_limits_is_answered(words: dict[str, Any]) -> None:
    chosen = {"model": "gpt2", "gpu": "h100-sxm"} | words
    c = setup(chosen.pop("model"), **chosen)
    assert job_time(c).total > 0
    assert training_memory(c).device_total > 0
