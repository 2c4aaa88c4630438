"""FP8: which products run in it, what feeds them, and that it never gains more than its units do."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironlaw import EngineError, Setup, setup, step_time, training_memory
from ironlaw.config.resolved import stage_sections
from ironlaw.graph.kernels import Kernel
from ironlaw.time.fp8 import weight_cast_bytes
from ironlaw.time.phases import phase_kernels

BLOCK_PRODUCTS = ("attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj")


def run(precision: str, **words: Any) -> Setup:
    """GPT-2 XL compiled on an H100."""
    return setup("gpt2-xl", "h100-sxm", 16, 1024, precision=precision, **{"execution": "compiled", **words})


def kernels(c: Setup) -> list[Kernel]:
    return [kernel for run in phase_kernels(c, stage_sections(c, c.stages[0])).values() for kernel in run]


@pytest.mark.parametrize("precision", ["fp8", "amp-fp8"])
def test_all_three_products_of_every_linear_layer_in_a_block_run_in_fp8_and_no_other_product(precision: str) -> None:
    low = {k.name for k in kernels(run(precision)) if k.dtype is not None and k.dtype.bits == 8}
    assert low == {name + what for name in BLOCK_PRODUCTS for what in ("", ".input_gradient", ".weight_gradient")}
    high = {k.name for k in kernels(run(precision)) if k.dtype is not None and k.dtype.bits == 16}
    assert {"lm_head", "attn.core", "attn.core.gradient"} <= high


def test_an_fp8_product_reads_a_byte_an_element_and_writes_two() -> None:
    (product,) = [k for k in kernels(run("fp8")) if k.name == "mlp.c_fc"]
    rows, hidden, wide = 16 * 1024, 1600, 6400
    assert product.bytes(16, 1024) == rows * hidden + hidden * wide + 2 * rows * wide


def test_a_cast_writes_two_copies_and_dynamic_scaling_passes_over_the_tensor_first() -> None:
    elements = 16 * 1024 * 1600

    def cast(**words: Any) -> float:
        (found,) = [
            k for k in kernels(run("fp8", **words)) if k.name in ("attn.c_attn.input_fp8", "attn.qkv.input_fp8")
        ]
        return found.bytes(16, 1024) / elements

    assert cast(framework="megatron") == 2
    assert cast() == 2 + 2
    assert cast(execution="eager") == 2 + 2 + 2


def test_delayed_scaling_casts_weights_once_a_step_and_dynamic_in_every_micro_batch() -> None:
    delayed, dynamic = run("fp8", framework="megatron"), run("fp8")
    matrices = 12 * 1600**2 * 48
    assert weight_cast_bytes(delayed, delayed.stages[0]) == (2 + 2) * matrices
    assert weight_cast_bytes(dynamic, dynamic.stages[0]) == 0
    casts = [k for k in kernels(dynamic) if k.name.endswith(".weight_fp8")]
    # Read for the maximum and for the values, and written twice; FP32 weights are read as they are.
    assert sum(k.bytes(16, 1024) * k.count for k in casts) == (2 * 2 + 2) * matrices
    casts = [k for k in kernels(run("amp-fp8")) if k.name.endswith(".weight_fp8")]
    assert sum(k.bytes(16, 1024) * k.count for k in casts) == (2 * 4 + 2) * matrices


def test_autocast_makes_no_16_bit_copy_of_weights_that_multiply_in_fp8() -> None:
    copies = [k.name for k in kernels(run("amp-fp8")) if k.name.endswith(".weight_cast")]
    assert copies == ["lm_head.weight_cast"]
    gradients = {k.name for k in kernels(run("amp-fp8")) if k.name.endswith(".gradient_cast")}
    assert gradients == {f"{name}.gradient_cast" for name in (*BLOCK_PRODUCTS, "lm_head")}


@given(
    name=st.sampled_from(["gpt2", "gpt2-xl", "llama3-8b", "llama2-70b"]),
    gpu=st.sampled_from(["h100-sxm", "h200", "b200", "rtx-4090", "rtx-5090"]),
    batch=st.sampled_from([1, 4, 32]),
    execution=st.sampled_from(["eager", "compiled"]),
)
def test_fp8_does_the_same_flops_and_gains_less_than_its_units_promise(
    name: str, gpu: str, batch: int, execution: str
) -> None:
    words = {"batch": batch, "sequence": 1024, "execution": execution}
    plain, low = (step_time(name, gpu, precision=precision, **words) for precision in ("megatron", "fp8"))
    assert low.model_flops == plain.model_flops
    assert low.recomputed_flops == plain.recomputed_flops
    promise = low.peak / plain.peak
    assert plain.total / low.total < promise
    assert low.mfu <= 1


def test_fp8_pays_off_for_wide_layers_and_not_for_narrow_ones() -> None:
    def gain(name: str) -> float:
        plain, low = (
            step_time(name, "h100-sxm", 16, 1024, precision=precision, execution="compiled")
            for precision in ("megatron", "fp8")
        )
        return plain.total / low.total

    assert gain("gpt2") < 1.1 < 1.2 < gain("gpt2-xl") < gain("llama3-70b")


def test_weights_of_16_bits_in_fp8_keep_what_they_keep_without() -> None:
    assert training_memory(run("fp8")).allocated_peak == training_memory(run("megatron")).allocated_peak


def test_a_chip_without_fp8_is_refused() -> None:
    with pytest.raises(EngineError, match="precision 'fp8' is not allowed with gpu a100-80, which has no fp8"):
        setup("gpt2", "a100-80", precision="fp8")
