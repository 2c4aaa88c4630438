"""A cluster as a job sees it: nodes of devices joined by a fast link, and nodes joined by a network."""

from __future__ import annotations

from dataclasses import dataclass

from engine.core.arrays import require_above_zero
from engine.core.errors import EngineError, require_positive
from engine.core.units import BytesPerSecond, Count, Ratio, Seconds, Traffic
from engine.hardware.accelerators import Accelerator
from engine.hardware.links import Link
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
    network_ports: Ratio = 1.0,
) -> Cluster:
    """A cluster of a chip's usual nodes.

    Args:
        chip: The device.
        node_size: Devices per node.
        inside: Name of the link inside a node; the chip's fastest when None.
        network: Name of the link between nodes.
        network_ports: Network links per device.

    Raises:
        EngineError: The chip has no link and none is given, or a name is unknown.
    """
    if inside is None:
        if not chip.links:
            raise EngineError(f"{chip.name} has no link to other devices; allowed: a link given by name")
        inside = chip.links[0]
    return Cluster(chip, node_size, link_by_name(inside), link_by_name(network), network_ports)
