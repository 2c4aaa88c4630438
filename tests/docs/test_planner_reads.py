"""The planner reads: pasted files, logs and messages become its controls, and nothing of them leaves."""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import Any

import pytest

from book import plans
from docs.acts.plan.act import ACT
from docs.acts.plan.beside import taken_back
from docs.acts.plan.choices import MODEL, PASTED, is_left, is_more, model_of, setup_of, words_of
from docs.acts.plan.give import exports
from docs.acts.plan.labels import spell
from docs.acts.plan.left import TITLES, TWO_MODELS
from docs.acts.plan.measured import CHANGED
from docs.acts.plan.phases import held
from docs.acts.plan.rewritten import rewrite
from docs.acts.plan.take import TEXT_ALONE, read
from docs.acts.plan.tips import suggest
from docs.acts.plan.view import SAID
from explorable.live import State
from explorable.live.runtime.acts import ActError, LoadedAct
from ironlaw import GB, EngineError, accelerator, estimate, model, setup
from ironlaw.files import Facts
from ironlaw.files.logs import read as read_log
from ironlaw.models.published import published
from tests.docs.acts import loaded
from tests.docs.planner import AXOLOTL, OUT_OF_MEMORY, SECRETS, START, at, sent


@pytest.fixture(scope="module")
def act() -> LoadedAct:
    return loaded("plan")


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


def test_sequences_longer_than_the_models_context_are_remarked_on() -> None:
    assert "max_position_embeddings" not in ACT.compute(at(model=LLAMA, sequence=8192)).tables["answer"].caption
    longer = at(model=LLAMA, gpu="h200", method="qlora", sequence=8193)
    told = "8,193 tokens are more than the 8,192 that the model's configuration gives (max_position_embeddings)"
    assert told in ACT.compute(longer).tables["answer"].caption
    assert (
        "max_position" not in ACT.compute(at(model="meta-llama/Llama-3.1-8B", sequence=8193)).tables["answer"].caption
    )
    for name, said in ((LLAMA, True), ("meta-llama/Llama-3.1-8B", False)):
        ways = suggest(at(model=name, gpu="h200", method="qlora", chunked=True))
        longest = next(one for one in ways if "the longest that fits" in one.title)
        assert ("max_position_embeddings" in longest.text) == said


def test_a_table_that_cuts_a_cards_name_is_called_a_table() -> None:
    table = """| NVIDIA-SMI 525.60.13    Driver Version: 525.60.13    CUDA Version: 12.0     |
|   0  NVIDIA A100-SXM...  On   | 00000000:00:04.0 Off |                    0 |
| N/A   34C    P0    52W / 400W |  30321MiB / 81920MiB |      0%      Default |
"""
    heard = read([table], START)
    assert heard.controls["gpu"] == "a100-80"
    assert any("has the memory that the table names" in line for line in heard.said)
    assert any("the message names" in line for line in read([OUT_OF_MEMORY], START).said)


def test_what_a_reader_has_moved_since_a_file_was_read_stays_when_a_log_comes() -> None:
    first = {**START.controls, **read([AXOLOTL], START).controls}
    moved = State("run", {**first, "batch": 4, "sequence": 8192, "gpus": 8}, stood=first)
    heard = read([AXOLOTL, "{'train_runtime': 60.0, 'train_steps_per_second': 2.0}"], moved)
    assert (heard.controls["batch"], heard.controls["sequence"]) == (4, 8192)
    assert any(line.startswith("Kept as you have set it: “Sequences at once, per card: 4”") for line in heard.said)
    # What the new text says itself counts.
    other = read([AXOLOTL, AXOLOTL.replace("micro_batch_size: 2", "micro_batch_size: 16")], moved)
    assert (other.controls["batch"], other.controls["sequence"]) == (16, 8192)
    # A page in which nothing was read before has moved nothing.
    assert read([AXOLOTL], State("run", {**START.controls, "batch": 4})).controls["batch"] == 2


def test_a_message_of_a_t4_names_a_little_less_than_a_t4_has() -> None:
    said = "OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 14.56 GiB."
    assert read([said], START).controls["gpu"] == "t4"


def test_a_table_of_an_estimator_alone_has_no_verdict_on_the_pages_own_model() -> None:
    table = (
        "Estimated memory needed for params, optim states and gradients for a:\n"
        "HW: Setup with 1 node, 8 GPUs per node.\nSW: Model with 6857M total params, 206M largest layer params.\n"
        "  per CPU  |  per GPU |   Options\n  172.44GB |   0.77GB | offload_param=cpu, offload_optimizer=cpu"
    )
    view = ACT.compute(State("run", {**START.controls, **read([table], START).controls}))
    assert view.success is not None
    assert view.success.title == "This page's model, not yours"


def test_a_message_leaves_a_card_of_that_memory_that_was_chosen() -> None:
    said = "OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB."
    for card in ("h100-sxm", "a100-80"):
        heard = read([said], State("run", {**START.controls, "gpu": card}))
        assert heard.controls["gpu"] == card


def test_a_pasted_file_sets_the_controls() -> None:
    heard = read([AXOLOTL], START)
    state = State("run", {**START.controls, **heard.controls})
    words = words_of(state)
    assert heard.labels == ["axolotl"]
    expected = {"model": "meta-llama/Meta-Llama-3-8B", "batch": 2, "sequence": 4096, "accumulate": 4, "method": "qlora"}
    assert {name: words[name] for name in expected} == expected
    assert (words["lora_rank"], words["optimizer"], words["checkpointing"]) == (32, "adamw-8bit", "full")


def test_cards_that_share_sequences_stand_among_the_settings_of_files() -> None:
    """No control has them: the plan counts them all the same, with the cards in all, and says what they hold."""
    run = (
        "torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py --num-attention-heads 32 "
        "--tensor-model-parallel-size 2 "
        "--context-parallel-size 4 --seq-length 32768 --micro-batch-size 1 --use-distributed-optimizer --bf16"
    )
    heard = read([run], at(model="meta-llama/Meta-Llama-3.1-405B"))
    state = State("run", {**START.controls, **heard.controls})
    assert json.loads(str(heard.controls["more"]))["cp"] == 4
    layout = setup_of(state).layout
    assert (layout.devices, layout.data, layout.tensor, layout.context, layout.zero) == (16, 2, 2, 4, 1)
    assert not any("Context parallelism" in line for line in heard.said)
    assert "1/4 of every sequence" in held(setup_of(state))
    assert "8 of them divide optimizer states" in held(setup_of(state))
    fewer = State("run", {**state.controls, "gpus": 12})
    with pytest.raises(EngineError, match="a multiple of 8"):
        setup_of(fewer)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", published())
def test_a_pasted_configuration_is_the_model_of_the_list(name: str) -> None:
    config = {**published()[name]["config"], "_name_or_path": "/home/somebody/secret", "auto_map": {"a": "secret"}}
    heard = read([json.dumps({"architectures": ["secret"], **config})], START)
    assert "secret" not in json.dumps(dict(heard.controls))
    pasted = ACT.compute(State("run", {**START.controls, **heard.controls}))
    assert pasted.headline == ACT.compute(at(model=name)).headline


def test_no_secret_of_a_file_leaves(act: LoadedAct) -> None:
    """Not in the controls, which the address holds, not in what is said, not in an export."""
    texts = [AXOLOTL + SECRETS, "torchrun --nproc-per-node 2 /home/somebody/secret/train.py --token hf_sEcReT"]
    heard = read(texts, START)
    state = State("run", {**START.controls, **heard.controls})
    assert state.controls["gpus"] == 2
    left = json.dumps([dict(heard.controls), list(heard.said), act.exports(sent(state)), act.compute(sent(state))])
    left += plans.link(state, START) + plans.link(state, START)
    assert not [word for word in ("sEcReT", "secret", "somebody", "private") if word in left]


def test_a_file_that_divides_matrices_brings_the_cards_for_it() -> None:
    heard = read(["torchrun pretrain_gpt.py --tensor-model-parallel-size 4 --pipeline-model-parallel-size 3"], START)
    assert {name: heard.controls[name] for name in ("gpus", "tp", "pp")} == {"gpus": 12, "tp": 4, "pp": 3}


def test_what_cards_divide_is_kept_where_another_file_says_how_many_there_are() -> None:
    heard = read(['{"zero_optimization": {"stage": 3}, "bf16": {"enabled": true}}'], START)
    assert heard.controls["zero"] == 3


LLAMA, QWEN = "meta-llama/Meta-Llama-3-8B", "Qwen/Qwen2.5-0.5B"
FULL = f"model_name_or_path: {LLAMA}\nfinetuning_type: full\ncutoff_len: 6000\nbf16: true\n"
RUN = f"train.py --model_name_or_path {LLAMA} --bf16 --per_device_train_batch_size 1 --max_seq_length 1024"
COMMAND = f"torchrun --nproc_per_node 8 {RUN}"
FSDP = f'{COMMAND} --fsdp "full_shard auto_wrap"'
SHARDED = "base_model: NousResearch/Meta-Llama-3-8B\nbf16: auto\nmicro_batch_size: 1\nfsdp: [full_shard, auto_wrap]\n"
ZERO_3 = '{"zero_optimization": {"stage": 3}, "bf16": {"enabled": "auto"}}'


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([FULL], {"method": "full", "checkpointing": "full", "sequence": 6000}),
        (["torchrun --nproc_per_node 4 train.py --bf16"], {"method": "full", "checkpointing": "none", "dp": 4}),
        ([COMMAND], {"method": "full", "checkpointing": "none", "dp": 8, "zero": 0}),
        ([FSDP], {"method": "full", "zero": 3, "precision": "mixed-bf16"}),
        ([SHARDED, "torchrun --nproc_per_node 8 train.py"], {"method": "full", "zero": 3, "precision": "mixed-bf16"}),
        ([f"deepspeed --num_gpus 8 {RUN} --deepspeed ds.json", ZERO_3], {"method": "full", "zero": 3, "dp": 8}),
        ([f"torchrun --nproc_per_node 4 run_clm.py --model_name_or_path {QWEN} --block_size 4096 --fp16 "
          "--deepspeed ds_z3.json", ZERO_3],
         {"model": QWEN, "sequence": 4096, "precision": "mixed", "method": "full", "zero": 3}),
    ],
    ids=range(7),
)  # fmt: skip
@pytest.mark.parametrize(
    "moved", [{}, {"chunked": True, "offload": True, "optimizer": "lion", "accumulate": 3}], ids=str
)
def test_what_a_run_is_not_told_stands_as_its_program_has_it(
    texts: list[str], expected: dict[str, Any], moved: dict[str, Any]
) -> None:
    """Not as the page has it by default, or a hand before: LoRA, every block recomputed, kernels of another plan."""
    heard = read(texts, at(**moved))
    state = State("run", {**at(**moved).controls, **heard.controls})
    words = words_of(state)
    assert {name: words[name] for name in expected} == expected
    plain = ("adamw", "full", "none", 1)
    assert (words["optimizer"], words["loss"], words["offload"], words["accumulate"]) == plain
    assert ACT.compute(state).headline.value != "–"
    told = " ".join(heard.said)
    assert ("everything is trained" in told) is (texts != [FULL])
    assert ("is recomputed" in told) is True


OFFLOADED = """{"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"},
"offload_param": {"device": "cpu"}}, "bf16": {"enabled": true}}"""


AUTO = """{"zero_optimization": {"stage": 3, "stage3_prefetch_bucket_size": "auto", "offload_optimizer":
{"device": "cpu"}, "offload_param": {"device": "cpu"}}, "bf16": {"enabled": true}}"""


@pytest.mark.parametrize(
    "text",
    [
        '{"zero_optimization": {"stage": 0}, "bf16": {"enabled": true}}',
        '{"zero_optimization": {"stage": 1}, "bf16": {"enabled": true}}',
        '{"zero_optimization": {"stage": 2}, "fp16": {"enabled": true}}',
        AUTO,
        "distributed_type: FSDP\nmixed_precision: bf16\nfsdp_config: {}\n",
    ],
)
@pytest.mark.parametrize("method", ["full", "lora"])
def test_a_file_and_choices_make_one_plan_in_any_order(text: str, method: str) -> None:
    """What a file leaves open, such as what is trained, decides with it what it says: formats, buffers, offloading."""
    chosen: dict[str, Any] = {"method": method, "model": "Qwen/Qwen2.5-1.5B", "gpu": "a100-80", "gpus": 8}
    for first in ({}, {"method": "full"}):
        before = at(**first)
        after = State("run", {**before.controls, **read([text], before).controls, **chosen})
        moved = at(**chosen)
        last = State("run", {**moved.controls, **read([text], moved).controls})
        assert words_of(after) == words_of(last)
        assert "as your files have them" in ACT.compute(last).tables["answer"].caption


@pytest.mark.parametrize(
    ("said", "on_t4"), [("bf16: auto\n", "16"), ("", "16"), ("fp16: auto\n", "16"), ("bf16: auto\nfp16: false\n", "32")]
)
@pytest.mark.parametrize("trains", ["", "adapter: lora\nlora_r: 16\n", "adapter: qlora\nload_in_4bit: true\n"])
@pytest.mark.parametrize("later", [False, True])
def test_formats_that_a_file_leaves_to_the_card_are_those_of_the_card(
    said: str, on_t4: str, trains: str, later: bool
) -> None:
    """axolotl's `auto`: BF16 where the card has it, else FP16, if the file does not refuse that (`resolve_dtype`)."""
    text = f"base_model: Qwen/Qwen2.5-0.5B\nsequence_len: 1024\nmicro_batch_size: 1\n{trains}{said}"
    for card, form in (("h100-sxm", "bf16"), ("t4", f"fp{on_t4}"), ("v100-32", f"fp{on_t4}")):
        before = START if later else at(gpu=card)
        state = State("run", {**before.controls, **read([text], before).controls, "gpu": card})
        asked, view = setup_of(state), ACT.compute(state)
        assert asked.precision.compute.name == form
        assert (asked.precision.weights.name == form) is (not trains or form == "fp32")
        assert view.headline.value not in ("–", "")
        assert "as your files have them" in view.tables["answer"].caption
        is_more(str(state.controls["more"]))
        told = " ".join(read([text], before).said)
        assert ("BF16, on a card without it in FP16" in told) is ("bf16" not in said)


def test_formats_left_to_the_card_agree_with_those_that_another_file_says() -> None:
    text, launch = "base_model: Qwen/Qwen2.5-0.5B\nmicro_batch_size: 1\nbf16: auto\n", "mixed_precision: fp16\n"
    state = State("run", {**START.controls, **read([text, f"distributed_type: MULTI_GPU\n{launch}"], START).controls})
    assert setup_of(state).precision.compute.name == "fp16"


def test_a_loss_in_pieces_that_is_chosen_later_leaves_evaluation_as_the_files_program_has_it() -> None:
    """axolotl calls Liger's kernel itself, which makes the logits whole outside of training."""
    text, liger = f"{AXOLOTL}eval_batch_size: 8\n", "liger_fused_linear_cross_entropy: true\n"
    later, said = (State("run", {**START.controls, **read([one], START).controls}) for one in (text, text + liger))
    assert not setup_of(later).evaluation.whole  # type: ignore[union-attr]
    assert words_of(State("run", {**later.controls, "chunked": True})) == words_of(said)
    assert setup_of(said).evaluation.whole  # type: ignore[union-attr]


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


def test_every_setting_that_stands_and_no_file_says_is_named() -> None:
    """A file that divides, or a bare launch, says nothing of what is trained and how."""
    for text in (ZERO_3, "torchrun --nproc_per_node 8 train.py"):
        heard = read([text], at(sequence=4096, chunked=True, optimizer="lion"))
        line = next(line for line in heard.said if "standing here" in line)
        for name in ("model", "method", "rank", "batch", "checkpointing"):
            assert name not in heard.controls
            assert spell(name, START.controls[name]).strip("“”") in line
        assert "“Tokens of a sequence: 4,096”" in line
        assert "“Loss in pieces (Liger, cut cross-entropy): on”" in line
        assert "“Optimizer: lion”" in line
        assert "torch.compile" not in line  # which stands as most scripts have it
        state = State("run", {**START.controls, **heard.controls, "gpus": 8})
        assert ACT.compute(state).headline.value != "–"
    assert "Rank" not in " ".join(read([ZERO_3], at(method="full")).said)
    assert "Trains" not in " ".join(read([FULL], START).said)


def test_what_somebody_gives_last_takes_the_place_of_what_was_there_of_its_kind() -> None:
    two = COMMAND.replace("batch_size 1", "batch_size 2")
    for first, second in ((COMMAND, two), (two, COMMAND), (FULL + "per_device_train_batch_size: 4\n", two)):
        heard = read([first, second], START)
        assert list(heard.labels) == ["", "command"]
        assert heard.controls == read([second], START).controls
        assert [line for line in heard.said if "counts no more" in line]
    # What completes each other stays: a launch and a file, a JSON of DeepSpeed, all of a checkpoint's headers.
    launch = "torchrun --nproc_per_node 8 train.py"
    assert list(read([launch, FULL, ZERO_3], START).labels) == ["command", "LLaMA-Factory", "DeepSpeed"]
    assert list(read([FULL, ZERO_3, launch], START).labels) == ["LLaMA-Factory", "DeepSpeed", "command"]
    header = header_of("openai-community/gpt2")
    assert list(read([header, header], START).labels) == ["safetensors", "safetensors"]
    assert read([f"{two}\n{COMMAND}"], START).controls == read([COMMAND], START).controls
    # Of a paste with several things the rest goes on counting.
    assert list(read([OUT_OF_MEMORY + AXOLOTL, FULL], START).labels) == ["out of memory", "LLaMA-Factory"]


@pytest.mark.parametrize(
    ("texts", "moved", "title", "closes"),
    [
        ([ZERO_3], {}, "This page's model, not yours", {"model": QWEN}),
        ([ZERO_3], {"gpu": "t4"}, "This page's model, not yours", {"left": ""}),
        ([AXOLOTL.replace("NousResearch/Meta-Llama-3-8B", "somelab/Wonder-9B")], {"model": QWEN},
         "This page's model, not yours", {"model": LLAMA}),
        ([f"{COMMAND} --deepspeed ds.json"], {}, "Without the file that divides", {"zero": 2}),
        ([f"{COMMAND} --deepspeed ds.json"], {}, "Without the file that divides", {"left": ""}),
        ([f"accelerate launch --config_file fsdp.yaml {RUN}"], {}, "Without the file that divides", {"zero": 3}),
    ],
    ids=range(6),
)  # fmt: skip
def test_no_verdict_stands_where_files_leave_open_on_what_it_rests_until_the_reader_says_it(
    act: LoadedAct, texts: list[str], moved: dict[str, Any], title: str, closes: dict[str, Any]
) -> None:
    """Neither green nor red, in the whole view and in a frame, and in words of the plan as it stands."""
    state = State("run", {**at(**moved).controls, **read(texts, at(**moved)).controls})
    view = ACT.compute(state)
    assert view.failure is None
    assert view.success
    assert (view.success.title, view.success.marked) == (title, False)
    assert ACT.compute(State(state.context, state.controls, moving=True)).success == view.success
    stands = (str(state.controls["model"]) or MODEL) if "model" in title else "without ZeRO"
    assert stands in view.success.what
    verdict = estimate(**words_of(state)).verdict
    assert ("As it stands it fits" in view.success.what) == (verdict == "fits")
    assert view.readings["Verdict"] == title
    assert view.summary.startswith(title)
    # One click, or a hand that moves the control, closes it.
    first: Any = act.suggest(sent(state), True)
    assert first["next"]["controls"] == {"left": ""}
    then = ACT.compute(State("run", {**state.controls, **closes}))
    assert then.readings["Verdict"] in SAID.values()
    assert (then.success or then.failure).title == then.readings["Verdict"]  # type: ignore[union-attr]


def test_a_hand_that_chooses_the_model_that_stands_as_an_example_is_believed() -> None:
    """Of a log alone nothing says the model; whoever has chosen one has said it, also the one that stood there."""
    assert START.controls["model"] != MODEL
    assert ACT.compute(START).headline == ACT.compute(at(model=MODEL)).headline
    for before, title in ((START, "This page's model, not yours"), (at(model=MODEL), None)):
        state = State("run", {**before.controls, **read([NANO_GPT], before).controls})
        verdict = ACT.compute(state).readings["Verdict"]
        assert (verdict == title) if title else (verdict in SAID.values())
        # A hand that chooses it afterwards closes the question.
        assert ACT.compute(State("run", {**state.controls, "model": MODEL})).readings["Verdict"] in SAID.values()


def test_two_sizes_of_a_machines_memory_are_told_apart() -> None:
    heard = read([COMMAND, OFFLOADED], START)
    table = ACT.compute(State("run", {**START.controls, **heard.controls})).tables["answer"]
    (row,) = [row for row in table.rows if "RAM" in row["a"]]
    assert row["a"] == "A machine's own memory (RAM), while it trains"
    assert (
        f"That is at the start and goes again, before the optimizer's states are made; the {row['b']}" in table.caption
    )
    here = ACT.compute(State("run", {**START.controls, **read([COMMAND, ZERO_3], START).controls})).tables["answer"]
    assert "Loading takes up to" in here.caption
    assert "goes again" not in here.caption


def test_a_file_that_completes_another_closes_what_that_leaves_open() -> None:
    for texts, moved in (
        ([ZERO_3, json.dumps(published()[QWEN]["config"])], {}),
        ([f"{COMMAND} --deepspeed ds.json", ZERO_3], {}),
        ([ZERO_3], {"model": QWEN}),
        ([OUT_OF_MEMORY], {"model": QWEN}),
    ):
        assert read(texts, at(**moved)).controls["left"] == ""
    both = read(["torchrun --nproc_per_node 8 train.py --deepspeed ds.json"], START).controls["left"]
    assert json.loads(str(both)) == {"model": START.controls["model"], "zero": 0}


def test_what_files_say_is_joined_once_for_a_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    joinings: list[Facts] = []
    once = Facts.joined

    def join(mine: Facts, other: Facts) -> Facts:
        joinings.append(other)
        return once(mine, other)

    monkeypatch.setattr(Facts, "joined", join)
    read([AXOLOTL, ZERO_3], START)
    # Each of the two files is joined to those before it.
    assert len(joinings) == 2


def test_options_that_are_not_understood_are_told_in_a_line() -> None:
    heard = read([f"{COMMAND} --ring_attention 4 --learning_rate 1e-5"], START)
    assert "Not understood of the command, and not counted: --ring_attention." in heard.said


def test_a_rank_goes_into_the_file_with_the_adapters() -> None:
    heard = read([FULL], START)
    state = State("run", {**START.controls, **heard.controls, "method": "lora", "rank": 64})
    (changed,) = rewrite([FULL], state).values()
    assert {"-finetuning_type: full", "+finetuning_type: lora", "+lora_rank: 64"} <= set(changed.splitlines())


def test_an_unknown_model_of_a_file_is_said_with_what_stands_instead() -> None:
    state = at(model="Qwen/Qwen3-8B")
    heard = read([AXOLOTL.replace("NousResearch/Meta-Llama-3-8B", "somelab/Wonder-9B")], state)
    assert "model" not in heard.controls
    assert [line for line in heard.said if "somelab/Wonder-9B" in line and "Qwen/Qwen3-8B stands instead" in line]


def test_what_was_measured_stands_beside_the_band(act: LoadedAct) -> None:
    log = "\n".join(f"iter {n}: loss 3.1, time {900 + n}.00ms, mfu 40.00%" for n in range(1, 30))
    assert read_log(log) is not None
    heard = read([log], START)
    view = ACT.compute(State("run", {**START.controls, **heard.controls}))
    assert set(json.loads(str(heard.controls["measured"]))) >= {"step_s"}
    rows = view.tables["measured"].rows
    assert rows
    assert [row["e"] for row in rows] == ["above", "not compared"]
    whole = State("run", {**START.controls, **heard.controls, "method": "full"})
    assert "published runs" not in view.tables["measured"].caption
    assert re.search(r" percentile \d+ of 1\d\d published runs", ACT.compute(whole).tables["measured"].caption)


NVIDIA_SMI = """| NVIDIA-SMI 550.54.15    Driver Version: 550.54.15    CUDA Version: 12.4 |
|   0  NVIDIA GeForce RTX 4090        Off |   00000000:01:00.0 Off |                  Off |
| 30%   45C    P2             300W /  450W |   22550MiB /  24564MiB |    100%      Default |
"""


def test_a_message_and_the_driver_s_table_of_one_card_are_read_together() -> None:
    """PyTorch counts 23.65 GiB of what the driver has as 24,564 MiB; a card of another size is another."""
    for texts in ([OUT_OF_MEMORY, NVIDIA_SMI], [NVIDIA_SMI, OUT_OF_MEMORY]):
        heard = read(texts, START)
        assert heard.controls["gpu"] == "rtx-4090"
        assert {"asked", "free"} <= set(json.loads(str(heard.controls["measured"])))
    with pytest.raises(EngineError, match="gpu memory"):
        read([OUT_OF_MEMORY.replace("23.65", "79.15"), NVIDIA_SMI], START)


def test_of_a_model_with_a_part_for_images_it_is_said_that_text_alone_is_counted() -> None:
    text = published()["google/gemma-3-1b-it"]["config"]
    whole = {"model_type": "gemma3", "text_config": text, "vision_config": {"hidden_size": 1152}}
    for config, told in ((text, False), (whole, True)):
        heard = read([json.dumps({"architectures": ["x"], **config})], START)
        assert (TEXT_ALONE in heard.said) == told


def test_how_much_loading_takes_is_in_the_format_in_which_the_program_loads() -> None:
    for text, said in (("", "FP32, 32.1 GB each"), ("dtype: bfloat16\n", "BF16, 16.1 GB each")):
        trl = f"model_name_or_path: {LLAMA}\ndataset_name: x\nuse_peft: true\nper_device_train_batch_size: 1\n{text}"
        state = State("run", {**START.controls, **read([trl], START).controls})
        assert f"whole model in {said}" in ACT.compute(state).tables["answer"].caption


def test_of_experts_it_is_said_that_four_bits_do_not_reach_them() -> None:
    for name, told in (("mistralai/Mixtral-8x7B-v0.1", True), (LLAMA, False)):
        view = ACT.compute(at(model=name, method="qlora", gpu="b200"))
        assert ("of experts, embeddings" in f"{view.success} {view.failure}") == told


def test_memory_of_which_nothing_is_free_is_told(act: LoadedAct) -> None:
    message = OUT_OF_MEMORY.replace("1.09 GiB is free", "0 bytes is free")
    measured = json.loads(str(read([message], START).controls["measured"]))
    assert (measured["free"], measured["in_use"]) == (0, round(23.65 * 2**30))
    act.hear([message], sent(START))  # also the page's check of its notes takes it


NANO_GPT = "iter 100: loss 3.4, time 250.12ms, mfu 35.2%"


@pytest.mark.parametrize(
    "controls",
    [
        {},
        {"method": "full"},
        {"model": "openai-community/gpt2", "sequence": 1024},
        {"model": "openai-community/gpt2"},
        {"gpus": 3, "tp": 2},
    ],
    ids=str,
)
def test_one_line_of_a_log_is_shown_whether_or_not_the_plan_fits_or_can_be_counted(controls: dict[str, Any]) -> None:
    state = at(**controls)
    heard = read([NANO_GPT], state)
    assert heard.said[0] == "Read: time of a step 0.2501 s, utilization (MFU) as the log counts it 35.2 %."
    view = ACT.compute(State("run", {**state.controls, **heard.controls}))
    table = view.tables["measured"]
    step, share = table.rows
    assert (step["a"], step["b"]) == ("time of a step, s", "0.2501")
    assert (share["a"], share["b"]) == ("utilization (MFU) as the log counts it, %", "35.2")
    if view.headline.value == "–":
        assert "no numbers to stand beside it" in table.caption
    else:
        seen = estimate(**words_of(state)).calibrated
        assert seen is not None
        assert step["c"] == f"{seen.step_s.expected:.4g}"
    assert "measured" in ACT.beside


def test_a_message_and_a_file_in_one_paste_are_both_read(act: LoadedAct) -> None:
    heard = read([OUT_OF_MEMORY + AXOLOTL], START)
    assert list(heard.labels) == ["out of memory and axolotl"]
    alone = read([AXOLOTL], START)
    assert {**heard.controls, **alone.controls} == heard.controls
    assert heard.controls["gpu"] == "rtx-4090"
    state = State("run", {**START.controls, **heard.controls, "batch": 1})
    changed = act.rewrite([OUT_OF_MEMORY + AXOLOTL], sent(state))
    assert isinstance(changed, dict)
    assert "+micro_batch_size: 1" in str(changed["axolotl"])


def test_a_message_is_said_to_be_about_the_plan_before_a_change() -> None:
    heard = read([OUT_OF_MEMORY + AXOLOTL], START)
    ran = State("run", {**START.controls, **heard.controls})
    for state, changed in (
        (ran, False),
        (State("run", {**ran.controls, "tokens": 7.0, "price": 3.0}), False),
        (State("run", {**ran.controls, "batch": 1}), True),
        (State("run", {**ran.controls, "gpu": "h200"}), True),
    ):
        tables = ACT.compute(state).tables
        captions = [table.caption for table in tables.values()]
        assert [CHANGED in caption for caption in captions].count(True) == changed
        assert (CHANGED in tables["message"].caption) == changed


def test_what_no_file_says_is_told_with_what_stands_instead() -> None:
    told = " ".join(read([AXOLOTL], at(gpu="l40s", tokens=7)).said)
    assert accelerator("l40s").title in told
    assert "1 card in all, a run of 7 million tokens" in told
    both = " ".join(read([AXOLOTL, OUT_OF_MEMORY, "torchrun --nproc-per-node 2 train.py"], START).said)
    assert "standing here: a run of" in both
    assert "standing here" not in " ".join(read([OUT_OF_MEMORY], START).said)


def test_what_cannot_be_read_is_said_in_a_line(act: LoadedAct) -> None:
    for text in ("hello", "{", '{"model_type": "mamba2", "vocab_size": 5}', "iter", "\x00" * 50):
        with pytest.raises(ActError) as caught:
            act.hear([text], sent(START))
        assert "\n" not in str(caught.value)
        assert ".py" not in str(caught.value)


def header_of(name: str) -> str:
    """The header of a checkpoint in one file, with every layer's tensors, as safetensors keeps it."""
    numbers = {(one.name, at): one for one in model(name).parameter_tensors for at in one.layers or range(one.count)}
    entry = {"dtype": "BF16", "data_offsets": [0, 1]}
    tensors = {key.replace("*", str(at)): {**entry, "shape": list(one.shape)} for (key, at), one in numbers.items()}
    return json.dumps({"__metadata__": {"format": "pt"}, **tensors})


def test_a_checkpoints_header_says_which_model_of_the_list_it_is() -> None:
    text = header_of("Qwen/Qwen2.5-7B")
    heard = read([text], START)
    assert list(heard.labels) == ["safetensors"]
    assert heard.controls["model"] == "Qwen/Qwen2.5-7B"
    told = " ".join(heard.said)
    assert f"{model('Qwen/Qwen2.5-7B').parameters:,} parameters. They are those of Qwen/Qwen2.5-7B" in told
    assert "no part of that model" not in told
    # Without one tensor it is nobody's; beside a configuration it is held against that.
    tensors = json.loads(text)
    del tensors[list(tensors)[-1]]
    assert "model" not in read([json.dumps(tensors)], START).controls
    config = json.dumps(published()["Qwen/Qwen2.5-7B"]["config"])
    for one, said in ((text, False), (json.dumps(tensors), True)):
        beside = read([one, config], START)
        assert beside.controls["model"] == "pasted"
        assert (
            "0 of its tensors are no part of that model, and 1 of the model are not in it" in " ".join(beside.said)
        ) is said


@pytest.mark.parametrize("entry", ['{"data_offsets": [0, 1]}', '{"data_offsets": [0, 1], "shape": ["x"]}'])
def test_a_header_without_shapes_is_refused_in_a_line(act: LoadedAct, entry: str) -> None:
    with pytest.raises(ActError) as caught:
        act.hear([f'{{"wte": {entry}}}'], sent(START))
    assert "a name with a shape" in str(caught.value)
    assert "\n" not in str(caught.value)


def config_of(name: str) -> str:
    """A model's configuration, as somebody has it."""
    return json.dumps({"architectures": ["X"], **published()[name]["config"]})


SMALL, BIG = "meta-llama/Llama-3.2-3B", "meta-llama/Llama-3.1-70B"
NAMES_BIG = {
    "The command names": f"torchrun --nproc_per_node 8 train.py --model_name_or_path {BIG} --bf16",
    "The axolotl file names": f"base_model: {BIG}\nmicro_batch_size: 1\n",
    "You named": f"https://huggingface.co/{BIG}",
}


IN_USE = (
    "| NVIDIA-SMI 535 |\n|   0  NVIDIA A100-SXM4-80GB  Off | 0 |\n"
    "| N/A   32C    P0   86W / 400W |  {}MiB / 81920MiB |\n"
)


@pytest.mark.parametrize("text", [OUT_OF_MEMORY, IN_USE.format(51_234)], ids=["out of memory", "a card in use"])
def test_what_a_run_wrote_alone_gets_no_verdict_on_the_pages_own_model(text: str) -> None:
    """It once got "Fits" for a run that had failed."""
    heard = read([text], START)
    view = ACT.compute(State("run", {**START.controls, **heard.controls}))
    assert view.success
    assert view.success.title == TITLES["model"]
    assert view.failure is None


def test_a_card_that_nothing_uses_only_says_which_card_it_is() -> None:
    heard = read([IN_USE.format(4)], START)
    view = ACT.compute(State("run", {**START.controls, **heard.controls}))
    assert view.success
    assert view.success.title == "Fits"


@pytest.mark.parametrize("who", NAMES_BIG)
def test_files_that_disagree_about_the_model_get_no_verdict_until_the_reader_takes_one(who: str) -> None:
    heard = read([config_of(SMALL), NAMES_BIG[who]], START)
    state = State("run", {**START.controls, **heard.controls})
    is_left(str(state.controls["left"]))
    view = ACT.compute(state)
    assert view.success
    assert view.success.title == view.readings["Verdict"] == TWO_MODELS
    assert f"{who} llama3.1-70b; the numbers are those of config.json." in view.success.what
    ways = list(islice(suggest(state), 2))
    chosen = [State("run", {**state.controls, **way.controls}) for way in ways]
    assert [model_of(str(one.controls["model"]), str(one.controls["config"])) for one in chosen] == [
        "meta-llama/Llama-3.1-70B",
        model_of(str(state.controls["model"]), str(state.controls["config"])),
    ]
    assert {ACT.compute(one).readings["Verdict"] for one in chosen} <= set(SAID.values())
    # Whichever is taken, its name is the reader's to write.
    assert not any(f"--model_name_or_path {one.controls['model']} " in str(exports(one)) for one in chosen)


def test_a_checkpoint_too_is_held_against_the_model_that_a_file_names() -> None:
    heard = read([header_of(QWEN), NAMES_BIG["The command names"]], START)
    view = ACT.compute(State("run", {**START.controls, **heard.controls}))
    assert view.success
    assert "the numbers are those of the checkpoint" in view.success.what


@pytest.mark.parametrize("named", [SMALL, f"https://huggingface.co/{SMALL}-Instruct", "somelab/Wonder-9B"])
def test_a_name_that_agrees_or_that_nobody_knows_disagrees_with_no_configuration(named: str) -> None:
    config = json.loads(config_of(SMALL))
    for vocabulary in (config["vocab_size"], config["vocab_size"] + 8):
        text = json.dumps({**config, "vocab_size": vocabulary})
        beside = named if "3B" in named else f"base_model: {named}\nmicro_batch_size: 1\n"
        assert read([text, beside], START).controls["left"] == ""


NOTES = ({"named": "llama3.1-70b"}, {"model": PASTED, "named": "<b>", "by": "command"})


@pytest.mark.parametrize("note", NOTES, ids=str)
def test_a_link_names_no_other_model_than_those_that_are_known(note: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="not what this page wrote"):
        is_left(json.dumps(note))


@pytest.mark.parametrize(("batch", "differs"), [(1, True), (4, False)])
def test_steps_of_other_sizes_than_the_plans_are_told_beside_what_was_measured(batch: int, differs: bool) -> None:
    log = "{'train_runtime': 299.1, 'train_samples_per_second': 0.833, 'train_steps_per_second': 0.208}"
    state = at(batch=batch)
    view = ACT.compute(State("run", {**state.controls, **read([log], state).controls}))
    told = "The log's steps have 4 samples each and the plan's 1:" in view.tables["measured"].caption
    assert told is differs


def test_nanogpts_settings_and_command_become_one_plan_whose_note_is_the_pages_own() -> None:
    text = "batch_size = 12\nblock_size = 1024\ngradient_accumulation_steps = 5 * 8\n"
    launch = "torchrun --standalone --nproc_per_node=8 train.py config/train_gpt2.py --batch_size=4"
    for texts in ([text, launch], [f"{text}\n{launch}\n"]):
        heard = read(texts, at(gpu="t4", accumulate=3))
        state = State("run", {**START.controls, **heard.controls, "gpu": "t4"})
        words = words_of(state)
        expected = {"model": "openai-community/gpt2", "batch": 4, "accumulate": 5, "dp": 8, "precision": "amp-fp16"}
        assert {name: words[name] for name in expected} == expected
        is_more(str(state.controls["more"]))
        assert not state.controls["left"]
        assert ACT.compute(state).headline.value != "–"


def test_a_broken_part_of_a_paste_is_told_on_the_page() -> None:
    """Its sentence names kinds of files; where the model is known that is no answer to it."""
    heard = read([f"{AXOLOTL}---\ncolour: [red\n"], START)
    assert [line for line in heard.said if line.startswith("A part of the text was not read, from its line 13 on: ")]


def test_one_card_loads_what_one_process_reads_in_the_same_words() -> None:
    caption = ACT.compute(at(model="Qwen/Qwen2.5-7B", method="lora")).tables["answer"].caption
    found = re.search(r"Loading takes up to ([\d.]+) GB .*?, ([\d.]+) GB each", caption)
    assert found is not None
    assert found[1] == found[2]


@pytest.mark.parametrize("method", ["full", "lora"])
def test_utilization_of_a_log_is_said_to_be_placed_where_it_is(method: str) -> None:
    log = "iter 10: loss 3.2202, time 893.76ms, mfu 46.68%\n" * 4
    started = at(method=method, gpu="a100-80", model="openai-community/gpt2", batch=64, sequence=1024)
    state = State("run", {**started.controls, **read([log], started).controls, "model": "openai-community/gpt2"})
    table = ACT.compute(state).tables["measured"]
    row = next(row for row in table.rows if "MFU" in row["a"])
    placed = "percentile" in table.caption
    assert placed is (method == "full")
    assert row["e"] == ("the percentile above is of this page's count" if placed else "not compared")
