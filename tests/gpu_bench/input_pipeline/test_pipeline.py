"""Suite 7: the streams lose no token, the processes encode what they say, and shares of time are told apart."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from gpu_bench.cases.case import case_of
from gpu_bench.cases.suites import TINY
from gpu_bench.cases.techniques import PIPELINE
from gpu_bench.input_pipeline import encoder_process, tokenize
from gpu_bench.input_pipeline.case import Loader, LoaderCase, TokenizeCase, loader_of
from gpu_bench.input_pipeline.loading import TextStream, TokenStream, make_loader, shares
from gpu_bench.input_pipeline.tokenize import EncoderProcesses
from gpu_bench.measure.bpe import VOCABULARY, Encoder, gpt2_encoder
from gpu_bench.measure.data import encoded, read_text
from gpu_bench.record import load
from gpu_bench.run import runner

CPU = torch.device("cpu")


def _tokens(windows: Iterator[Tensor], count: int) -> Tensor:
    return torch.cat(list(islice(windows, count)))


def test_a_text_stream_yields_the_text_s_tokens_in_order_without_a_gap() -> None:
    text, _ = read_text(200_000)
    expected = torch.cat([encoded(text[start : start + 2**16], VOCABULARY) for start in range(0, len(text), 2**16)])
    found = _tokens(iter(TextStream(text, VOCABULARY, sequence=63)), 500)
    assert found.dtype == torch.int32
    assert torch.equal(found, expected[: 500 * 64])


def test_a_token_stream_begins_again_at_the_end() -> None:
    windows = list(islice(TokenStream(torch.arange(20), sequence=3), 7))
    assert [window.tolist() for window in windows[:2]] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert windows[5].tolist() == [0, 1, 2, 3]


def test_workers_begin_in_parts_of_their_own() -> None:
    loader = make_loader(Loader("tokens", 2, 2, pinned=False), 256, batch=3, sequence=15, device=CPU)
    first, second = islice(loader, 2)
    assert first.shape == second.shape == (3, 16)
    text, _ = read_text()
    everything = encoded(text, 256)
    windows = len(text) // 16
    assert torch.equal(first.flatten(), everything[: 3 * 16])
    assert torch.equal(second.flatten(), everything[windows // 2 * 16 :][: 3 * 16])


def test_processes_encode_their_own_texts() -> None:
    texts = [b"import os\n" * 50, "für alle\n".encode() * 70]
    counts = [len(gpt2_encoder().encode(text.decode())) for text in texts]
    processes = EncoderProcesses(texts)
    try:
        assert processes.all("warm") == sum(counts)
        assert processes.all("prepare") == 0
        assert processes.all("cold") == sum(counts)
    finally:
        processes.close()


@pytest.mark.parametrize(
    ("text", "loader"),
    [
        ("text, 0 workers", Loader("text", 0, 2, pinned=False)),
        ("tokens, 1 worker, prefetch 8", Loader("tokens", 1, 8, pinned=False)),
        ("tokens, 4 workers, prefetch 4, pinned", Loader("tokens", 4, 4, pinned=True)),
    ],
)
def test_a_loader_is_read_from_its_name(text: str, loader: Loader) -> None:
    assert loader_of(text) == loader


def test_what_is_no_loader_is_refused() -> None:
    with pytest.raises(ValueError, match="loader is 'words, 2 workers'; allowed: 'text, 4 workers"):
        loader_of("words, 2 workers")
    with pytest.raises(ValueError, match="allowed: 1 or more"):
        TokenizeCase(name="none", processes=())


def _event(name: str, category: str, begin: float, end: float) -> dict[str, Any]:
    return {"name": name, "cat": category, "ts": begin, "dur": end - begin, "ph": "X"}


def test_on_a_gpu_loading_counts_only_while_the_device_has_nothing_to_do() -> None:
    events = [
        _event("gpu_bench: profiled steps", "user_annotation", 0, 100),
        _event("gpu_bench: loading", "user_annotation", 0, 30),
        _event("gpu_bench: loading", "user_annotation", 50, 70),
        _event("gpu_bench: transfer", "user_annotation", 70, 75),
        _event("gpu_bench: compute", "user_annotation", 75, 80),
        _event("a kernel", "kernel", 10, 60),
        _event("Memcpy HtoD (Pageable -> Device)", "gpu_memcpy", 72, 78),
        _event("Memcpy DtoD (Device -> Device)", "gpu_memcpy", 85, 95),
    ]
    found = shares(events, "cuda")
    assert found == pytest.approx({"compute": 0.50, "transfer": 0.08, "loading": 0.20, "other": 0.22})


def test_on_a_cpu_the_stages_of_the_process_are_the_shares() -> None:
    events = [
        _event("gpu_bench: profiled steps", "user_annotation", 100, 200),
        _event("gpu_bench: loading", "user_annotation", 100, 140),
        _event("gpu_bench: transfer", "user_annotation", 140, 145),
        _event("gpu_bench: compute", "user_annotation", 145, 199),
        _event("aten::mm", "cpu_op", 150, 160),
    ]
    found = shares(events, "cpu")
    assert found == pytest.approx({"loading": 0.40, "transfer": 0.05, "compute": 0.54, "other": 0.01})


def test_cases_survive_being_written_down() -> None:
    for case in PIPELINE:
        kind = TokenizeCase if isinstance(case, TokenizeCase) else LoaderCase
        again = case_of(kind, json.loads(json.dumps(case.as_dict())))
        assert again.as_dict() == case.as_dict()


def test_a_tokenize_case_encodes_the_same_words_met_before_and_not() -> None:
    case = next(case for case in TINY["pipeline-tiny"] if case.name == "pipeline-tokenize")
    points = [point for point in tokenize.run_repeat(case, CPU, 0)["points"] if point["settings"]["processes"] == 1]
    warm, cold = points
    assert (warm["settings"]["words"], cold["settings"]["words"]) == ("warm", "cold")
    assert warm["work"] == cold["work"]


@pytest.mark.parametrize(("orders", "times"), [("warm\n", 1), ("warm\nwarm\n", 1), ("warm\nprepare\ncold\n", 2)])
def test_words_met_before_need_no_merging(orders: str, times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    merged: list[str] = []
    merge = Encoder._encode_word

    def noted(self: Encoder, word: str) -> tuple[int, ...]:
        merged.append(word)
        return merge(self, word)

    monkeypatch.setattr(Encoder, "_encode_word", noted)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"11\nof two ends" + orders.encode())))
    assert encoder_process.main() == 0
    assert merged == ["of", " two", " ends"] * times


@pytest.mark.full
def test_the_tiny_suite_measures_shares_into_a_valid_record(tmp_path: Path) -> None:
    chosen = [case for case in TINY["pipeline-tiny"] if case.name == "pipeline-before-after"]
    assert runner.run([("pipeline-tiny", case) for case in chosen], runner.Settings("cpu", tmp_path)) == 0
    (file,) = tmp_path.rglob("*.json")
    assert load.file_faults(file) == []
    for point in json.loads(file.read_text(encoding="utf-8"))["points"]:
        assert sum(point["shares"].values()) == pytest.approx(1.0, abs=1e-6)
        assert set(point["shares"]) == {"loading", "transfer", "compute", "other"}
        assert len(point["losses"]) == 1 + 3 + 1
