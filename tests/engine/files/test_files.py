"""Configurations, commands, messages and logs as people paste them: each says what it says, and leaves nothing behind.

The lines are those of public threads and of the programs' own examples; each test names where they stand.
"""

from __future__ import annotations

import json

import pytest

from ironlaw import EngineError
from ironlaw.files import read
from ironlaw.files.diffs import edited
from ironlaw.files.words import words_of
from tests.engine.files.texts import AXOLOTL_QLORA, said


def test_axolotl_trains_an_adapter_over_four_bits_divided_by_fsdp() -> None:
    assert read(AXOLOTL_QLORA).kind == "axolotl"
    assert said(AXOLOTL_QLORA) == {
        "model": "llama3-70b",
        "unprepared": True,
        "micro_batch": 1,
        "accumulate": 4,
        "sequence": 512,
        "packing": False,
        "stage": "sft",
        "method": "qlora",
        "rank": 8,
        "lora_dropout": 0.05,
        "targets": ("all-linear",),
        "weights": "auto",
        "compute": "auto",
        "optimizer": "adamw",
        "attention": "flash",
        "checkpointing": True,
        "reentrant": True,
        "fused_loss": False,
        "zero": 3,
        "offload_optimizer": True,
        "offload_parameters": True,
        "runtime": "fsdp",
        "epochs": 4.0,
    }


def test_axolotl_trains_all_weights_with_a_fused_loss() -> None:
    # axolotl, examples/llama-3/fft-8b-liger-fsdp.yaml.
    found = said(
        "base_model: NousResearch/Meta-Llama-3.1-8B\nliger_fused_linear_cross_entropy: true\nsequence_len: 4096\n"
        "sample_packing: true\ngradient_accumulation_steps: 4\nmicro_batch_size: 2\noptimizer: adamw_torch_fused\n"
        "bf16: auto\ngradient_checkpointing: true\nattention: flash\n"
    )
    assert found["model"] == "llama3.1-8b"
    assert (found["method"], found["weights"], found["update"], found["fused_loss"]) == ("full", "auto", "fused", True)
    assert "rank" not in found


@pytest.mark.parametrize(
    ("said_of_it", "compute"),
    [("", "auto"), ("bf16: auto\n", "auto"), ("bf16: false\n", "fp32"), ("fp16: true\n", "fp16")],
)
def test_axolotl_computes_in_16_bits_where_it_is_not_told_otherwise(said_of_it: str, compute: str) -> None:
    # axolotl, `bf16` of its configuration: "auto" where it is left out.
    file = "base_model: Qwen/Qwen2.5-7B\nsequence_len: 4096\nmicro_batch_size: 2\nlearning_rate: 2e-5\n"
    assert said(file + said_of_it)["compute"] == compute


def test_llama_factory_recomputes_and_keeps_trained_weights_in_fp32_unless_told_otherwise() -> None:
    # LLaMA-Factory, examples/train_lora/qwen3_lora_sft_ds3.yaml.
    lora = (
        "model_name_or_path: Qwen/Qwen2.5-7B-Instruct\nstage: sft\nfinetuning_type: lora\nlora_rank: 8\n"
        "lora_target: all\n"
        "deepspeed: examples/deepspeed/ds_z3_config.json  # choices: [ds_z0_config.json]\ntemplate: qwen\n"
        "cutoff_len: 2048\nper_device_train_batch_size: 1\ngradient_accumulation_steps: 2\nbf16: true\n"
    )
    reading = read(lora)
    assert reading.kind == "LLaMA-Factory"
    assert reading.facts.said().items() >= {
        "model": "qwen2.5-7b", "method": "lora", "rank": 8, "targets": ("all-linear",), "checkpointing": True,
        "sequence": 2048, "micro_batch": 1, "accumulate": 2, "compute": "bf16",
    }.items()  # fmt: skip
    (line,) = reading.missing
    assert line == "It names its program's own file for DeepSpeed, ZeRO 3, which is counted: add yours if it differs."
    (line,) = read(lora.replace("ds_z3_config", "mine")).missing
    assert line == "It names a DeepSpeed file, which says what is divided: add that file too."
    full = said(lora.replace("finetuning_type: lora", "finetuning_type: full"))
    assert (full["weights"], full["compute"]) == ("fp32", "bf16")
    assert said(lora + "quantization_bit: 4\n")["method"] == "qlora"


OWN = {
    "ds_z3_config": {"stage": 3, "reduce_bucket_size": "auto", "stage3_prefetch_bucket_size": "auto",
                     "stage3_param_persistence_threshold": "auto", "stage3_max_live_parameters": 1e9,
                     "stage3_max_reuse_distance": 1e9},
    "ds_z2_offload_config": {"stage": 2, "reduce_bucket_size": 5e8, "overlap_comm": False,
                             "offload_optimizer": {"device": "cpu", "pin_memory": True}},
    "ds_z0_config": {"stage": 0, "reduce_bucket_size": 5e8},
}  # fmt: skip
"""LLaMA-Factory's `examples/deepspeed`, as far as it counts."""


@pytest.mark.parametrize("name", OWN)
def test_a_program_s_own_file_for_deepspeed_counts_by_its_name(name: str) -> None:
    """As the file itself would, which takes its place."""
    run = (
        "model_name_or_path: Qwen/Qwen2.5-7B-Instruct\nstage: sft\nfinetuning_type: full\n"
        "cutoff_len: 2048\nbf16: true\n"
        f"deepspeed: examples/deepspeed/{name}.json\n"
    )
    file = json.dumps({"bf16": {"enabled": "auto"}, "zero_optimization": OWN[name]})
    alone, both = (words_of([read(one) for one in texts], {"gpu": "h200", "dp": 8}) for texts in ([run], [run, file]))
    assert alone.words == both.words
    assert any("own file for DeepSpeed" in line for line in alone.missing)
    assert not any("own file for DeepSpeed" in line for line in both.missing)


def test_trl_recomputes_cuts_at_1024_and_computes_in_bf16_when_its_file_is_silent() -> None:
    # The defaults that `SFTConfig` documents as differing from `TrainingArguments`.
    found = said("model_name_or_path: meta-llama/Llama-3.1-8B\ndataset_name: timdettmers/openassistant-guanaco\n")
    assert (found["sequence"], found["checkpointing"], found["compute"]) == (1024, True, "bf16")
    assert said("dataset_name: a/b\nmax_length: 4096\ngradient_checkpointing: false\n")["sequence"] == 4096


@pytest.mark.parametrize(
    ("text", "stage"),
    [
        ("model_name_or_path: x\nmax_length: 1024\nbeta: 0.1\nmax_prompt_length: 512\n", "dpo"),
        ("model_name_or_path: x\nmax_length: 1024\nbeta: 0.1\ndesirable_weight: 1.0\n", "kto"),
        ("model_name_or_path: x\nmax_length: 1024\nbeta: 0.04\nnum_generations: 8\n", "grpo"),
        ("model_name_or_path: x\nmax_length: 1024\n", "sft"),
        ("accelerate launch trl/scripts/dpo.py --model_name_or_path x --max_length 1024", "dpo"),
        ("trl dpo --model_name_or_path x --max_length 1024", "dpo"),
        ("trl sft --model_name_or_path x --max_length 1024", "sft"),
        ("trl sft --model_name_or_path x --max_length 1024 --run_name dpo", "sft"),
        ("trl dpo --config some.yaml --model_name_or_path x --max_length 1024", "dpo"),
    ],
)
def test_trls_trainers_of_preferences_are_told_from_its_fine_tuning(text: str, stage: str) -> None:
    reading = read(text)
    assert reading.facts.stage == stage
    told = "Prompts count as completions, whose scores GRPO needs alone; rewards are not counted."
    found = words_of([reading], {"model": "gpt2", "gpu": "t4"})
    assert (told in found.assumed) == (stage == "grpo")
    assert ("reference" in found.words) == (stage != "sft")
    assert ("rollout" in found.words) == (stage == "grpo")


def test_a_deepspeed_file_says_what_is_divided_and_auto_says_nothing() -> None:
    text = json.dumps(
        {
            "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"},
                                  "offload_param": {"device": "none"}},
            "bf16": {"enabled": True}, "fp16": {"enabled": "auto"},
            "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": 8,
        }
    )  # fmt: skip
    assert said(text) == {
        "zero": 3, "offload_optimizer": True, "offload_parameters": False, "runtime": "deepspeed", "compute": "bf16",
        "accumulate": 8,
    }  # fmt: skip


def test_an_accelerate_file_says_how_many_processes_divide_what() -> None:
    text = (
        "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nmixed_precision: bf16\nnum_machines: 2\n"
        "num_processes: 16\nfsdp_config:\n  fsdp_sharding_strategy: SHARD_GRAD_OP\n  fsdp_offload_params: false\n"
    )
    found = said(text)
    assert (found["devices"], found["nodes"], found["zero"], found["runtime"]) == (16, 2, 2, "fsdp")


@pytest.mark.parametrize(
    ("text", "method"),
    [
        ("base_model: gpt2\nmicro_batch_size: 1\n", "full"),
        ("model_name_or_path: gpt2\nper_device_train_batch_size: 1\ndataset_name: a/b\n", "full"),
        ("model_name_or_path: gpt2\nblock_size: 512\nper_device_train_batch_size: 1\n", "full"),
        ("model_name_or_path: gpt2\ncutoff_len: 512\ntemplate: qwen\n", "lora"),
    ],
)
def test_a_file_without_a_word_of_adapters_trains_what_its_program_trains_by_default(text: str, method: str) -> None:
    reading = read(text)
    assert (reading.facts.method, "method" in reading.silent) == (method, True)


@pytest.mark.parametrize(
    ("switches", "recomputes", "told"),
    [
        ("", True, ""),
        ("gradient_checkpointing: true\n", True, ""),
        ("gradient_checkpointing: false\n", True, "gradient_checkpointing: false counts for nothing"),
        ("disable_gradient_checkpointing: true\n", False, ""),
        ("disable_gradient_checkpointing: true\ngradient_checkpointing: false\n", False, ""),
        ("disable_gradient_checkpointing: true\ngradient_checkpointing: true\n", True,
         "disable_gradient_checkpointing: true counts for nothing"),
        ("disable_gradient_checkpointing: false\ngradient_checkpointing: true\n", True, ""),
    ],
)  # fmt: skip
def test_llama_factory_recomputes_by_either_of_two_switches(switches: str, recomputes: bool, told: str) -> None:
    """Its own (`model_utils/checkpointing.py`) and Trainer's, which only ever switches on; who asks is not silent."""
    text = f"model_name_or_path: Qwen/Qwen2.5-0.5B\nstage: sft\nfinetuning_type: full\nbf16: true\n{switches}"
    reading = read(text)
    assert reading.facts.checkpointing is recomputes
    said_so = "disable" in switches or "checkpointing: true" in switches
    assert ("checkpointing" in reading.silent) is not said_so
    assert [line for line in reading.missing if "counts for nothing" in line] == [
        line for line in reading.missing if told and line.startswith(told)
    ]
    assert bool(told) is any("counts for nothing" in line for line in reading.missing)
    for value in ("none", "full"):
        after = edited(text, {"checkpointing": value})
        assert after is not None
        assert read(after).facts.checkpointing is (value == "full")


def test_axolotls_qlora_is_over_four_bits_whether_or_not_its_file_says_so() -> None:
    silent = AXOLOTL_QLORA.replace("load_in_4bit: true\n", "")
    assert read(silent).facts == read(AXOLOTL_QLORA).facts
    assert [line for line in read(silent).missing if "load_in_4bit: true" in line]
    assert not [line for line in read(AXOLOTL_QLORA).missing if "load_in_4bit" in line]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("base_model: gpt2\nmicro_batch_size: 2\neval_batch_size: 16\n", (16, None)),
        ("base_model: gpt2\nmicro_batch_size: 2\neval_batch_size: 2\neval_accumulation_steps: 4\n", (2, 4)),
        ("torchrun train.py --bf16 --per_device_eval_batch_size 64", (64, None)),
        ("finetuning_type: lora\nper_device_eval_batch_size: 1\neval_accumulation_steps: 9\n"
         "prediction_loss_only: true\n", (1, None)),
        ("base_model: gpt2\nmicro_batch_size: 2\n", (None, None)),
        # Without a number transformers takes 8, and axolotl the training's.
        ("base_model: gpt2\nmicro_batch_size: 2\neval_strategy: steps\n", (None, None)),
        ("torchrun train.py --bf16 --per_device_train_batch_size 1 --eval_strategy steps", (8, None)),
        ("finetuning_type: lora\nper_device_train_batch_size: 1\ndo_eval: true\n", (8, None)),
        ("torchrun train.py --bf16 --per_device_eval_batch_size 64 --evaluation_strategy no", "64 counts for nothing"),
        ("max_length: 512\nper_device_eval_batch_size: 64\neval_strategy: no\ndo_eval: true\n", (64, None)),
        ("base_model: gpt2\nmicro_batch_size: 2\neval_batch_size: 16\nval_set_size: 0\n", "16 counts for nothing"),
    ],
)  # fmt: skip
def test_a_batch_of_evaluation_is_counted_where_there_is_any(text: str, told: str | tuple[int | None, ...]) -> None:
    found = read(text)
    lines = [line for line in found.missing if "evaluation" in line]
    assert len(lines) == isinstance(told, str)
    if isinstance(told, str):
        assert told in lines[0]
        told = (None, None)
    assert (found.facts.eval_batch, found.facts.eval_kept) == told


@pytest.mark.parametrize(
    "targets", ["[q_proj, sEcReTtOkEn]", "sEcReT_tOkEn", "model.layers.3.hunter2", "123", "123.456", "q_proj.7"]
)
def test_targets_that_no_model_has_are_refused(targets: str) -> None:
    """They would stand in links and exports."""
    text = "base_model: meta-llama/Llama-3.1-8B\nadapter: lora\nmicro_batch_size: 1\nlora_target_modules: {}\n"
    for known in ("[q_proj, v_proj]", "model.layers.3.self_attn.q_proj", "all-linear"):
        assert read(text.format(known)).facts.targets
    with pytest.raises(EngineError, match="targets of LoRA"):
        read(text.format(targets))
