"""Recommendation models: tables too large for a device, and what follows: rows travel between devices every step.

Source: Naumov et al. 2019, "Deep Learning Recommendation Model for Personalization and Recommendation Systems", arXiv
1906.00091; the sizes of MLPerf Training's DLRM (Criteo 1 TB, at most 40 million rows a table).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from engine.core.arrays import require_at_least
from engine.core.errors import require_positive
from engine.core.units import Bytes, BytesPerSecond, Count, Flops, FlopsPerByte, Seconds
from engine.hardware.accelerators import Accelerator
from engine.parallel.collectives import all_to_all


@dataclass(frozen=True)
class Recommender:
    """Embedding tables, a bottom network for dense features, pairwise dot products, a top network.

    Attributes:
        name: For messages.
        rows: Rows of every table.
        width: Elements of a row, and of the bottom network's result.
        bottom: Layer widths of the bottom network, its dense inputs first.
        top: Layer widths of the top network after its inputs, which follow from the tables.
        lookups: Rows looked up per table and sample.
    """

    name: str
    rows: tuple[Count, ...]
    width: Count
    bottom: tuple[Count, ...]
    top: tuple[Count, ...]
    lookups: Count = 1

    def __post_init__(self) -> None:
        for what, values in (("rows", self.rows), ("bottom", self.bottom), ("top", self.top)):
            for value in values:
                require_positive(what, value)
        require_positive("width", self.width)
        require_positive("lookups", self.lookups)

    @property
    def vectors(self) -> Count:
        """Vectors that interact: one per table and the bottom network's result."""
        return len(self.rows) + 1

    @property
    def top_inputs(self) -> Count:
        """Inputs of the top network: the bottom's result and every pair's dot product."""
        return self.width + self.vectors * (self.vectors - 1) // 2

    @property
    def table_parameters(self) -> Count:
        """Elements of all tables."""
        return sum(self.rows) * self.width

    @property
    def network_parameters(self) -> Count:
        """Weights and biases of both networks."""
        layers = (*pairwise(self.bottom), *pairwise((self.top_inputs, *self.top)))
        return sum((inputs + 1) * outputs for inputs, outputs in layers)

    @property
    def parameters(self) -> Count:
        """All parameters."""
        return self.table_parameters + self.network_parameters

    @property
    def forward_flops(self) -> Flops:
        """Matrix-product FLOPs of the forward pass per sample, all pairs' dot products included."""
        layers = (*pairwise(self.bottom), *pairwise((self.top_inputs, *self.top)))
        return 2 * sum(inputs * outputs for inputs, outputs in layers) + 2 * self.vectors**2 * self.width

    def lookup_bytes(self, samples: Count, element_bytes: Bytes = 4, *, training: bool = True) -> Bytes:
        """Bytes of table rows moved: read once; for training with plain SGD also gradient-updated, read and written."""
        require_at_least("samples", samples, 1)
        rows = samples * len(self.rows) * self.lookups * self.width * element_bytes
        return 3 * rows if training else rows

    def lookup_intensity(self) -> FlopsPerByte:
        """FLOPs per byte of table traffic, forward and backward in fp32."""
        return 3 * self.forward_flops / self.lookup_bytes(1)

    def step_bounds(
        self, batch: Count, chip: Accelerator, devices: Count, link: BytesPerSecond, dtype: str = "fp16"
    ) -> StepBounds:
        """Least seconds of a step with tables divided among devices and networks repeated on each.

        Args:
            batch: Samples of all devices together.
            chip: One device.
            devices: How many.
            link: One-way bytes per second of a device.
            dtype: Format of the networks' products; rows travel in fp32.
        """
        require_at_least("batch", batch, 1)
        require_at_least("devices", devices, 1)
        arithmetic = 3 * self.forward_flops * batch / devices / chip.peak(dtype)
        lookup = self.lookup_bytes(batch) / devices / chip.streaming
        # Every sample's rows are sent to the device that trains on it, and their gradients back.
        exchanged = 2 * batch / devices * len(self.rows) * self.width * 4
        return StepBounds(arithmetic, lookup, all_to_all(exchanged, devices, link))


@dataclass(frozen=True, slots=True)
class StepBounds:
    """Least seconds of a step for each resource; the largest bounds it."""

    arithmetic: Seconds
    lookup: Seconds
    exchange: Seconds


CRITEO_ROWS = (
    39_884_406, 39_043, 17_289, 7_420, 20_263, 3, 7_120, 1_543, 63, 38_532_951, 2_953_546, 403_346, 10, 2_208,
    11_938, 155, 4, 976, 14, 39_979_771, 25_641_295, 39_664_984, 585_935, 12_972, 108, 36,
)  # fmt: skip
"""Rows of the 26 tables of the Criteo 1 TB data set, hashed to at most 40 million (mlcommons/training, DLRM)."""

DLRM = Recommender("dlrm-mlperf", CRITEO_ROWS, 128, (13, 512, 256, 128), (1024, 1024, 512, 256, 1))
"""MLPerf Training's DLRM: 24 billion parameters, all but 2.4 million of them in tables."""
