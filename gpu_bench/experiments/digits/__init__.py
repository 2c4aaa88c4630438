"""Handwritten digits that travel with the checkout: 1,797 images of 8 x 8 pixels.

Origin and terms are in `LICENSE.txt` beside the data.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("digits.csv.gz")
CLASSES = 10
SIDE, MNIST_SIDE = 8, 28
"""Pixels of an image's side, of the file's and of MNIST's."""
MNIST_FINGERPRINT = "b2d8f5bf39174ee5ffeefa97e42d673c35432b411bb5d1f74fbbeddae7f1690a"
"""SHA-256 of the four files of MNIST, one after the other in the order of `mnist.FILES`."""


@cache
def fingerprint() -> str:
    """SHA-256 of the file, in hexadecimal."""
    return hashlib.sha256(FILE.read_bytes()).hexdigest()
