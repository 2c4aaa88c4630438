"""Links between devices: one-way bandwidth and latency of NVLink, PCI Express, InfiniBand, Ethernet, TPU links.

Bandwidths are per device and per direction. Makers of fast links advertise both directions together (900 GB/s for
NVLink 4); a collective sends in one direction at a time, so the figure that counts is half of that.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cache
from math import log
from typing import Literal

from engine.core.records import Source, read_record, record_names, take_sources
from engine.core.units import Bytes, BytesPerSecond, Ratio, Seconds, Traffic

Scope = Literal["node", "host", "network"]

TYPICAL_EFFICIENCY: Ratio = 0.8
"""Share of a link's one-way rate that large transfers reach where nothing was measured.

Measured: 0.78 to 0.88 on NVLink 3, NVLink 4 and PCIe 5 (see the records' `measured`).
"""


@dataclass(frozen=True, slots=True)
class Measured:
    """What a large transfer reached on real hardware."""

    bandwidth: BytesPerSecond
    source: Source


@dataclass(frozen=True, slots=True)
class Sweep:
    """Bus bandwidth of a collective by the size of its buffer, latency included: small messages are slow.

    Attributes:
        sizes: Bytes of the buffer, ascending.
        rates: Bytes per second of one device in one direction at those sizes.
        source: Who measured.
    """

    sizes: tuple[Bytes, ...]
    rates: tuple[BytesPerSecond, ...]
    source: Source

    def rate(self, size: Traffic) -> BytesPerSecond:
        """Bus bandwidth at a size: straight lines between the logarithms, in proportion to the size below the first."""
        sizes, rates = self.sizes, self.rates
        if size <= sizes[0]:
            return rates[0] * size / sizes[0]
        if size >= sizes[-1]:
            return rates[-1]
        above = bisect_right(sizes, size)
        share = log(size / sizes[above - 1]) / log(sizes[above] / sizes[above - 1])
        return float(rates[above - 1] * (rates[above] / rates[above - 1]) ** share)


@dataclass(frozen=True, slots=True)
class Link:
    """One kind of link.

    Attributes:
        name: Short name, e.g. `"nvlink-4"`.
        title: Name in prose.
        scope: `node` joins the devices of a node, `host` a device and its host, `network` nodes.
        bandwidth: Specified bytes per second of one device in one direction.
        latency: Seconds per hop of a collective.
        measured: A published measurement, or None.
        collective: Published collectives by size, or None.
        sources: Where the figures come from.
    """

    name: str
    title: str
    scope: Scope
    bandwidth: BytesPerSecond
    latency: Seconds
    measured: Measured | None
    collective: Sweep | None
    sources: tuple[Source, ...]

    @property
    def achievable(self) -> BytesPerSecond:
        """One-way bytes per second that large transfers reach: measured if published, else a typical share."""
        return self.measured.bandwidth if self.measured else TYPICAL_EFFICIENCY * self.bandwidth


@cache
def link(name: str) -> Link:
    """The link called `name`, e.g. `link("nvlink-4")`. Raises `EngineError` for an unknown name."""
    record = read_record("links", name)
    sources = take_sources(record, f"links/{name}")
    measured = None
    if "measured" in record:
        entry = dict(record["measured"])
        measured = Measured(float(entry.pop("bandwidth_bytes_per_second")), Source(**entry))
    collective = None
    if "collective" in record:
        entry = dict(record["collective"])
        sizes, rates = tuple(entry.pop("bytes")), tuple(map(float, entry.pop("bandwidth_bytes_per_second")))
        collective = Sweep(sizes, rates, Source(**entry))
    return Link(
        name=name,
        title=record["title"],
        scope=record["scope"],
        bandwidth=float(record["bandwidth_bytes_per_second"]),
        latency=float(record["latency_seconds"]),
        measured=measured,
        collective=collective,
        sources=sources,
    )


def list_links() -> tuple[str, ...]:
    """Names of all links that `link` knows."""
    return record_names("links")
