"""RMSNorm as one kernel: it keeps its input and a statistic a row, and passes over memory once each way."""

from __future__ import annotations

import pytest

from ironlaw import EngineError, Setup, setup, step_time, training_memory
from ironlaw.config.resolved import stage_sections
from ironlaw.graph.ir import Op


def llama(rms_norm: str, **words: str) -> Setup:
    return setup("llama3-8b", "h100-sxm", 1, 1024, precision="bf16", rms_norm=rms_norm, **words)  # type: ignore[arg-type]


def norms(c: Setup) -> list[Op]:
    return [op for part in stage_sections(c, c.stages[0]) for op in part.ops if op.kind == "norm"]


def test_a_fused_norm_keeps_its_16_bit_input_and_one_fp32_number_a_row() -> None:
    # Liger-Kernel, ops/rms_norm.py, and FlashAttention, ops/triton/layer_norm.py, save exactly these for backward.
    fused = norms(llama("fused"))
    assert [op.name.rpartition(".")[2] for op in fused] == ["ln_1", "ln_2", "ln_f"]
    for op in fused:
        kept, statistic = op.saved
        assert kept.byte_size(1, 1024) == 1024 * 4096 * 2
        assert statistic.byte_size(1, 1024) == 1024 * 4
    assert norms(llama("separate")) == []


def test_a_fused_norm_holds_less_and_takes_less_time() -> None:
    fused, separate = llama("fused"), llama("separate")
    # Separate operations keep the input in fp32 and the normalized value in 16 bits; the kernel keeps the input once.
    less = training_memory(separate).saved_bytes - training_memory(fused).saved_bytes
    assert less == (2 * 32 + 1) * 1024 * 4096 * (4 + 2 - 2)
    assert step_time(fused).total < step_time(separate).total


def test_compiled_code_and_megatron_decide_for_themselves() -> None:
    for words in ({"execution": "compiled"}, {"framework": "megatron"}):
        one, other = (llama(rms_norm, **words) for rms_norm in ("fused", "separate"))
        assert training_memory(one).saved_bytes == training_memory(other).saved_bytes
        assert step_time(one).total == step_time(other).total


def test_another_word_is_refused() -> None:
    with pytest.raises(EngineError, match="rms_norm 'apex' is unknown; allowed: fused, separate"):
        llama("apex")
