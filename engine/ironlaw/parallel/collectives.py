"""Collectives: what each device sends and how long it takes, for rings and trees, in one node or across several.

Times are latency plus volume over bandwidth (the alpha-beta model). `bandwidth` is what one device sends in one
direction at a time; `latency` is the cost of one hop. Arguments may be NumPy arrays.

Across nodes, NCCL sums along a ring through all devices of all nodes, or up and down a pair of trees over the nodes
that are chains inside them: a hierarchical all-reduce whose phases run at the same time on different pieces. It takes
what its model of latency and bandwidth says is faster. Large sums over three nodes and more go around a ring, two nodes
and small sums take trees.

Sources: Thakur, Rabenseifner, Gropp 2005, "Optimization of Collective Communication Operations in MPICH"; Patarasuk,
Yuan 2009, "Bandwidth optimal all-reduce algorithms"; NVIDIA nccl-tests, doc/PERFORMANCE.md; across nodes
`ironlaw.hardware.protocols`, and for the trees of two nodes, which cross the network with half of what a ring does,
github.com/NVIDIA/nccl, issue 209.

Devices that share every sequence pass keys and values around a ring. Of c devices each sends those at hand on c - 1
times in a forward pass. In the backward pass it does so again, and the gradients of keys and values follow one step
later, as often. Each send runs beside the attention of the step that it begins with; what takes longer is waited for
(`ironlaw.graph.ring`). Sources: Liu, Zaharia, Abbeel 2023, "Ring Attention with Blockwise Transformers", arXiv
2310.01889, section 3, for the overlap; NVIDIA/TransformerEngine, `context_parallel.py`, late 2025,
`AttnFuncWithCPAndKVP2P`, for what a step sends.
"""

from __future__ import annotations

from ironlaw.core.arrays import ceil, log2, maximum, minimum, require_above_zero, require_at_least
from ironlaw.core.errors import EngineError, require_positive
from ironlaw.core.units import BytesPerSecond, Count, Ratio, Seconds, Traffic
from ironlaw.hardware.cluster import Cluster
from ironlaw.hardware.protocols import TREE


def all_reduce_factor(devices: Count) -> Ratio:
    """Bytes each device sends in a bandwidth-optimal all-reduce, per byte of the buffer: `2(n-1)/n`."""
    require_at_least("devices", devices, 1)
    return 2 * (devices - 1) / devices


def all_gather_factor(devices: Count) -> Ratio:
    """Bytes each device sends in an all-gather, per byte of the gathered buffer: `(n-1)/n`.

    A reduce-scatter sends the same; the two together are an all-reduce.
    """
    require_at_least("devices", devices, 1)
    return (devices - 1) / devices


def ring_all_reduce(size: Traffic, devices: Count, bandwidth: BytesPerSecond, latency: Seconds = 0.0) -> Seconds:
    """Time to sum `size` bytes over a ring: `2(n-1)` hops, `2(n-1)/n * size / bandwidth`."""
    _check(size, devices, bandwidth, latency)
    return 2 * (devices - 1) * latency + all_reduce_factor(devices) * size / bandwidth


def tree_all_reduce(size: Traffic, devices: Count, bandwidth: BytesPerSecond, latency: Seconds = 0.0) -> Seconds:
    """Time to sum `size` bytes up and down a pair of complementary binary trees.

    `2 ceil(log2 n)` hops, and each device sends every byte up once and down once: `2 * size / bandwidth`. Latency grows
    with the logarithm of the devices where a ring's grows linearly, so trees win for small buffers and many devices.
    Source: Sanders, Speck, Traff 2009, "Two-tree algorithms for full bandwidth broadcast, reduction and scan".
    """
    _check(size, devices, bandwidth, latency)
    several = minimum(devices - 1, 1)
    return 2 * ceil(log2(devices)) * latency + several * 2 * size / bandwidth


def all_reduce(size: Traffic, devices: Count, bandwidth: BytesPerSecond, latency: Seconds = 0.0) -> Seconds:
    """The faster of ring and tree, which is what a tuned library picks."""
    return minimum(
        ring_all_reduce(size, devices, bandwidth, latency), tree_all_reduce(size, devices, bandwidth, latency)
    )


def all_gather(size: Traffic, devices: Count, bandwidth: BytesPerSecond, latency: Seconds = 0.0) -> Seconds:
    """Time until every device holds all `size` bytes, each having started with its share, over a ring."""
    _check(size, devices, bandwidth, latency)
    return (devices - 1) * latency + all_gather_factor(devices) * size / bandwidth


def point_to_point(size: Traffic, bandwidth: BytesPerSecond, latency: Seconds = 0.0) -> Seconds:
    """Time to send `size` bytes to one neighbour."""
    _check(size, 1, bandwidth, latency)
    return latency + size / bandwidth


def all_to_all(size: Traffic, devices: Count, inside: Count, cluster: Cluster) -> Seconds:
    """Seconds until each of `devices` devices has sent every other its part of `size` bytes, and itself nothing.

    What goes to devices of the node and what crosses the network is sent at the same time, the latter by each device's
    own share of the network. NCCL has no collective for it but pairs of sends, begun together, so one hop is waited
    for. Source: NVIDIA NCCL, user guide, "Point-to-point communication". Held against the table of
    deepseek-ai/DeepEP.

    Args:
        size: Bytes that the fullest device sends or gets, its own part among them.
        devices: Devices of the group.
        inside: Those in each of its nodes.
        cluster: The devices and their links.
    """
    if devices == 1:
        return 0.0
    within = (inside - 1) / devices * size / cluster.bandwidth(within_node=True)
    across = (devices - inside) / devices * size / cluster.bandwidth(within_node=False)
    return maximum(within, across) + cluster.latency(within_node=devices == inside)


COMMUNICATION_UNITS: Count = 16
"""Multiprocessors that a collective's kernels occupy while it runs: one per channel.

NCCL opens 16 to 32 channels on NVLink systems (its documentation, `NCCL_MAX_CTAS`); the lower end is assumed.
"""


def contention(hidden: Seconds, multiprocessors: Count) -> Seconds:
    """Seconds that compute loses to communication that runs beside it and takes multiprocessors away.

    Zero for a chip without multiprocessors, whose links work by themselves (TPUs).
    """
    if multiprocessors == 0:
        return 0.0 * hidden
    return hidden * min(COMMUNICATION_UNITS / multiprocessors, 1.0)


def _check(size: Traffic, devices: Count, bandwidth: BytesPerSecond, latency: Seconds) -> None:
    require_at_least("bytes", size, 0)
    require_at_least("devices", devices, 1)
    require_above_zero("bandwidth", bandwidth)
    require_at_least("latency", latency, 0)


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


def sends(devices: Count, *, backward: bool) -> tuple[tuple[Count, Count], ...]:
    """What a ring sends: how many steps send how many times the bytes of a device's keys and values.

    In the backward pass the first step sends keys and values, the last one their gradients, all others both.
    """
    if not backward:
        return ((devices - 1, 1),)
    return ((2, 1), (devices - 2, 2)) if devices > 1 else ()


def ring_seconds(
    each: Seconds, twice: Seconds, attention: Seconds, devices: Count, *, backward: bool
) -> tuple[Seconds, Seconds]:
    """Seconds of a layer's sends in a forward or backward pass, and the part that nothing hides.

    Args:
        each: Seconds to send a device's keys and values to the next device.
        twice: Seconds to send twice as many bytes.
        attention: Seconds that a step computes.
        devices: Those that share a sequence.
        backward: Whether it is the backward pass.
    """
    sent = exposed = 0.0
    for steps, times in sends(devices, backward=backward):
        seconds = each if times == 1 else twice
        sent += steps * seconds
        exposed += steps * maximum(seconds - attention, 0.0)
    return sent, exposed
