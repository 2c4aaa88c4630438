"""Endless streams of training windows: from text that is encoded on the way, or from tokens that lie ready."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from itertools import count

import torch
from torch import Tensor
from torch.utils.data import IterableDataset, get_worker_info

from gpu_bench.measure.bpe import VOCABULARY, gpt2_encoder

_CHUNK = 2**16
"""Bytes of text that are encoded at a time."""
Encode = Callable[[bytes], Tensor]


def byte_pairs(text: bytes) -> Tensor:
    """GPT-2's tokens, int32."""
    tokens = gpt2_encoder().encode(text.decode("utf-8", "replace"))
    return torch.frombuffer(tokens, dtype=torch.uint16).to(torch.int32)


def plain_bytes(text: bytes) -> Tensor:
    """Bytes as tokens, int32."""
    return torch.frombuffer(bytearray(text), dtype=torch.uint8).to(torch.int32)


def encoding(vocabulary: int) -> Encode:
    """The encoding that a vocabulary holds, as in `data.read_corpus`."""
    return byte_pairs if vocabulary >= VOCABULARY else plain_bytes


class Stream(IterableDataset[Tensor], ABC):
    """Windows of (sequence + 1,) tokens, int32, without end. Each worker begins in a part of its own.

    Args:
        sequence: Tokens that the model reads.
    """

    def __init__(self, sequence: int) -> None:
        super().__init__()
        self._length = sequence + 1

    def __iter__(self) -> Iterator[Tensor]:
        worker = get_worker_info()
        share = worker.id / worker.num_workers if worker is not None else 0.0
        ready = torch.empty(0, dtype=torch.int32)
        for piece in self.pieces(share):
            ready = torch.cat([ready, piece])
            whole = len(ready) // self._length * self._length
            yield from ready[:whole].view(-1, self._length)
            ready = ready[whole:]

    @abstractmethod
    def pieces(self, begin: float) -> Iterator[Tensor]:
        """Tokens in pieces of any length, from a share of the whole on, round and round."""


class TextStream(Stream):
    """Encodes text as it goes.

    Args:
        text: The text.
        encode: Text to tokens.
        sequence: Tokens that the model reads.
    """

    def __init__(self, text: bytes, encode: Encode, sequence: int) -> None:
        super().__init__(sequence)
        self._text, self._encode = text, encode

    def pieces(self, begin: float) -> Iterator[Tensor]:
        """The text in chunks, encoded."""
        chunks = -(-len(self._text) // _CHUNK)
        for number in count(int(chunks * begin)):
            start = number % chunks * _CHUNK
            yield self._encode(self._text[start : start + _CHUNK])


class TokenStream(Stream):
    """Hands out tokens that were encoded before.

    Args:
        tokens: (tokens,), any integer format.
        sequence: Tokens that the model reads.
    """

    def __init__(self, tokens: Tensor, sequence: int) -> None:
        super().__init__(sequence)
        self._tokens = tokens

    def pieces(self, begin: float) -> Iterator[Tensor]:
        """A window's length at a time."""
        windows = len(self._tokens) // self._length
        for number in count(int(windows * begin)):
            start = number % windows * self._length
            yield self._tokens[start : start + self._length].to(torch.int32)
