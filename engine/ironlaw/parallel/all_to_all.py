"""All-to-all among experts' devices: every device sends each token to the devices that hold the token's experts.

Inside a node tokens cross the fast link, between nodes the network; both carry their part at the same time.
"""

from __future__ import annotations

from math import comb

from ironlaw.core.errors import EngineError, require_positive
from ironlaw.core.units import Count, Ratio, Seconds, Traffic
from ironlaw.hardware.cluster import Cluster


def places(chosen: Count, experts: Count, devices: Count) -> Ratio:
    """Devices that hold at least one of a token's experts, on average, if all choices are equally likely.

    A library that sends a token once to each device moves so many copies of it, where a plain all-to-all moves one for
    each of the `chosen` experts. `devices (1 - C(experts - experts/devices, chosen) / C(experts, chosen))`.

    Raises:
        EngineError: More chosen experts than there are, or experts that the devices cannot share evenly.
    """
    require_positive("chosen", chosen)
    require_positive("devices", devices)
    if experts < chosen or experts % devices:
        raise EngineError("experts", experts, f"a multiple of {devices}, {chosen} or more", {"devices": devices})
    return devices * (1 - comb(experts - experts // devices, chosen) / comb(experts, chosen))


def all_to_all(sent: Traffic, devices: Count, cluster: Cluster, *, imbalance: Ratio = 1.0) -> Seconds:
    """Seconds until every device has what the others send it.

    Args:
        sent: Bytes that one device sends to all devices together, its own share included.
        devices: Devices of the group, whole nodes or a part of one.
        cluster: The devices and their links.
        imbalance: What the busiest device receives, over the mean.

    Raises:
        EngineError: A group that is not divided evenly over nodes, or an imbalance below 1.

    Source: volume over the link that carries it, as in DeepEP, whose kernels reach 153 of 160 GB/s inside a node of
    eight H800 and 43 to 47 of 50 GB/s between nodes (github.com/deepseek-ai/DeepEP, README of February 2025).
    """
    require_positive("devices", devices)
    if imbalance < 1:
        raise EngineError("imbalance", imbalance, "1 or more")
    inside = min(devices, cluster.node_size)
    if devices % inside:
        raise EngineError("devices", devices, f"at most {inside}, or a multiple of it", {"node_size": inside})
    near = sent * (inside - 1) / devices / cluster.bandwidth(within_node=True)
    seconds = near + (cluster.latency(within_node=True) if inside > 1 else 0.0)
    if devices > inside:
        far = sent * (devices - inside) / devices / cluster.bandwidth(within_node=False)
        seconds = max(seconds, far + cluster.latency(within_node=False))
    return seconds * imbalance
