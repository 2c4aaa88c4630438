"""The input pipeline: the chapter's profiles, overlap, and who waits for whom."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironlaw.core.errors import EngineError
from ironlaw.hardware.links import link
from ironlaw.hardware.storage import storage
from ironlaw.training.pipeline import (
    TOKENIZING,
    Samples,
    StageTimes,
    buffer_bytes,
    english_text,
    stage_times,
    throughput,
    workers_to_feed,
)

# One set of stage times, in hundredths of the first profile's step: 3 of the 40 of loading is the hand-over of the
# batch.
CHAPTER = StageTimes(load=37, hand_over=3, transfer=25, compute=35)
seconds = st.floats(0, 100)
stages = st.builds(StageTimes, load=seconds, hand_over=seconds, transfer=seconds, compute=st.floats(0.01, 100))


def test_chapters_first_profile_is_40_25_35() -> None:
    shares = CHAPTER.iteration().shares
    assert [round(100 * shares[stage]) for stage in ("data", "transfer", "compute")] == [40, 25, 35]
    assert CHAPTER.iteration().axis == "Data"


def test_chapters_second_profile_5_20_75_follows_from_the_first() -> None:
    # Half the transferred bytes (16 bit), one forward more of three (checkpointing), loading prefetched.
    optimized = CHAPTER.scaled(transfer=0.5, compute=4 / 3).iteration(prefetch=True)
    for stage, percent in (("data", 5), ("transfer", 20), ("compute", 75)):
        assert 100 * optimized.shares[stage] == pytest.approx(percent, abs=1)
    assert optimized.axis == "Algorithm"
    assert optimized.utilization == optimized.shares["compute"]


@given(stages=stages, prefetch=st.booleans(), asynchronous=st.booleans())
def test_shares_sum_to_one_and_no_stage_is_outrun(stages: StageTimes, prefetch: bool, asynchronous: bool) -> None:
    step = stages.iteration(prefetch=prefetch, asynchronous_copy=asynchronous)
    assert sum(step.shares.values()) == pytest.approx(1)
    longest = max(stages.load, stages.transfer, stages.compute)
    assert longest * (1 - 1e-12) <= step.total
    assert step.total <= (stages.load + stages.hand_over + stages.transfer + stages.compute) * (1 + 1e-12)


@given(stages=stages)
def test_overlap_never_slows_a_step(stages: StageTimes) -> None:
    plain = stages.iteration().total
    prefetched = stages.iteration(prefetch=True).total
    assert stages.iteration(prefetch=True, asynchronous_copy=True).total <= prefetched * (1 + 1e-12)
    assert prefetched <= plain


def test_slow_storage_puts_the_bottleneck_on_the_data_axis_and_workers_move_it() -> None:
    image = Samples(stored_bytes=110e3, loaded_bytes=3 * 224 * 224 * 4, cpu_seconds=8e-3)
    step = 0.2
    starved = stage_times(image, 256, step, storage("hdd"), link("pcie-4-x16"), workers=4)
    fed = stage_times(image, 256, step, storage("nvme-4"), link("pcie-4-x16"), workers=16)
    assert starved.iteration(prefetch=True).axis == "Data"
    assert fed.iteration(prefetch=True).axis == "Algorithm"
    alone = stage_times(image, 256, step, storage("nvme-4"), link("pcie-4-x16"))
    assert workers_to_feed(alone.load, step) == 11


def test_workers_beyond_the_cores_add_nothing() -> None:
    text = Samples(stored_bytes=4096, loaded_bytes=8192, cpu_seconds=2e-3)
    eight = stage_times(text, 64, 0.1, storage("nvme-4"), link("pcie-4-x16"), workers=8, cores=8)
    assert stage_times(text, 64, 0.1, storage("nvme-4"), link("pcie-4-x16"), workers=32, cores=8).load == eight.load


def test_gpt2_batch_of_token_ids_is_negligible_on_the_bus_and_tokenizing_is_not() -> None:
    # 500,000 tokens a second and core; 32 sequences of 1,024 int64 tokens.
    text = Samples(stored_bytes=4.3 * 1024, loaded_bytes=8 * 1024, cpu_seconds=1024 / 500e3)
    one = stage_times(text, 32, 0.08, storage("nvme-3"), link("pcie-3-x16"))
    assert one.load == pytest.approx(65.5e-3, rel=0.05)
    assert one.transfer < 1e-4
    eight = stage_times(text, 32, 0.08, storage("nvme-3"), link("pcie-3-x16"), workers=8)
    assert eight.load == pytest.approx(one.load / 8)


def test_a_text_is_tokenized_at_one_rate_whatever_its_length() -> None:
    short, long = english_text(256), english_text(1024)
    assert long.cpu_seconds == pytest.approx(4 * short.cpu_seconds) == pytest.approx(1024 * TOKENIZING)
    assert (long.stored_bytes, long.loaded_bytes) == (4 * short.stored_bytes, 8 * 1024)
    with pytest.raises(EngineError, match="tokens"):
        english_text(0)


def test_a_second_device_adds_nothing_to_a_saturated_loader() -> None:
    assert throughput(200, 1000, 1) == throughput(200, 1000, 2) == 200
    assert throughput(5000, 1000, 2) == 2000


def test_prefetch_buffers_grow_with_workers() -> None:
    assert buffer_bytes(1e6, 0) == 1e6
    assert buffer_bytes(1e6, 8, 2) == 17e6


def test_stage_times_take_arrays() -> None:
    load: Any = np.array([0.0, 10.0, 1000.0])
    swept = StageTimes(load, 1.0, 2.0, 3.0).iteration(prefetch=True)
    assert np.allclose(swept.total, [StageTimes(x, 1.0, 2.0, 3.0).iteration(prefetch=True).total for x in load])


def test_compute_of_zero_is_refused() -> None:
    with pytest.raises(EngineError, match=r"^compute 0 is not allowed; it must be a finite number above 0$"):
        StageTimes(1, 1, 1, 0)
