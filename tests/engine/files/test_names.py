"""An option's name says whether it may change memory or time, and what is harmless in one value is not in every one."""

from __future__ import annotations

from typing import Any

import pytest

from ironlaw.core.errors import EngineError
from ironlaw.files import parts, read
from ironlaw.files.shell import filled
from ironlaw.files.words import Understood, words_of

SFT = "torchrun -m trl.scripts.sft --model_name_or_path Qwen/Qwen2.5-7B --bf16 --max_length 4096 --use_peft"
GRPO = (
    "model_name_or_path: Qwen/Qwen2.5-1.5B-Instruct\ndtype: bfloat16\nbf16: true\nnum_generations: 16\n"
    "max_prompt_length: 512\nmax_completion_length: 1024\nper_device_train_batch_size: 16\nuse_vllm: true\n"
)
PEFT = (
    "torchrun --nproc_per_node 8 train.py --model_name_or_path meta-llama/Llama-2-7b-hf --max_seq_length 2048 --bf16 "
    "--per_device_train_batch_size 8 --use_peft_lora True --lora_r 8 --lora_dropout 0.1 --use_4bit_quantization True "
    "--use_nested_quant True --use_reentrant True --gradient_checkpointing True"
)


def _understood(*texts: str, **given: Any) -> Understood:
    return words_of([one for text in texts for _, one in parts(text)], {"gpu": "h100-sxm", **given})


@pytest.mark.parametrize(
    "option",
    [
        "--adapter_name lora",
        "--peft_path ./adapter",
        "--optimizer_name adamw_8bit",
        "--vision_model_name_or_path x",
        "--train_head_only True",
        "--adam_8bit True",
        "--label_smoothing_factor 0.1",
        "--loss_type chunked_nll",
        "--loss_type new_loss",
        "--config_overrides n_layer=2",
    ],
)
def test_a_name_that_may_matter_is_told_and_waited_for(option: str) -> None:
    found = _understood(f"{SFT} {option}")
    name = option.split()[0]
    assert any(name in line for line in found.missing), found.missing
    assert found.besides == "both"


@pytest.mark.parametrize(
    "option",
    [
        "--train_file a.json --validation_file b.json --eval_steps 10 --save_total_limit 2 --run_name x",
        "--dataset_name a --dataset_num_proc 8 --dataloader_num_workers 4 --ddp_timeout 9 --lr_scheduler_type cosine",
        "--adam_beta2 0.95 --adam_epsilon 1e-8 --weight_decay 0.1 --warmup_ratio 0.03 --hub_model_id a --loss_type dft",
        "--eval_strategy no --save_strategy steps --logging_strategy steps --metric_for_best_model loss --cache_dir x",
    ],
)
def test_names_of_data_logs_and_rates_are_none_to_wait_for(option: str) -> None:
    found = _understood(f"{SFT} {option}")
    assert (found.besides, found.missing) == (None, ())


def test_the_most_telling_options_are_told_first() -> None:
    told = _understood(f"{SFT} --aa 1 --bb 1 --cc 1 --dd 1 --ee 1 --freeze_llm True --tune_mlp False").missing
    assert any("--freeze_llm, --tune_mlp, --aa, --bb and 3 more" in line for line in told), told


@pytest.mark.parametrize(
    ("more", "rollout", "waits"),
    [
        ("", "beside:0.30", False),
        ("vllm_mode: colocate\nvllm_gpu_memory_utilization: 0.2\n", "beside:0.20", False),
        ("vllm_mode: server\nvllm_server_host: 10.0.0.5\n", None, False),
        ("vllm_server_host: 10.0.0.5\nvllm_server_port: 8000\n", None, True),
    ],
)
def test_vllm_is_counted_where_it_runs(more: str, rollout: str | None, *, waits: bool) -> None:
    found = _understood(GRPO + more)
    assert found.words.get("rollout") == rollout
    assert (found.besides == "both") == waits
    assert any("vLLM has 30% of each card" in line for line in found.assumed) == (not more)


def test_vllm_of_trls_command_is_counted_by_default_too() -> None:
    command = "trl grpo --model_name_or_path Qwen/Qwen2.5-1.5B --bf16 --num_generations 8 --use_vllm"
    found = _understood(command)
    assert found.words["rollout"] == "beside:0.30"
    assert any("vLLM has 30% of each card" in line for line in found.assumed)
    assert _understood(f"{command} --vllm_server_host 10.0.0.5").besides == "both"


def test_pefts_own_options_are_read() -> None:
    facts = read(PEFT).facts
    assert (facts.method, facts.rank, facts.lora_dropout, facts.double_quantization) == ("qlora", 8, 0.1, True)
    assert facts.reentrant is True
    assert _understood(PEFT).besides is None


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        (SFT, 0.05),
        (f"{SFT} --lora_dropout 0", None),
        (f"{SFT} --use_dora", None),
        (SFT.replace("--use_peft", ""), None),
        (SFT.replace("Qwen/Qwen2.5-7B", "mistralai/Mixtral-8x7B-v0.1"), None),
        (f"{SFT} --lora_target_modules q_proj".replace("Qwen/Qwen2.5-7B", "mistralai/Mixtral-8x7B-v0.1"), 0.05),
        ("model_name_or_path: Qwen/Qwen2.5-7B\nstage: sft\ncutoff_len: 2048\nlora_rank: 8\n", None),
        ("base_model: Qwen/Qwen2.5-7B\nadapter: lora\nlora_dropout: 0.1\nsequence_len: 9\n", 0.1),
    ],
)
def test_dropout_before_adapters_is_what_a_file_or_its_program_says(text: str, rate: float | None) -> None:
    assert _understood(text).words.get("lora_dropout") == rate


def test_a_rate_of_dropout_is_below_one() -> None:
    with pytest.raises(EngineError, match="lora_dropout '1' is not allowed"):
        read(f"{SFT} --lora_dropout 1")


def test_a_rank_without_an_adapter_is_told() -> None:
    text = "base_model: Qwen/Qwen2.5-7B\nmicro_batch_size: 4\nlora_r: 8\nsequence_len: 256\n"
    assert _understood(text).besides == "both"
    assert _understood(f"{text}adapter:\n").besides is None


@pytest.mark.parametrize(
    ("more", "evaluated"),
    [("", 16), ("do_eval: true\n", 16), ("do_eval: false\n", None), ("eval_strategy: no\n", None)],
)
def test_evaluation_that_is_switched_off_is_none(more: str, evaluated: int | None) -> None:
    text = "model_name_or_path: Qwen/Qwen2.5-7B\nmax_length: 512\nper_device_eval_batch_size: 16\n"
    assert read(text + more).facts.eval_batch == evaluated


def test_workers_of_ray_are_devices() -> None:
    text = "base_model: Qwen/Qwen2.5-7B\nadapter: lora\nsequence_len: 9\nuse_ray: true\nray_num_workers: 4\n"
    assert _understood(text).words["dp"] == 4


def test_a_folder_of_a_model_may_end_with_a_slash() -> None:
    assert read(SFT.replace("Qwen/Qwen2.5-7B", "/models/Qwen2.5-7B/")).facts.model == "qwen2.5-7b"


def test_a_variable_may_be_called_as_its_option() -> None:
    script = "lora_rank=64\nmax-len=9\ntorchrun run.py --lora_rank ${lora_rank} --lora-rank=$lora_rank\n"
    assert filled(script).splitlines()[-1] == "torchrun run.py --lora_rank 64 --lora-rank=64"
    assert filled(f"{script}read lora_rank\n") == f"{script}read lora_rank\n"


def test_deepspeed_without_a_file_is_a_scripts_own() -> None:
    command = "deepspeed main.py --model_name_or_path meta-llama/Llama-2-7b-hf --max_seq_len 512 --deepspeed"
    assert _understood(command, dp=1).besides == "both"
    assert any("a loop of its own" in line for line in _understood(command, dp=1).missing)


def test_a_script_with_a_model_and_a_folder_may_train_nothing() -> None:
    words = "--model_name_or_path meta-llama/Meta-Llama-3-8B-Instruct --output_dir models/out"
    with pytest.raises(EngineError, match="model is missing"):
        _understood(f"python scripts/pissa_init.py {words}")
    assert _understood(f"python scripts/finetune.py {words}").words["model"] == "llama3-8b"


@pytest.mark.parametrize(
    "text",
    [
        "trl reward --model_name_or_path Qwen/Qwen2.5-0.5B --output_dir o --per_device_train_batch_size 8",
        "accelerate launch examples/scripts/prm.py --model_name_or_path Qwen/Qwen2.5-0.5B --num_train_epochs 1",
        "base_model: Qwen/Qwen2.5-0.5B\nreward_model: true\nnum_labels: 1\nsequence_len: 512\n",
        "model_name_or_path: Qwen/Qwen2.5-0.5B\nstage: rm\nfinetuning_type: lora\ncutoff_len: 512\n",
    ],
)
def test_a_verdict_that_it_does_not_fit_waits_for_a_head_of_one_number(text: str) -> None:
    found = _understood(text)
    assert found.besides == "less"
    assert any("a head of one number" in line for line in found.missing)
    assert not any("other models" in line for line in found.missing)


def test_trls_script_of_rewards_for_steps_does_by_default_what_trl_does() -> None:
    facts = read("accelerate launch prm.py --model_name_or_path Qwen/Qwen2.5-0.5B --num_train_epochs 1").facts
    assert (facts.compute, facts.checkpointing, facts.sequence) == ("bf16", True, 1024)
    assert read("python mpo_vlm.py --model_name_or_path Qwen/Qwen2.5-0.5B --bf16").facts.stage == "dpo"


def test_modules_with_commas_between_them_are_modules() -> None:
    assert read(f'{SFT} --lora_target_modules "q_proj", "v_proj"').facts.targets == ("q_proj", "v_proj")
    with pytest.raises(EngineError, match="targets of LoRA ','"):
        read(f"{SFT} --lora_target_modules ,")


def test_the_scripts_of_open_instruct_have_a_loop_of_their_own() -> None:
    assert _understood("python open_instruct/finetune.py --model_name_or_path Qwen/Qwen2.5-0.5B").besides == "both"


def test_tf32_is_told_where_products_are_in_fp32() -> None:
    text = "model_name_or_path: Qwen/Qwen2.5-0.5B\nmax_length: 512\ntf32: true\n"
    assert _understood(f"{text}bf16: true\n").besides is None
    assert _understood(f"{text}bf16: false\nfp16: false\n").besides == "both"
