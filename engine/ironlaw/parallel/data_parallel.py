"""Data parallelism: gradients summed while the backward pass still runs, and what scaling is left.

The backward pass hands gradients over in buckets. A bucket's all-reduce runs beside the rest of the backward pass, so
what costs time is what does not fit under it: at least the last bucket, which becomes ready when nothing is left to
hide it.

Source: Li et al. 2020, "PyTorch Distributed: Experiences on Accelerating Data Parallel Training", arXiv 2006.15704.
"""

from __future__ import annotations

from dataclasses import dataclass

from ironlaw.core.arrays import ceil, maximum, require_above_zero, require_at_least, require_fraction
from ironlaw.core.units import Bytes, BytesPerSecond, Count, FlopsPerSecond, Ratio, Seconds, Traffic
from ironlaw.parallel.collectives import all_reduce_factor

BUCKET_BYTES: Bytes = 25 * 2**20
"""PyTorch's default bucket, `bucket_cap_mb=25`."""

BACKWARD_SHARE: Ratio = 2 / 3
"""Part of the compute that is backward, under which communication can hide: two products for one forward."""


@dataclass(frozen=True, slots=True)
class DataParallelStep:
    """One step of one replica.

    Attributes:
        compute: Seconds of forward, backward and optimizer.
        communication: Seconds the link is busy.
        exposed: Seconds of communication that nothing hides.
    """

    compute: Seconds
    communication: Seconds
    exposed: Seconds

    @property
    def total(self) -> Seconds:
        """Seconds of the step."""
        return self.compute + self.exposed

    @property
    def scaling_efficiency(self) -> Ratio:
        """Throughput per device relative to a device alone (weak scaling)."""
        return self.compute / self.total


def data_parallel_step(
    compute: Seconds,
    gradient_bytes: Traffic,
    devices: Count,
    bandwidth: BytesPerSecond,
    *,
    latency: Seconds = 0.0,
    overlap: bool = True,
    bucket_bytes: Traffic = BUCKET_BYTES,
    accumulate: Count = 1,
) -> DataParallelStep:
    """One optimizer step with a ring all-reduce of all gradients. Arguments may be NumPy arrays.

    Args:
        compute: Seconds of one micro-batch on one device.
        gradient_bytes: Bytes of all gradients of one replica.
        devices: Replicas.
        bandwidth: One-way bytes per second of a device.
        latency: Seconds per hop; every bucket pays 2 (n-1) of them.
        overlap: Whether it hides at all.
        bucket_bytes: Bytes of one bucket.
        accumulate: Micro-batches per step; gradients are sent once, with the last.

    Raises:
        EngineError: A value out of range.
    """
    require_above_zero("compute", compute)
    require_at_least("gradient bytes", gradient_bytes, 0)
    require_at_least("devices", devices, 1)
    require_above_zero("bandwidth", bandwidth)
    require_above_zero("bucket bytes", bucket_bytes)
    require_at_least("micro-batches", accumulate, 1)
    buckets = maximum(ceil(gradient_bytes / bucket_bytes), 1)
    communication = all_reduce_factor(devices) * gradient_bytes / bandwidth + 2 * (devices - 1) * latency * buckets
    # Gradients arrive evenly over the backward pass, so the last bucket starts when the pass ends.
    hidden = compute * BACKWARD_SHARE * (1 - 1 / buckets) if overlap else 0.0
    exposed = maximum(communication - hidden, communication / buckets)
    return DataParallelStep(compute * accumulate, communication, exposed)


def tokens_to_hide(
    rate: FlopsPerSecond,
    bandwidth: BytesPerSecond,
    devices: Count,
) -> Count | float:
    """Tokens per device and step from which the backward pass is as long as the all-reduce it has to hide.

    The backward pass takes `4 P T / rate` for P parameters and T tokens, the all-reduce `2 (n-1)/n 2 P / bandwidth`
    with 16-bit gradients. P cancels: `T = (n-1) rate / (n bandwidth)`, whatever the model. Both sides leave out what
    makes them longer, attention's scores and the latency of hops.

    Args:
        rate: FLOPs per second that a device keeps up in the backward pass.
        bandwidth: One-way bytes per second of a device.
        devices: Replicas.

    Raises:
        EngineError: A value out of range.
    """
    require_above_zero("rate", rate)
    require_above_zero("bandwidth", bandwidth)
    return all_reduce_factor(devices) * 2 * rate / (4 * bandwidth)


def amdahl_speedup(devices: Count, serial_share: Ratio) -> Ratio:
    """Speed-up over one device when `serial_share` of the work does not divide (Amdahl 1967)."""
    require_at_least("devices", devices, 1)
    require_fraction("serial share", serial_share)
    return 1 / (serial_share + (1 - serial_share) / devices)
