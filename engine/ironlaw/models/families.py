"""Architectures of `config.json`: for each `model_type` its defaults in transformers, and what its keys mean.

Facts of transformers 5.23, `models/<model_type>/configuration_*.py` and `modeling_*.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal

from ironlaw.core.errors import EngineError
from ironlaw.core.units import Count
from ironlaw.models.config_json import Config
from ironlaw.models.layers import (
    Activation,
    Attention,
    Dropouts,
    Experts,
    FeedForward,
    LatentAttention,
    Layer,
    LinearAttention,
    Norm,
    Router,
    Tables,
)
from ironlaw.models.transformer import Transformer, of_layers

Build = Callable[[Config, str], Transformer]

ACTIVATIONS: dict[str, str] = {
    "silu": "silu", "swish": "silu", "gelu": "gelu", "gelu_pytorch_tanh": "gelu", "gelu_new": "gelu-new",
    "relu": "relu",
}  # fmt: skip
FULL, SLIDING, LINEAR = "full_attention", "sliding_attention", "linear_attention"
WORDS = frozenset((*ACTIVATIONS, FULL, SLIDING, LINEAR, "greedy", "group_limited_greedy", "noaux_tc"))
"""Words that decide something in a configuration."""


def _activation(c: Config, key: str = "hidden_act") -> Activation:
    return c.word(key, ACTIVATIONS)  # type: ignore[return-value]


def _head_size(c: Config) -> Count:
    hidden, heads = c.count("hidden_size"), c.count("num_attention_heads")
    return c.count("head_dim", default=max(hidden // heads, 1))


def _rotated(c: Config, head_size: Count, share: float = 1.0) -> Count:
    """Elements of a head that are rotated: a share of it, which old files have beside and new ones in their rope's."""
    found = c.get("partial_rotary_factor", "rotary_pct")
    rope = c.get("rope_parameters", "rope_scaling")
    if isinstance(rope, Mapping):
        inner = next((value for value in rope.values() if isinstance(value, Mapping)), rope)
        found = inner.get("partial_rotary_factor", found)
    share = share if found is None else found
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share <= 1:
        raise EngineError("partial_rotary_factor", share, "a number above 0 and at most 1")
    return int(head_size * share)


def _attention(c: Config, *, bias: bool = False, out_bias: bool = False, **others: Any) -> Attention:
    heads, head_size = c.count("num_attention_heads"), _head_size(c)
    rotated = others.pop("rotated", None)
    return Attention(
        heads,
        c.count("num_key_value_heads", default=heads),
        head_size,
        _rotated(c, head_size) if rotated is None else rotated,
        bias=bias,
        out_bias=out_bias,
        **others,
    )


def _dropouts(c: Config, result: str = "") -> Dropouts:
    """On attention's probabilities, and by another key on the result of each part of a block."""
    return Dropouts(c.rate("attention_dropout"), *(c.rate(key) for key in (result, result) if key))


def _model(c: Config, name: str, layers: list[Layer], **others: Any) -> Transformer:
    return of_layers(
        name,
        layers,
        c.count("hidden_size"),
        c.count("vocab_size"),
        c.count("max_position_embeddings"),
        **{"tied": c.flag("tie_word_embeddings"), "position": "rope", "dropouts": _dropouts(c)} | others,
    )


def _windows(c: Config, layers: Count, kinds: tuple[str, ...] | None) -> list[Count]:
    """The window of each layer; 0 where it sees all tokens."""
    if kinds is None:
        return [0] * layers
    window = c.count("sliding_window") if SLIDING in kinds else 0
    return [window if kind == SLIDING else 0 for kind in kinds]


def _layer_types(c: Config, default: Callable[[int], str] | None) -> tuple[str, ...] | None:
    layers = c.count("num_hidden_layers")
    given = c.words("layer_types", (FULL, SLIDING), layers)
    if given is None and default is not None:
        return tuple(default(i) for i in range(layers))
    return given


def _swiglu(c: Config, bias: bool = False, merged: bool = False) -> FeedForward:
    return FeedForward(c.count("intermediate_size"), _activation(c), gated=True, bias=bias, merged=merged)


def _llama(c: Config, name: str) -> Transformer:
    bias = c.flag("attention_bias")
    layer = Layer(_attention(c, bias=bias, out_bias=bias), _swiglu(c, c.flag("mlp_bias")))
    return _model(c, name, [layer] * c.count("num_hidden_layers"))


def _mistral(c: Config, name: str) -> Transformer:
    layer = Layer(_attention(c, window=c.count("sliding_window", default=0, lowest=0)), _swiglu(c))
    return _model(c, name, [layer] * c.count("num_hidden_layers"))


def _smollm3(c: Config, name: str) -> Transformer:
    layers, bias = c.count("num_hidden_layers"), c.flag("attention_bias")
    step = c.count("no_rope_layer_interval")
    turned = c.numbers("no_rope_layers") or tuple(int((i + 1) % step != 0) for i in range(layers))
    sliding = c.flag("use_sliding_window")
    kinds = _layer_types(c, lambda i: SLIDING if sliding and c.get("sliding_window") and not turned[i] else FULL)
    windows = _windows(c, layers, kinds if sliding else None)
    c.get("sliding_window")
    if len(turned) != layers:
        raise EngineError("no_rope_layers", list(turned), f"a list of {layers} numbers")
    part = _swiglu(c, c.flag("mlp_bias"))
    whole = _attention(c, bias=bias, out_bias=bias)
    listed = [
        Layer(replace(whole, rotated=whole.rotated if turned[i] else 0, window=windows[i]), part) for i in range(layers)
    ]
    return _model(c, name, listed)


def _qwen(head_norm: Literal["none", "head"]) -> Build:
    """Qwen 2 and 3: windows from some layer on, where they are in use."""

    def build(c: Config, name: str) -> Transformer:
        layers = c.count("num_hidden_layers")
        sliding, first = c.flag("use_sliding_window"), c.count("max_window_layers", lowest=0)
        window = c.count("sliding_window", default=0, lowest=0) if sliding else 0
        kinds = _layer_types(c, lambda i: SLIDING if window and i >= first else FULL)
        c.get("sliding_window")
        windows = _windows(c, layers, kinds) if window else [0] * layers
        bias = True if head_norm == "none" else c.flag("attention_bias")
        whole = _attention(c, bias=bias, out_bias=bias and head_norm == "head", head_norm=head_norm)
        return _model(c, name, [Layer(replace(whole, window=one), _swiglu(c)) for one in windows])

    return build


def _phi3(c: Config, name: str) -> Transformer:
    window = c.count("sliding_window", default=0, lowest=0)
    c.require("attention_bias", False)
    layer = Layer(_attention(c, merged=True, window=window), _swiglu(c, merged=True))
    return _model(c, name, [layer] * c.count("num_hidden_layers"), dropouts=_dropouts(c, "resid_pdrop"))


def _experts(c: Config, width: str, router: Router, **others: Any) -> Experts:
    if router not in ("sigmoid", "softmax-fp32"):  # DeepSeek's hands them out and computes nothing from them
        c.require("output_router_logits", False, because="whose loss is not counted here")
    return Experts(
        c.count("num_experts", "num_local_experts", "n_routed_experts"),
        c.count("num_experts_per_tok", "experts_per_token"),
        c.count(width),
        others.pop("activation", None) or _activation(c),
        router=router,
        **others,
    )


def _sparse(c: Config, layers: Count) -> list[bool]:
    """Which layers have experts, by the keys of Qwen's mixtures."""
    step, dense = c.count("decoder_sparse_step"), c.numbers("mlp_only_layers")
    return [i not in dense and (i + 1) % step == 0 for i in range(layers)]


def _qwen3_moe(c: Config, name: str) -> Transformer:
    layers, bias = c.count("num_hidden_layers"), c.flag("attention_bias")
    window = c.count("sliding_window", default=0, lowest=0) if c.flag("use_sliding_window") else 0
    c.get("sliding_window"), c.get("max_window_layers")
    attention = _attention(c, bias=bias, out_bias=bias, head_norm="head", window=window)
    routed = _experts(c, "moe_intermediate_size", "softmax", renormalized=c.flag("norm_topk_prob"))
    dense = _swiglu(c)
    return _model(c, name, [Layer(attention, routed if one else dense) for one in _sparse(c, layers)])


def _mixtral(c: Config, name: str) -> Transformer:
    window = c.count("sliding_window", default=0, lowest=0)
    c.require("router_jitter_noise", 0, because="whose noise is not counted here")
    layer = Layer(_attention(c, window=window), _experts(c, "intermediate_size", "mixtral"))
    return _model(c, name, [layer] * c.count("num_hidden_layers"))


def _gpt_oss(c: Config, name: str) -> Transformer:
    layers, bias = c.count("num_hidden_layers"), c.flag("attention_bias")
    _activation(c)
    windows = _windows(c, layers, _layer_types(c, lambda i: FULL if i % 2 else SLIDING))
    whole = _attention(c, bias=bias, out_bias=bias, sinks=True, tables="halves")
    part = _experts(c, "intermediate_size", "chosen-softmax", activation="clamped", bias=True)
    listed = [Layer(replace(whole, window=one), part, norm="rmsnorm-fp32") for one in windows]
    return _model(c, name, listed, norm="rmsnorm")


def _gemma(second: bool) -> Build:
    """Gemma 2 (softcaps) and 3 (norms of queries and keys, two rotary frequencies): norms before and after."""

    def build(c: Config, name: str) -> Transformer:
        layers, bias = c.count("num_hidden_layers"), c.flag("attention_bias")
        c.require("use_bidirectional_attention", False)
        pattern = 2 if second else c.count("sliding_window_pattern", default=6)
        kinds = _layer_types(c, lambda i: SLIDING if (i + 1) % pattern else FULL)
        windows = _windows(c, layers, kinds)
        capped, logits = (c.get(key) is not None for key in ("attn_logit_softcapping", "final_logit_softcapping"))
        if not second and (capped or logits):
            capped_key = "attn_logit_softcapping" if capped else "final_logit_softcapping"
            raise EngineError(capped_key, c.get(capped_key), "absent", {"model_type": "gemma3_text"})
        whole = _attention(c, bias=bias, out_bias=bias, softcap=capped, head_norm="none" if second else "head")
        part = FeedForward(c.count("intermediate_size"), _activation(c, "hidden_activation"), gated=True)
        c.get("hidden_act")
        listed = [Layer(replace(whole, window=one), part, norm="rmsnorm-offset", after=True) for one in windows]
        tables = 1 if second else len(set(kinds or ()))
        return _model(c, name, listed, scaled_embedding=True, logit_softcap=logits, frequencies=tables)

    return build


def _deepseek(router: Router) -> Build:
    """DeepSeek V2 and V3: latent attention, dense layers first, then experts of which some are shared."""

    def build(c: Config, name: str) -> Transformer:
        layers, first = c.count("num_hidden_layers"), c.count("first_k_dense_replace", lowest=0)
        c.require("moe_layer_freq", 1)
        for key in (
            "head_dim",
            "qk_head_dim",
            "num_key_value_heads",
            "n_group",
            "topk_group",
            "topk_method",
        ):
            c.get(key)
        for key in ("num_nextn_predict_layers", "num_mtp_layers"):  # transformers does not build these layers
            c.get(key)
        tables: Tables = "complex" if router == "softmax-fp32" else "whole"
        attention = LatentAttention(
            c.count("num_attention_heads"),
            c.count("q_lora_rank", default=0, lowest=0),
            c.count("kv_lora_rank"),
            c.count("qk_nope_head_dim"),
            c.count("qk_rope_head_dim"),
            c.count("v_head_dim"),
            c.flag("attention_bias"),
            tables,
        )
        shared = c.count("n_shared_experts", default=0, lowest=0) * c.count("moe_intermediate_size")
        normed = c.flag("norm_topk_prob") and router == "sigmoid"
        bias = c.flag("mlp_bias") and router == "softmax-fp32"  # V3's file does not read it
        routed = _experts(
            c, "moe_intermediate_size", router, shared=shared, shared_bias=bias and shared > 0, renormalized=normed
        )
        dense = _swiglu(c, bias)
        listed = [Layer(attention, dense if i < first else routed) for i in range(layers)]
        return _model(c, name, listed)

    return build


def _qwen3_next(c: Config, name: str) -> Transformer:
    layers, bias = c.count("num_hidden_layers"), c.flag("attention_bias")
    step = c.count("full_attention_interval", default=4)
    kinds = c.words("layer_types", (FULL, LINEAR), layers)
    kinds = kinds or tuple(LINEAR if (i + 1) % step else FULL for i in range(layers))
    rotated = _rotated(c, _head_size(c), 0.25)
    full = _attention(c, bias=bias, out_bias=bias, rotated=rotated, head_norm="head", gated=True)
    linear = LinearAttention(
        c.count("linear_num_key_heads"),
        c.count("linear_num_value_heads"),
        c.count("linear_key_head_dim"),
        c.count("linear_value_head_dim"),
        c.count("linear_conv_kernel_dim"),
    )
    routed = _experts(
        c, "moe_intermediate_size", "softmax", shared=c.count("shared_expert_intermediate_size"), shared_gate=True,
        renormalized=c.flag("norm_topk_prob"),
    )  # fmt: skip
    dense = _swiglu(c)
    listed = [
        Layer(linear if kind == LINEAR else full, routed if sparse else dense, norm="rmsnorm-offset")
        for kind, sparse in zip(kinds, _sparse(c, layers), strict=True)
    ]
    return _model(c, name, listed)


def _gpt_neox(c: Config, name: str) -> Transformer:
    heads = c.count("num_attention_heads")
    head_size = c.count("hidden_size") // heads
    bias = c.flag("attention_bias", default=True)
    attention = Attention(heads, heads, head_size, _rotated(c, head_size), bias=bias, out_bias=bias, merged=True)
    part = FeedForward(c.count("intermediate_size"), _activation(c), bias=True)
    parallel = c.flag("use_parallel_residual", default=True)
    layer = Layer(attention, part, norm="layernorm", parallel=parallel, bias=True)
    dropouts = replace(_dropouts(c, "hidden_dropout"), embedding=c.rate("hidden_dropout"))
    return _model(c, name, [layer] * c.count("num_hidden_layers"), norm="layernorm", bias=True, dropouts=dropouts)


def _falcon(c: Config, name: str) -> Transformer:
    hidden, heads = c.count("hidden_size", "n_embed"), c.count("num_attention_heads", "n_head")
    new, parallel, bias = c.flag("new_decoder_architecture"), c.flag("parallel_attn"), c.flag("bias")
    grouped, single = c.count("num_kv_heads", "n_head_kv", default=heads), c.flag("multi_query")
    if not (new or single) and grouped != heads:
        raise EngineError("num_kv_heads", grouped, f"{heads}, as many as heads", {"multi_query": False})
    kv_heads = grouped if new else 1 if single else heads
    alibi = c.flag("alibi")
    norms = c.count("num_ln_in_parallel_attn", default=2 if new else 1)
    if new and not parallel:
        raise EngineError("parallel_attn", False, "True", {"new_decoder_architecture": True})
    if parallel and not new and norms != 1:
        raise EngineError("num_ln_in_parallel_attn", norms, "1", {"new_decoder_architecture": False})
    size = hidden // heads
    attention = Attention(
        heads, kv_heads, size, 0 if alibi else size, bias=bias, out_bias=bias, merged=True, wide_softmax=False
    )
    part = FeedForward(c.count("ffn_hidden_size", default=4 * hidden), _activation(c, "activation"), bias=bias)
    one = parallel and norms == 1
    rate = c.rate("attention_dropout")
    layer = Layer(attention, part, norm="layernorm", parallel=parallel, shared_norm=one, bias=True)
    return of_layers(
        name,
        [layer] * c.count("num_hidden_layers", "n_layer"),
        hidden,
        c.count("vocab_size"),
        c.count("max_position_embeddings"),
        tied=c.flag("tie_word_embeddings"),
        position="alibi" if alibi else "rope",
        norm="layernorm",
        bias=True,
        dropouts=Dropouts(
            rate if alibi else None,  # rotated scores have none
            None if parallel or new else rate,
            c.rate("hidden_dropout"),
        ),
    )


def _gpt2(c: Config, name: str) -> Transformer:
    hidden, heads = c.count("n_embd", "hidden_size"), c.count("n_head", "num_attention_heads")
    if hidden % heads:
        raise EngineError("n_head", heads, f"a divisor of {hidden}", {"n_embd": hidden})
    attention = Attention(heads, heads, hidden // heads, bias=True, out_bias=True, merged=True, wide_softmax=False)
    part = FeedForward(c.count("n_inner", default=4 * hidden), _activation(c, "activation_function"), bias=True)
    layer = Layer(attention, part, norm="layernorm", bias=True)
    residual = c.rate("resid_pdrop", 0.1)
    return of_layers(
        name,
        [layer] * c.count("n_layer", "num_hidden_layers"),
        hidden,
        c.count("vocab_size"),
        c.count("n_positions", "max_position_embeddings"),
        tied=c.flag("tie_word_embeddings"),
        position="learned",
        norm="layernorm",
        bias=True,
        dropouts=Dropouts(c.rate("attn_pdrop", 0.1), residual, residual, c.rate("embd_pdrop", 0.1)),
    )


def _olmo2(c: Config, name: str) -> Transformer:
    bias, fp32 = c.flag("attention_bias"), "rmsnorm-fp32"
    attention = _attention(c, bias=bias, out_bias=bias, head_norm="width", tables="fp32")
    norm: Norm = fp32  # type: ignore[assignment]
    layer = Layer(attention, _swiglu(c), norm=norm, before=False, after=True)
    return _model(c, name, [layer] * c.count("num_hidden_layers"))


def _sizes(vocab: Count, hidden: Count, width: Count, layers: Count, heads: Count, longest: Count) -> dict[str, Any]:
    return {
        "vocab_size": vocab, "hidden_size": hidden, "intermediate_size": width, "num_hidden_layers": layers,
        "num_attention_heads": heads, "max_position_embeddings": longest, "hidden_act": "silu",
    }  # fmt: skip


_GEMMA = _sizes(256000, 2304, 9216, 26, 8, 8192) | {
    "num_key_value_heads": 4, "head_dim": 256, "hidden_activation": "gelu_pytorch_tanh", "sliding_window": 4096,
    "tie_word_embeddings": True,
}  # fmt: skip
_GEMMA_3 = _GEMMA | {"vocab_size": 262208, "max_position_embeddings": 131072}
_WINDOWS = {"sliding_window": 4096, "max_window_layers": 28}
_LATENT = {"kv_lora_rank": 512, "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128}

FAMILIES: dict[str, tuple[Mapping[str, Any], Build]] = {
    "llama": (_sizes(32000, 4096, 11008, 32, 32, 2048), _llama),
    "mistral": (
        _sizes(32000, 4096, 14336, 32, 32, 131072) | {"num_key_value_heads": 8, "sliding_window": 4096}, _mistral
    ),
    "smollm3": (
        _sizes(128256, 2048, 11008, 36, 16, 32768)
        | {"num_key_value_heads": 4, "no_rope_layer_interval": 4, "tie_word_embeddings": True},
        _smollm3,
    ),
    "qwen2": (_sizes(151936, 4096, 22016, 32, 32, 32768) | {"num_key_value_heads": 32} | _WINDOWS, _qwen("none")),
    "qwen3": (
        _sizes(151936, 4096, 22016, 32, 32, 32768) | {"num_key_value_heads": 32, "head_dim": 128} | _WINDOWS,
        _qwen("head"),
    ),
    "phi3": (_sizes(32064, 3072, 8192, 32, 32, 4096), _phi3),
    "qwen3_moe": (
        _sizes(151936, 2048, 6144, 24, 32, 32768)
        | {"num_key_value_heads": 4, "sliding_window": 4096, "decoder_sparse_step": 1, "moe_intermediate_size": 768}
        | {"num_experts_per_tok": 8, "num_experts": 128},
        _qwen3_moe,
    ),
    "mixtral": (
        _sizes(32000, 4096, 14336, 32, 32, 131072)
        | {"num_key_value_heads": 8, "num_experts_per_tok": 2, "num_local_experts": 8},
        _mixtral,
    ),
    "gpt_oss": (
        _sizes(201088, 2880, 2880, 36, 64, 131072)
        | {"num_local_experts": 128, "head_dim": 64, "num_key_value_heads": 8, "sliding_window": 128}
        | {"num_experts_per_tok": 4, "attention_bias": True},
        _gpt_oss,
    ),
    "gemma2": (_GEMMA | {"attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0}, _gemma(second=True)),
    "gemma3_text": (_GEMMA_3, _gemma(second=False)),
    "deepseek_v2": (
        _sizes(102400, 4096, 11008, 32, 32, 2048)
        | {"first_k_dense_replace": 0, "n_routed_experts": 64, "n_shared_experts": 2, "moe_intermediate_size": 1407}
        | _LATENT,
        _deepseek("softmax-fp32"),
    ),
    "deepseek_v3": (
        _sizes(129280, 7168, 18432, 61, 128, 4096)
        | {"first_k_dense_replace": 3, "n_routed_experts": 256, "n_shared_experts": 1, "moe_intermediate_size": 2048}
        | {"num_experts_per_tok": 8, "norm_topk_prob": True}
        | _LATENT,
        _deepseek("sigmoid"),
    ),
    "qwen3_next": (
        _sizes(151936, 2048, 5632, 48, 16, 32768)
        | {"num_key_value_heads": 2, "head_dim": 256, "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128}
        | {"linear_value_head_dim": 128, "linear_num_key_heads": 16, "linear_num_value_heads": 32}
        | {"decoder_sparse_step": 1, "moe_intermediate_size": 512, "shared_expert_intermediate_size": 512}
        | {"num_experts_per_tok": 10, "num_experts": 512, "norm_topk_prob": True},
        _qwen3_next,
    ),
    "gpt_neox": (_sizes(50432, 6144, 24576, 44, 64, 2048) | {"hidden_act": "gelu"}, _gpt_neox),
    "falcon": (
        {
            "vocab_size": 65024, "hidden_size": 4544, "num_hidden_layers": 32, "num_attention_heads": 71,
            "multi_query": True, "parallel_attn": True, "max_position_embeddings": 2048, "activation": "gelu",
            "tie_word_embeddings": True,
        },
        _falcon,
    ),
    "gpt2": (
        {
            "vocab_size": 50257, "n_positions": 1024, "n_embd": 768, "n_layer": 12, "n_head": 12,
            "activation_function": "gelu_new", "tie_word_embeddings": True,
        },
        _gpt2,
    ),
    "olmo2": (_sizes(50304, 4096, 11008, 32, 32, 2048), _olmo2),
}  # fmt: skip
