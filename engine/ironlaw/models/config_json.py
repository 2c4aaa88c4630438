"""A transformer from a `config.json` as Hugging Face models have it: understood whole, or refused by name.

Keys of transformers 4 and 5 are read alike; a text model inside a model of several kinds of input is read by itself
(`text_config`). A key that is absent has the default of its architecture in transformers. A key that is not known, and
is not off, is refused: nobody can say here what it changes. Published models are here by their configurations.
"""

from __future__ import annotations

import json
import os
import pkgutil
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from ironlaw.core import errors
from ironlaw.core.arrays import probability
from ironlaw.core.contents import LARGEST, TooLargeError, content
from ironlaw.core.errors import MISSING, EngineError, Instead, plain, require_bool, require_name, whole_number
from ironlaw.core.units import Count, Ratio
from ironlaw.models.layers import Dropouts
from ironlaw.models.transformer import Transformer

HARMLESS = frozenset((
    "apply_residual_connection_post_layernorm", "architectures", "attn_implementation",
    "auto_map", "aux_loss_alpha", "bad_words_ids", "beam_search", "cache_implementation", "chunk_size_feed_forward",
    "cross_attention_hidden_size", "diversity_penalty", "do_sample", "dtype", "early_stopping", "eos_token",
    "ep_size", "experts_implementation", "finetuning_task", "id2label",
    "initial_context_length", "initializer_range", "is_decoder", "is_encoder_decoder", "label2id", "length_penalty",
    "max_length", "min_length", "model_type", "n_ctx", "no_repeat_ngram_size", "num_beam_groups", "num_beams",
    "num_logits_to_keep", "num_return_sequences", "original_max_position_embeddings", "output_attentions",
    "output_hidden_states", "output_past", "output_router_logits", "output_scores", "prefix", "pretraining_tp",
    "problem_type", "query_pre_attn_scalar",
    "remove_invalid_values", "reorder_and_upcast_attn", "repetition_penalty", "return_dict",
    "return_dict_in_generate", "rope_freq_base", "rope_interleave", "rope_local_base_freq", "rope_parameters",
    "rope_scaling", "rotary_emb_base", "routed_scaling_factor", "router_aux_loss_coef", "router_jitter_noise",
    "scale_attn_by_inverse_layer_idx", "scale_attn_weights", "scoring_func", "seq_aux", "suppress_tokens",
    "swiglu_alpha", "swiglu_limit", "task_specific_params", "temperature", "tf_legacy_loss", "tokenizer_class",
    "top_k", "top_p", "torch_dtype", "torchscript", "transformers_version", "typical_p", "unsloth_fixed",
    "unsloth_version", "use_bfloat16", "use_cache", "use_return_dict",
))  # fmt: skip
"""Keys that change neither tensors nor operations, whatever their value."""
WIDENED = ("fp8", "mxfp4")
"""Formats of checkpoints that transformers turns into 16 bits before training, so that they change nothing here."""
HARMLESS_ENDINGS = ("_token_id", "_token_index", "dropout", "_pdrop", "_eps", "_epsilon", "_theta")
"""Of dropouts, those that the architecture does not ask for."""
HARMLESS_BEGINNINGS = ("_", "summary_")
HIGHEST = dict.fromkeys(("num_hidden_layers", "n_layer"), 1000)
"""The largest counts that a configuration may have, where more would be a list of so many layers. No published model
has a thousand."""


class Config:
    """The keys of a configuration, with an architecture's defaults; it remembers which were asked for."""

    def __init__(self, given: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
        self._given = given
        self._defaults = defaults
        self.asked: set[str] = set()

    def get(self, key: str, *others: str) -> Any:
        """The value of a key, or of another spelling of it; None where there is none."""
        names = (key, *others)
        self.asked.update(names)
        if key in self._given and self._given[key] is None and not others:
            return None  # said to be absent, which a default must not undo
        every = (values[name] for values in (self._given, self._defaults) for name in names if name in values)
        return next((value for value in every if value is not None), None)

    def count(self, key: str, *others: str, default: Count | None = None, lowest: int = 1) -> Count:
        """A whole number. Raises `EngineError` where it is none, or is missing and has no default."""
        value = self.get(key, *others)
        if value is None:
            if default is None:
                raise EngineError(key, MISSING, f"a whole number of at least {lowest}")
            return default
        return whole_number(key, value, lowest, HIGHEST.get(key, errors.LARGEST))

    def flag(self, key: str, default: bool = False) -> bool:
        """A truth value. Raises `EngineError` for anything else."""
        value = self.get(key)
        if value is None:
            return default
        require_bool(key, value)
        return bool(value)

    def rate(self, key: str, default: Ratio = 0.0) -> Ratio:
        """A probability of dropout. Raises `EngineError` for anything else."""
        value = self.get(key)
        return default if value is None else probability(key, value)

    def word(self, key: str, allowed: Mapping[str, str], *others: str) -> str:
        """A word's meaning here. Raises `EngineError` for one that is not known."""
        value = self.get(key, *others)
        require_name(key, value, allowed)
        return allowed[value]

    def numbers(self, key: str) -> tuple[int, ...]:
        """A list of whole numbers; empty where there is none. Raises `EngineError` for anything else."""
        value = self.get(key)
        if value is None:
            return ()
        if not isinstance(value, list | tuple):
            raise EngineError(key, value, "a list of whole numbers")
        return tuple(whole_number(key, one, 0) for one in value)

    def words(self, key: str, allowed: tuple[str, ...], count: Count) -> tuple[str, ...] | None:
        """A word for each layer, or None. Raises `EngineError` for an unknown one, or another number of them."""
        value = self.get(key)
        if value is None:
            return None
        if not isinstance(value, list | tuple) or len(value) != count:
            raise EngineError(key, value, f"a list of {count} names")
        for one in value:
            require_name(key, one, allowed)
        return tuple(value)

    def require(self, key: str, *allowed: object, because: str = "") -> None:
        """Refuse a key whose value is neither absent nor one of those that are understood."""
        value = self.get(key)
        if value is not None and value not in allowed:
            raise EngineError(key, value, tuple(str(one) for one in allowed) or "absent", because=because)

    def require_understood(self) -> None:
        """Refuse the first key that nobody asked for, that is not off and not known to change nothing."""
        for key, value in self._given.items():
            known = key in self.asked or key in HARMLESS
            known = known or key.endswith(HARMLESS_ENDINGS) or key.startswith(HARMLESS_BEGINNINGS)
            if not known and value not in (None, False, 0, [], {}, ""):
                what = {"model_type": self._given.get("model_type")}
                raise EngineError(key, value, "absent", what, "of which nobody says here what it changes")


def from_config(config: Mapping[str, Any] | str | os.PathLike[str], name: str | None = None) -> Transformer:
    """The transformer that a `config.json` describes, counted as Hugging Face transformers builds it for text.

    Args:
        config: What the file holds, or the file's path, or that of the folder it lies in.
        name: The model's name; where None, the configuration's own, or its architecture's.

    Raises:
        EngineError: No JSON object, an architecture that is not known, a size that is missing or out of range, or a
            key that is not understood.
    """
    given = read_json(config)
    text = text_part(given)
    from ironlaw.models.families import FAMILIES

    kind: Any = text.get("model_type")
    require_name("model_type", MISSING if kind is None else kind, sorted(FAMILIES))
    _require_whole_weights(given, text)
    defaults, build = FAMILIES[kind]
    settings = Config(text, defaults)
    settings.asked.add("quantization_config")
    if settings.flag("gradient_checkpointing"):
        ways = ("False", Instead("checkpointing", "full"))
        raise EngineError("gradient_checkpointing", True, ways, because="which a run says here, and no model")
    found = name or given.get("_name_or_path") or text.get("_name_or_path") or kind
    called = str(found).rstrip("/").rpartition("/")[2] or str(kind)
    if plain(called, 200) != called:
        raise EngineError("name", called, "printable, of at most 200 characters")
    built = build(settings, called)
    settings.require_understood()
    return built


def _require_whole_weights(*parts: Mapping[str, Any]) -> None:
    """Refuse weights that stay quantized, of which every one takes other bytes than a setup's formats say."""
    for part in parts:
        quantized = part.get("quantization_config")
        how = quantized.get("quant_method", quantized) if isinstance(quantized, Mapping) else quantized
        if quantized and how not in WIDENED:
            ways = (*WIDENED, "absent", Instead("method", "qlora"))
            raise EngineError("quantization_config", how, ways, because="which changes the bytes of the weights")


def read_json(
    source: Mapping[str, Any] | str | os.PathLike[str], most: int = LARGEST, what: str = "config"
) -> Mapping[str, Any]:
    """A JSON object from a mapping, a file of at most so many bytes, or a folder's `config.json`.

    Raises `EngineError`, for an argument of that name, for anything else.
    """
    if isinstance(source, Mapping):
        return source
    try:
        path = os.fspath(source)
        if os.path.isdir(path):  # noqa: PTH112  # pathlib would take longer to import than the file to read
            path = os.path.join(path, "config.json")  # noqa: PTH118
        found = json.loads(content(path, most))
    except TooLargeError as error:
        raise EngineError(what, source, "a file with a JSON object", because=f"{error}") from None
    except (OSError, TypeError, ValueError, RecursionError) as error:
        because = getattr(error, "strerror", None) or "no JSON"
        raise EngineError(what, source, "a file with a JSON object", because=f"{because}".lower()) from None
    if not isinstance(found, dict):
        raise EngineError(what, source, "a file with a JSON object")
    return found


def text_part(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The part that describes the text model; what the whole says of tying holds for it."""
    text = given.get("text_config")
    if text is None:
        return given
    if not isinstance(text, Mapping):
        raise EngineError("text_config", text, "a JSON object")
    whole = given.get("model_type")
    kind = text.get("model_type", "gemma3_text" if whole == "gemma3" else whole)
    outer = {key: given[key] for key in ("tie_word_embeddings",) if key in given and key not in text}
    return {**outer, **text, "model_type": kind}


@cache
def published() -> Mapping[str, Mapping[str, Any]]:
    """Name -> its entry: the `config`, its `source`, and the keys that are there `from_memory`."""
    text = pkgutil.get_data(__package__, "published.json")
    assert text is not None
    found: dict[str, Mapping[str, Any]] = json.loads(text)
    return found


@cache
def published_model(name: str) -> Transformer:
    """The transformer of a published configuration, without dropout, as every model by name.

    Raises `EngineError` for a name that is not there.
    """
    if name not in published():
        raise EngineError("model", name, tuple(published()), because="and a config.json says the same of any other")
    found = from_config(published()[name]["config"], name.rpartition("/")[2])
    return replace(found, dropouts=(found.dropouts or Dropouts()).at(0.0))


def essentials(config: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a `config.json` that decide, without names, paths and everything else that somebody wrote into it.

    Raises:
        EngineError: As `from_config`.
    """
    from ironlaw.models.families import FAMILIES

    from_config(config)
    text = text_part(config)
    defaults, build = FAMILIES[text["model_type"]]
    settings = Config(text, defaults)
    build(settings, "")
    # A key that says nothing is said to be absent, which a default must not undo.
    kept = {key: _plain(key, text[key]) for key in sorted(settings.asked & text.keys())}
    return {"model_type": text["model_type"], **{key: value for key, value in kept.items() if value != {}}}


def _plain(key: str, value: Any) -> Any:
    """Numbers, words that configurations are known to have, and of a rope the share that is rotated.

    Raises:
        EngineError: Another word, which somebody may have written into any key.
    """
    from ironlaw.models.families import WORDS

    if isinstance(value, Mapping):
        inner = {name: _plain(key, part) for name, part in value.items() if isinstance(part, Mapping)}
        shares = {name: _plain(name, part) for name, part in value.items() if name == "partial_rotary_factor"}
        return shares or ({"rope": next(iter(inner.values()))} if inner else {})
    if isinstance(value, list):
        return [_plain(key, part) for part in value]
    if value is None or isinstance(value, int | float) or value in WORDS:
        return value
    raise EngineError(key, value, "a number, or a word that is known here")
