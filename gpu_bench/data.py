"""Real text that is on every machine: the source of Python's own standard library, as bytes."""

from __future__ import annotations

import hashlib
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

TOKENIZER = "bytes: token = byte value of the UTF-8 text, vocabulary 256"
CORPUS_BYTES = 8 * 2**20
"""How much text is read. Far more than any case trains on, and read in a tenth of a second."""


@dataclass(frozen=True)
class Corpus:
    """The text and what a record says of it.

    Attributes:
        tokens: (bytes,) uint8.
        files: How many files were read.
        sha256: Of the text, in hexadecimal: the same on two machines when both trained on the same text.
    """

    tokens: Tensor
    files: int
    sha256: str


def read_corpus(limit: int = CORPUS_BYTES) -> Corpus:
    """Read the standard library's `.py` files in the order of their paths, until `limit` bytes.

    Installed packages and the interpreter's own tests are left out, since distributions differ in shipping them.

    Raises:
        FileNotFoundError: When this Python carries no readable source.
    """
    root = Path(sysconfig.get_paths()["stdlib"])
    left_out = {"site-packages", "dist-packages", "test", "tests", "idle_test", "__pycache__"}
    paths = sorted(
        (path for path in root.rglob("*.py") if not left_out.intersection(path.relative_to(root).parts)),
        key=lambda path: path.relative_to(root).as_posix(),
    )
    text = bytearray()
    files = 0
    for path in paths:
        text += path.read_bytes()
        files += 1
        if len(text) >= limit:
            break
    if not text:
        raise FileNotFoundError("no .py file found in this Python's standard library, which the cases train on")
    del text[limit:]
    return Corpus(torch.frombuffer(text, dtype=torch.uint8), files, hashlib.sha256(text).hexdigest())


def draw_windows(corpus: Corpus, count: int, batch: int, sequence: int, seed: int) -> Tensor:
    """Cut `count` batches of random windows out of the corpus; the same seed gives the same batches.

    Returns:
        (count, batch, sequence + 1) uint8: one token more than the model reads, since targets are shifted by one.
    """
    generator = torch.Generator().manual_seed(seed)
    starts = torch.randint(len(corpus.tokens) - sequence, (count, batch, 1), generator=generator)
    return corpus.tokens[starts + torch.arange(sequence + 1)]
