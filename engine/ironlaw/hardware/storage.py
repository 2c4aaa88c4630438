"""Storage: sequential rate, latency and random reads of disks and networks, and what a shuffled data set gets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from ironlaw.core.arrays import minimum, require_above_zero, require_at_least
from ironlaw.core.records import Source, read_record, take_sources
from ironlaw.core.units import BytesPerSecond, Count, PerSecond, Seconds, Traffic


@dataclass(frozen=True, slots=True)
class Storage:
    """One kind of storage.

    Attributes:
        name: Short name, e.g. `"nvme-4"`.
        title: Name in prose.
        sequential: Bytes per second of large sequential reads.
        latency: Seconds until the first byte of one read.
        random_reads: Small reads per second with many in flight.
        sources: Where the figures come from.
    """

    name: str
    title: str
    sequential: BytesPerSecond
    latency: Seconds
    random_reads: PerSecond
    sources: tuple[Source, ...]

    def read_rate(self, read_size: Traffic, in_flight: Count = 1) -> BytesPerSecond:
        """Bytes per second when reading records of `read_size` in random order, `in_flight` at a time.

        The least of three limits: each reader waits for latency and transfer, the device serves only so many reads a
        second, and nothing is faster than the sequential rate. A shuffled data set of small records is slow because of
        the first two: the often-quoted "a tenth of the bandwidth" is a special case.

        Args:
            read_size: Bytes of one read, > 0.
            in_flight: Reads outstanding at once, at least 1.

        Raises:
            EngineError: A read size that is not positive, or fewer than one read in flight.
        """
        require_above_zero("read size", read_size)
        require_at_least("reads in flight", in_flight, 1)
        by_latency = in_flight * read_size / (self.latency + read_size / self.sequential)
        return minimum(minimum(by_latency, self.random_reads * read_size), self.sequential)


@cache
def storage(name: str) -> Storage:
    """The storage called `name`, e.g. `storage("nvme-4")`. Raises `EngineError` for an unknown name."""
    record = read_record("storage", name)
    sources = take_sources(record, f"storage/{name}")
    return Storage(
        name=name,
        title=record["title"],
        sequential=float(record["sequential_bytes_per_second"]),
        latency=float(record["latency_seconds"]),
        random_reads=float(record["random_reads_per_second"]),
        sources=sources,
    )
