"""What files say of offloading, buffers, evaluation and loading is counted, told, and can be taken back."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from docs.acts.plan.act import ACT
from docs.acts.plan.beside import taken_back
from docs.acts.plan.choices import MODEL, is_more, words_of
from docs.acts.plan.give import exports
from docs.acts.plan.rewritten import rewrite
from docs.acts.plan.take import read
from docs.acts.plan.tips import suggest
from explorable.live import State
from ironlaw import GB, model, setup
from tests.docs.planner import START, at
from tests.docs.planner_texts import COMMAND, LLAMA, OFFLOADED, ZERO_3

SHARDS = """compute_environment: LOCAL_MACHINE
distributed_type: FSDP
fsdp_config:
  fsdp_version: 2
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_reshard_after_forward: true
  fsdp_offload_params: false
  fsdp_cpu_ram_efficient_loading: true
mixed_precision: bf16
num_machines: 1
num_processes: 8
"""


def test_where_one_process_of_a_machine_reads_the_model_its_memory_is_counted_once_and_the_export_says_so() -> None:
    started = at(method="full")

    def plan(*texts: str) -> State:
        return State("run", {**started.controls, **read(texts, started).controls})

    once, each = plan(SHARDS), plan(SHARDS.replace("fsdp_cpu_ram_efficient_loading: true", "# a comment"))
    whole = model(MODEL).parameters * 4 / GB
    assert f"Loading takes up to {whole:,.1f} GB" in ACT.compute(once).tables["answer"].caption
    assert f"Loading takes up to {8 * whole:,.1f} GB" in ACT.compute(each).tables["answer"].caption
    assert ACT.compute(once).headline == ACT.compute(each).headline
    texts, others = exports(once), exports(each)
    assert "  fsdp_cpu_ram_efficient_loading: true\n" in texts["accelerate.yaml"]
    assert "  cpu_ram_efficient_loading: true\n" in texts["fsdp.yaml"]
    assert "ram_efficient" not in others["accelerate.yaml"] + others["fsdp.yaml"]
    assert plan(texts["accelerate.yaml"]).controls["more"] == once.controls["more"]
    for text, said in (
        (SHARDS.replace("loading: true", "loading: false"), False),
        (SHARDS.replace("  fsdp_cpu", "  # fsdp_cpu"), False),
        (SHARDS.replace("FSDP", "MULTI_GPU"), False),
        ("accelerate launch --use_fsdp --fsdp_cpu_ram_efficient_loading true --num_processes 8 train.py --bf16", True),
        (
            'base_model: a/b\nfsdp: [full_shard]\nfsdp_config:\n  "cpu_ram_efficient_loading": True\n',
            True,
        ),
    ):
        assert ("lean_loading" in str(plan(text).controls["more"])) == said, text
    is_more(str(once.controls["more"]))
    with pytest.raises(ValueError, match="the link"):
        is_more('{"lean_loading": "x"}')
    back = next(one for one in taken_back(once) if "lean_loading" not in str(one.controls["more"]))
    assert "one process of a machine that reads the model" in back.title


def test_what_deepspeeds_file_offloads_is_counted_told_and_can_be_taken_back() -> None:
    heard = read([COMMAND, OFFLOADED], START)
    state = State("run", {**START.controls, **heard.controls})
    words = words_of(state)
    assert (words["offload"], words["zero"], state.controls["offload"]) == ("parameters", 3, True)
    view, whole = ACT.compute(state), ACT.compute(at(**{**heard.controls, "more": "", "offload": False}))
    assert float(view.headline.value) < 0.5 * float(whole.headline.value)
    told = view.tables["answer"]
    assert "memory holds weights, gradients and the optimizer's states, as DeepSpeed offloads them" in told.caption
    assert next(row["b"] for row in told.rows if "RAM" in row["a"]) == "160.6 GB"
    success = ACT.compute(state).success
    assert success is not None
    assert "Each machine needs 160.6 GB of its own memory (RAM) too." in success.what
    assert words_of(State("run", {**state.controls, "zero": 2}))["offload"] == "gradients"
    taken_back = State("run", {**state.controls, "offload": False})
    assert words_of(taken_back)["offload"] == "none"
    here = read([COMMAND, ZERO_3], START)
    assert ACT.compute(taken_back).headline == ACT.compute(State("run", {**START.controls, **here.controls})).headline
    assert '"offload_param": {"device": "none"}' in rewrite([OFFLOADED], taken_back)["DeepSpeed"]


@pytest.mark.parametrize(
    ("zero", "held"),
    [
        ({"stage": 3}, "up to 1.2 GB of gathered weights, 1 GB of gradients on their way"),
        ({"stage": 2}, "up to 2.1 GB of gradients on their way"),
        ({"stage": 2, "overlap_comm": True}, "up to 3.1 GB of gradients on their way"),
    ],
    ids=str,
)
def test_buffers_of_what_deepspeed_divides_are_counted_told_and_gone_with_it(zero: dict[str, Any], held: str) -> None:
    text = json.dumps({"zero_optimization": zero, "bf16": {"enabled": True}})
    state = State("run", {**START.controls, **read([COMMAND, text], START).controls})
    view = ACT.compute(state)
    assert f"DeepSpeed's buffers, as your file sizes them, hold {held} on a card." in view.tables["answer"].caption
    rows = {row["a"]: float(row["b"]) for row in view.tables["memory"].rows}
    assert rows["buckets"] == pytest.approx(
        sum(float(one) for one in re.findall(r"([\d.]+) GB of gradients", held)), abs=0.1
    )
    smaller = json.dumps({"zero_optimization": {**zero, "reduce_bucket_size": 1e7}, "bf16": {"enabled": True}})
    without = ACT.compute(State("run", {**START.controls, **read([COMMAND, smaller], START).controls}))
    assert float({row["a"]: row["b"] for row in without.tables["memory"].rows}["buckets"]) < rows["buckets"]
    assert "NCCL's own buffers, outside of PyTorch's tensors; on A100s 0.7 GB" in view.tables["answer"].caption
    assert "NCCL" not in ACT.compute(State("run", {**state.controls, "gpus": 1})).tables["answer"].caption
    first = ACT.compute(State("run", {**state.controls, "zero": 1}))  # where they are counted
    assert "NCCL" not in first.tables["answer"].caption
    assert "DeepSpeed's and NCCL's buffers" in [row["a"] for row in first.tables["memory"].rows]
    for moved in ({"zero": 1}, {"gpus": 1}):
        words = words_of(State("run", {**state.controls, **moved}))
        assert "offload_sizes" not in words
        setup(**words)


def test_a_change_of_what_deepspeed_divides_says_what_a_click_gives() -> None:
    """Two buckets of ZeRO-2 are one of ZeRO-3, and what offloading ends leaves what dividing needs."""
    overlapped = '{"zero_optimization": {"stage": 2, "overlap_comm": true}, "bf16": {"enabled": true}}'
    offloaded = '{"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}}, "bf16": {"enabled": true}}'
    for text, gpu, way in ((overlapped, "a100-40", {"zero": 3}), (offloaded, "h100-sxm", {"offload": False})):
        state = State("run", {**at(gpu=gpu).controls, **read([COMMAND, text], at(gpu=gpu)).controls})
        (one,) = [one for one in suggest(state) if one.controls == way]
        before, after = (ACT.compute(State("run", {**state.controls, **way})) for way in ({}, one.controls))
        saved = float(before.headline.value) - float(after.headline.value)
        told = re.match(r"([\d.]+) GB (less|more)", one.text)
        assert told
        assert float(told[1]) * (1 if told[2] == "less" else -1) == pytest.approx(saved, abs=0.11)


def test_a_batch_of_evaluation_in_a_file_makes_its_peak_and_a_smaller_one_is_suggested() -> None:
    text = f"model_name_or_path: {LLAMA}\nfinetuning_type: lora\ncutoff_len: 2048\nbf16: true\n"
    text += "per_device_train_batch_size: 1\n"
    heard = read([f"{text}per_device_eval_batch_size: 64\n"], START)
    assert any("Evaluation is counted with 64 sequences at a time" in line for line in heard.said)
    state = State("run", {**START.controls, **heard.controls})
    assert ACT.compute(state).failure is not None
    smaller = [one for one in suggest(state) if "Evaluate 1 sequence at a time" in one.title]
    assert smaller
    after = State("run", {**state.controls, **smaller[0].controls})
    plain = read([text], START)
    assert ACT.compute(after).headline == ACT.compute(State("run", {**START.controls, **plain.controls})).headline
