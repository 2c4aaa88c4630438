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
from ironlaw.files.exports import exports
from ironlaw.files.logs import read as read_log
from ironlaw.files.switches import UNCOUNTED, besides, waits
from ironlaw.files.words import words_of

AXOLOTL = (
    "base_model: meta-llama/Llama-3.1-8B\nadapter: lora\nlora_r: 16\nlora_target_linear: true\nsequence_len: 2048\n"
    "micro_batch_size: 1\nbf16: true\ngradient_checkpointing: true\n"
)
LLAMA_FACTORY = "model_name_or_path: meta-llama/Meta-Llama-3-8B\nstage: sft\nfinetuning_type: {}\ncutoff_len: 2048\n"
OUT_OF_MEMORY = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of 79.10 GiB "
    "of which 1.00 GiB is free.\n"
)
MODEL = "--model_name_or_path meta-llama/Llama-3.1-8B --bf16"
TRL = "torchrun -m trl.scripts.sft --model_name_or_path meta-llama/Llama-3.1-8B --dataset_name x --bf16"
MEGATRON = (
    "torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 2 --micro-batch-size 1 "
    "--global-batch-size 32 --seq-length 8192 --bf16 --use-distributed-optimizer"
)
TITAN = (
    "Building 1-D device mesh with ['dp_shard'], [8]\nModel llama3 8B size: 8,030,261,248 total parameters\n"
    "CUDA capacity: NVIDIA H100 80GB HBM3 with 79.10GiB memory\n{}\n"
    "Trainer is initialized with local batch size 1, global batch size 8, gradient accumulation steps 1, "
    "sequence length 8192, total steps 100\n"
    "step:  1  loss:  8.1  memory: 40.00GiB(50.57%)  tps: 2,000  mfu: 10.00%\n"
    "step: 10  loss:  7.1  memory: 40.00GiB(50.57%)  tps: 6,000  mfu: 35.00%\n"
)


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


def test_the_sizes_of_megatrons_model_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.sh").write_text(f"{MEGATRON} --num-layers 32 --hidden-size 4096\n", "utf-8")
    assert run([str(tmp_path / "a.sh"), "--gpu", "h100-sxm", "--model", "llama3-8b"]) in (0, 1)
    assert "shape num_layers 32, hidden_size 4096" in capsys.readouterr().out


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


@pytest.mark.parametrize(
    ("options", "recomputed", "partly"),
    [
        ("", None, False),
        (" --recompute-granularity full --recompute-method uniform --recompute-num-layers 1", True, False),
        (" --recompute-granularity full --recompute-method uniform --recompute-num-layers 4", False, True),
        (" --recompute-granularity full --recompute-method block --recompute-num-layers 2", False, True),
        (
            " --recompute-granularity full --recompute-method block --recompute-num-layers 32 --num-layers 32",
            True,
            False,
        ),
        (
            " --recompute-granularity full --recompute-method block --recompute-num-layers 1 --num-layers 32",
            False,
            True,
        ),
    ],
)
def test_megatron_recomputes_as_many_layers_as_it_says(options: str, *, recomputed: bool | None, partly: bool) -> None:
    """Two of 32 counted as all."""
    found = read(MEGATRON + options)
    assert found.facts.checkpointing is recomputed
    assert ("recompute_num_layers" in found.uncounted) is partly
    assert read(f"{MEGATRON} --recompute-activations").facts.selective


def test_a_command_of_megatron_is_counted_as_megatron() -> None:
    found = words_of(
        [read(f"{MEGATRON} --sequence-parallel --hidden-dropout 0")], {"model": "llama3-8b", "gpu": "h100-sxm"}
    )
    said = {"framework": "megatron", "precision": "megatron", "sequence_parallel": True, "optimizer": "adamw"}
    assert said.items() <= found.words.items()
    other = words_of(
        [read(f"{MEGATRON} --num-layers 4 --hidden-size 1024 --foo-bar 1")],
        {"model": "google/gemma-2-9b", "gpu": "h100-sxm"},
    )
    assert "framework" not in other.words
    assert any("Megatron-LM's are not known of gemma-2-9b's layers" in line for line in other.assumed)
    line = "The command's model has --num-layers 4, --hidden-size 1,024; gemma-2-9b, which is counted, has 42, 3,584."
    assert line in other.assumed
    assert "Not understood of the command, and not counted: --foo_bar." in other.missing


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("", {"attention": None, "dropout": 0.1, "optimizer": "adamw"}),
        (" --attention-backend unfused", {"attention": "standard"}),
        (" --transformer-impl local", {"attention": "standard"}),
        (" --transformer-impl local --use-flash-attn", {"attention": None}),
        (" --attention-dropout 0.0", {"dropout": 0.1}),
        (" --hidden-dropout 0.0", {"dropout": 0.0}),
        (" --hidden-dropout 0.0 --attention-backend unfused", {"dropout": 0.1}),
        (" --optimizer sgd", {"optimizer": "momentum"}),
        (" --optimizer sgd --sgd-momentum 0", {"optimizer": "sgd"}),
        (" --optimizer dist_muon", {"optimizer": "muon"}),
    ],
)
def test_what_megatron_does_where_a_command_says_it_or_is_silent(options: str, words: dict[str, object]) -> None:
    found = words_of([read(MEGATRON + options)], {"model": "llama3-8b", "gpu": "h100-sxm"})
    assert {name: found.words.get(name) for name in words} == words


def test_a_rate_of_dropout_that_leaves_nothing_is_refused() -> None:
    with pytest.raises(EngineError, match="hidden-dropout"):
        read(f"{MEGATRON} --hidden-dropout 2")


def test_a_model_of_experts_is_held_against_one_without() -> None:
    found = words_of([read(f"{MEGATRON} --num-layers 32 --num-experts 8")], {"model": "llama3-8b", "gpu": "h100-sxm"})
    assert "The command's model has --num-experts 8; llama3-8b, which is counted, has 0." in found.assumed


def test_what_a_plan_of_megatron_cannot_say_in_its_options_is_not_exported() -> None:
    plain = {"model": "llama3-8b", "gpu": "h100-sxm", "framework": "megatron", "tp": 2, "pp": 2, "micro_batches": 8}
    assert "torchrun" in exports(plain)
    others = {
        "schedule": "gpipe",
        "interleave": 4,
        "optimizer": "sgd",
        "attention": "standard",
        "precision": "fp8",
        "loss": "chunked:8",
        "offload": "optimizer",
        "eval_batch": 2,
    }
    for word, value in others.items():
        assert "torchrun" not in exports({**plain, word: value}), word


@pytest.mark.parametrize(
    ("line", "batch", "passes", "told"),
    [
        ("Using pipeline schedule 1F1B with 16 microbatches and 4 stages.", 1, 16, False),
        ("Using pipeline schedule 1F1B with 4 microbatches and 4 stages.", 4, 4, False),
        ("Using pipeline schedule 1F1B with 0 microbatches and 4 stages.", 16, 1, False),
        ("Using pipeline schedule GPipe with 16 microbatches and 4 stages.", 1, 16, True),
        ("", 1, 16, False),
    ],
)
def test_the_local_batch_of_a_pipeline_of_torchtitan_is_cut(line: str, batch: int, passes: int, *, told: bool) -> None:
    text = TITAN.format(line).replace("['dp_shard'], [8]", "['pp', 'dp_shard'], [4, 2]")
    text = text.replace("local batch size 1,", "local batch size 16,").replace("batch size 8,", "batch size 32,")
    found = words_of([read(text)], {"gpu": "h100-sxm"})
    assert (found.words["batch"], found.words["micro_batches"]) == (batch, passes)
    assert (found.besides == "more") is told


def test_ulysses_divides_no_states_among_fewer_devices() -> None:
    """A configuration of TRL's examples, whose four devices divide all of ZeRO-3."""
    text = (
        "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\nnum_processes: 4\nmixed_precision: bf16\n"
        "deepspeed_config: {zero_stage: 3}\n"
        "parallelism_config: {parallelism_config_dp_shard_size: 2, parallelism_config_sp_size: 2}\n"
    )
    found = words_of([read(text)], {"model": "llama3-8b", "gpu": "h100-sxm"})
    assert (found.words["dp"], found.words["zero"], found.besides) == (4, 3, "less")


def test_a_log_of_torchtitan_says_that_it_compiles_and_offloads() -> None:
    read_facts = read_log(TITAN.format("Compiling each TransformerBlock with torch.compile"))
    away = read_log(TITAN.format("Applied CPU Offloading to the model"))
    plain = read_log(TITAN.format(""))
    assert read_facts is not None
    assert away is not None
    assert plain is not None
    assert (plain.facts.compiled, read_facts.facts.compiled) == (None, True)
    assert (plain.facts.offload_parameters, away.facts.offload_parameters) == (None, True)


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


def test_megatron_counts_the_ends_of_a_pipeline_as_layers_where_told() -> None:
    ends = "--account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split"
    text = f"{MEGATRON} --pipeline-model-parallel-size 2 {ends}"
    assert words_of([read(text)], {"model": "llama3-8b", "gpu": "h100-sxm"}).words["balanced"]


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


def test_a_log_beside_options_is_not_all_of_a_text() -> None:
    bar = " 42%|x| 50/120 [02:37<03:40,  3.14s/it]\n"
    evaluated = f"{bar}100%|x| 60/60 [00:02<00:00, 28.85it/s]\n 43%|x| 51/120 [02:43<03:40,  3.14s/it]\n"
    measured = read(evaluated).measured
    assert measured is not None
    assert measured.step_s == pytest.approx(3.14)
    assert read(evaluated).missing == ()
    for line in ("    --lora_rank 8 \\\n", '    "    load_in_4bit = True,\\n",\n'):
        assert words_of([read(line + evaluated)], {"gpu": "t4", "model": "gpt2"}).besides == "both"


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


TRAINS = (
    "[INFO|trainer.py:2128] >> ***** Running training *****\n[INFO|trainer.py:2131] >>   Instantaneous batch size per "
    "device = 1\n[INFO|trainer.py:2135] >>   Gradient Accumulation steps = 16\n"
)
ITERATES = (
    "using world size: 8, data-parallel size: 1, context-parallel size: 1, tensor-model-parallel size: 4, "
    "pipeline-model-parallel size: 2\n iteration       25/ 100 | consumed samples: 50 | elapsed time per iteration "
    "(ms): 87.0 | learning rate: 1.638E-08 | global batch size:     2 | lm loss: 1.08E+01 |\n"
)


def test_what_a_run_printed_says_neither_what_is_trained_nor_that_it_all_is() -> None:
    given = {"gpu": "h100-sxm", "model": "llama3-8b"}
    for text in (TRAINS, OUT_OF_MEMORY):
        silent, said = words_of([read(text)], given), words_of([read(text)], {**given, "method": "lora"})
        assert (silent.besides, said.besides) == ("less", None), text
        assert "does not say what is trained" in silent.missing[-1]
    divided = words_of([read(ITERATES)], {**given, "method": "full"}).words
    assert (divided["tp"], divided["pp"]) == (4, 2)
    printed = "[config.py:1001:print]   {} ................... {}\n"
    stage = printed.format("world_size", 8) + printed.format("zero_optimization_stage", 3)
    words = words_of([read(stage + TRAINS)], {**given, "method": "full"}).words
    assert (words["dp"], words["zero"]) == (8, 3)


CODE = "and this is what I changed:\n\ntraining_args.per_device_train_batch_size = 64\n"
SUMMARY = "{'train_runtime': 1234.5, 'train_samples_per_second': 12.3, 'train_steps_per_second': 0.048}\n"


@pytest.mark.parametrize("printed", [OUT_OF_MEMORY, SUMMARY])
def test_code_beside_what_a_run_printed_is_waited_for(printed: str) -> None:
    command = f"torchrun --nproc_per_node=1 train.py {MODEL} --model_max_length 2048\n\n"
    given = {"gpu": "h100-sxm", "model": "llama3.1-8b", "method": "full"}
    besides = [
        words_of([one for _, one in parts(text)], given).besides
        for text in (command + CODE + printed, CODE + printed, command + printed)
    ]
    assert besides == ["both", "both", None]


def test_settings_above_a_log_of_torchtitan_are_waited_for() -> None:
    for line, beside in (('dtype = "bfloat16"', "both"), ("[rank0]: nothing", None)):
        assert words_of([read(TITAN.format(line))], {"gpu": "h100-sxm"}).besides == beside


@pytest.mark.parametrize(
    ("log", "batch", "sequence"),
    [
        ("Overriding: batch_size = 64\niter 10: loss 3.1, time 100.00ms, mfu 30.00%\n", 64, None),
        (
            "| micro batch size B    | 64                 |\n| sequence length T     | 1024               |\n"
            "step  1/100 | loss 11.0 (+nanz)| norm 15.3 (+nanz)| lr 8.57e-07 | 300 ms | 40% bf16 MFU | 170 tok/s\n",
            64,
            1024,
        ),
        ("  micro_batch_size ........ 16\n  seq_length .............. 8192\n" + ITERATES, 16, 8192),
        (
            "[config.py:1001:print]   zero_optimization_stage ...... 0\n"
            "[config.py:1001:print]   train_micro_batch_size_per_gpu  32\n" + SUMMARY,
            32,
            None,
        ),
    ],
)
def test_the_batch_and_the_sequence_that_a_log_prints_count(log: str, batch: int, sequence: int | None) -> None:
    facts = read(log).facts
    assert (facts.micro_batch, facts.sequence) == (batch, sequence)


def test_megatrons_encoder_has_no_part_in_how_a_model_is_divided() -> None:
    assert read(f"encoder-tensor-model-parallel size: 0\n{ITERATES}").facts.tensor == 4


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
