"""A cluster as a job sees it: nodes of devices joined by a fast link, and nodes joined by a network."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ironlaw.core.arrays import require_above_zero
from ironlaw.core.errors import MISSING, EngineError, require_positive
from ironlaw.core.units import BytesPerSecond, Count, Seconds, Traffic
from ironlaw.hardware.accelerators import Accelerator
from ironlaw.hardware.links import Link, list_links
from ironlaw.hardware.links import link as link_by_name
from ironlaw.hardware.protocols import ring_gather

FASTEST = 10**6
"""The fastest network, in Gbit/s, that is accepted; a higher rate is taken for a typing mistake."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Equal nodes of equal devices.

    Attributes:
        chip: The device.
        node_size: Devices per node.
        inside: Link between the devices of a node.
        network: Link between nodes, as much of it as each device has for itself.
    """

    chip: Accelerator
    node_size: Count
    inside: Link
    network: Link

    def __post_init__(self) -> None:
        require_positive("node_size", self.node_size)

    def filled(self, devices: Count, tensor: Count = 1) -> Count:
        """Devices on each of the fewest equal nodes that hold so many, with whole groups that share matrices."""
        group = min(tensor, self.node_size)
        most = min(devices, self.node_size) // group
        return group * next(size for size in range(most, 0, -1) if devices // group % size == 0)

    def bandwidth(self, *, within_node: bool) -> BytesPerSecond:
        """One-way bytes per second that a device reaches."""
        if within_node:
            return self.inside.peers.bandwidth if self.inside.peers else self.inside.achievable
        return self.network.achievable

    def collective(
        self, size: Traffic, *, within_node: bool, nodes: Count | None = None, inside: Count | None = None
    ) -> tuple[BytesPerSecond, Seconds]:
        """Bandwidth and latency a hop of a ring's collective over a buffer of `size` bytes.

        For `ironlaw.parallel.collectives`: within a node among `inside` devices with `inside - 1` hops; across nodes
        among one device a node, each with its share of the buffer, with `nodes - 1` hops. Where collectives were
        measured by size, the bandwidth is the measured one, which contains the latency.

        NCCL gathers and scatters across nodes along rings through all devices that take part. Such a ring brings
        `(n - 1) / n` of the buffer into every node, where a node's devices could do with `(nodes - 1) / nodes`, and
        makes `inside - 1` steps in a node for every one between nodes: both are in what is returned.

        Args:
            size: Bytes of the whole buffer.
            within_node: Whether the group lies in one node.
            nodes: Nodes that the group spans; None for the rate of a device's own link, without regard to a group.
            inside: Devices of each node that take part, all of them when None.
        """
        inside = self.node_size if inside is None else inside
        size = max(size, 1.0)
        if within_node:
            return self._within(size, inside)
        if nodes is None or nodes < 2:
            return self.bandwidth(within_node=False), self.latency(within_node=False)
        sent = (nodes - 1) / nodes / (1 - 1 / (inside * nodes))
        sweep = self.network.collective
        if sweep:
            return sweep.scaled(size, inside * nodes) * (sent / sweep.devices), 0.0
        bandwidth = self.bandwidth(within_node=False)
        if not self.chip.multiprocessors:
            return bandwidth * sent, self.network.latency + (inside - 1) * self.inside.latency
        chosen = ring_gather(size, bandwidth * inside, inside, nodes, self.inside.scope, self.network.protocol)
        return chosen.share * bandwidth * sent, chosen.latency / (nodes - 1)

    def _within(self, size: Traffic, devices: Count) -> tuple[BytesPerSecond, Seconds]:
        """Bandwidth and latency a hop among devices of one node."""
        if self.inside.collective:
            return self.inside.collective.scaled(size, max(devices, 1)), 0.0
        bandwidth = self.bandwidth(within_node=True)
        if not self.chip.multiprocessors or devices < 2:
            return bandwidth, self.inside.latency
        chosen = ring_gather(size, bandwidth, devices, 1, self.inside.scope, self.inside.protocol)
        return chosen.share * bandwidth, chosen.latency / (devices - 1)

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
) -> Cluster:
    """A cluster of a chip's usual nodes.

    Args:
        chip: The device.
        node_size: Devices per node.
        inside: Name of the link inside a node; the chip's fastest when None.
        network: Name of the link between nodes.
        network_gbit: Gbit/s of it that each device has for itself; the link's own rate when None.

    Raises:
        EngineError: The chip has no link and none is given, a name is unknown, or a link joins something else.
    """
    if inside is None:
        if not chip.links:
            raise EngineError("link", MISSING, list_links(), {"gpu": chip.name}, "which has none to other devices")
        inside = chip.links[0]
    return Cluster(chip, node_size, inside_link(inside), network_link(network, network_gbit))


def inside_link(name: object) -> Link:
    """The link called `name`. Raises `EngineError` for an unknown one."""
    if not isinstance(name, str) or name not in list_links():
        raise EngineError("link", name, list_links())
    return link_by_name(name)


def network_link(name: object, gbit: Any = None) -> Link:
    """The network called `name`, with `gbit` Gbit/s for each device where that is given.

    Raises:
        EngineError: An unknown name, a link that joins something else, or a rate that is none.
    """
    if not isinstance(name, str) or name not in list_links():
        raise EngineError("network", name, _networks())
    between = link_by_name(name)
    if between.scope != "network":
        raise EngineError("network", name, _networks(), because="as it joins devices inside a node")
    if gbit is None:
        return between
    if hasattr(gbit, "shape") and gbit.shape:
        raise EngineError("network_gbit", gbit, "one number, not an array")
    require_above_zero("network_gbit", gbit)
    rate = float(gbit)
    if rate > FASTEST:
        raise EngineError("network_gbit", gbit, f"at most {FASTEST}")
    return replace(
        between,
        name=f"{between.name} at {rate:g} Gb/s",
        title=f"{between.title}, {rate:g} Gb/s a device",
        bandwidth=rate * 1e9 / 8,
        measured=None,
        collective=None,
    )


def _networks() -> tuple[str, ...]:
    return tuple(name for name in list_links() if link_by_name(name).scope == "network")
