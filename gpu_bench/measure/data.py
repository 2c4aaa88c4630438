"""Real text that is on every machine: the source of Python's own standard library, as bytes or as GPT-2's tokens."""

from __future__ import annotations

import hashlib
import itertools
import os
import sysconfig
import tempfile
from array import array
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from gpu_bench.machine.provenance import ROOT
from gpu_bench.measure.bpe import MERGES_FILE, VOCABULARY, gpt2_encoder

SOURCE = "source code of the Python standard library"
BYTES = "bytes: token = byte value of the UTF-8 text, vocabulary 256"
BYTE_PAIRS = f"GPT-2 byte pairs, vocabulary {VOCABULARY:,}"
CORPUS_BYTES = 8 * 2**20
"""How much text is read: more than any case trains on, read in a tenth of a second, encoded in some five."""
CACHE = ROOT / ".cache" / "gpu_bench"
"""Where encoded text is kept for later processes."""


@dataclass(frozen=True)
class Corpus:
    """The text and what a record says of it."""

    tokens: Tensor  # (tokens,) uint8 for bytes, int32 for byte pairs
    files: int  # How many files were read
    bytes: int  # Length of the text
    sha256: str  # Of the text, in hexadecimal: the same on two machines when both trained on the same text
    tokenizer: str  # What a token is

    def as_dict(self) -> dict[str, Any]:
        """The block `data` of a record."""
        return {
            "source": SOURCE,
            "sha256": self.sha256,
            "bytes": self.bytes,
            "files": self.files,
            "tokens": len(self.tokens),
            "tokenizer": self.tokenizer,
        }


def read_text(limit: int = CORPUS_BYTES) -> tuple[bytes, int]:
    """Read the standard library's `.py` files in the order of their paths, until `limit` bytes.

    Installed packages and the interpreter's own tests are left out, since distributions differ in shipping them.

    Returns:
        The text and the number of files.

    Raises:
        FileNotFoundError: When this Python carries no readable source.
    """
    root = Path(sysconfig.get_paths()["stdlib"])
    left_out = {"site-packages", "dist-packages", "test", "tests", "idle_test", "__pycache__"}
    paths: list[Path] = []
    for place, folders, names in os.walk(root):
        # Thousands of installed files may lie there, which are not even looked at.
        folders[:] = [name for name in folders if name not in left_out]
        paths += [Path(place, name) for name in names if name.endswith(".py")]
    paths.sort(key=lambda path: path.relative_to(root).as_posix())
    text = bytearray()
    files = 0
    for path in paths:
        text += path.read_bytes()
        files += 1
        if len(text) >= limit:
            break
    if not text:
        raise FileNotFoundError("no .py file found in this Python's standard library, which the cases train on")
    return bytes(text[:limit]), files


def read_corpus(limit: int = CORPUS_BYTES, vocabulary: int = 256) -> Corpus:
    """The text in tokens that a vocabulary holds: GPT-2's byte pairs in one of 50,257 or more, bytes in a smaller one.

    Raises:
        ValueError: For a vocabulary that cannot hold bytes.
    """
    text, files = read_text(limit)
    digest = hashlib.sha256(text).hexdigest()
    if vocabulary >= VOCABULARY:
        return Corpus(_pairs(_byte_pairs(text, digest)), files, len(text), digest, BYTE_PAIRS)
    if vocabulary < 256:
        raise ValueError(f"vocabulary is {vocabulary}; allowed: 256 or more")
    return Corpus(_bytes(text), files, len(text), digest, BYTES)


def encoded(text: bytes, vocabulary: int) -> Tensor:
    """A text's tokens, int32, as `read_corpus` has them."""
    return _pairs(encode(text)) if vocabulary >= VOCABULARY else _bytes(text).to(torch.int32)


def _pairs(tokens: array[int] | bytearray) -> Tensor:
    return torch.frombuffer(tokens, dtype=torch.uint16).to(torch.int32)


def _bytes(text: bytes) -> Tensor:
    return torch.frombuffer(bytearray(text), dtype=torch.uint8)


def _byte_pairs(text: bytes, digest: str) -> bytearray:
    """The text's byte pairs as 16-bit numbers, from the cache if an earlier process left them there."""
    merges = hashlib.sha256(MERGES_FILE.read_bytes()).hexdigest()
    file = CACHE / f"{digest[:16]}-{merges[:16]}.tokens"
    with suppress(OSError):
        return bytearray(file.read_bytes())
    tokens = bytearray(encode(text).tobytes())
    # A folder that cannot be written costs seconds, not the measurement.
    with suppress(OSError):
        CACHE.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=CACHE)
        with os.fdopen(handle, "wb") as out:
            out.write(tokens)
        Path(name).replace(file)
    return tokens


def encode(text: bytes) -> array[int]:
    """GPT-2's byte pairs of a text; what is not UTF-8, such as a character cut in half, is replaced."""
    return gpt2_encoder().encode(text.decode("utf-8", "replace"))


_DRAWN_AT_ONCE = 16


def window_stream(corpus: Corpus, batch: int, sequence: int, seed: int, pinned: bool = False) -> Iterator[Tensor]:
    """Batches of random windows without end, as `draw_windows` gives them; the same seed gives the same batches.

    Pinned ones lie in memory that a GPU copies from by itself.
    """
    for round_ in itertools.count():
        drawn = draw_windows(corpus, _DRAWN_AT_ONCE, batch, sequence, seed + round_ * 7919)
        yield from drawn.pin_memory() if pinned else drawn


def draw_windows(corpus: Corpus, count: int, batch: int, sequence: int, seed: int) -> Tensor:
    """Cut `count` batches of random windows out of the corpus; the same seed gives the same batches.

    Returns:
        (count, batch, sequence + 1) in the corpus's format: one token more than the model reads, since targets are
        shifted by one.
    """
    generator = torch.Generator().manual_seed(seed)
    starts = torch.randint(len(corpus.tokens) - sequence, (count, batch, 1), generator=generator)
    return corpus.tokens[starts + torch.arange(sequence + 1)]
