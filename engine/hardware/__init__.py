"""What a run runs on: accelerators, the links between them, storage, nodes joined to a cluster."""

from __future__ import annotations

from engine.hardware.accelerators import Accelerator, accelerator, list_accelerators
from engine.hardware.cluster import cluster
from engine.hardware.links import link, list_links
from engine.hardware.storage import Storage, storage
