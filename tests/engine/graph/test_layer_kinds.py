"""Kinds of layers against tiny real models of transformers: bytes that autograd keeps, and PyTorch's count of FLOPs.

The models run on the CPU with random weights. What a saved tensor keeps alive is counted by its storage at the end of
the forward pass; what autograd packed and dropped again before that is not.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal
from weakref import WeakSet

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode
from transformers import CONFIG_MAPPING, AutoModelForCausalLM

from ironlaw import EngineError, Transformer, estimate, explain, fit, setup, training_memory
from ironlaw.graph.operations import count_operations, product_parameters
from ironlaw.models import from_config

BATCH, SEQUENCE = 3, 64
Attention = Literal["flash", "standard"]
TINY = {
    "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
    "intermediate_size": 96, "vocab_size": 160, "max_position_embeddings": 512, "pad_token_id": 0, "eos_token_id": 1,
    "bos_token_id": 2,
}  # fmt: skip
WIDE = TINY | {"head_dim": 32}
ROUTED = WIDE | {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 48}
LATENT = TINY | {
    "num_key_value_heads": 4, "kv_lora_rank": 16, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8, "v_head_dim": 16,
    "moe_intermediate_size": 48, "n_routed_experts": 8, "num_experts_per_tok": 2, "first_k_dense_replace": 1,
}  # fmt: skip
FALCON = {key: TINY[key] for key in TINY if key not in ("num_key_value_heads", "intermediate_size")}
PARTIAL = {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.5}
FUSED: dict[str, tuple[str, dict[str, Any]]] = {
    "grouped": ("llama", TINY),
    "biases": ("qwen2", TINY),
    "window": ("mistral", TINY | {"sliding_window": 4 * SEQUENCE}),
    "norms of heads": ("qwen3", WIDE),
    "norms of the width, after": ("olmo2", TINY),
    "no positions every fourth": ("smollm3", TINY | {"num_hidden_layers": 4}),
    "merged, partly rotated": ("phi3", TINY | {"rope_parameters": PARTIAL}),
    "before and after, two frequencies": (
        "gemma3_text", WIDE | {"num_hidden_layers": 6, "sliding_window": 4 * SEQUENCE}
    ),
    "experts": ("qwen3_moe", ROUTED | {"norm_topk_prob": True}),
    "experts beside dense": ("qwen3_moe", ROUTED | {"norm_topk_prob": False, "mlp_only_layers": [0]}),
    "experts, fp32 weights": ("mixtral", TINY | {"num_local_experts": 8, "num_experts_per_tok": 2}),
    "latent": ("deepseek_v3", LATENT | {"q_lora_rank": 24, "n_group": 2, "topk_group": 1}),
    "latent, complex": ("deepseek_v2", LATENT | {"q_lora_rank": None, "n_shared_experts": 2}),
    "parallel": (
        "gpt_neox", {key: TINY[key] for key in TINY if key != "num_key_value_heads"} | {"rope_parameters": PARTIAL}
    ),
    "gpt2": (
        "gpt2",
        {"n_embd": 64, "n_layer": 2, "n_head": 4, "vocab_size": 160, "n_positions": 512, "attn_pdrop": 0.0,
         "resid_pdrop": 0.0, "embd_pdrop": 0.0, "bos_token_id": 1, "eos_token_id": 1},
    ),
}  # fmt: skip
"""Models whose attention transformers runs by PyTorch's fused kernel, where no mask is needed."""
PLAIN = FUSED | {
    "window that bites": ("mistral", TINY | {"sliding_window": SEQUENCE // 4}),
    "softcaps": ("gemma2", WIDE | {"sliding_window": SEQUENCE // 4}),
    "sinks, biased experts": (
        "gpt_oss", WIDE | {"num_local_experts": 8, "num_experts_per_tok": 2, "sliding_window": SEQUENCE // 4}
    ),
}  # fmt: skip
FALCONS = {"one key": FALCON, "grouped keys": FALCON | {"new_decoder_architecture": True, "num_kv_heads": 2}}
PRECISIONS = ("fp32", "bf16", "amp-bf16")


class Packed:
    """What autograd holds in place of a saved tensor; it lives as long as that would."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor


@contextmanager
def default_dtype(dtype: torch.dtype) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def network(kind: str, config: dict[str, Any], attention: Attention, dtype: torch.dtype) -> torch.nn.Module:
    implementation = "sdpa" if attention == "flash" else "eager"
    torch.manual_seed(0)
    with warnings.catch_warnings(), default_dtype(dtype):
        warnings.simplefilter("ignore")
        made = AutoModelForCausalLM.from_config(  # type: ignore[no-untyped-call]
            CONFIG_MAPPING[kind](**config), attn_implementation=implementation, dtype=dtype
        )
    return made.train()  # type: ignore[no-any-return]


def tokens() -> torch.Tensor:
    return torch.randint(3, TINY["vocab_size"], (BATCH, SEQUENCE))


def saved_bytes(kind: str, config: dict[str, Any], attention: Attention, precision: str) -> int:
    """Bytes that a forward pass with loss leaves saved for backward."""
    made = network(kind, config, attention, torch.bfloat16 if precision == "bf16" else torch.float32)
    own = {t.untyped_storage()._cdata for t in itertools.chain(made.parameters(), made.buffers())}
    alive: WeakSet[Packed] = WeakSet()

    def pack(tensor: torch.Tensor) -> Packed:
        packed = Packed(tensor)
        alive.add(packed)
        return packed

    text = tokens()
    with (
        torch.autograd.graph.saved_tensors_hooks(pack, lambda packed: packed.tensor),
        torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision == "amp-bf16"),
    ):
        result = made(input_ids=text, labels=text, use_cache=False)
    storages = {s._cdata: s.nbytes() for s in (packed.tensor.untyped_storage() for packed in alive)}
    assert result.loss.requires_grad
    return sum(size for address, size in storages.items() if address not in own)


def counted_bytes(m: Transformer, attention: Attention, precision: str) -> int:
    ledger = training_memory(m, precision=precision, batch=BATCH, sequence=SEQUENCE, attention=attention, backend="cpu")
    return int(ledger.saved_bytes)


cases = [("flash", name) for name in FUSED] + [("standard", name) for name in PLAIN]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize(("attention", "name"), cases)
def test_a_kind_of_layer_keeps_exactly_the_bytes_pytorch_keeps(attention: Attention, name: str, precision: str) -> None:
    kind, config = PLAIN[name]
    read = from_config({"model_type": kind, **config})
    assert counted_bytes(read, attention, precision) == saved_bytes(kind, config, attention, precision)


DROPPED = {
    "grouped": ["attention_dropout"],
    "gpt2": ["attn_pdrop", "resid_pdrop", "embd_pdrop"],
    "parallel": ["attention_dropout", "hidden_dropout"],
    "merged, partly rotated": ["attention_dropout", "resid_pdrop"],
    "latent": ["attention_dropout"],
    "sinks, biased experts": ["attention_dropout"],
    "one after the other": ["attention_dropout", "hidden_dropout"],
    "one key": ["attention_dropout", "hidden_dropout"],
    "alibi": ["attention_dropout", "hidden_dropout"],
}
DROPPING = (
    PLAIN
    | {name: ("falcon", config) for name, config in FALCONS.items()}
    | {
        "one after the other": ("falcon", FALCON | {"parallel_attn": False}),
        "alibi": ("falcon", FALCON | {"alibi": True}),
    }
)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("precision", ["amp-bf16", "fp32"])
@pytest.mark.parametrize(
    ("name", "keys"),
    [(name, (*each,)) for name, keys in DROPPED.items() for each in ([keys[0]], keys[1:], keys) if each],
)
def test_dropout_of_a_configuration_keeps_what_pytorch_keeps(name: str, keys: tuple[str, ...], precision: str) -> None:
    """In each place by itself, and in all. Falcon with ALiBi keeps a mask of its autocast probabilities in fp32."""
    kind, config = DROPPING[name]
    config = config | dict.fromkeys(DROPPED[name], 0.0) | dict.fromkeys(keys, 0.1)
    kernels: tuple[Attention, ...] = ("flash", "standard") if name in FUSED else ("standard",)
    for attention in kernels:
        read = from_config({"model_type": kind, **config})
        wide = name == "alibi" and precision == "amp-bf16" and "attention_dropout" in keys
        uncounted = read.layers * (2 * 8 * (kind == "falcon") + 2 * BATCH * read.heads * SEQUENCE**2 * wide)
        kept = saved_bytes(kind, config, attention, precision)
        assert counted_bytes(read, attention, precision) + uncounted == kept


def test_a_dropout_that_is_asked_for_is_that_of_every_place() -> None:
    """GPT-2's configuration says 0.1 where it says nothing, and a model by name none."""
    silent = {"model_type": "gpt2", "n_layer": 2}
    said = silent | dict.fromkeys(DROPPED["gpt2"], 0.25)
    off = silent | dict.fromkeys(DROPPED["gpt2"], 0.0)
    sizes: dict[str, Any] = {"gpu": "h200", "batch": 4, "sequence": 256, "precision": "bf16"}

    def answered(config: dict[str, Any], **words: Any) -> tuple[Any, Any]:
        found = estimate(setup(from_config(config), **sizes, **words))
        return found.memory_bytes, found.time

    assert answered(silent) == answered(off, dropout=0.1) == answered(said) == answered(said, dropout=0.5)
    assert answered(off) == answered(silent, dropout=0) != answered(silent)
    masks = 256 * 4 * 768 * (1 + 2 * 2)
    assert answered(silent)[0].activations - answered(off)[0].activations == masks
    run = setup(from_config(silent | {"attn_pdrop": 0.0}), **sizes)
    assert run.dropout is None
    (line,) = (one for one in estimate(run).assumptions if one.startswith("Dropout"))
    assert "0.1 on its result, 0.1 on the feed-forward part's result, 0.1 on the embedding." in line
    named = setup("openai-community/gpt2", **sizes)
    assert (named.dropout, [one for one in estimate(named).assumptions if "ropout" in one]) == (0, [])
    assert setup("gpt2", **sizes).dropout == 0


def test_megatron_has_one_dropout_for_all_places() -> None:
    words: dict[str, Any] = {"batch": 2, "sequence": 64, "framework": "megatron"}
    assert setup(from_config({"model_type": "gpt2"}), **words).dropout == 0.1
    assert setup(from_config({"model_type": "llama"}), **words).dropout == 0
    few = from_config({"model_type": "llama", "attention_dropout": 0.1})
    assert setup(few, **words, dropout=0.1).dropout == 0.1
    with pytest.raises(EngineError, match=r"^dropout is missing with framework megatron, where places differ in it"):
        setup(few, **words)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", FALCONS)
def test_falcon_keeps_two_indices_a_layer_more_than_is_counted(name: str, precision: str) -> None:
    """It takes keys and values out of one product by an index of one number, eight bytes each."""
    config = FALCONS[name]
    read = from_config({"model_type": "falcon", **config})
    indices = 2 * 8 * read.layers
    assert counted_bytes(read, "standard", precision) + indices == saved_bytes("falcon", config, "standard", precision)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", [*PLAIN, *FALCONS])
def test_flops_are_those_of_pytorchs_counter(name: str) -> None:
    """PyTorch counts no grouped products; transformers' other way to run experts does the same ones as batched ones."""
    kind, config = PLAIN[name] if name in PLAIN else ("falcon", FALCONS[name])
    made = network(kind, config, "standard", torch.float32)
    made.config._experts_implementation = "batched_mm"  # type: ignore[union-attr]
    text = tokens()
    with FlopCounterMode(display=False) as counter:
        loss = made(input_ids=text, labels=text, use_cache=False).loss
        forward = counter.get_total_flops()
        loss.backward()
    counted = count_operations(from_config({"model_type": kind, **config}), BATCH, SEQUENCE, attention="standard")
    assert (counted.forward, counted.model) == (forward, counter.get_total_flops())


@pytest.mark.parametrize("name", PLAIN)
def test_every_kind_has_a_whole_estimate(name: str) -> None:
    kind, config = PLAIN[name]
    read = from_config({"model_type": kind, **config})
    every: tuple[dict[str, Any], ...] = (
        {},
        {"checkpointing": "full", "precision": "bf16"},
        {"attention": "standard", "optimizer": "adafactor"},
    )
    for choices in every:
        found = estimate(setup(read, "h200", batch=2, sequence=128, **choices))
        memory, time = found.memory_bytes, found.time
        assert memory.allocated_peak >= memory.parameters + memory.optimizer > 0
        assert time.step_s * found.flops.hardware_per_step > 0
        assert 0 < (time.mfu or 1) <= 1


@pytest.mark.parametrize("name", ["experts beside dense"])
def test_a_kind_is_explained_and_fitted(name: str) -> None:
    kind, config = PLAIN[name]
    run = setup(from_config({"model_type": kind, **config}), "h200", batch=2, sequence=128)
    assert any(line.name == "step" for line in explain(run).time)
    assert fit(run).fits


@pytest.mark.parametrize("checkpointing", ["none", "selective", "full"])
@pytest.mark.parametrize("optimizer_in_backward", [False, True])
def test_kinds_that_differ_in_nothing_that_is_kept_have_the_peak_of_one_kind(
    checkpointing: str, optimizer_in_backward: bool
) -> None:
    """A window changes no bytes, so layers with and without one in turn must peak as equal layers do."""
    wide = {"model_type": "qwen3", **WIDE, "num_hidden_layers": 7, "use_sliding_window": True, "sliding_window": 32}
    sizes = [(1, 8), (1, 512), (64, 16), (8, 256)]
    patterns = [["full_attention"] * 7, ["sliding_attention", "full_attention"] * 3 + ["full_attention"],
                ["full_attention"] + ["sliding_attention"] * 6]  # fmt: skip
    peaks = []
    for pattern in patterns:
        read = from_config(wide | {"layer_types": pattern})
        peaks.append(
            [
                training_memory(
                    read, batch=batch, sequence=sequence, checkpointing=checkpointing, precision="bf16",
                    optimizer_in_backward=optimizer_in_backward,
                ).allocated_peak
                for batch, sequence in sizes
            ]
        )  # fmt: skip
    assert peaks[0] == peaks[1] == peaks[2]


def test_experts_count_as_far_as_a_token_goes_to_them() -> None:
    """A mixture of as many experts as a token takes is dense; more of them add parameters and no work."""
    few, many = (from_config({"model_type": "qwen3_moe", **ROUTED, "num_experts": count}) for count in (2, 64))
    router = few.layers * few.hidden
    assert product_parameters(many) - product_parameters(few) == router * (64 - 2)
    assert many.parameters > 10 * few.parameters


def test_a_window_makes_fused_attention_faster_and_no_other_number_different() -> None:
    whole, windowed = (
        from_config({"model_type": "mistral", "sliding_window": window, "max_position_embeddings": 65536})
        for window in (None, 1024)
    )
    one, other = (estimate(m, "h200", sequence=65536, precision="bf16") for m in (whole, windowed))
    assert one.memory_bytes == other.memory_bytes
    assert one.flops == other.flops
    assert other.time.step_s < 0.8 * one.time.step_s


@pytest.mark.parametrize(
    ("name", "choices", "message"),
    [
        ("experts", {"tp": 2}, "tp 2 is not allowed with model qwen3_moe, whose set of experts is not divided here"),
        ("latent", {"tp": 2}, "tp 2 is not allowed with model deepseek_v3, whose latent attention is not divided"),
        ("latent", {"pp": 2}, "pp 2 is not allowed with model deepseek_v3, whose layers are of several kinds"),
        ("experts", {"framework": "megatron"}, "framework 'megatron' is not allowed with model qwen3_moe, which has"),
        ("experts", {"execution": "compiled"}, "execution 'compiled' is not allowed with model qwen3_moe, whose set"),
        ("softcaps", {"checkpointing": "every:2"}, "checkpointing 'every:2' is not allowed with model gemma2, whose"),
    ],
)  # fmt: skip
def test_what_is_not_known_of_a_kind_is_refused(name: str, choices: dict[str, Any], message: str) -> None:
    kind, config = PLAIN[name]
    with pytest.raises(EngineError) as error:
        setup(from_config({"model_type": kind, **config}), "h200", batch=2, sequence=64, **choices)
    assert str(error.value).startswith(message)


def test_linear_attention_is_counted_in_parameters_only() -> None:
    read = from_config({"model_type": "qwen3_next"})
    assert read.parameters == 79_674_391_296
    with pytest.raises(EngineError, match="whose linear attention is counted in parameters only"):
        setup(read, "h200")
