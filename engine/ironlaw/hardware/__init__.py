"""What a run runs on: accelerators, the links between them, storage, nodes joined to a cluster."""

from __future__ import annotations

from ironlaw.hardware.accelerators import Accelerator, accelerator, list_accelerators
from ironlaw.hardware.cluster import cluster
from ironlaw.hardware.links import link, list_links
from ironlaw.hardware.storage import Storage, storage
