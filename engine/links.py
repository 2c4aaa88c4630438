"""Links between devices: one-way bandwidth and latency of NVLink, PCI Express, InfiniBand, Ethernet, TPU links.

Bandwidths are per device and per direction. Makers of fast links advertise both directions together (900 GB/s for
NVLink 4); a collective sends in one direction at a time, so the figure that counts is half of that.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal

from engine.records import Source, read_record, record_names, take_sources
from engine.units import BytesPerSecond, Ratio, Seconds

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
class Link:
    """One kind of link.

    Attributes:
        name: Short name, e.g. `"nvlink-4"`.
        title: Name in prose.
        scope: `node` joins the devices of a node, `host` a device and its host, `network` nodes.
        bandwidth: Specified bytes per second of one device in one direction.
        latency: Seconds per hop of a collective.
        measured: A published measurement, or None.
        sources: Where the figures come from.
    """

    name: str
    title: str
    scope: Scope
    bandwidth: BytesPerSecond
    latency: Seconds
    measured: Measured | None
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
    return Link(
        name=name,
        title=record["title"],
        scope=record["scope"],
        bandwidth=float(record["bandwidth_bytes_per_second"]),
        latency=float(record["latency_seconds"]),
        measured=measured,
        sources=sources,
    )


def list_links() -> tuple[str, ...]:
    """Names of all links that `link` knows."""
    return record_names("links")
