"""Links between devices: one-way bandwidth and latency of NVLink, PCI Express, InfiniBand, Ethernet, TPU links.

Bandwidths are per device and per direction. Makers of fast links advertise both directions together (900 GB/s for
NVLink 4); a collective sends in one direction at a time, so the figure that counts is half of that.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cache
from math import log
from typing import Any, Literal

from ironlaw.core.records import Source, origin, read_record, record_names, take_sources
from ironlaw.core.units import Bytes, BytesPerSecond, Count, Ratio, Seconds, Traffic

Scope = Literal["node", "host", "network"]

TYPICAL_EFFICIENCY: dict[Scope, Ratio] = {"node": 0.8, "host": 0.8, "network": 0.94}
"""Share of a link's one-way rate that large transfers reach where nothing was measured.

Measured: 0.76 to 0.88 on NVLink 3, 4 and 5 and PCIe 5, and 0.91 to 0.96 on InfiniBand HDR and NDR and EFA (see the
records' `measured`).
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
        devices: Devices of each node that took part.
        nodes: Nodes.
    """

    sizes: tuple[Bytes, ...]
    rates: tuple[BytesPerSecond, ...]
    source: Source
    devices: Count = 8
    nodes: Count = 1

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

    def scaled(self, size: Traffic, devices: Count) -> BytesPerSecond:
        """Bus bandwidth at a size among another number of devices.

        A ring of n devices sends pieces of an n-th of the buffer in steps whose number grows with n: its bus bandwidth
        depends on the piece alone.
        """
        return self.rate(max(size * self.devices * self.nodes / devices, 1.0))


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
        peers: A published collective among devices that have only this link, large, where it differs from `measured`,
            a transfer between a device and its host; or None.
        protocol: The one protocol of collectives that the fabric can do, or empty (`ironlaw.hardware.protocols`).
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
    peers: Measured | None = None
    protocol: str = ""

    @property
    def achievable(self) -> BytesPerSecond:
        """One-way bytes per second that large transfers reach: measured if published, else a typical share."""
        return self.measured.bandwidth if self.measured else TYPICAL_EFFICIENCY[self.scope] * self.bandwidth


@cache
def link(name: str) -> Link:
    """The link called `name`, e.g. `link("nvlink-4")`. Raises `EngineError` for an unknown name."""
    record = read_record("links", name)
    sources = take_sources(record, f"links/{name}")
    return Link(
        name=name,
        title=record["title"],
        scope=record["scope"],
        bandwidth=float(record["bandwidth_bytes_per_second"]),
        latency=float(record["latency_seconds"]),
        measured=measured(record.get("measured")),
        collective=_sweep(record["collective"]) if "collective" in record else None,
        sources=sources,
        peers=measured(record.get("peers")),
        protocol=record.get("protocol", ""),
    )


def measured(entry: dict[str, Any] | None) -> Measured | None:
    """A measured rate from its table in a record, or None where there is none."""
    return Measured(float(entry["bandwidth_bytes_per_second"]), origin(entry)) if entry else None


def _sweep(entry: dict[str, Any]) -> Sweep:
    rates = tuple(map(float, entry["bandwidth_bytes_per_second"]))
    return Sweep(tuple(entry["bytes"]), rates, origin(entry), entry.get("devices", 8), entry.get("nodes", 1))


def list_links() -> tuple[str, ...]:
    """Names of all links that `link` knows."""
    return record_names("links")
