"""Training memory: known answers and properties of the ledger."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironlaw import EngineError, Transformer, list_optimizers, list_precisions, model, training_memory

XL = 1_557_611_200
MIB = 2**20


@pytest.mark.parametrize(
    ("optimizer", "vectors"), [("sgd", 0), ("momentum", 1), ("rmsprop", 1), ("adam", 2), ("adamw", 2)]
)
def test_optimizer_state_is_whole_fp32_copies_of_the_parameters(optimizer: str, vectors: int) -> None:
    ledger = training_memory("gpt2-xl", optimizer=optimizer, precision="fp32")
    assert ledger.component("optimizer") == vectors * 4 * XL
    assert ledger.static_bytes == (2 + vectors) * 4 * XL


def test_adam_adds_12_46_gigabytes_to_gpt2_xl() -> None:
    adam, sgd = (training_memory("gpt2-xl", optimizer=o, precision="fp32").static_bytes for o in ("adam", "sgd"))
    assert adam - sgd == 12_460_889_600


def test_adam_names_its_two_vectors() -> None:
    assert training_memory("gpt2-xl", precision="fp32").bytes_by_part("optimizer") == {
        "exp_avg": 4 * XL,
        "exp_avg_sq": 4 * XL,
    }


@pytest.mark.parametrize(
    ("precision", "bytes_per_parameter"),
    [
        ("fp16", 8),
        ("bf16", 8),
        ("fp32", 16),
        ("amp-bf16", 16),
        ("amp-fp16", 16),
        ("mixed", 16),
        ("megatron", 18),
        ("deepspeed", 20),
    ],
)
def test_adam_static_bytes_per_parameter(precision: str, bytes_per_parameter: int) -> None:
    """ZeRO (arXiv 1910.02054, section 3.1) counts 2 + 2 + 12 for mixed; Megatron accumulates gradients in fp32: 18.

    DeepSpeed's BF16 optimizer accumulates beside them: 2 weights, 2 gradients, 4 sums, 4 master copy, 8 states.
    """
    assert training_memory("gpt2-xl", precision=precision).static_bytes == bytes_per_parameter * XL


@pytest.mark.parametrize(("optimizer", "gigabytes"), [("sgd", 12.46), ("momentum", 18.69), ("adam", 24.92)])
def test_static_floor_with_a_master_copy(optimizer: str, gigabytes: float) -> None:
    ledger = training_memory("gpt2-xl", optimizer=optimizer, precision="mixed")
    assert ledger.static_bytes / 1e9 == pytest.approx(gigabytes, abs=0.005)
    assert ledger.component("master") == 4 * XL


@pytest.mark.parametrize(("precision", "mebibytes"), [("bf16", 1559), ("amp-bf16", 2338), ("fp32", 3116)])
def test_gpt2_small_saves_what_pytorch_was_seen_to_save(precision: str, mebibytes: int) -> None:
    """Batch 4 of 1,024 tokens, flash attention, no dropout; measured with saved-tensor hooks."""
    ledger = training_memory("gpt2", precision=precision, batch=4)
    assert ledger.saved_bytes / MIB == pytest.approx(mebibytes, abs=1)


def test_gpt2_xl_saves_2_35_gibibytes_a_sequence_in_pure_bf16() -> None:
    assert training_memory("gpt2-xl", precision="bf16").component("activations") / 2**30 == pytest.approx(
        2.355, abs=0.001
    )


shapes = st.builds(
    Transformer,
    name=st.just("t"),
    layers=st.integers(1, 8),
    hidden=st.integers(1, 8).map(lambda n: 64 * n),
    heads=st.sampled_from([1, 2, 4, 8]),
    vocab=st.integers(1, 60_000),
    max_seq=st.integers(256, 1024),
)
steps = st.fixed_dictionaries(
    {
        "optimizer": st.sampled_from(list_optimizers()),
        "precision": st.sampled_from(list_precisions()),
        "batch": st.integers(1, 64),
        "sequence": st.integers(1, 255),
        "attention": st.sampled_from(["flash", "standard"]),
        "dropout": st.sampled_from([0.0, 0.1]),
    }
)


@given(shapes, steps)
def test_components_parts_and_tensors_have_one_sum(m: Transformer, step: dict[str, Any]) -> None:
    ledger = training_memory(m, **step)
    parts = ledger.bytes_by_component()
    assert sum(parts.values()) == ledger.total_bytes == ledger.static_bytes + ledger.saved_bytes
    assert all(
        value == ledger.component(name) == sum(ledger.bytes_by_part(name).values()) for name, value in parts.items()
    )


@given(shapes, steps)
def test_only_what_is_saved_grows_with_the_batch(m: Transformer, step: dict[str, Any]) -> None:
    one = training_memory(m, **step)
    two = training_memory(m, **(step | {"batch": step["batch"] + 1}))
    assert two.static_bytes == one.static_bytes
    assert two.component("casts") == one.component("casts")
    assert two.component("activations") > one.component("activations")


@given(shapes, steps)
def test_flash_attention_never_saves_more_than_standard(m: Transformer, step: dict[str, Any]) -> None:
    flash = training_memory(m, **(step | {"attention": "flash"}))
    standard = training_memory(m, **(step | {"attention": "standard"}))
    tokens = step["batch"] * step["sequence"]
    # Below a few tokens the log-sum-exp (4 bytes) outweighs a row of probabilities.
    lse = 4 * m.heads * tokens * m.layers
    assert flash.saved_bytes - lse <= standard.saved_bytes


def test_a_sweep_over_batches_is_the_scalar_answer_at_each() -> None:
    batches = np.arange(1, 65)
    swept = training_memory("gpt2-xl", precision="amp-bf16", batch=batches)
    scalars = [training_memory("gpt2-xl", precision="amp-bf16", batch=int(b)).total_bytes for b in batches]
    assert np.array_equal(swept.total_bytes, scalars)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"optimizer": "adamx"}, r"^optimizer 'adamx' is unknown, did you mean adam\?; allowed: sgd, momentum"),
        ({"precision": "fp12"}, r"^precision 'fp12' is unknown, did you mean fp32\?; allowed: fp32, amp-fp16"),
        ({"batch": 0}, r"^batch 0 is not allowed"),
        ({"batch": 1.5}, r"^batch 1.5 is not allowed"),
        ({"sequence": 1025}, r"^sequence 1025 is not allowed with model gpt2-xl; it must be at most 1024"),
        ({"attention": "linear"}, r"^attention 'linear' is unknown; allowed: flash, standard"),
        ({"dropout": 1.0}, r"^dropout 1.0 is not allowed"),
    ],
)
def test_bad_input_is_refused_in_one_line(change: dict[str, Any], message: str) -> None:
    with pytest.raises(EngineError, match=message):
        training_memory("gpt2-xl", **change)


def test_asking_for_a_component_that_is_none_is_refused() -> None:
    assert training_memory("gpt2", optimizer="sgd", precision="fp32").component("optimizer") == 0
    with pytest.raises(EngineError, match="component 'optimiser' is unknown"):
        training_memory("gpt2", precision="fp32").component("optimiser")


def test_parameters_are_listed_once_per_tensor() -> None:
    names = [t.name for t in training_memory("gpt2", precision="fp32").tensors if t.component == "parameters"]
    assert len(names) == len(set(names)) == len(model("gpt2").parameter_tensors)
