"""The planner's reasons: what of a plan a reader takes for a mistake is said with its cause and its size."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from docs.acts.plan.act import ACT
from docs.acts.plan.choices import is_measured, setup_of
from docs.acts.plan.take import read
from docs.acts.plan.tips import UNPREPARED, suggest
from explorable.live import State, View
from ironlaw import GB, training_memory
from ironlaw.answers import prepare
from tests.docs.planner import START, at

LLAMA = "meta-llama/Llama-2-7b-hf"
TRL = (
    "model_name_or_path: meta-llama/Llama-3.1-8B\nuse_peft: true\nlora_r: 16\nbf16: true\nmax_seq_length: 4096\n"
    "per_device_train_batch_size: 2\ngradient_checkpointing: true\n"
)


def why(view: View) -> str:
    """What is said of a verdict."""
    return view.failure.excess if view.failure else view.success.what if view.success else ""


@pytest.mark.parametrize(("checkpointing", "inside"), [("none", True), ("full", False)])
def test_why_qlora_keeps_more_activations_than_lora_is_said_with_what_it_takes(
    checkpointing: str, inside: bool
) -> None:
    lora, qlora = (
        at(model=LLAMA, gpu="a100-80", sequence=8192, checkpointing=checkpointing, method=method)
        for method in ("lora", "qlora")
    )
    assert "prepare_model_for_kbit_training" not in why(ACT.compute(lora))
    view = ACT.compute(qlora)
    found = re.search(r"Of activations ([\d.]+) GB are kept for the backward pass, and ([\d.]+) GB would be", why(view))
    assert found
    assert f"{found[1]} GB" == view.readings["Activations"]
    short = State("run", {**qlora.controls, "more": '{"base_format": "16-bit"}'})
    assert f"{training_memory(setup_of(short)).component('activations') / GB:.1f}" == found[2]
    assert float(found[2]) < float(found[1])
    assert ("layers of 4 bits" in why(view)) == inside
    assert "kept for the backward pass, and" not in why(ACT.compute(short))


def test_a_slow_step_beside_a_failure_is_explained_though_samples_may_be_longer() -> None:
    log = """ 32%|###      | 281/873 [25:36<52:46,  5.35s/it]
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.32 GiB. GPU 0 has a total capacity of 79.11 GiB of \
which 1.09 GiB is free. Process 123 has 78.01 GiB memory in use. Of the allocated memory 70.00 GiB is allocated by \
PyTorch, and 5.00 GiB is reserved by PyTorch but unallocated.
"""
    before = at(model="Qwen/Qwen2.5-7B", gpus=8, zero=3)
    heard = read([log], before)
    view = ACT.compute(State("run", {**before.controls, **heard.controls}))
    assert "more than expected" in view.tables["measured"].caption


def test_memory_of_an_evaluation_beyond_every_card_is_counted() -> None:
    view = ACT.compute(at(model="Qwen/Qwen2.5-7B", sequence=131072, more=json.dumps({"eval_batch": 10**9})))
    assert view.failure


def test_a_step_of_no_time_in_a_link_is_refused() -> None:
    with pytest.raises(ValueError, match="what the link says was measured"):
        is_measured(json.dumps({"step_s": 5e-324}))


def _measured(times: float, **controls: Any) -> tuple[float, str]:
    """Seconds that a step takes more than expected, and what is said of a measured step that took them."""
    expected = setup_of(at(**controls))
    found = prepare(expected)().calibrated
    assert found
    seconds = times * found.step_s.expected
    view = ACT.compute(at(**controls, measured=json.dumps({"step_s": seconds})))
    return seconds - found.step_s.expected, view.tables["measured"].caption


@pytest.mark.parametrize("times", [1.6, 3, 10])
def test_of_a_slower_step_it_is_said_what_known_causes_explain_together_and_what_stays(times: float) -> None:
    more, said = _measured(times, batch=2)
    found = re.search(
        r"Of the ([\d.]+) s more than expected they would explain ([\d.]+) s(?: together)?: (.*?)\. "
        r"The other ([\d.]+) s stay unexplained: .* waiting for data,.* padded .* a card that others",
        said,
    )
    assert found
    whole, explained, left = (float(found[group]) for group in (1, 2, 4))
    assert whole == pytest.approx(more, rel=0.01)
    assert explained + left == pytest.approx(whole, rel=0.02)
    assert found[3].lower().count("attention") == 1


def test_a_step_inside_or_below_its_band_leaves_nothing_unexplained() -> None:
    for times in (1.0, 0.5):
        assert "unexplained" not in _measured(times, batch=2)[1]


def test_of_experts_the_verdict_says_first_what_4_bits_do_not_reach_and_what_to_do() -> None:
    """Mixtral over 4 bits takes nearly twice the memory of LoRA over 16."""
    state = at(model="mistralai/Mixtral-8x7B-v0.1", method="qlora", gpu="b200")
    view = ACT.compute(state)
    first = re.match(
        r"QLoRA rounds linear layers, and experts,.*?: ([\d.]+) GB of weights stay in FP32\. (.*?)\. Some", why(view)
    )
    assert first
    frozen = training_memory(setup_of(state)).bytes_by_part("parameters")["frozen"] / GB
    assert (first[1], f"{frozen / 2:.1f} GB" in first[2]) == (f"{frozen:.1f}", True)
    tips = {tip.title: tip for tip in suggest(state)}
    for change in UNPREPARED:
        tip = tips[change.title]
        then = State("run", {**state.controls, **tip.controls})
        saved = float(view.headline.value) - float(ACT.compute(then).headline.value)
        assert float(tip.text.partition(" GB less")[0]) == pytest.approx(saved, abs=0.11)
        assert ACT.compute(then).readings["Verdict"] == "Fits"
        assert "stay in FP32" not in why(ACT.compute(then))
    # Of a model without experts all but a little is in 4 bits.
    other = at(method="qlora")
    assert not why(ACT.compute(other)).startswith("QLoRA rounds")
    assert not {change.title for change in UNPREPARED} & {tip.title for tip in suggest(other)}


def test_experts_in_16_bits_and_another_change_come_before_more_cards() -> None:
    state = at(model="mistralai/Mixtral-8x7B-v0.1", method="qlora", gpu="h200", batch=16, sequence=4096)
    tips = sorted((tip for tip in suggest(state) if tip.title), key=lambda tip: -tip.worth)
    assert tips[0].title.startswith(f"{UNPREPARED[0].title}; ")
    then = State("run", {**state.controls, **tips[0].controls})
    assert ACT.compute(then).readings["Verdict"] == "Fits"
    saved = float(ACT.compute(state).headline.value) - float(ACT.compute(then).headline.value)
    assert float(tips[0].text.partition(" GB less")[0]) == pytest.approx(saved, abs=0.11)
    assert (then.controls["gpus"], then.controls["method"]) == (1, "qlora")
    assert not [tip for tip in tips if "more cards" in tip.text]


@pytest.mark.parametrize(
    ("text", "told"), [(TRL, True), (f"{TRL}dtype: bfloat16\n", False), (f"{TRL}dtype: float32\n", False)]
)
def test_frozen_weights_in_fp32_that_no_file_asks_for_are_among_what_is_not_said(text: str, *, told: bool) -> None:
    said = read([text], START).said
    assert any("as the program does by default" in line and "frozen weights in FP32" in line for line in said) == told
