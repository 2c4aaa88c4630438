"""GPT-2's byte pairs: against known encodings, against an independent implementation, and loss-free both ways."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_bench.measure import data
from gpu_bench.measure.bpe import END_OF_TEXT, MERGES_FILE, VOCABULARY, byte_symbols, gpt2_encoder, words
from gpu_bench.measure.data import read_corpus, read_text
from tests.conftest import tries


def test_the_merges_are_the_ones_that_the_readme_names() -> None:
    digest = hashlib.sha256(MERGES_FILE.read_bytes()).hexdigest()
    assert digest in (MERGES_FILE.parent / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def reference() -> Any:
    """The same vocabulary in the `tokenizers` library, which is written in another language by other people."""
    tokenizers = pytest.importorskip("tokenizers")
    symbols = byte_symbols()
    lines = MERGES_FILE.read_text(encoding="utf-8").splitlines()[1:]
    merges = [tuple(line.split()) for line in lines if line]
    vocabulary = {symbol: token for token, symbol in enumerate(symbols.values())}
    for left, right in merges:
        vocabulary[left + right] = len(vocabulary)
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, merges))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    return tokenizer


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("Hello world", [15496, 995]), ("Hello, I'm a language model,", [15496, 11, 314, 1101, 257, 3303, 2746, 11])],
)
def test_published_encodings(text: str, tokens: list[int]) -> None:
    assert list(gpt2_encoder().encode(text)) == tokens


@settings(max_examples=tries(200))
@given(st.text(max_size=60))
def test_encoding_loses_nothing_and_is_the_reference_librarys(reference: Any, text: str) -> None:
    text = text.encode("utf-8", "replace").decode("utf-8")
    tokens = list(gpt2_encoder().encode(text))
    assert gpt2_encoder().decode(tokens) == text
    assert "".join(words(text)) == text
    assert tokens == reference.encode(text).ids


def test_real_source_code_is_encoded_as_by_the_reference_library(reference: Any) -> None:
    text = read_text(2**17)[0].decode("utf-8", "replace")
    tokens = list(gpt2_encoder().encode(text))
    assert tokens == reference.encode(text).ids
    assert len(tokens) < len(text) / 2
    assert max(tokens) < END_OF_TEXT == VOCABULARY - 1


def test_encoded_text_is_kept_for_the_next_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "CACHE", tmp_path / "cache")
    first = read_corpus(2**14, VOCABULARY)
    monkeypatch.setattr(data, "encode", lambda text: pytest.fail("encoded again"))
    second = read_corpus(2**14, VOCABULARY)
    assert first.sha256 == second.sha256
    assert first.tokens.equal(second.tokens)


def test_a_folder_that_cannot_be_written_costs_only_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    monkeypatch.setattr(data, "CACHE", tmp_path / "file" / "cache")
    assert len(read_corpus(2**12, VOCABULARY).tokens) > 0
