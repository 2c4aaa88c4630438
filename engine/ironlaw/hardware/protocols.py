"""Protocols of NCCL's collectives: what a step costs on each kind of link, and the share of its bandwidth they reach.

NCCL runs a collective along a ring or a tree, in one of three protocols, and picks what its own model of latency and
bandwidth says is fastest. LL sends a flag with every word: quick and at half the bandwidth at best. LL128 sends one
with every 128 bytes. Simple sends plain data and synchronizes after it: slow to start and at full bandwidth.

Source: github.com/NVIDIA/nccl, `src/graph/tuning.cc`, commit 5067397c (June 2026).
"""

from __future__ import annotations

from dataclasses import dataclass

from ironlaw.core.units import BytesPerSecond, Count, Ratio, Seconds, Traffic

ACROSS_NODES_LL: BytesPerSecond = 20.4e9
"""The most that LL carries between nodes, as bus bandwidth of a whole node (`llMaxBws`, Intel hosts, four nodes)."""


@dataclass(frozen=True, slots=True)
class Protocol:
    """One protocol along a ring or a tree.

    Attributes:
        name: `"LL"`, `"LL128"` or `"Simple"`.
        start: Seconds before the first step (`baseLatencies`).
        node: Seconds of a step over a fast link inside a node (`hwLatencies`, NVLink).
        host: Seconds of a step over PCI Express.
        network: Seconds of a step between nodes.
        share: Of the links' bandwidth.
        cap: Most bytes per second between nodes.
    """

    name: str
    start: Seconds
    node: Seconds
    host: Seconds
    network: Seconds
    share: Ratio
    cap: BytesPerSecond = float("inf")

    def step(self, scope: str) -> Seconds:
        """Seconds of a step over a link of a scope: `"node"`, `"host"` or `"network"`."""
        return {"node": self.node, "host": self.host, "network": self.network}[scope]


RING = (
    Protocol("LL", 6.6e-6, 0.6e-6, 1.0e-6, 2.7e-6, 0.5, ACROSS_NODES_LL),
    Protocol("LL128", 14.0e-6, 1.9e-6, 2.5e-6, 4.0e-6, 0.92),
    Protocol("Simple", 8.4e-6, 3.4e-6, 5.7e-6, 14.0e-6, 1.0),
)
"""Protocols along a ring, the quickest to start first."""

TREE = (
    Protocol("LL", 6.8e-6, 0.6e-6, 1.0e-6, 5.0e-6, 0.92 / 3.8, ACROSS_NODES_LL),
    Protocol("LL128", 14.0e-6, 1.25e-6, 1.9e-6, 8.5e-6, 0.92 * 120 / 128),
    Protocol("Simple", 8.4e-6, 4.0e-6, 4.0e-6, 14.0e-6, 0.92),
)
"""Protocols along a pair of trees over the nodes, each a chain inside its nodes."""

POSTING: Seconds = 1e-6
"""Seconds of the host for every step of a ring between nodes, three times that for Simple (`getNetOverhead`)."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Latency and bandwidth of a gather over a ring, in the protocol that it runs in.

    Attributes:
        latency: Seconds of all steps.
        share: Of the links' bandwidth.
    """

    latency: Seconds
    share: Ratio


def ring_gather(
    size: Traffic, bandwidth: BytesPerSecond, inside: Count, nodes: Count, scope: str, only: str = ""
) -> Choice:
    """The fastest protocol for gathering `size` bytes around a ring through all devices of all nodes.

    The ring has `inside * nodes - 1` steps, of which `nodes - 1` cross from node to node.

    Args:
        size: Bytes of the gathered buffer.
        bandwidth: Bytes per second into a node and through each of its devices.
        inside: Devices of each node.
        nodes: Nodes.
        scope: Of the link inside a node.
        only: The one protocol that the fabric can do, or empty.
    """
    crossings, steps = nodes - 1, inside * nodes - 1
    best: tuple[Seconds, Choice] | None = None
    for protocol in RING:
        if only and protocol.name != only:
            continue
        posting = POSTING * (3 if protocol.name == "Simple" else 1) if crossings else 0.0
        within = max(protocol.step(scope), posting)
        latency = protocol.start + (steps - crossings) * within + crossings * protocol.network
        share = protocol.share if not crossings else min(protocol.share, protocol.cap / bandwidth)
        seconds = latency + size / (share * bandwidth)
        if best is None or seconds < best[0]:
            best = seconds, Choice(latency, share)
    assert best is not None
    return best[1]
