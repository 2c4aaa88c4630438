"""All-reduces over several nodes against published ones, and what hierarchy and rings cost.

Published bus bandwidths, GB/s. F: 4 nodes, 32 GPUs, whose network carries at most 100 GB/s a node
(github.com/stas00/ml-engineering, network/benchmarks/README.md). H: 4 nodes of 8 B200 with 8 x 400 Gb/s EFA
(same, network/README.md), which is the record of that fabric. E: 2 nodes of 8 H100 with 8 x 200 Gb/s over
GPUDirect-TCPXO, whose own library, not NCCL's, moves what is between a few MiB and 1 GiB.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from ironlaw.core.errors import EngineError
from ironlaw.hardware.accelerators import accelerator
from ironlaw.hardware.cluster import Cluster, cluster
from ironlaw.hardware.links import Measured, link
from ironlaw.parallel.collectives import (
    all_gather,
    all_reduce,
    all_reduce_factor,
    group_all_reduce,
    ring_all_reduce,
    tree_across_nodes,
)

MIB, GIB = 2**20, 2**30
HDR = link("infiniband-hdr")
HALF_A_PORT = replace(HDR, measured=Measured(HDR.achievable / 2, HDR.sources[0]))
FOUR_PORTS = Cluster(accelerator("a100-80"), 8, link("nvlink-3"), HALF_A_PORT)
B200_EFA = cluster(accelerator("b200"), network="efa-400")
H100_NDR = cluster(accelerator("h100-sxm"), network="infiniband-ndr")
H100_200 = cluster(accelerator("h100-sxm"), network="infiniband-hdr")


def bus_bandwidth(size: float, devices: int, where: Cluster) -> float:
    """GB/s as nccl-tests reports them."""
    return all_reduce_factor(devices) * size / group_all_reduce(size, devices, where) / 1e9


@pytest.mark.parametrize(
    ("size", "published"),
    [
        (64 * MIB, 84.90),
        (128 * MIB, 88.23),
        (256 * MIB, 91.01),
        (512 * MIB, 92.95),
        (GIB, 94.15),
        (4 * GIB, 92.09),
        (16 * GIB, 91.69),
    ],
)
def test_large_sums_over_four_nodes_are_within_6_percent_of_published(size: float, published: float) -> None:
    assert bus_bandwidth(size, 32, FOUR_PORTS) == pytest.approx(published, rel=0.06)


@pytest.mark.parametrize(
    ("size", "published"),
    [(MIB, 17.13), (2 * MIB, 23.79), (4 * MIB, 40.30), (8 * MIB, 68.62), (16 * MIB, 93.93), (32 * MIB, 98.34)],
)
def test_sums_of_a_few_mebibytes_are_within_half_of_published(size: float, published: float) -> None:
    assert bus_bandwidth(size, 32, FOUR_PORTS) == pytest.approx(published, rel=0.5)


@pytest.mark.parametrize(
    ("size", "published"), [(MIB, 5.37), (16 * MIB, 64.43), (256 * MIB, 229.09), (4 * GIB, 377.34)]
)
def test_a_fabric_on_record_reproduces_its_curve(size: float, published: float) -> None:
    assert bus_bandwidth(size, 32, B200_EFA) == pytest.approx(published, rel=0.01)


def test_two_nodes_sum_faster_than_a_ring_through_their_network_could() -> None:
    # E: 297.9 and 330.6 GB/s although the network carries 200 a node.
    assert bus_bandwidth(GIB, 16, H100_200) == pytest.approx(297.9, rel=0.12)
    assert bus_bandwidth(4 * GIB, 16, H100_200) == pytest.approx(330.6, rel=0.05)


def test_four_nodes_with_infiniband_reach_what_the_record_was_taken_from() -> None:
    assert bus_bandwidth(16e9, 32, H100_NDR) == pytest.approx(365.84, rel=0.01)


def test_small_sums_over_more_nodes_take_the_steps_of_more_devices() -> None:
    seconds = [group_all_reduce(1 * MIB, 8 * nodes, H100_NDR) for nodes in (1, 2, 8, 64)]
    assert seconds == sorted(seconds)
    assert seconds[0] == pytest.approx(46e-6, rel=0.1)


def test_a_group_of_two_nodes_is_slower_than_one_by_no_more_than_the_network() -> None:
    # A hidden state of 64 MB, as tensor parallelism sums it.
    one, two = (group_all_reduce(64e6, devices, H100_NDR) for devices in (8, 16))
    assert 1 < two / one < 2


def test_hierarchy_one_phase_after_the_other_is_never_faster_than_all_at_once() -> None:
    size = 1e9
    inside = H100_NDR.collective(size, within_node=True)
    across = H100_NDR.collective(size / 8, within_node=False, nodes=4, inside=1)
    # Scatter inside each node, reduce between nodes, gather inside: scattering takes as long as gathering.
    phases = 2 * all_gather(size, 8, *inside) + all_reduce(size / 8, 4, *across)
    assert tree_across_nodes(size, 8, 4, H100_NDR) < phases


def test_a_ring_brings_more_of_the_buffer_into_a_node_than_the_node_needs() -> None:
    whole = H100_NDR.bandwidth(within_node=False)
    two, many = (H100_NDR.collective(10e9, within_node=False, nodes=nodes)[0] for nodes in (2, 64))
    assert two / whole == pytest.approx(8 / 15)
    assert many / whole == pytest.approx(63 / 64 / (511 / 512))
    alone = H100_NDR.collective(10e9, within_node=False, nodes=2, inside=1)[0]
    assert alone == whole


def test_gathering_a_layer_takes_longer_on_more_nodes_though_the_bytes_hardly_grow() -> None:
    # 200 MB, a layer's parameters, over 4 to 64 nodes: a ring's latency grows with the number of devices.
    def seconds(nodes: int) -> float:
        return all_gather(200e6 / 8, nodes, *H100_NDR.collective(200e6, within_node=False, nodes=nodes))

    assert 1.5 < seconds(64) / seconds(4) < 3


def test_a_network_without_a_number_of_nodes_is_the_plain_link() -> None:
    assert H100_NDR.collective(1e9, within_node=False) == (45.7e9, 14e-6)


def test_a_fabric_that_does_one_protocol_pays_its_latency() -> None:
    slow = replace(H100_NDR, network=replace(H100_NDR.network, protocol="Simple"))
    fast, late = (where.collective(1e5, within_node=False, nodes=4)[1] for where in (H100_NDR, slow))
    assert late > 3 * fast


def test_a_group_that_fills_half_a_node_is_refused() -> None:
    with pytest.raises(EngineError, match="devices 12 is not allowed with node_size 8"):
        group_all_reduce(1e6, 12, H100_NDR)


def test_one_device_of_each_node_sums_by_trees_that_grow_with_the_logarithm_of_nodes() -> None:
    # A bucket of 25 MiB summed over 256 nodes: a ring makes 510 steps on the network, a pair of trees 16.
    size, nodes = 25 * MIB, 256
    alone = group_all_reduce(size, nodes, H100_NDR, inside=1)
    bandwidth, latency = H100_NDR.collective(size, within_node=False, nodes=nodes, inside=1)
    assert alone < ring_all_reduce(size, nodes, bandwidth, latency) / 2
    assert alone > group_all_reduce(size, 8 * nodes, H100_NDR), "eight devices of a node carry the sum together"
