"""What DeepSpeed offloads: where it then is, how much of it is on a device at once, and what fetching it costs."""

from __future__ import annotations

from typing import Any

import pytest

from ironlaw import EngineError, estimate, model, setup, step_time, training_memory
from ironlaw.config.changed import changed
from ironlaw.config.choices import Buffers, buffers
from ironlaw.memory.static import largest_block
from ironlaw.time.update import fetch_seconds

WORDS: dict[str, Any] = {
    "model": "llama3-8b", "gpu": "a100-80", "batch": 1, "sequence": 2048, "precision": "mixed-bf16",
    "checkpointing": "full",
}  # fmt: skip
LLAMA = model("llama3-8b")
BUFFER_FACTOR = 1.5
"""`additional_buffer_factor` of DeepSpeed's estimators."""


@pytest.mark.parametrize(
    ("words", "bytes_each"),
    [
        ({"offload": "gradients", "offload_sizes": "bucket:500000000"}, 16),
        ({"offload": "gradients", "offload_sizes": "bucket:500000000", "dp": 4, "zero": 2}, 16),
        ({"offload": "gradients", "offload_sizes": "bucket:500000000", "dp": 4, "zero": 3}, 16),
        ({"offload": "parameters"}, 18),
        ({"offload": "parameters", "dp": 4, "zero": 3}, 18),
    ],
    ids=str,
)
def test_the_hosts_memory_lies_between_deepspeeds_estimate_without_and_with_its_buffers(
    words: dict[str, Any], bytes_each: int
) -> None:
    """Source: DeepSpeed, `estimate_zero2_model_states_mem_needs`, `estimate_zero3_model_states_mem_needs`."""
    host = training_memory(**WORDS, **words).host_bytes * words.get("dp", 1)
    assert 1 <= host / (bytes_each * LLAMA.parameters) <= BUFFER_FACTOR


def test_weights_in_the_hosts_memory_leave_on_the_device_those_that_are_at_work() -> None:
    here = training_memory(**WORDS)
    there = training_memory(**WORDS, offload="parameters")
    small = sum(p.elements * p.count for p in LLAMA.parameter_tensors if p.elements <= 100_000)
    assert there.component("parameters") == 2 * small  # which DeepSpeed never releases
    embedding = LLAMA.vocab * LLAMA.hidden
    assert there.component("gathered") == 2 * (embedding + 50_000_000)
    assert there.component("buckets") == 2 * 500_000_000
    assert all(there.component(name) == 0 for name in ("gradients", "master", "optimizer"))
    assert there.component("activations") == here.component("activations")
    assert there.allocated_peak < 0.06 * here.allocated_peak
    one, four = (
        training_memory(**WORDS, offload="parameters"),
        training_memory(**WORDS, offload="parameters", dp=4, zero=3),
    )
    assert one.allocated_peak == four.allocated_peak  # devices divide what the host holds


@pytest.mark.parametrize(
    ("sizes", "checkpointing", "live"),
    [
        ("reuse:0,prefetch:0", "full", LLAMA.vocab * LLAMA.hidden),
        ("reuse:0,prefetch:7000000", "full", LLAMA.vocab * LLAMA.hidden + 7_000_000),
        ("reuse:0,live:100", "full", LLAMA.vocab * LLAMA.hidden),  # nothing is fetched ahead above the most
        ("reuse:3000000000", "full", 1_000_000_000),
        ("reuse:3000000000", "none", 1_500_000_000),
        ("reuse:90000000000", "none", None),
    ],
)
def test_how_much_is_live_is_what_deepspeeds_settings_say(sizes: str, checkpointing: str, live: int | None) -> None:
    words = {**WORDS, "checkpointing": checkpointing}
    found = training_memory(**words, offload="parameters", offload_sizes=sizes)
    small = sum(p.elements * p.count for p in LLAMA.parameter_tensors if p.elements <= 100_000)
    assert found.component("gathered") == 2 * (LLAMA.parameters - small if live is None else live)


def test_a_block_is_at_work_where_it_is_larger_than_the_embedding() -> None:
    words = {**WORDS, "model": "gpt2-xl", "sequence": 1024}
    found = training_memory(**words, offload="parameters", offload_sizes="reuse:0,prefetch:0,persistent:0")
    xl = model("gpt2-xl")
    block = sum(p.elements for p in largest_block(xl))
    assert found.component("gathered") == 2 * max(block, xl.vocab * xl.hidden)


def test_zero_3_that_offloads_keeps_shards_in_16_bits() -> None:
    """FSDP's are in FP32; DeepSpeed's FP32 copies are in the host's memory."""
    fsdp = training_memory(**WORDS, dp=4, zero=3, offload="gradients")
    deepspeed = training_memory(**WORDS, dp=4, zero=3, offload="gradients", offload_sizes="bucket:500000000")
    assert deepspeed.component("parameters") == pytest.approx(fsdp.component("parameters") / 2, rel=0.001)
    assert deepspeed.component("master") == 0 < deepspeed.host_bytes - fsdp.host_bytes


def test_gradients_leave_in_a_bucket_and_come_back_in_the_largest_parameters_buffer() -> None:
    found = training_memory(**WORDS, offload="gradients", offload_sizes="bucket:300000000", dp=2, zero=2)
    assert found.component("buckets") == 2 * (300_000_000 + LLAMA.vocab * LLAMA.hidden)


GIVEN_UP = {"none": 0, "double": 500_000_000}


@pytest.mark.parametrize("extra", GIVEN_UP.values(), ids=GIVEN_UP)
@pytest.mark.parametrize("zero", [2, 3])
def test_what_deepspeed_divides_without_offloading_has_its_buffers_and_shards_in_16_bits(zero: int, extra: int) -> None:
    """The bucket of `reduce_bucket_size` elements, and each share in 16 bits beside its FP32 copy."""
    bucket = 500_000_000 + extra
    found = training_memory(**WORDS, dp=8, zero=zero, offload_sizes=Buffers(bucket=bucket))
    largest = LLAMA.vocab * LLAMA.hidden if zero == 2 else 0  # the gradient that is on its way into it
    assert found.component("buckets") == 2 * (bucket + largest)
    small = sum(p.elements * p.count for p in LLAMA.parameter_tensors if p.elements <= 100_000)
    whole = small if zero == 3 else LLAMA.parameters
    assert found.component("parameters") == pytest.approx(2 * (whole + (LLAMA.parameters - whole) / 8), rel=1e-6)
    assert found.component("gradients") == pytest.approx(2 * LLAMA.parameters / 8, rel=1e-6)
    assert found.component("master") == pytest.approx(4 * LLAMA.parameters / 8, rel=1e-6)
    assert found.component("gathered") == (2 * (LLAMA.vocab * LLAMA.hidden + 50_000_000) if zero == 3 else 0)
    assert found.host_bytes == 0


@pytest.mark.parametrize(("devices", "zero", "share"), [(4, 2, None), (4, 3, 1_000_000_000), (64, 3, None)])
def test_deepspeed_s_update_copies_gradients_to_fp32_when_its_buffers_are_gone(
    devices: int, zero: int, share: int | None
) -> None:
    """ZeRO-3 updates a thousand million elements at a time, ZeRO-2 its share at once."""
    found = training_memory(**WORDS, dp=devices, zero=zero, offload_sizes=Buffers(), update="fused")
    update = next(one for one in found.moments if one.name == "optimizer step")
    gone = found.component("buckets" if zero == 2 else "gathered")
    held = sum(tensor.bytes for tensor in found.plan.static if tensor.place == "device") + found.workspace_bytes
    copies = (2 + 4) * (share or LLAMA.parameters / devices)
    assert update.bytes == pytest.approx(held + max(copies - gone, 0), rel=1e-4)


def test_buffers_go_where_nothing_is_divided_or_offloaded_any_more() -> None:
    c = setup(**WORDS, dp=8, zero=3, offload_sizes=Buffers())
    assert changed(c, {"zero": 2}).update.buffers == Buffers()
    assert changed(c, {"zero": 1}) == setup(**WORDS, dp=8, zero=1)
    assert changed(c, {"dp": 1, "zero": 0}).update.buffers is None


def test_adapters_over_four_bits_leave_scales_on_the_device() -> None:
    words: dict[str, Any] = {**WORDS, "precision": "amp-bf16", "method": "qlora"}
    here, there = training_memory(**words), training_memory(**words, offload="parameters")
    packed = sum(t.bytes for t in here.tensors if t.part == "quantized" and "." in t.name and t.dtype.name == "uint8")
    assert there.host_bytes > 0.9 * packed
    scales = [t for t in there.tensors if t.part == "quantized" and t.name.endswith((".absmax", ".code"))]
    assert {t.place for t in scales} == {"device"}


def test_fetching_takes_the_bus_twice_a_pass_beside_the_work() -> None:
    """Each device fetches its share; what stays between the passes is fetched once."""
    c = setup(**WORDS, offload="parameters")
    rate = c.host_link.achievable if c.host_link else 0
    small = sum(p.elements * p.count for p in LLAMA.parameter_tensors if p.elements <= 100_000)
    once = 2 * (LLAMA.parameters - small) / rate
    stays = 1_000_000_000 // 3 / (LLAMA.parameters - small)
    assert fetch_seconds(c, c.stages[0], 1, 0.0, 0.0) == pytest.approx(once * (2 - stays))
    assert fetch_seconds(c, c.stages[0], 3, 0.0, 0.0) == pytest.approx(3 * once * (2 - stays))
    assert fetch_seconds(c, c.stages[0], 1, once, once) == 0
    divided = setup(**WORDS, offload="parameters", dp=4, zero=3)
    assert fetch_seconds(divided, divided.stages[0], 1, 0.0, 0.0) == pytest.approx(once * (2 - stays) / 4, rel=1e-3)
    few, many = (step_time(**{**WORDS, "sequence": tokens}, offload="parameters") for tokens in (64, 8192))
    assert few.offload > many.offload  # which hides the way behind its work
    assert estimate(**WORDS, offload="parameters").time.bound_by == "offload"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ({"offload": "parameters", "dp": 2, "zero": 2}, "allowed: none, optimizer, gradients, or zero 3"),
        ({"offload": "parameters", "pp": 2}, "pp 2 is not allowed with offload parameters"),
        ({"offload": "parameters", "framework": "megatron", "precision": "megatron"}, "framework 'megatron'"),
        ({"offload": "parameters", "optimizer_in_backward": True}, "keeps no gradients"),
        ({"offload_sizes": "bucket:1"}, "offload_sizes 'bucket:1' is not allowed with offload none"),
        (
            {"offload_sizes": "bucket:1", "dp": 4, "zero": 1},
            "offload_sizes 'bucket:1' is not allowed with offload none",
        ),
        ({"offload": "gradients", "offload_sizes": "bucket"}, "offload_sizes"),
        ({"offload": "gradients", "offload_sizes": "bukket:3"}, "offload_sizes"),
        ({"offload": "gradients", "offload_sizes": "bucket:-3"}, "offload_sizes"),
        ({"offload": "gradients", "offload_sizes": 3}, "offload_sizes"),
        ({"offload": "gradients", "offload_sizes": "bucket:1000000000000"}, "offload_sizes"),
    ],
    ids=str,
)
def test_what_deepspeed_does_not_offload_is_refused_in_a_line(words: dict[str, Any], why: str) -> None:
    with pytest.raises(EngineError, match=why.replace("(", r"\(")):
        setup(**{**WORDS, **words})


def test_sizes_are_read_as_they_are_written() -> None:
    for sizes in (Buffers(), Buffers(bucket=7), Buffers(live=0, persistent=3)):
        assert buffers(sizes.name) == sizes
