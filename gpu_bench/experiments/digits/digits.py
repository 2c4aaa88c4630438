"""The digits as tensors, always divided in the same way into those to train on and those to test with."""

from __future__ import annotations

import csv
import gzip
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor

from gpu_bench.experiments.digits import FILE, SIDE, fingerprint

SOURCE = "handwritten digits of the UCI repository, 8 x 8 pixels, as in scikit-learn"
TESTED = 5
"""One digit in so many is kept for testing, and never trained on."""
_WHITE = 16


@dataclass(frozen=True)
class Digits:
    """Images and classes."""

    images: Tensor  # (digits, pixels) FP32, 0 to 1, those that are trained on
    classes: Tensor  # (digits,) int64
    test_images: Tensor  # The same of those that are not
    test_classes: Tensor  # Their classes
    sha256: str  # Of the file
    source: str = SOURCE  # Where they are from
    side: int = SIDE  # Pixels of a side

    def as_dict(self) -> dict[str, Any]:
        """What a record says of the data."""
        counts = {"train": len(self.classes), "test": len(self.test_classes)}
        return {"source": self.source, "sha256": self.sha256, **counts}


@cache
def load() -> Digits:
    """Read the file."""
    text = gzip.decompress(FILE.read_bytes()).decode("ascii")
    rows = [list(map(float, row)) for row in csv.reader(text.splitlines())]
    table = torch.tensor(rows)  # (1797, 65)
    images, classes = table[:, :-1] / _WHITE, table[:, -1].long()
    tested = torch.arange(len(table)) % TESTED == TESTED - 1
    return Digits(images[~tested], classes[~tested], images[tested], classes[tested], fingerprint())
