"""What the tests of the measurements share: one thread, and one real record."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from gpu_bench.run import isolation, runner
from tests.gpu_bench.tiny import tiny_case


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> Iterator[None]:
    """Threads that wait for each other make a busy machine many times slower; tests measure nothing."""
    before = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = "1"
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
    if before is None:
        del os.environ["OMP_NUM_THREADS"]
    else:
        os.environ["OMP_NUM_THREADS"] = before


@pytest.fixture(scope="session", autouse=True)
def examined_once() -> Iterator[None]:
    """Runs in this process examine the machine by a process of its own once, and not each again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(isolation, "probe", functools.cache(isolation.probe))
        yield


@pytest.fixture(scope="session")
def record_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A record that the runner really wrote, of two repeats."""
    out = tmp_path_factory.mktemp("records")
    assert runner.run([("trial", tiny_case(repeats=2))], runner.Settings(device="cpu", out=out)) == 0
    (file,) = out.rglob("*.json")
    return file


@pytest.fixture
def record(record_file: Path) -> dict[str, Any]:
    """A fresh copy of that record."""
    document: dict[str, Any] = json.loads(record_file.read_text(encoding="utf-8"))
    return document
