"""From files to a setup: what several files say together, what is assumed where they are silent, and never a guess."""

from __future__ import annotations

import json

import pytest

from ironlaw import setup
from ironlaw.config.choices import Buffers
from ironlaw.core.errors import EngineError
from ironlaw.files import Facts, Reading, parts, read
from ironlaw.files.words import Understood, words_of

RUN = "base_model: meta-llama/Llama-3.1-8B\nmicro_batch_size: 2\nbf16: true\noptimizer: adamw_torch_fused\n"
NODE = "torchrun --nnodes 2 --nproc-per-node 8 train.py"
ZERO = '{"zero_optimization": {"stage": 1}, "bf16": {"enabled": true}}'
CONFIG = (
    '{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "intermediate_size": 172, '
    '"num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 2, "vocab_size": 512, '
    '"max_position_embeddings": 131072, "hidden_act": "silu", "rms_norm_eps": 1e-5, "tie_word_embeddings": false}'
)


def words(*texts: str, **given: object) -> Understood:
    return words_of([read(text) for text in texts], {"gpu": "h100-sxm", **given})


def test_files_complete_each_other() -> None:
    found = words(RUN, NODE, ZERO)
    assert found.words == {
        "model": "llama3.1-8b", "gpu": "h100-sxm", "batch": 2, "sequence": 512, "precision": "mixed-bf16",
        "method": "full", "optimizer": "adamw", "update": "fused", "checkpointing": "none", "dp": 16, "zero": 1,
        "node_size": 8, "runtime": "deepspeed",
    }  # fmt: skip
    asked = setup(**found.words)
    assert (asked.devices, asked.layout.zero, asked.precision.name) == (16, 1, "mixed-bf16")


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"zero_optimization": [3]}, "zero_optimization [3] is not allowed"),
        ({"zero_optimization": {"stage": 3, "offload_optimizer": True}}, "offload_optimizer True is not allowed"),
        ({"bf16": True}, "bf16 True is not allowed"),
        ({"optimizer": ["AdamW"]}, "optimizer ['AdamW'] is not allowed"),
        ({"fp16": {"enabled": True}}, "bf16 is enabled too"),
    ],
)
def test_what_deepspeed_would_refuse_is_refused(changed: dict[str, object], what: str) -> None:
    """A block of another kind counted as absent, and the verdict was that of another run."""
    with pytest.raises(EngineError) as refused:
        words(json.dumps({**json.loads(ZERO), **changed}), model="llama3-8b")
    assert what in str(refused.value)


SCRIPT = "model_name_or_path: meta-llama/Llama-3.1-8B\ndataset_name: x\nper_device_train_batch_size: 1\nbf16: true\n"


@pytest.mark.parametrize(
    ("lines", "zero", "host"),
    [
        ("fsdp: no_shard", 0, False),
        ("fsdp: full_shard\nfsdp_config: {fsdp_sharding_strategy: NO_SHARD}", 0, False),
        ("fsdp: full_shard auto_wrap", 3, False),
        ("fsdp: true", 3, False),
        ("fsdp: [shard_grad_op, offload]", 2, True),
        ('fsdp: full_shard\nfsdp_config: {fsdp_offload_params: "false"}', 3, False),
        ('fsdp: full_shard\nfsdp_config: {reshard_after_forward: "False"}', 2, False),
        ("fsdp: full_shard\nfsdp_config: {fsdp_reshard_after_forward: SHARD_GRAD_OP}", 2, False),
        ("deepspeed: {zero_optimization: {stage: 3, offload_optimizer: {device: cpu}}}", 3, True),
    ],
)
def test_a_script_s_own_words_for_what_is_divided_are_understood(lines: str, zero: int | None, host: bool) -> None:
    facts = read(SCRIPT + lines).facts
    assert (facts.zero, facts.offload_optimizer) == (zero, host)


@pytest.mark.parametrize(
    "lines",
    ["fsdp: banana", "fsdp: 7", "fsdp: true\nfsdp_config: mine", "fsdp: true\nfsdp_config: [1]", "deepspeed: 3",
     "deepspeed: true", "fsdp: full_shard\nfsdp_config: {offload_params: 3}"],
)  # fmt: skip
def test_what_no_script_takes_for_what_is_divided_is_refused(lines: str) -> None:
    with pytest.raises(EngineError):
        read(SCRIPT + lines)


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("eval_strategy: banana", "eval_strategy 'banana' is unknown"),
        ("evaluation_strategy: 3", "evaluation_strategy 3 is unknown"),
        ("eval_strategy: true", "eval_strategy True is unknown"),
        ("dtype: float7", "dtype 'float7' is unknown"),
        ("torch_dtype: [bfloat16]", "torch_dtype ['bfloat16'] is unknown"),
        ("pref_loss: banana", "pref_loss 'banana' is unknown"),
        ("gradient_checkpointing_kwargs: true", "gradient_checkpointing_kwargs True is not allowed"),
    ],
)
def test_a_value_that_no_trainer_takes_is_refused(lines: str, told: str) -> None:
    """It counted as absent."""
    with pytest.raises(EngineError) as refused:
        read(SCRIPT + lines)
    assert told in str(refused.value)


def test_a_script_s_short_name_of_a_format_is_understood() -> None:
    for line in ("dtype: half", "torch_dtype: float16", "dtype: fp16"):
        assert read(f"{SCRIPT}{line}\n").facts.weights == "fp16"


@pytest.mark.parametrize("adapter", ["false", "banana", "3"])
def test_an_adapter_that_axolotl_does_not_know_is_refused(adapter: str) -> None:
    with pytest.raises(EngineError) as refused:
        read(f"{RUN}adapter: {adapter}\n")
    assert "adapter" in str(refused.value)


@pytest.mark.parametrize(
    ("settings", "stage", "host"),
    [
        ("zero_stage: 1\n  offload_optimizer_device: null", 1, False),
        ("zero_stage: 1\n  offload_optimizer_device: cpu", 1, True),
        ("zero_stage: 3\n  deepspeed_config_file: null", 3, False),
    ],
)
def test_what_accelerate_leaves_empty_counts_as_absent(settings: str, stage: int, host: bool) -> None:
    facts = read(f"compute_environment: X\ndistributed_type: DEEPSPEED\ndeepspeed_config:\n  {settings}\n").facts
    assert (facts.zero, facts.offload_optimizer) == (stage, host)


HYBRID = "fsdp: hybrid_shard auto_wrap"
WIDE = "torchrun --nnodes 8 --nproc-per-node 8 train.py"
SHARDED = (
    "compute_environment: X\ndistributed_type: FSDP\nmixed_precision: bf16\nnum_machines: {}\nnum_processes: {}\n"
    "fsdp_config: {{fsdp_sharding_strategy: {}}}\n"
)
MESH = "parallelism_config: {parallelism_config_dp_replicate_size: 4, parallelism_config_dp_shard_size: 16}\n"
OF_AXOLOTL = f"{RUN}fsdp_version: 2\nfsdp_config: {{state_dict_type: FULL_STATE_DICT}}\ndp_replicate_size: 8\n"


@pytest.mark.parametrize(
    ("texts", "devices", "groups"),
    [
        ([SCRIPT, SHARDED.format(8, 64, "HYBRID_SHARD")], 8, 8),
        ([SCRIPT, SHARDED.format(2, 8, "HYBRID_SHARD_ZERO2")], 4, 2),
        ([SCRIPT, SHARDED.format(1, 8, "HYBRID_SHARD")], 8, 1),
        ([SCRIPT, SHARDED.format(8, 64, "FULL_SHARD") + MESH], 16, 4),
        ([SCRIPT + HYBRID, WIDE], 8, 8),
        ([f"{OF_AXOLOTL}dp_shard_size: 2\n"], 2, 8),
        ([OF_AXOLOTL, WIDE], 8, 8),
        (
            [
                "accelerate launch --use_fsdp --fsdp_sharding_strategy 4 --num_machines 2 --num_processes 16 x.py",
                SCRIPT,
            ],
            8,
            2,
        ),
    ],
)
def test_of_hybrid_sharding_one_group_of_devices_is_counted(texts: list[str], devices: int, groups: int) -> None:
    """Each group holds the whole model: divided among all devices a model fitted that does not."""
    found = words(*texts, gpu="a100-80")
    assert (found.words["dp"], found.words["zero"] >= 2) == (devices, True)
    said = [
        line for line in found.assumed if line.startswith(f"Counted is one of {groups} groups of {devices} devices")
    ]
    assert len(said) == (groups > 1)
    with pytest.raises(EngineError, match=f"hybrid sharding .* at most {devices}"):
        words(*texts, gpu="a100-80", dp=2 * devices)


def test_copies_of_what_is_not_divided_are_replicas() -> None:
    alone = MESH.replace("shard_size: 16", "shard_size: 1")
    found = words(SCRIPT, SHARDED.format(1, 4, "FULL_SHARD") + alone)
    assert (found.words["dp"], found.words["zero"]) == (4, 0)
    found = words(SCRIPT + HYBRID)
    assert any("a plan counts one group of devices that divide a model: at most 8" in line for line in found.assumed)
    with pytest.raises(EngineError, match="a multiple of 16"):
        words(SCRIPT, SHARDED.format(5, 40, "FULL_SHARD") + MESH)


@pytest.mark.parametrize(
    ("changed", "facts"),
    [
        ({"zero_optimization": {"stage": 2, "cpu_offload": True}}, {"offload_optimizer": True}),
        ({"zero_optimization": {"stage": 3, "cpu_offload_param": True}}, {"offload_parameters": True}),
        ({"bf16": {}, "bfloat16": {"enabled": True}}, {"compute": "bf16"}),
    ],
)
def test_older_names_of_deepspeed_are_understood(changed: dict[str, object], facts: dict[str, object]) -> None:
    read_facts = read(json.dumps({**json.loads(ZERO), **changed})).facts
    assert facts.items() <= read_facts.said().items()


def test_what_deepspeed_keeps_otherwise_is_told() -> None:
    more = {"bf16": {"enabled": True, "bf16_optimizer_states": True}, "tensor_parallel": {"autotp_size": 4}}
    (line,) = read(json.dumps({**json.loads(ZERO), **more})).missing
    assert "bf16.bf16_optimizer_states, tensor_parallel.autotp_size" in line
    plain = {"bf16": {"enabled": True, "bf16_optimizer_states": False}}
    assert read(json.dumps({**json.loads(ZERO), **plain})).missing == ()


def test_a_file_of_torchtune_is_no_file_of_another_program() -> None:
    with pytest.raises(EngineError):
        read("model: {_component_: torchtune.models.llama3_1.llama3_1_8b}\nstage: 1\nbatch_size: 2\n")


def test_accelerate_compiles_and_knows_gpus_alone() -> None:
    assert read(SHARDED.format(1, 8, "FULL_SHARD") + "dynamo_config: {dynamo_backend: INDUCTOR}\n").facts.compiled
    assert read(SHARDED.format(1, 8, "FULL_SHARD") + "dynamo_config: {dynamo_backend: 'NO'}\n").facts.compiled is None
    for line in ("use_cpu: true", "distributed_type: DEEPSPEED\ndeepspeed_config: {zero_stage: 4}"):
        with pytest.raises(EngineError, match=r"use_cpu|zero_stage"):
            read(f"compute_environment: X\n{line}\n")


def test_a_format_and_a_batch_that_files_leave_open_or_contradict_are_told() -> None:
    auto = {**json.loads(ZERO), "bf16": {"enabled": "auto"}, "train_micro_batch_size_per_gpu": 2}
    batch = {"gradient_accumulation_steps": 4, "train_batch_size": 7}
    told = words(json.dumps({**auto, **batch}), model="llama3-8b").assumed
    assert "Products in the default format: no file says which." in told
    assert "A step has 8 sequences, and a file says 7." in told
    told = words(json.dumps({**json.loads(ZERO), **batch, "train_batch_size": 4}), model="llama3-8b").assumed
    assert not any(line.startswith(("Products in", "A step has")) for line in told)


def test_the_longest_context_is_never_assumed() -> None:
    found = words(CONFIG)
    assert found.words["sequence"] == 2048
    assert found.words["model"].max_seq == 131072
    assert any("2,048 tokens" in line for line in found.assumed)


def test_a_choice_counts_before_a_file_and_files_may_not_contradict_each_other() -> None:
    assert words(RUN, sequence=512, batch=8).words["batch"] == 8
    with pytest.raises(
        EngineError,
        match=r"^micro batch 4 is not allowed, as another file says, and it is not read until .*; allowed: 2$",
    ):
        words(RUN, RUN.replace("size: 2", "size: 4"))


@pytest.mark.parametrize(
    ("text", "precision"),
    [
        ("base_model: gpt2\nmicro_batch_size: 1\n", "bf16"),
        ("base_model: gpt2\nmicro_batch_size: 1\nbf16: false\n", "fp32"),
        ("base_model: gpt2\nmicro_batch_size: 1\nbf16: true\n", "bf16"),
        ("base_model: gpt2\nmicro_batch_size: 1\nfp16: true\n", "fp16"),
        ("base_model: gpt2\nmicro_batch_size: 1\nbf16: true\nadapter: lora\n", "amp-bf16"),
        ("model_name_or_path: gpt2\nstage: sft\nfinetuning_type: full\nbf16: true\n", "amp-bf16"),
        ("model_name_or_path: gpt2\nstage: sft\nfinetuning_type: full\npure_bf16: true\n", "bf16"),
    ],
)
def test_a_precision_follows_from_the_formats_of_weights_and_products(text: str, precision: str) -> None:
    assert words(text).words["precision"] == precision


def test_a_global_batch_becomes_micro_batches_of_each_replica() -> None:
    facts = Facts(model="gpt2", devices=8, micro_batch=4, global_batch=128)
    assert words_of([Reading("command", facts)], {"gpu": "a100-80"}).words["accumulate"] == 4


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        ((NODE,), "model is missing"),
        (("torchrun --nproc-per-node 6 t.py --tensor-model-parallel-size 4",), "a multiple of 4"),
    ],
)
def test_what_no_file_says_is_asked_for(texts: tuple[str, ...], told: str) -> None:
    with pytest.raises(EngineError, match=told):
        words(*texts)
    with pytest.raises(EngineError, match="gpu is missing"):
        words_of([read(RUN)])


def test_defaults_of_a_program_give_way_to_what_another_file_says_and_are_told() -> None:
    # The JSON says BF16, accelerate says who recomputes, and the YAML, which is silent of both, contradicts neither.
    silent = "base_model: meta-llama/Llama-3.1-8B\nmicro_batch_size: 2\n"
    divides = (
        "distributed_type: FSDP\nmixed_precision: bf16\nnum_processes: 8\n"
        "fsdp_config:\n  fsdp_activation_checkpointing: true\n"
    )
    found = words(silent, divides)
    assert (found.words["checkpointing"], found.words["precision"]) == ("full", "mixed-bf16")
    assert "512 tokens a sequence" in " ".join(found.assumed)
    assert "recomputed" not in " ".join(found.assumed)
    # A command's defaults give way to a trainer's file, whichever is given first.
    command = "torchrun --nproc-per-node 2 train.py --bf16"
    adapters = "model_name_or_path: gpt2\nstage: sft\nfinetuning_type: lora\nlora_rank: 4\n"
    for texts in ((command, adapters), (adapters, command)):
        assert (words(*texts).words["method"], words(*texts).words["lora_rank"]) == ("lora", 4)
        assert words(*texts).words["checkpointing"] == "full"


def test_adapters_that_somebody_chose_keep_their_formats_beside_a_file_that_divides() -> None:
    found = words(RUN, '{"zero_optimization": {"stage": 3}, "bf16": {"enabled": true}}', NODE, method="lora")
    assert setup(**found.words).precision.name == "amp-bf16"
    found = words(RUN, ZERO, NODE, method="lora")
    assert setup(**found.words).framework.runtime != "deepspeed"
    assert "DeepSpeed's buffers are not counted beside adapters." in found.assumed


@pytest.mark.parametrize(
    ("zero", "sizes"),
    [
        ({"stage": 2}, Buffers()),
        ({"stage": 3}, Buffers()),
        ({"stage": 2, "overlap_comm": True}, Buffers(bucket=1_000_000_000)),
        ({"stage": 3, "overlap_comm": True}, Buffers()),  # ZeRO-3 has one bucket all the same
        ({"stage": 2, "reduce_bucket_size": 2e8, "overlap_comm": True}, Buffers(bucket=400_000_000)),
        ({"stage": 3, "reduce_bucket_size": "auto"}, Buffers(bucket=4096**2)),
        ({"stage": 1}, None),
    ],
    ids=str,
)
@pytest.mark.parametrize("adapted", ["", "adapter: lora\nlora_r: 8\nlora_target_linear: true\n"], ids=["full", "lora"])
def test_buffers_of_what_deepspeed_divides_are_as_its_file_says(
    adapted: str, zero: dict[str, object], sizes: Buffers | None
) -> None:
    run = RUN + adapted
    text = json.dumps({"zero_optimization": zero, "bf16": {"enabled": True}})
    found = words(run, text, NODE)
    assert setup(**found.words).update.buffers == sizes
    assert not [line for line in found.assumed if "buffers are not counted" in line and sizes]
    # One card divides nothing, whatever stage its file names, also where a hand says how many there are.
    assert "offload_sizes" not in words(run, text, "torchrun --nproc-per-node 1 train.py").words
    assert "offload_sizes" not in words(run, text, NODE, zero=1).words


@pytest.mark.parametrize(
    ("zero", "told"),
    [
        ({"offload_param": {"device": "cpu"}}, "takes the weights (offload_param) to host memory too"),
        ({"offload_optimizer": {"device": "nvme"}}, "Counted as host memory, and its time as that memory's"),
        ({"stage": 1, "offload_optimizer": {"device": "cpu"}}, "takes FP32 weights and gradients (offload_optimizer)"),
        ({"stage": 2, "offload_param": {"device": "cpu"}}, "offload_param counts for nothing"),
        ({"offload_optimizer": {"device": "cpu", "ratio": 0.3}}, "of DeepSpeed's file: offload_optimizer.ratio"),
        ({"zero_hpz_partition_size": 8}, "Not counted of DeepSpeed's file: zero_hpz_partition_size."),
    ],
)
def test_what_deepspeed_s_file_asks_for_and_is_not_counted_is_said(zero: dict[str, object], told: str) -> None:
    found = words(RUN, NODE, json.dumps({"zero_optimization": {"stage": 3, **zero}}))
    lines = [line for line in (*found.assumed, *found.missing) if told in line]
    assert len(lines) == 1
    plain = words(RUN, NODE, json.dumps({"zero_optimization": {"stage": 3}}))
    assert told not in " ".join(plain.assumed)


CPU = {"device": "cpu", "pin_memory": True}
ADAPTED = RUN + "adapter: lora\nlora_r: 8\nlora_target_linear: true\n"


@pytest.mark.parametrize(
    ("run", "zero", "expected"),
    [
        (RUN, {"stage": 3, "offload_optimizer": CPU, "offload_param": CPU}, "parameters"),
        (RUN, {"stage": 3, "offload_optimizer": CPU}, "gradients"),
        (RUN, {"stage": 2, "offload_optimizer": CPU}, "gradients"),
        (RUN, {"stage": 2, "offload_optimizer": CPU, "offload_param": CPU}, "gradients"),
        (RUN, {"stage": 1, "offload_optimizer": CPU}, "optimizer"),
        (RUN, {"stage": 3, "offload_param": CPU}, None),
        (ADAPTED, {"stage": 3, "offload_param": CPU}, "parameters"),
        (ADAPTED, {"stage": 3, "offload_optimizer": CPU}, "optimizer"),
        (ADAPTED, {"stage": 2, "offload_optimizer": CPU}, "optimizer"),
    ],
    ids=str,
)
@pytest.mark.parametrize("devices", [1, 8])
def test_what_deepspeed_takes_to_the_host_is_counted_there(
    run: str, zero: dict[str, object], expected: str | None, devices: int
) -> None:
    text = json.dumps({"zero_optimization": zero, "bf16": {"enabled": True}})
    found = words(run, text, f"torchrun --nproc-per-node {devices} train.py")
    assert found.words.get("offload") == expected
    divides = devices > 1 and zero["stage"] in (2, 3)
    assert ("offload_sizes" in found.words) == (expected in ("gradients", "parameters") or divides)
    assert setup(**found.words).update.offload == (expected or "none")
    told = " ".join(found.assumed)
    assert ("counted on the card" in told) == ((expected == "optimizer" and run == RUN) or expected is None)
    assert ("counts for nothing" in told) == (zero["stage"] == 2 and "offload_param" in zero)
    assert ("the adapters' states are counted in host memory" in told) == (expected == "parameters" and run == ADAPTED)


def test_the_sizes_of_deepspeeds_buffers_are_those_of_its_file() -> None:
    zero: dict[str, object] = {
        "stage": 3, "offload_optimizer": CPU, "offload_param": CPU, "reduce_bucket_size": 2e8,
        "stage3_prefetch_bucket_size": "1e7", "stage3_max_live_parameters": 3e9, "stage3_max_reuse_distance": 0,
        "stage3_param_persistence_threshold": 1e4, "overlap_comm": True,
    }  # fmt: skip
    kept = setup(**words(RUN, NODE, json.dumps({"zero_optimization": zero})).words).update.buffers
    assert kept == Buffers(200_000_000, 10_000_000, 3_000_000_000, 0, 10_000)
    auto = {name: "auto" for name in zero if name.startswith(("stage3_pre", "stage3_param"))}
    filled = {**zero, **auto, "reduce_bucket_size": "auto"}
    kept = setup(**words(RUN, NODE, json.dumps({"zero_optimization": filled})).words).update.buffers
    # As transformers fills them in, by the width of 4,096.
    assert kept == Buffers(4096**2, int(0.9 * 4096**2), 3_000_000_000, 0, 40_960)
    two = {"stage": 2, "offload_optimizer": CPU, "overlap_comm": True}
    kept = setup(**words(RUN, NODE, json.dumps({"zero_optimization": two})).words).update.buffers
    assert kept == Buffers(bucket=1_000_000_000)


@pytest.mark.parametrize(("options", "zero"), [("[full_shard, auto_wrap]", 3), ("[shard_grad_op, auto_wrap]", 2)])
def test_qlora_that_fsdp_divides_has_sixteen_bits_beside_four(options: str, zero: int) -> None:
    text = "per_device_train_batch_size: 1\nmax_length: 512\nuse_peft: true\nload_in_4bit: true\nbf16: true\n"
    found = setup(**words(text + f"fsdp: {options}\n", NODE, model="gpt2").words)
    assert (found.layout.zero, found.adaptation.base) == (zero, "16-bit")
    assert setup(**words(text, NODE, model="gpt2").words).adaptation.base == "fp32"


@pytest.mark.parametrize(
    ("text", "base"),
    [
        ("base_model: gpt2\nadapter: qlora\nload_in_4bit: true\nbf16: true\n", "16-bit"),
        ("model_name_or_path: Qwen/Qwen3-8B\nfinetuning_type: lora\nquantization_bit: 4\nbf16: true\n", "16-bit"),
        ("model_name_or_path: gpt2\nuse_peft: true\nload_in_4bit: true\nbf16: true\ndtype: bfloat16\n", "fp32"),
    ],
)
def test_beside_four_bits_a_program_keeps_its_own_format(text: str, base: str) -> None:
    """axolotl makes embeddings, head and norms 16 bits again, LLaMA-Factory never makes them FP32, TRL does."""
    found = setup(**words(text).words)
    assert (found.adaptation.method, found.adaptation.base) == ("qlora", base)


@pytest.mark.parametrize(
    ("dtype", "base"),
    [("", "fp32"), ("dtype: float32\n", "fp32"), ("torch_dtype: float32\n", "fp32"), ("dtype: bfloat16\n", "16-bit")],
)
def test_trl_loads_what_adapters_lie_over_in_fp32_unless_told_otherwise(dtype: str, base: str) -> None:
    text = f"model_name_or_path: gpt2\nuse_peft: true\nlora_r: 16\nmax_length: 512\nbf16: true\n{dtype}"
    found = setup(**words(text).words)
    assert (found.adaptation.method, found.adaptation.base) == ("lora", base)


@pytest.mark.parametrize(
    ("text", "expected", "told"),
    [
        ("eval_batch_size: 8\n", (8, 0, False), "8 sequences at a time, and keeps the loss alone"),
        ("eval_batch_size: 1\neval_accumulation_steps: 4\n", (1, 4, False), "the logits of 4 batches"),
        ("eval_batch_size: 8\nplugins: [axolotl.integrations.liger.LigerPlugin]\n"
         "liger_fused_linear_cross_entropy: true\n", (8, 0, True), "keeps the loss alone"),
        ("eval_batch_size: 8\ncut_cross_entropy: true\n", (8, 0, False), "keeps the loss alone"),
    ],
)  # fmt: skip
def test_evaluation_is_counted_as_a_file_asks_for_it(text: str, expected: tuple[int, int, bool], told: str) -> None:
    found = words(RUN + text, NODE)
    about = setup(**found.words).evaluation
    assert about is not None
    assert (about.batch, about.kept, about.whole) == expected
    assert len([line for line in found.assumed if told in line]) == 1
    assert setup(**words(RUN, NODE).words).evaluation is None


LLAMA_FACTORY = "model_name_or_path: meta-llama/Llama-3.1-8B\nstage: dpo\nfinetuning_type: full\nbf16: true\n"
TRL = "model_name_or_path: meta-llama/Llama-3.1-8B\nbeta: 0.1\nmax_length: 1024\n"


@pytest.mark.parametrize(
    ("texts", "reference", "batch"),
    [
        ([RUN + "rl: dpo\n"], "16-bit", 4),
        ([RUN + "rl: ipo\n"], "16-bit", 4),
        ([RUN + "rl: simpo\n"], None, 4),
        ([RUN + "rl: kto\n"], "16-bit:3", 2),
        ([RUN], None, 2),
        ([LLAMA_FACTORY], "16-bit", 16),
        ([LLAMA_FACTORY.replace("bf16: true\n", "")], "fp32", 16),
        ([LLAMA_FACTORY + "pref_loss: orpo\n"], None, 16),
        ([LLAMA_FACTORY.replace("full", "lora")], "16-bit", 16),
        ([LLAMA_FACTORY.replace("dpo", "rm")], None, 16),
        ([TRL], "fp32", 16),
        ([TRL + "dtype: bfloat16\n"], "16-bit", 16),
        ([TRL, ZERO], "16-bit", 16),
        ([TRL + "precompute_ref_log_probs: true\n"], None, 16),
        ([TRL + "desirable_weight: 1.0\n"], "fp32:3", 8),
        (["trl dpo --model_name_or_path gpt2 --per_device_train_batch_size 3"], "fp32", 6),
    ],
)
def test_preferences_are_pairs_and_have_a_frozen_reference(texts: list[str], reference: str | None, batch: int) -> None:
    """In the format in which the program loads it: TRL as the model, others and DeepSpeed in that of products."""
    found = words(*texts).words
    assert (found.get("reference"), found["batch"]) == (reference, batch)
    assert (setup(**found).reference is None) is (reference is None)


def _deepspeed(kind: str) -> str:
    return '{"zero_optimization": {"stage": 2}, "bf16": {"enabled": true}, "optimizer": {"type": "%s"}}' % kind  # noqa: UP031


@pytest.mark.parametrize(
    "script", [LLAMA_FACTORY.replace("dpo", "sft") + "optim: adamw_bnb_8bit\n", TRL + "optim: adafactor\n"]
)
@pytest.mark.parametrize(("kind", "optimizer"), [("AdamW", "adamw"), ("Adam", "adamw"), ("Lion", "lion")])
def test_deepspeed_makes_the_optimizer_of_its_own_file(script: str, kind: str, optimizer: str) -> None:
    """transformers leaves it to DeepSpeed then, and `optim` counts for nothing."""
    told = "DeepSpeed makes the optimizer of its own file, and the script's counts for nothing."
    for texts in ([script, _deepspeed(kind)], [_deepspeed(kind), script]):
        found = words(*texts, model="llama3-8b")
        assert found.words["optimizer"] == optimizer
        assert told in found.assumed
    alone = words(_deepspeed(kind), model="llama3-8b")
    assert alone.words["optimizer"] == optimizer
    assert told not in alone.assumed


def test_an_optimizer_of_deepspeed_that_is_not_counted_is_named() -> None:
    found = words(_deepspeed("OneBitAdam"), model="llama3-8b")
    assert "Not counted of DeepSpeed's file: optimizer.type." in found.missing


def test_a_stage_that_is_no_word_is_refused() -> None:
    with pytest.raises(EngineError, match="pref_loss"):
        words(LLAMA_FACTORY + "pref_loss: {a: 1}\n")
    for stage in ("[dpo]", "banana"):
        with pytest.raises(EngineError, match="rl"):
            words(RUN + f"rl: {stage}\n")
    assert words(RUN + "rl: DPO\n").words["reference"]


def test_a_reference_that_answered_before_took_a_pass() -> None:
    (line,) = (one for one in words(TRL + "precompute_ref_log_probs: true\n").missing if "precompute" in one)
    assert "is not counted" in line


def test_what_is_left_out_of_the_count_is_said() -> None:
    found = words(RUN + "rl: grpo\n")
    assert any("rewards are not counted" in line for line in found.assumed)
    megatron = "torchrun --nproc-per-node 8 pretrain_gpt.py --num-attention-heads 32 --expert-model-parallel-size 2"
    (line,) = (one for one in words(megatron, model="llama3-8b").assumed if "Expert parallelism" in one)
    assert line.endswith("is not counted for a model which has no experts a layer: the answer is without it.")


GRPO = "model_name_or_path: Qwen/Qwen2.5-7B\nnum_generations: 8\nper_device_train_batch_size: 8\n"


@pytest.mark.parametrize(
    ("more", "rollout", "sequence", "reference"),
    [
        ("", "generate", 1024, None),
        ("max_completion_length: 2048\n", "generate", 512 + 2048, None),
        ("max_prompt_length: 1000\nbeta: 0.04\n", "generate", 1000 + 256, "fp32"),
        ("max_completion_length: 100\nuse_vllm: true\nbeta: 0\n", "beside:0.30", 612, None),
        (
            "use_vllm: true\nvllm_gpu_memory_utilization: 0.45\nvllm_enable_sleep_mode: true\n",
            "asleep:0.45",
            1024,
            None,
        ),
        ("use_vllm: true\nvllm_mode: server\nbf16: true\ndtype: bfloat16\nbeta: 0.1\n", None, 1024, "16-bit"),
    ],
)
def test_texts_of_grpo_are_prompts_and_completions(
    more: str, rollout: str | None, sequence: int, reference: str | None
) -> None:
    """As TRL has them, and who generates them; without `beta` there is no reference."""
    found = words(GRPO + more).words
    assert (found.get("rollout"), found["sequence"], found.get("reference")) == (rollout, sequence, reference)
    made = setup(**found)
    assert (made.rollout is None) is (rollout is None)
    options = " ".join(f"--{line.replace(': ', ' ')}" for line in more.splitlines())
    command = f"trl grpo --model_name_or_path Qwen/Qwen2.5-7B --num_generations 8 {options}"
    said = words(command).words
    assert (said.get("rollout"), said["sequence"], said.get("reference")) == (rollout, sequence, reference)


def test_devices_that_share_experts_are_counted_where_the_engine_can() -> None:
    model = "Qwen/Qwen3-30B-A3B"
    megatron = "torchrun --nproc-per-node 8 pretrain_gpt.py --num-attention-heads 32 --expert-model-parallel-size {}"
    for ways, counted in ((8, 8), (2, 2), (3, None)):
        found = words(megatron.format(ways), model=model)
        assert found.words.get("ep") == counted
        assert any("which has 128 experts a layer" in line for line in found.assumed) == (counted is None)
    alone = words(megatron.format(8).replace("--nproc-per-node 8", ""), model=model)
    assert "ep" not in alone.words
    assert any("which 8 devices share the experts" in line for line in alone.assumed)


def test_devices_that_share_a_sequence_are_counted_where_the_engine_can() -> None:
    for text, layout in (
        (RUN.replace("512", "8192") + "context_parallel_size: 4\n", (4, 1, 4)),
        ("torchrun --nproc-per-node 8 pretrain_gpt.py --num-attention-heads 32 --context-parallel-size 2 "
         "--tensor-model-parallel-size 2 --seq-length 4096 --use-distributed-optimizer", (8, 2, 2)),
        ("accelerate launch --num_processes 8 --mixed_precision bf16 --parallelism_config_cp_size 4 sft.py "
         "--max_length 4096 --per_device_train_batch_size 1", (8, 2, 4)),
        ("compute_environment: LOCAL_MACHINE\nnum_processes: 8\nparallelism_config:\n"
         "  parallelism_config_cp_size: 8\n", (8, 1, 8)),
    ):  # fmt: skip
        found = words(text, model="llama3.1-8b")
        asked = setup(**found.words)
        assert (asked.devices, asked.layout.data, asked.layout.context) == layout
        assert not any("Context parallelism" in line for line in found.assumed)
    found = words(RUN + "context_parallel_size: 2\n", model="google/gemma-2-9b")
    assert "cp" not in found.words
    [said] = [line for line in found.assumed if line.startswith("Context parallelism")]
    assert said == (
        "Context parallelism is not counted for a model whose attention has windows: the answer is without it."
    )


def test_a_model_that_is_not_known_is_said_by_name_with_what_stands_instead() -> None:
    told = words(RUN.replace("meta-llama/Llama-3.1-8B", "somelab/Wonder-9B"), model="llama3-8b").missing
    assert told == (
        "somelab/Wonder-9B is no model that the planner knows by name: add its config.json. "
        "Until then llama3-8b stands instead.",
    )
    assert not words(RUN.replace("meta-llama/Llama-3.1-8B", "somelab/Wonder-9B"), CONFIG).missing
    assert not words(RUN, model="llama3-8b").missing


@pytest.mark.parametrize("path", ["/home/ann/secret", "./secret/model", "../secret", "C:\\secret", "a/b/secret"])
def test_a_path_is_not_told_back(path: str) -> None:
    (told,) = words(RUN.replace("meta-llama/Llama-3.1-8B", f"'{path}'"), model="llama3-8b").missing
    assert "secret" not in told
    assert told.startswith("What the file names is no model")


def test_frozen_weights_keep_the_format_in_which_a_program_loads_them_under_fsdp() -> None:
    """Only what is trained is made FP32; TRL loads in FP32 unless told otherwise, axolotl in 16 bits."""
    fsdp = read("compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nnum_processes: 8\nmixed_precision: bf16\n")
    trl = "model_name_or_path: gpt2\ndataset_name: x\nuse_peft: true\nlora_r: 16\nmax_length: 512\nbf16: true\n"
    axolotl = "base_model: gpt2\nadapter: lora\nlora_r: 16\nsequence_len: 512\nmicro_batch_size: 1\nbf16: true\n"
    for text in (trl, axolotl):
        alone, divided = (words_of(files, {"gpu": "h100-sxm"}).words for files in ([read(text)], [read(text), fsdp]))
        assert alone.get("base_format") == divided.get("base_format")
        assert (alone["precision"], divided["precision"]) == ("amp-bf16", "mixed-bf16")


def test_a_fence_around_a_command_is_none_of_its_words() -> None:
    ((_, found),) = parts("```bash\ntorchrun --nproc-per-node 4 run.py --model_name_or_path gpt2 --bf16\n```\n")
    assert (found.kind, found.facts.devices) == ("command", 4)
