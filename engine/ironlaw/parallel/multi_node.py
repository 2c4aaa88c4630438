"""All-reduce of a group of devices on a cluster, in one node or across several, as NCCL runs it.

Across nodes, NCCL sums along a ring through all devices of all nodes, or up and down a pair of trees over the nodes
that are chains inside them: a hierarchical all-reduce whose phases run at the same time on different pieces. It takes
what its model of latency and bandwidth says is faster. Large sums over three nodes and more go around a ring, two nodes
and small sums take trees.

Source: `ironlaw.hardware.protocols`; for the trees of two nodes, which cross the network with half of what a ring does,
github.com/NVIDIA/nccl, issue 209.
"""

from __future__ import annotations

from math import ceil, log2

from ironlaw.core.errors import EngineError, require_positive
from ironlaw.core.units import Count, Seconds, Traffic
from ironlaw.hardware.cluster import Cluster
from ironlaw.hardware.protocols import TREE
from ironlaw.parallel.collectives import all_reduce, all_reduce_factor, ring_all_reduce


def group_all_reduce(size: Traffic, devices: Count, cluster: Cluster, *, inside: Count | None = None) -> Seconds:
    """Seconds until `devices` devices hold the sum of `size` bytes each.

    Args:
        size: Bytes of the buffer on every device.
        devices: Devices of the group.
        cluster: The devices and their links.
        inside: Devices of the group in each of its nodes; as many as a node has when None.

    Raises:
        EngineError: A group that is not divided evenly over its nodes.
    """
    require_positive("devices", devices)
    inside = min(devices, cluster.node_size) if inside is None else inside
    if devices % inside:
        raise EngineError("devices", devices, f"at most {inside}, or a multiple of it", {"node_size": inside})
    nodes = devices // inside
    if nodes == 1:
        return all_reduce(size, inside, *cluster.collective(size, within_node=True, inside=inside))
    bandwidth, latency = cluster.collective(size, within_node=False, nodes=nodes, inside=inside)
    # A ring scatters and gathers; what a device sends over the network stands for the whole ring.
    around = ring_all_reduce(size / inside, nodes, bandwidth, latency)
    slowest_inside = ring_all_reduce(size, inside, cluster.bandwidth(within_node=True))
    ring = max(around, slowest_inside)
    # No group sums faster than one of its nodes does.
    alone = all_reduce(size, inside, *cluster.collective(size, within_node=True, inside=inside))
    if cluster.network.collective or not cluster.chip.multiprocessors:
        return max(alone, ring)
    return max(alone, min(ring, tree_across_nodes(size, inside, nodes, cluster)))


def tree_across_nodes(size: Traffic, inside: Count, nodes: Count, cluster: Cluster) -> Seconds:
    """Seconds of an all-reduce along a pair of trees over nodes, each a chain of `inside` devices in its node."""
    wire = inside * cluster.bandwidth(within_node=False) * (2 if nodes == 2 else 1)
    reachable = min(wire, cluster.bandwidth(within_node=True))
    volume = all_reduce_factor(inside * nodes) * size
    return min(
        protocol.start
        + 2 * ((inside - 1) * protocol.step(cluster.inside.scope) + ceil(log2(nodes)) * protocol.network)
        + volume / min(protocol.share * reachable, protocol.cap)
        for protocol in TREE
        if not cluster.network.protocol or protocol.name == cluster.network.protocol
    )
