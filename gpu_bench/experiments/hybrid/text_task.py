"""The task on text: a GPT-2 predicts the next token of the standard library's source code."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from gpu_bench.cases.sizes import SIZES
from gpu_bench.experiments.hybrid.case import BYTES_VOCABULARY, GPT2_VOCABULARY, HybridCase
from gpu_bench.experiments.hybrid.digits_task import Batch
from gpu_bench.measure.data import Corpus, draw_windows, read_corpus, window_stream
from gpu_bench.measure.gpt2 import GPT2

TESTED = 20
"""One token in so many is kept for testing: the last ones of the text, which come from other files."""
SMALL_TEXT, LARGE_TEXT = 2 * 2**20, 8 * 2**20
"""Bytes that are read for a small vocabulary, and for all of GPT-2's."""
WINDOWS, TOGETHER = 256, 8
"""Sequences that are tested with, and how many pass the network at once."""


class TextTask:
    """Source code, on the CPU or a GPU."""

    def __init__(self, case: HybridCase, device: torch.device) -> None:
        self.device, self.sequence = device, case.sequence
        size = SIZES[case.model]
        self.shape = replace(size, vocab=case.vocabulary, max_seq=max(size.max_seq, case.sequence))
        corpus = _corpus(case.vocabulary)
        self._about, cut = corpus.as_dict(), len(corpus.tokens) * (TESTED - 1) // TESTED
        self.train = replace(corpus, tokens=corpus.tokens[:cut])
        self.tested = replace(corpus, tokens=corpus.tokens[cut:])

    def about(self) -> dict[str, Any]:
        """The text, and tokens to train on and to test with."""
        names = ("source", "sha256", "tokenizer")
        counts = {"train": len(self.train.tokens), "test": len(self.tested.tokens)}
        return {name: self._about[name] for name in names} | counts

    def network(self, seed: int) -> nn.Module:
        """A GPT-2."""
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            return GPT2(self.shape).to(self.device)

    def batches(self, size: int, seed: int) -> Iterator[Batch]:
        """Random windows, and the token that follows each position."""
        for windows in window_stream(self.train, size, self.sequence, seed):
            yield self._halves(windows)

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        """The mean cross-entropy, nats per token."""
        loss: Tensor = model(*batch)[1]
        return loss

    @torch.no_grad()
    def test(self, model: nn.Module) -> tuple[float, float]:
        """Over the same windows of the last part of the text for every seed."""
        losses, right = [], []
        for windows in draw_windows(self.tested, WINDOWS // TOGETHER, TOGETHER, self.sequence, seed=0):
            tokens, targets = self._halves(windows)
            logits, loss = model(tokens, targets)
            losses.append(float(loss))
            right.append(float((logits.argmax(2) == targets).float().mean()))
        return sum(losses) / len(losses), sum(right) / len(right)

    def _halves(self, windows: Tensor) -> Batch:
        """(B, T + 1) tokens as (B, T) to read and (B, T) to predict."""
        here = windows.to(self.device, torch.int64)
        return here[:, :-1], here[:, 1:]


def _corpus(vocabulary: int) -> Corpus:
    """The text in so many kinds of token."""
    if vocabulary in (BYTES_VOCABULARY, GPT2_VOCABULARY):
        return read_corpus(SMALL_TEXT if vocabulary == BYTES_VOCABULARY else LARGE_TEXT, vocabulary)
    corpus = read_corpus(SMALL_TEXT, GPT2_VOCABULARY)
    return replace(
        corpus,
        tokens=most_frequent(corpus.tokens, vocabulary),
        tokenizer=f"the {vocabulary - 1:,} of GPT-2's byte pairs that are most frequent in the text, all others as one",
    )


def most_frequent(tokens: Tensor, vocabulary: int) -> Tensor:
    """Tokens numbered by how often they occur, from 0; all beyond `vocabulary - 1` kinds share the last number."""
    counts = torch.bincount(tokens.long())
    ranks = torch.empty_like(counts)
    ranks[counts.argsort(descending=True, stable=True)] = torch.arange(len(counts))
    return ranks.clamp(max=vocabulary - 1)[tokens.long()].to(torch.int32)
