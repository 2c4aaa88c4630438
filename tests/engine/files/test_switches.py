"""What files and commands switch on and no plan counts is told, and a verdict waits for it; what can be counted is."""

from __future__ import annotations

import io
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ironlaw.cli.plan import run
from ironlaw.core.errors import EngineError
from ironlaw.files import parts, read
from ironlaw.files.command_line import program
from ironlaw.files.switches import UNCOUNTED, besides, waits
from ironlaw.files.words import words_of
from tests.engine.files.texts import AXOLOTL, LLAMA_FACTORY, MEGATRON, MODEL, TITAN, TRL


@pytest.mark.parametrize(
    ("text", "name", "direction"),
    [
        (AXOLOTL + "lora_modules_to_save:\n  - embed_tokens\n", "lora_modules_to_save", "more"),
        (AXOLOTL + "lora_modules_to_save: # new tokens\n\n  # two\n  - embed_tokens\n", "lora_modules_to_save", "more"),
        (
            '{"model_name_or_path": "meta-llama/Meta-Llama-3-8B", "stage": "sft", "finetuning_type": "lora", '
            '"quantization_bit": 8}',
            "load_in_8bit",
            "less",
        ),
        (f"{MEGATRON} --num-layers-per-virtual-pipeline-stage 1", "num_layers_per_virtual_pipeline_stage", "more"),
        (AXOLOTL + "load_in_8bit: true\n", "load_in_8bit", "less"),
        (AXOLOTL + "tiled_mlp: true\n", "tiled_mlp", "less"),
        (AXOLOTL + "expert_parallel_size: 2\n", "expert_parallel_size", "less"),
        (AXOLOTL + "expert_parallel_size: 1\n", None, None),
        (LLAMA_FACTORY.format("lora") + "quantization_bit: 8\n", "load_in_8bit", "less"),
        (LLAMA_FACTORY.format("lora") + "quantization_bit: 4\n", None, None),
        (LLAMA_FACTORY.format("full") + "use_adam_mini: true\n", "use_adam_mini", "less"),
        (f"{TRL} --use_peft --load_in_8bit true", "load_in_8bit", "less"),
        (f"{TRL} --use_peft --modules_to_save lm_head", "modules_to_save", "more"),
        (f"{MEGATRON} --optimizer-cpu-offload", "optimizer_cpu_offload", "less"),
        (f"{MEGATRON} --num-layers-per-virtual-pipeline-stage 2", "num_layers_per_virtual_pipeline_stage", "more"),
        (f"{MEGATRON} --fp8-format hybrid", "fp8_format", "both"),
        (f"{MEGATRON} --num-virtual-stages-per-pipeline-rank 2", "num_virtual_stages_per_pipeline_rank", "more"),
        (f"{MEGATRON} ${{TRAINING_ARGS[@]}}", "what the shell's variables hold", "both"),
        (f"{MEGATRON} $GPT_ARGS", "what the shell's variables hold", "both"),
        (f"{MEGATRON} --sequence-parallel ${{EXTRA_OPTIONS}}", "what the shell's variables hold", "both"),
        (f'{MEGATRON} "$@"', "what the shell's variables hold", "both"),
        (f"torchrun $WHERE {MEGATRON.removeprefix('torchrun ')}", "what the shell's variables hold", "both"),
        (f"{MEGATRON} --master-port $PORT", None, None),
        (f"{MEGATRON} --no-gradient-accumulation-fusion", "no_gradient_accumulation_fusion", "more"),
        (f"{TRL} --use_liger_kernel", "Liger's kernels of norms and gates", "less"),
        (LLAMA_FACTORY.format("full") + "enable_liger_kernel: true\n", "Liger's kernels of norms and gates", "less"),
        (AXOLOTL + "liger_glu_activation: true\nliger_rms_norm: true\n", "liger_glu_activation", "less"),
        (AXOLOTL + "liger_rms_norm: true\nliger_rope: true\n", None, None),
        (f"{TRL} --fsdp full_shard", "FSDP that does not gather block by block", "more"),
        (f"{TRL} --fsdp 'full_shard auto_wrap'", None, None),
        (AXOLOTL + "fsdp: [full_shard]\n", "FSDP that does not gather block by block", "more"),
        (AXOLOTL + "fsdp: [full_shard]\nfsdp_config:\n  auto_wrap_policy: TRANSFORMER_BASED_WRAP\n", None, None),
        (
            "distributed_type: FSDP\nnum_processes: 4\nfsdp_config:\n  fsdp_auto_wrap_policy: NO_WRAP\n",
            "FSDP that does not gather block by block",
            "more",
        ),
        (f"{MEGATRON} --use-custom-fsdp", "use_custom_fsdp", "less"),
        (AXOLOTL + "fp8: true\n", "fp8", "both"),
        (LLAMA_FACTORY.format("lora") + "use_unsloth: true\n", "use_unsloth", "less"),
        (TITAN.format("Float8 tensorwise scaled training active"), "float8", "both"),
        (TITAN.format("Applied memory_budget activation checkpointing to the model"), "memory budget", "less"),
        (
            json.dumps({"zero_optimization": {"stage": 3}, "sequence_parallel_size": 2}),
            "sequence_parallel_size",
            "less",
        ),
        (LLAMA_FACTORY.format("freeze") + "freeze_trainable_layers: 2\n", "frozen layers", "less"),
        ("base_model: gpt2\nsequence_len: 512\nunfrozen_parameters:\n  - lm_head\n", "frozen layers", "less"),
        (f"python ppo.py {MODEL}", "the other models of its trainer", "more"),
        (f"python examples/scripts/gkd.py {MODEL}", "the other models of its trainer", "more"),
        (LLAMA_FACTORY.format("full").replace("sft", "ppo"), "the other models of its trainer", "more"),
        (
            "NVIDIA-SMI\n| 0 NVIDIA A100-SXM4-40GB On | x |\n| 100MiB / 40960MiB | 0% |\n| MIG devices: |",
            "MIG, which divides a card",
            "more",
        ),
    ],
)
def test_what_is_switched_on_and_not_counted_is_told_with_what_it_does(
    text: str, name: str | None, direction: str | None
) -> None:
    given = {"gpu": "rtx-4090", "dp": 1, **({} if "llama" in text.lower() else {"model": "gpt2"})}
    understood = words_of([read(text)], given)
    told = [line for line in understood.missing if line.startswith("Not counted, though it changes memory or time: ")]
    assert told == ([f"Not counted, though it changes memory or time: {name}."] if name else [])
    assert understood.besides == direction
    assert name is None or name in UNCOUNTED


@pytest.mark.parametrize(
    ("settings", "direction"),
    [
        ({"zero_optimization": {"stage": 3, "mics_shard_size": 2}}, "more"),
        ({"zero_optimization": {"stage": 1}, "tensor_parallel": {"autotp_size": 8}}, "both"),
        ({"zero_optimization": {"stage": 1}, "bf16": {"enabled": True, "bf16_optimizer_states": True}}, "less"),
        ({"zero_optimization": {"stage": 3}, "activation_checkpointing": {"partition_activations": True}}, "less"),
        ({"zero_optimization": {"stage": 3}, "optimizer": {"type": "OneBitAdam"}}, "both"),
        ({"zero_optimization": {"stage": 3, "mics_shard_size": -1}}, None),
    ],
)
def test_a_verdict_waits_for_what_deepspeeds_file_asks_for_and_no_plan_counts(
    settings: dict[str, object], direction: str | None
) -> None:
    own = json.dumps(settings)
    inline = json.dumps({"model_name_or_path": "gpt2", "per_device_train_batch_size": 1, "deepspeed": settings})
    for text in (own, inline):
        assert words_of([read(text)], {"gpu": "t4", "model": "gpt2", "dp": 8}).besides == direction, text


def test_a_verdict_waits_for_files_that_are_named_and_not_there_and_for_who_divides() -> None:
    """What one card has to hold whole says nothing of eight that divide it, unless it fits there."""
    divided = f"{TRL} --fsdp 'full_shard auto_wrap'"
    for text, more, direction in (
        (f"{TRL} --deepspeed ds.json", {}, "both"),
        ("torchrun --nproc-per-node 8 mine.py", {"model": "gpt2"}, "both"),
        (f"{divided} --use_liger_kernel", {}, "less"),
        (divided, {}, "less"),
        (divided, {"dp": 8}, None),
        (divided.replace("torchrun", "torchrun --nproc-per-node 8"), {}, None),
    ):
        assert words_of([read(text)], {"gpu": "h100-sxm", **more}).besides == direction, text
    found = words_of([read(f"{TRL} --deepspeed ds.json"), read('{"zero_optimization": {"stage": 3}}')], {"gpu": "t4"})
    assert found.besides == "less"
    assert found.missing == ("Nobody says how many devices divide it: it is counted on one. Say how many by --dp.",)


ORPO = "python {}.py --model_name_or_path meta-llama/Llama-3.1-8B --dataset_name x --bf16 --use_peft"


def test_trainers_of_preferences_are_known_by_their_scripts_and_keys() -> None:
    """ORPO and CPO join both halves of a pair in one pass, and ask no reference."""
    for script, stage, referenced in (("orpo", "dpo", False), ("cpo", "dpo", False), ("bco", "kto", None)):
        facts = read(ORPO.format(script)).facts
        assert (facts.stage, facts.referenced) == (stage, referenced)
    assert words_of([read(f"{ORPO.format('orpo')} --per_device_train_batch_size 4")], {"gpu": "t4"}).words["batch"] == 8
    keys = "model_name_or_path: gpt2\nper_device_train_batch_size: 1\nbeta: 0.1\nmax_completion_length: 512\n{}"
    assert [read(keys.format(more)).facts.stage for more in ("", "max_length: 1024\n")] == ["grpo", "dpo"]


def test_adapters_are_read_as_the_scripts_around_a_trainer_ask_for_them() -> None:
    """FastChat's `q_lora` only quantizes, QLoRA's script has its own names, LLaMA-Factory quantizes under OFT too."""
    command = "python {} --model_name_or_path huggyllama/llama-13b --bf16 --per_device_train_batch_size 2"
    plain = read(f"{command.format('train_lora.py')} --lora_r 8 --q_lora False").facts
    assert (plain.method, plain.rank) == ("lora", 8)
    more = "--lora_r 8 --bits 4 --quant_type nf4 --source_max_len 16 --target_max_len 512"
    own = f"{command.format('qlora.py')} {more}"
    assert [read(own + more).facts.double_quantization for more in ("", " --double_quant False")] == [True, False]
    silent = [read(f"python {name}.py {MODEL} --max_length 512").facts for name in ("qlora", "train_lora", "train")]
    assert [(one.method, one.rank) for one in silent] == [("qlora", 64), ("lora", 8), ("full", None)]
    assert read(f"python qlora.py {MODEL} --full_finetune True").facts.method == "full"
    assert (read(own).facts.sequence, read(own).missing) == (528, ())
    assert read(LLAMA_FACTORY.format("oft") + "quantization_bit: 4\n").facts.method == "qlora"
    assert read(AXOLOTL + "optimizer: adamw_torch_8bit\n").facts.optimizer == "adamw-8bit"


def test_two_runs_in_one_text_are_told() -> None:
    told = "Not counted, though it changes memory or time: another run in the same text."
    for first, both in ((f"{TRL} --use_peft", True), (TRL, False)):
        found = [reading for _, reading in parts(f"```bash\n{first}\n```\n\n# The other\n```bash\n{TRL}\n```\n")]
        assert any(told in reading.missing for reading in found) == both


def test_an_option_whose_value_is_a_variable_is_left_out_and_told() -> None:
    run = "deepspeed --num_gpus $NGPUS train.py --model_name_or_path gpt2 --output_dir $OUT --bf16"
    found = read(f"{run} --per_device_train_batch_size ${{BATCH:-4}}")
    assert (found.facts.devices, found.facts.micro_batch) == (None, 4)
    assert "what the shell's variables hold" in found.uncounted
    behind = read(f"{run.replace('$NGPUS', '2')} --per_device_train_batch_size=$BATCH")
    assert (behind.facts.devices, "what the shell's variables hold" in behind.uncounted) == (2, True)
    assert not read(run.replace("$NGPUS", "2")).uncounted


def test_the_norms_of_liger_are_counted_where_a_file_switches_them_on() -> None:
    plugin = "plugins: [axolotl.integrations.liger.LigerPlugin]\n"
    for more, norms in (
        ("", None),
        (f"{plugin}liger_rms_norm: true\n", "fused"),
        (f"{plugin}liger_rms_norm: false\n", None),
        ("liger_rms_norm: true\n", None),  # without its plugin it does nothing
    ):
        assert words_of([read(AXOLOTL + more)], {"gpu": "h100-sxm"}).words.get("rms_norm") == norms


def test_without_adapters_nothing_is_trained_beside_them() -> None:
    assert besides(["modules_to_save"], adapters=False) is None
    assert besides(["modules_to_save", "use_galore"], adapters=True) == "both"
    assert [waits(verdict, "more") for verdict in ("fits", "uncertain", "not")] == [True, True, False]
    assert [waits(verdict, "less") for verdict in ("fits", "uncertain", "not")] == [False, True, True]


def test_the_command_line_gives_no_verdict_alone_where_more_is_trained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for more, status in (("", 0), ("lora_modules_to_save:\n  - embed_tokens\n  - lm_head\n", 1)):
        (tmp_path / "a.yml").write_text(AXOLOTL + more, "utf-8")
        assert run([str(tmp_path / "a.yml"), "--gpu", "h100-sxm"]) == status
        assert ("fits, without what is not counted: see" in capsys.readouterr().out) == bool(more)


FSDP = "fsdp_config: {fsdp_version: 2, fsdp_reshard_after_forward: true, fsdp_activation_checkpointing: true}\n"
SHARDED = "fsdp: full_shard auto_wrap\n"


@pytest.mark.parametrize(
    ("text", "recomputed"),
    [
        (AXOLOTL.replace("gradient_checkpointing: true\n", "") + FSDP, True),
        (AXOLOTL + FSDP.replace("checkpointing: true", "checkpointing: false"), True),
        (LLAMA_FACTORY.format("full") + SHARDED + "disable_gradient_checkpointing: true\n", False),
        (LLAMA_FACTORY.format("full") + SHARDED, True),
        (f"{TRL} --no_gradient_checkpointing", False),
        (f"{TRL} --gradient_checkpointing_kwargs '{{\"use_reentrant\": false}}'", True),
    ],
)
def test_whoever_recomputes_says_so_in_its_own_words(text: str, *, recomputed: bool) -> None:
    assert read(text).facts.checkpointing is recomputed


def test_fsdp_recomputes_beside_a_script_that_must_not() -> None:
    accelerate = (
        "compute_environment: X\ndistributed_type: FSDP\nnum_processes: 8\nmixed_precision: bf16\n"
        "fsdp_config: {fsdp_activation_checkpointing: true}\n"
    )
    found = words_of([read(accelerate), read(f"{TRL} --gradient_checkpointing False")], {"gpu": "h100-sxm"})
    assert found.words["checkpointing"] == "full"


def test_a_file_for_deepspeed_of_a_program_that_brings_none_is_asked_for() -> None:
    """LLaVA's `zero3.json` was told as counted, and was not."""
    (line,) = (one for one in read(f"{TRL} --deepspeed ./scripts/zero3.json").missing if "DeepSpeed" in one)
    assert line == "It names a DeepSpeed file, which says what is divided: add that file too."
    (line,) = (one for one in read(AXOLOTL + "deepspeed: deepspeed_configs/zero3.json\n").missing if "DeepSpeed" in one)
    assert "ZeRO 3, which is counted" in line


def test_axolotl_s_plugin_for_the_loss_works_where_nobody_denies_it() -> None:
    plugin = "plugins:\n  - axolotl.integrations.cut_cross_entropy.CutCrossEntropyPlugin\n"
    told = [read(AXOLOTL + more).facts.fused_loss for more in ("", plugin, plugin + "cut_cross_entropy: false\n")]
    assert told == [False, True, False]


def test_axolotl_trains_reward_models_on_pairs() -> None:
    assert read(AXOLOTL + "reward_model: true\n").facts.stage == "reward"


def test_muon_of_llama_factory_is_the_optimizer() -> None:
    assert read(LLAMA_FACTORY.format("full") + "use_muon: true\n").facts.optimizer == "muon"


def test_a_closed_input_is_a_line_and_utf_16_is_read(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(Exception, match="it is closed"):
        run(["-", "--gpu", "h100-sxm"])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(AXOLOTL.encode("utf-16"))))
    assert run(["-", "--gpu", "h100-sxm"]) == 0
    assert "axolotl: model llama3.1-8b" in capsys.readouterr().out


def test_a_model_that_nobody_knows_is_named_where_its_name_is_public() -> None:
    run = "python train.py --model_name_or_path {} --bf16 --per_device_train_batch_size 1"
    for name, said in (("lmsys/vicuna-99b", "model 'lmsys/vicuna-99b' is unknown"), ("/home/me/x", "model is missing")):
        with pytest.raises(EngineError) as caught:
            words_of([read(run.format(name))], {"gpu": "t4"})
        assert str(caught.value).startswith(said)


def test_what_fsdp_divides_is_fp32_under_mixed_precision_however_it_is_loaded() -> None:
    """The recipes of the alignment handbook load a model in 16 bits; accelerate makes FP32 of what is trained."""
    fsdp = read(
        "distributed_type: FSDP\nnum_processes: 2\nmixed_precision: bf16\nfsdp_config:\n"
        "  fsdp_sharding_strategy: FULL_SHARD\n"
    )
    run = "model_name_or_path: gpt2\nper_device_train_batch_size: 1\nmax_length: 128\nbf16: {}\ntorch_dtype: bfloat16\n"
    pure = replace(fsdp, facts=replace(fsdp.facts, compute=None))
    precisions = [
        words_of([read(run.format(mixed)), divided], {"gpu": "l40s"}).words["precision"]
        for mixed, divided in (("true", fsdp), ("false", pure))
    ]
    assert precisions == ["mixed-bf16", "bf16"]


@pytest.mark.parametrize(
    ("launch", "stage", "referenced", "sequences"),
    [
        ("trl dpo", "dpo", None, 4),
        ("trl kto", "kto", None, 2),
        ("trl grpo", "grpo", False, 2),
        ("accelerate launch scripts/run_dpo.py", "dpo", None, 4),
        ("accelerate launch scripts/run_orpo.py", "dpo", False, 4),
        ("accelerate launch trl/scripts/reward.py", "reward", None, 4),
    ],
)
def test_trls_command_says_which_trainer_reads_the_file_that_it_names(
    launch: str, stage: str, referenced: bool | None, sequences: int
) -> None:
    file = "model_name_or_path: gpt2\nper_device_train_batch_size: 2\nmax_length: 128\nbeta: 0.1\n"
    found = words_of([read(f"{launch} --config a.yaml"), read(file)], {"gpu": "l40s"})
    assert found.words["batch"] == sequences
    assert bool(found.words.get("reference")) == (stage in ("dpo", "kto", "grpo") and referenced is None)


def test_a_scripts_own_stage_of_zero_divides() -> None:
    """DeepSpeed-Chat and OpenRLHF take it as an option."""
    facts = read("deepspeed --num_gpus 8 main.py --model_name_or_path gpt2 --bf16 --zero_stage 3").facts
    assert (facts.runtime, facts.zero, facts.devices) == ("deepspeed", 3, 8)


def test_a_verdict_waits_for_what_was_not_read_and_not_understood() -> None:
    run = "torchrun --nproc-per-node 2 train.py --model_name_or_path gpt2 --bf16 --per_device_train_batch_size 1"
    for text, direction in (
        (run, None),
        (f"{run} --num_train_epochs $EPOCHS --max_steps $STEPS", None),
        (f"{run} --only_optimize_lora", "both"),
        (f'{run}\n\n{{\n  "zero_optimization": {{"stage": 3,}}\n}}\n', "both"),
    ):
        found = words_of([reading for _, reading in parts(text)], {"gpu": "l40s"})
        assert found.besides == direction, text


@pytest.mark.parametrize(
    ("more", "waits_for"),
    [
        ("--mixed_precision $MP", True),
        ("--deepspeed $DS", True),
        ("--include localhost:$GPUS", True),
        ('--output_dir "$PARAMS_DIR" --run_name $EXTRA_NAME', False),
        ("2>&1 | tee $LOG", False),
        ("> $LOG_FILE", False),
        ("--full_determinism --use_rslora --truncation_mode keep_start --neftune_noise_alpha 5", False),
    ],
)
def test_a_variable_matters_where_its_option_does(more: str, waits_for: bool) -> None:
    run = f"accelerate launch --num_processes 2 train.py --model_name_or_path gpt2 --bf16 --max_length 512 {more}"
    assert (words_of([read(run)], {"gpu": "l40s"}).besides is not None) == waits_for


def test_a_trainer_is_known_behind_any_option_and_as_a_module() -> None:
    for launch in ("accelerate launch --multi_gpu examples/scripts/dpo.py", "torchrun -m trl.scripts.dpo"):
        assert read(f"{launch} --model_name_or_path gpt2 --max_length 512").facts.stage == "dpo"


def test_pure_16_bits_of_llama_factory_stay_so_under_fsdp() -> None:
    run = (
        "torchrun --nproc_per_node 8 src/train.py --stage sft --finetuning_type full --model_name_or_path gpt2 "
        "--pure_bf16 --cutoff_len 512 --fsdp 'full_shard auto_wrap'"
    )
    assert words_of([read(run)], {"gpu": "l40s"}).words["precision"] == "bf16"


def test_a_files_own_stage_counts_before_a_scripts() -> None:
    run = "deepspeed --num_gpus 8 main.py --model_name_or_path gpt2 --zero_stage=2 --deepspeed_config ds.json"
    found = words_of([read(run)], {"gpu": "l40s"})
    assert found.besides == "both"
    assert any("It names a DeepSpeed file" in line for line in found.missing)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (AXOLOTL + "qat:\n  weight_dtype: int4\n", "file, and not counted: qat."),
        (AXOLOTL + "diffusion: null\nuse_onebitllms: false\n", ""),
        (
            AXOLOTL + "datasets:\n  - path: x\nsaves_per_epoch: 1\nspecial_tokens:\n  pad_token: x\nwandb_project: y\n",
            "",
        ),
        (
            LLAMA_FACTORY.format("full") + "use_dft_loss: true\nplot_loss: true\n",
            "file, and not counted: use_dft_loss.",
        ),
        (
            json.dumps({"zero_optimization": {"stage": 2, "zenflow": {"topk_ratio": 0.1}}}),
            "JSON of DeepSpeed, and not counted: zenflow.",
        ),
        (json.dumps({"zero_optimization": {"stage": 2, "overlap_comm": True}, "steps_per_print": 5}), ""),
        (
            "distributed_type: 'NO'\nnum_processes: 1\nmachine_rank: 0\nquantize_all: true\n",
            "file, and not counted: quantize_all.",
        ),
        ("distributed_type: 'NO'\nnum_processes: 1\ntpu_env: []\nrdzv_backend: static\nsame_network: true\n", ""),
    ],
)
def test_a_key_that_nobody_reads_is_told_and_a_verdict_waits_for_it(text: str, told: str) -> None:
    """Of 395 published files of trainers 294 have none."""
    found = [one for _, one in parts(text)]
    lines = [line for one in found for line in one.missing if line.startswith("Not understood of the ")]
    assert lines == ([f"Not understood of the {told}"] if told else [])
    given = {"gpu": "t4"} if "model" in text else {"gpu": "t4", "model": "gpt2", "dp": 1}
    assert (words_of(found, given).besides == "both") == bool(told)


RECIPE = "model_name_or_path: Qwen/Qwen2.5-7B\nper_device_train_batch_size: 8\nmax_length: 8192\nbf16: true\n"
LAUNCH = "compute_environment: LOCAL_MACHINE\ndistributed_type: 'NO'\nnum_processes: 8\nmixed_precision: bf16\n"


@pytest.mark.parametrize("text", [RECIPE + LAUNCH, LAUNCH + RECIPE])
def test_two_files_of_one_paste_are_both_read(text: str) -> None:
    found = [one for _, one in parts(text)]
    assert [one.kind for one in found] == ["TRL", "accelerate"]
    words = words_of(found, {"gpu": "h100-sxm"}).words
    assert (words["batch"], words["sequence"], words["dp"]) == (8, 8192, 8)


def test_files_of_programs_that_are_not_read_are_none_of_axolotl() -> None:
    newer = (
        "model: Qwen/Qwen3-4B\nmodel_class: llm\npeft_config:\n  name: lora\nmicro_batch_size: 1\ncutoff_len: 2048\n"
    )
    for text in (newer, "model:\n  path: x\nmicro_batch_size: 4\n"):
        with pytest.raises(EngineError, match="of no known kind"):
            read(text)
    with pytest.raises(EngineError, match="commands of ms-swift are not read"):
        read("NPROC_PER_NODE=2 \\\nswift sft \\\n    --model Qwen/Qwen2.5-7B\n")


def test_a_verdict_waits_where_keys_leave_open_whether_there_is_a_reference() -> None:
    pairs = RECIPE + "beta: 0.1\nmax_prompt_length: 512\n"
    given = {"gpu": "h100-sxm"}
    silent = words_of([read(pairs)], given)
    assert (silent.besides, silent.words["reference"]) == ("less", "fp32")
    assert words_of([read(pairs)], {**given, "reference": "bf16"}).besides is None
    by_command = words_of([read(pairs), read("accelerate launch dpo.py --config x.yaml")], given)
    assert (by_command.besides, by_command.words["reference"]) == (None, "fp32")
    for key in ("gamma_beta_ratio: 0.5", "loss_type: simpo"):
        alone = words_of([read(f"{pairs}{key}\n")], given)
        assert (alone.besides, alone.words.get("reference")) == (None, None), key


def test_a_script_with_its_own_loop_recomputes_nothing_by_default() -> None:
    for key, recomputed in (("with_tracking: true", False), ("use_peft: true", True)):
        assert read(f"{RECIPE}{key}\n").facts.checkpointing is recomputed


@pytest.mark.parametrize(
    "text",
    [
        f"python examples/scripts/distillation.py {MODEL} --max_length 1024 --use_peft",
        f"python examples/scripts/dpo_online.py {MODEL} --max_length 1024",
        f"python train.py {MODEL} --max_length 1024 --teacher_model_name_or_path Qwen/Qwen2.5-32B-Instruct",
        f"trl grpo {MODEL} --reward_model_name_or_path Qwen/Qwen2.5-32B-Instruct",
        f"{RECIPE}teacher_model_name_or_path: Qwen/Qwen2.5-32B-Instruct\n",
    ],
)
def test_a_verdict_waits_for_a_second_model(text: str) -> None:
    understood = words_of([read(text)], {"gpu": "h100-sxm"})
    assert understood.besides == "more"
    assert "Not counted, though it changes memory or time: the other models of its trainer." in understood.missing


def test_a_trainer_with_other_models_is_known_by_its_command_and_its_file() -> None:
    launch = "accelerate launch examples/scripts/ppo/ppo.py --config ppo.yaml"
    assert words_of([one for _, one in parts(f"{launch}\n---\n{RECIPE}")], {"gpu": "h100-sxm"}).besides == "more"


def test_a_file_that_trains_nothing_is_none_of_a_trainer() -> None:
    for text in (
        "model_name_or_path: Qwen/Qwen3-4B\ntemplate: qwen3\nexport_dir: out\nexport_device: cpu\n",
        "model_name_or_path: Qwen/Qwen3-4B\nstage: sft\ndo_predict: true\nfinetuning_type: lora\n",
    ):
        with pytest.raises(EngineError, match="of no known kind"):
            read(text)


def test_a_program_with_two_options_of_nanogpt_is_not_nanogpt() -> None:
    for script, kind in (("-m mylab.features", "Trainer"), ("train.py", "nanoGPT")):
        text = f"python {script} --batch_size=8 --block_size=2048"
        assert program(text) == kind
    assert words_of([read(text.replace("train.py", "features.py"))], {"gpu": "t4", "model": "gpt2"}).besides == "both"


def test_a_verdict_waits_for_what_a_loop_of_its_own_loads() -> None:
    own = RECIPE + "use_lora: true\nlora_rank: 64\nwith_tracking: true\n"
    assert words_of([read(own)], {"gpu": "rtx-4090"}).besides == "both"
