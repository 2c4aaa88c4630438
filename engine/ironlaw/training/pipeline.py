"""The input pipeline: reading, preparing, handing over, transferring, computing, and which of them a step waits for.

Without overlap a step takes the sum of its stages. Prefetching runs reading and preparing of the next batch beside the
current step, an asynchronous copy runs the transfer beside the compute; what remains visible is what does not fit under
the stage beside it. The axis of the largest visible stage is where an optimization pays: Data, Machine or Algorithm.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

from ironlaw.core.arrays import ceil, maximum, minimum, require_above_zero, require_at_least, require_each
from ironlaw.core.units import BytesPerSecond, Count, PerSecond, Ratio, Seconds, Traffic, Unit
from ironlaw.hardware.links import Link
from ironlaw.hardware.storage import Storage

AXES = {"data": "Data", "transfer": "Machine", "compute": "Algorithm"}
"""The axis of the D-A-M taxonomy on which each visible stage lies."""

HOST_COPY: BytesPerSecond = 10e9
"""Bytes per second at which one thread collates a batch into pinned memory; an assumption, about half a DDR4
channel."""

TOKENIZING: Seconds = 1e-5
"""Seconds of one core to make one token of a text; an assumption: byte-pair encoders differ by a factor of ten."""

ENGLISH: Annotated[float, Unit("B")] = 4.3
"""Bytes of English text for one token of GPT-2's vocabulary."""


@dataclass(frozen=True, slots=True)
class StageTimes:
    """Seconds of each stage for one batch.

    Attributes:
        load: Reading and preparing, done by workers; hidden by prefetching.
        hand_over: Collating and handing the batch to the training process, which no worker can hide.
        transfer: Host to device; hidden by an asynchronous copy.
        compute: Forward, backward and optimizer on the device.
    """

    load: Seconds
    hand_over: Seconds
    transfer: Seconds
    compute: Seconds

    def __post_init__(self) -> None:
        for what in ("load", "hand_over", "transfer"):
            require_at_least(what.replace("_", " "), getattr(self, what), 0)
        require_above_zero("compute", self.compute)

    def scaled(self, *, transfer: Ratio = 1, compute: Ratio = 1) -> StageTimes:
        """The same pipeline with transfer or compute made shorter or longer, e.g. `transfer=0.5` for 16-bit samples."""
        return replace(self, transfer=self.transfer * transfer, compute=self.compute * compute)

    def iteration(self, *, prefetch: bool = False, asynchronous_copy: bool = False) -> Iteration:
        """What one step of the training process waits for.

        Args:
            prefetch: Workers prepare the next batch during the whole current step.
            asynchronous_copy: The next batch is copied to the device during the current compute.
        """
        transfer = maximum(self.transfer - self.compute, 0.0) if asynchronous_copy else self.transfer
        rest = self.hand_over + transfer + self.compute
        load = maximum(self.load - rest, 0.0) if prefetch else self.load
        return Iteration(data=load + self.hand_over, transfer=transfer, compute=self.compute)


@dataclass(frozen=True, slots=True)
class Iteration:
    """Seconds of one step by what it visibly spends them on; they add up to the step."""

    data: Seconds
    transfer: Seconds
    compute: Seconds

    @property
    def total(self) -> Seconds:
        """Seconds of the step."""
        return self.data + self.transfer + self.compute

    @property
    def shares(self) -> dict[str, Ratio]:
        """Share of the step of `data`, `transfer` and `compute`; they sum to 1."""
        return {stage: getattr(self, stage) / self.total for stage in AXES}

    @property
    def utilization(self) -> Ratio:
        """Share of the step in which the device computes. MFU can never exceed it."""
        return self.compute / self.total

    @property
    def bottleneck(self) -> str:
        """The stage with the largest share (scalars only)."""
        return max(self.shares, key=lambda stage: self.shares[stage])

    @property
    def axis(self) -> str:
        """The axis of the bottleneck: `"Data"`, `"Machine"` or `"Algorithm"` (scalars only)."""
        return AXES[self.bottleneck]


@dataclass(frozen=True, slots=True)
class Samples:
    """What one training sample costs on its way to the device.

    Attributes:
        stored_bytes: Bytes read from storage, e.g. a JPEG.
        loaded_bytes: Bytes handed to the device, e.g. the decoded, cropped image.
        cpu_seconds: Seconds of one core to decode, tokenize or augment it.
    """

    stored_bytes: Annotated[float, Unit("B")]
    loaded_bytes: Annotated[float, Unit("B")]
    cpu_seconds: Seconds


def english_text(tokens: Count) -> Samples:
    """A text of so many tokens that is tokenized while training; a token travels as a 64-bit integer.

    Raises:
        EngineError: Fewer than one token.
    """
    require_each(1, {"tokens": tokens})
    return Samples(stored_bytes=ENGLISH * tokens, loaded_bytes=8 * tokens, cpu_seconds=TOKENIZING * tokens)


def stage_times(
    samples: Samples,
    batch: Count,
    compute: Seconds,
    storage: Storage,
    link: Link,
    *,
    workers: Count = 1,
    cores: Count = 64,
) -> StageTimes:
    """Stage times of a PyTorch-style loader: every worker reads and prepares whole samples, one after another.

    Args:
        samples: Cost of one sample.
        batch: Samples per batch.
        compute: Seconds of the device's step.
        storage: Where samples come from.
        link: Between host and device.
        workers: Loader processes, each with one read outstanding.
        cores: Processor cores; workers beyond them add nothing.

    Raises:
        EngineError: A size or count out of range.
    """
    require_each(1, {"batch": batch, "workers": workers, "cores": cores})
    busy = minimum(workers, cores)
    per_sample = storage.latency + samples.stored_bytes / storage.sequential + samples.cpu_seconds
    by_workers = batch * per_sample / busy
    by_storage = batch * samples.stored_bytes / storage.read_rate(samples.stored_bytes, workers)
    batch_bytes = batch * samples.loaded_bytes
    return StageTimes(
        load=maximum(by_workers, by_storage),
        hand_over=batch_bytes / HOST_COPY,
        transfer=batch_bytes / link.achievable + link.latency,
        compute=compute,
    )


def buffer_bytes(batch_bytes: Traffic, workers: Count, prefetch_factor: Count = 2) -> Traffic:
    """Host memory of the pipeline: batches asked for, waiting or still being prepared, and one being transferred.

    `(workers * prefetch_factor + 1) * batch_bytes`. PyTorch's `prefetch_factor` counts batches per worker, and a batch
    counts from when a worker is asked for it until the program takes it. Source: `torch/utils/data/dataloader.py`,
    `_try_put_index`.
    """
    require_each(0, {"workers": workers, "prefetch factor": prefetch_factor})
    return (workers * prefetch_factor + 1) * batch_bytes


def workers_to_feed(load_per_worker: Seconds, device_step: Seconds) -> Count | float:
    """Workers at which the device is no longer starved: each needs `load_per_worker` seconds for a batch."""
    require_above_zero("device step", device_step)
    return ceil(load_per_worker / device_step)


def throughput(loader_rate: PerSecond, device_rate: PerSecond, devices: Count = 1) -> PerSecond:
    """Samples per second of the whole system: the slower of the loader and all devices together.

    When one device already waits for the loader, a second one adds nothing.
    """
    require_at_least("devices", devices, 1)
    return minimum(loader_rate, devices * device_rate)
