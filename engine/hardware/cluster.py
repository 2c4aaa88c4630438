"""A cluster as a job sees it: nodes of devices joined by a fast link, and nodes joined by a network."""

from __future__ import annotations

from dataclasses import dataclass, replace

from engine.core.arrays import require_above_zero
from engine.core.errors import EngineError, require_positive
from engine.core.units import BytesPerSecond, Count, Ratio, Seconds, Traffic
from engine.hardware.accelerators import Accelerator
from engine.hardware.links import Link, list_links
from engine.hardware.links import link as link_by_name


@dataclass(frozen=True, slots=True)
class Cluster:
    """Equal nodes of equal devices.

    Attributes:
        chip: The device.
        node_size: Devices per node.
        inside: Link between the devices of a node.
        network: Link between nodes.
        network_ports: Network links per device; 1 is a link of its own for every device, 1/8 one shared by eight.
    """

    chip: Accelerator
    node_size: Count
    inside: Link
    network: Link
    network_ports: Ratio = 1.0

    def __post_init__(self) -> None:
        require_positive("node size", self.node_size)
        require_above_zero("network ports", self.network_ports)

    def bandwidth(self, *, within_node: bool) -> BytesPerSecond:
        """One-way bytes per second that a device reaches."""
        return self.inside.achievable if within_node else self.network.achievable * self.network_ports

    def collective(self, size: Traffic, *, within_node: bool) -> tuple[BytesPerSecond, Seconds]:
        """Bandwidth and latency a hop of a collective over a buffer of `size` bytes.

        Where collectives were measured by size, the measured bandwidth, which contains the latency.
        """
        if within_node and self.inside.collective:
            return self.inside.collective.rate(max(size, 1.0)), 0.0
        return self.bandwidth(within_node=within_node), self.latency(within_node=within_node)

    def latency(self, *, within_node: bool) -> Seconds:
        """Seconds per hop."""
        return self.inside.latency if within_node else self.network.latency


def cluster(
    chip: Accelerator,
    *,
    node_size: Count = 8,
    inside: str | None = None,
    network: str = "infiniband-ndr",
    network_gbit: float | None = None,
    network_ports: Ratio = 1.0,
) -> Cluster:
    """A cluster of a chip's usual nodes.

    Args:
        chip: The device.
        node_size: Devices per node.
        inside: Name of the link inside a node; the chip's fastest when None.
        network: Name of the link between nodes.
        network_gbit: Gbit/s of it that each device has for itself; the link's own rate when None.
        network_ports: Network links per device.

    Raises:
        EngineError: The chip has no link and none is given, a name is unknown, or a link joins something else.
    """
    if inside is None:
        if not chip.links:
            raise EngineError(f"{chip.name} has no link to other devices; allowed: a link given by name")
        inside = chip.links[0]
    between = link_by_name(network)
    if between.scope != "network":
        raise EngineError(f"network {network!r} is not allowed: it joins devices inside a node; allowed: {_networks()}")
    if network_gbit is not None:
        require_above_zero("network_gbit", network_gbit)
        between = replace(
            between,
            name=f"{between.name} at {network_gbit:g} Gb/s",
            title=f"{between.title}, {network_gbit:g} Gb/s a device",
            bandwidth=network_gbit * 1e9 / 8,
            measured=None,
            collective=None,
        )
    return Cluster(chip, node_size, link_by_name(inside), between, network_ports)


def _networks() -> str:
    return ", ".join(name for name in list_links() if link_by_name(name).scope == "network")
