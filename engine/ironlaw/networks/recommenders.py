"""Recommendation models: embedding tables too large for a device, and two small networks.

Source: Naumov et al. 2019, "Deep Learning Recommendation Model for Personalization and Recommendation Systems", arXiv
1906.00091; the sizes of MLPerf Training's DLRM (Criteo 1 TB, at most 40 million rows a table).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from ironlaw.core.errors import require_positive
from ironlaw.core.units import Count


@dataclass(frozen=True)
class Recommender:
    """Embedding tables, a bottom network for dense features, pairwise dot products, a top network.

    Attributes:
        name: For messages.
        rows: Rows of every table.
        width: Elements of a row, and of the bottom network's result.
        bottom: Layer widths of the bottom network, its dense inputs first.
        top: Layer widths of the top network after its inputs, which follow from the tables.
    """

    name: str
    rows: tuple[Count, ...]
    width: Count
    bottom: tuple[Count, ...]
    top: tuple[Count, ...]

    def __post_init__(self) -> None:
        for what, values in (("rows", self.rows), ("bottom", self.bottom), ("top", self.top)):
            for value in values:
                require_positive(what, value)
        require_positive("width", self.width)

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


CRITEO_ROWS = (
    39_884_406, 39_043, 17_289, 7_420, 20_263, 3, 7_120, 1_543, 63, 38_532_951, 2_953_546, 403_346, 10, 2_208,
    11_938, 155, 4, 976, 14, 39_979_771, 25_641_295, 39_664_984, 585_935, 12_972, 108, 36,
)  # fmt: skip
"""Rows of the 26 tables of the Criteo 1 TB data set, hashed to at most 40 million (mlcommons/training, DLRM)."""

DLRM = Recommender("dlrm-mlperf", CRITEO_ROWS, 128, (13, 512, 256, 128), (1024, 1024, 512, 256, 1))
"""MLPerf Training's DLRM: 24 billion parameters, all but 2.4 million of them in tables."""
