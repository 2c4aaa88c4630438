"""The planner reads: pasted files, logs and messages become its controls, and nothing of them leaves."""

from __future__ import annotations

import json
import re

import pytest

from book import plans
from docs.acts.plan.act import ACT
from docs.acts.plan.choices import setup_of, words_of
from docs.acts.plan.phases import held
from docs.acts.plan.rewritten import rewrite
from docs.acts.plan.take import TEXT_ALONE, read
from docs.acts.plan.tips import suggest
from explorable.live import State
from explorable.live.runtime.acts import ActError, LoadedAct
from ironlaw import GB, EngineError, accelerator, model
from ironlaw.models.config_json import published
from tests.docs.acts import loaded
from tests.docs.planner import AXOLOTL, OUT_OF_MEMORY, SECRETS, START, at, sent
from tests.docs.planner_texts import COMMAND, FULL, LLAMA, header_of


@pytest.fixture(scope="module")
def act() -> LoadedAct:
    return loaded("plan")


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


def test_a_pasted_file_sets_the_controls() -> None:
    heard = read([AXOLOTL], START)
    state = State("run", {**START.controls, **heard.controls})
    words = words_of(state)
    assert heard.labels == ["axolotl"]
    expected = {"model": "meta-llama/Meta-Llama-3-8B", "batch": 2, "sequence": 4096, "accumulate": 4, "method": "qlora"}
    assert {name: words[name] for name in expected} == expected
    assert (words["lora_rank"], words["optimizer"], words["checkpointing"]) == (32, "adamw-8bit", "full")


@pytest.mark.parametrize(("steps", "millions"), [(3_000, 3_000 * 2 * 4 * 4096 / 1e6), (-1, None), (1, 1)])
def test_the_steps_of_a_file_are_the_tokens_of_the_run(steps: int, millions: float | None) -> None:
    heard = read([f"{AXOLOTL}max_steps: {steps}\n"], START)
    assert heard.controls.get("tokens") == millions
    assert any("a run of 100 million tokens" in line for line in heard.said) is (millions is None)


PREFERENCES = f"model_name_or_path: {LLAMA}\nstage: {{}}\nfinetuning_type: {{}}\ncutoff_len: 512\nbf16: true\n"


def _weights(state: State) -> float:
    return float(ACT.compute(state).readings["Weights"].removesuffix(" GB"))


@pytest.mark.parametrize(("stage", "each"), [("dpo", 2), ("kto", 1)])
def test_a_frozen_reference_and_pairs_of_sequences_are_counted(stage: str, each: int) -> None:
    """Of a model that is trained whole the weights, once more in 16 bits; the verdict waits for nothing."""
    stood, plain = (
        State("plan", {**at(gpu="h200").controls, **read([PREFERENCES.format(one, "full")], at(gpu="h200")).controls,
                       "gpus": 8, "zero": 2})
        for one in (stage, "sft")
    )  # fmt: skip
    assert stood.controls["batch"] == each * int(plain.controls["batch"])
    assert _weights(stood) - _weights(plain) == pytest.approx(2 * model(LLAMA).parameters / GB, abs=0.1)
    assert not stood.controls["left"]
    said = {tip.title: tip for tip in suggest(stood)}
    passes = ", with 3 forward passes" if stage == "kto" else ""
    other = said[f"Count a frozen reference (DPO, KTO, GRPO) in fp32{passes}"]
    wide = State("plan", {**stood.controls, **other.controls})
    assert _weights(wide) - _weights(stood) == pytest.approx(2 * model(LLAMA).parameters / GB, abs=0.1)
    back = said[f"Take back: a frozen reference (DPO, KTO, GRPO) in 16-bit{passes}"]
    assert _weights(State("plan", {**stood.controls, **back.controls})) == _weights(plain)


def test_of_pairs_whole_ones_are_offered() -> None:
    heard = read([PREFERENCES.format("dpo", "lora")], at(gpu="h100-sxm"))
    stood = State("plan", {**at(gpu="h100-sxm").controls, **heard.controls})
    sizes = [int(str(tip.controls["batch"])) for tip in suggest(stood) if "batch" in tip.controls]
    assert sizes
    assert not any(size % 2 for size in sizes)


def test_the_reference_of_adapters_takes_time_alone() -> None:
    heard = read([PREFERENCES.format("dpo", "lora")], START)
    stood = State("plan", {**START.controls, **heard.controls})
    assert any(
        "The reference is the model without its adapters: a forward pass more is counted" in one for one in heard.said
    )
    back = next(tip for tip in suggest(stood) if tip.title.startswith("Take back: the answers of a frozen reference"))
    without = State("plan", {**stood.controls, **back.controls})
    assert _weights(stood) == _weights(without)
    assert not any(tip.title.startswith("Count a frozen reference") for tip in suggest(stood))
    seconds = [ACT.compute(one).readings["A step"] for one in (without, stood)]
    assert float(seconds[0].split()[0]) < float(seconds[1].split()[0])


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


def test_a_broken_part_of_a_paste_is_told_on_the_page() -> None:
    """Its sentence names kinds of files; where the model is known that is no answer to it."""
    heard = read([f"{AXOLOTL}---\ncolour: [red\n"], START)
    assert [line for line in heard.said if line.startswith("A part of the text was not read, from its line 13 on: ")]


def test_one_card_loads_what_one_process_reads_in_the_same_words() -> None:
    caption = ACT.compute(at(model="Qwen/Qwen2.5-7B", method="lora")).tables["answer"].caption
    found = re.search(r"Loading takes up to ([\d.]+) GB .*?, ([\d.]+) GB each", caption)
    assert found is not None
    assert found[1] == found[2]


@pytest.mark.parametrize(
    ("lines", "named"),
    [
        ("lora_modules_to_save: [embed_tokens, lm_head]", "lora_modules_to_save"),
        ("lora_modules_to_save:\n  - embed_tokens\n  - lm_head", "lora_modules_to_save"),
        ("lora_modules_to_save: []", ""),
        ("lora_modules_to_save:\nbf16: true", ""),
        ("gradient_checkpointing: offload", "gradient_checkpointing"),
        ("gradient_checkpointing: true", ""),
        ("sequence_parallel_degree: 2", "sequence_parallel_degree"),
        ("sequence_parallel_degree: 1", ""),
        ("use_galore: false", ""),
    ],
)
def test_what_a_trainer_is_told_and_is_not_counted_is_said(lines: str, named: str) -> None:
    text = f"base_model: {LLAMA}\nadapter: lora\nlora_r: 16\nsequence_len: 2048\nmicro_batch_size: 1\n{lines}\n"
    told = [line for line in read([text], START).said if line.startswith("Not counted, though")]
    assert told == ([f"Not counted, though it changes memory or time: {named}."] if named else [])
