"""What the tests of the measurements share: one thread, and one real record."""

from __future__ import annotations

import fcntl
import functools
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from gpu_bench.record import store
from gpu_bench.run import isolation, runner
from tests.conftest import FULL
from tests.gpu_bench.fp8_products import product
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
    """The machine is examined once for all tests of this process, and not again by every run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(isolation, "probe", functools.cache(isolation.probe))
        yield


@pytest.fixture(scope="session", autouse=True)
def quick_fp8_products() -> Iterator[None]:
    """FP8 products of this process are computed in FP32; in a full run PyTorch's own compute them.

    A processor without FP8 computes a product of E4M3 numbers element by element, 400 times as slowly.
    `measure/test_fp8.py` holds the two against each other.
    """
    with pytest.MonkeyPatch.context() as patch:
        if not FULL:
            patch.setattr(torch, "_scaled_mm", product)
        yield


@pytest.fixture(scope="session")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a record of two repeats that the runner really wrote, and the report of the first of them.

    Several processes of one test run share it: whoever comes first makes it.
    """
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "measured"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "report.json").exists():
            _measure(folder)
    return folder


def _measure(folder: Path) -> None:
    reports: list[dict[str, Any]] = []
    work = isolation.work

    def noted(*order: Any) -> dict[str, Any]:
        reports.append(work(*order))
        return reports[-1]

    with pytest.MonkeyPatch.context() as patch:
        isolation.probe("cpu")
        patch.setattr(isolation, "work", noted)
        settings = runner.Settings(device="cpu", out=folder / "records")
        assert runner.run([("trial", tiny_case(repeats=2))], settings) == 0
    store.write_json(folder / "report.json", reports[0])


@pytest.fixture(scope="session")
def record_file(measured: Path) -> Path:
    """The file of the record in `measured`."""
    (file,) = (measured / "records").rglob("*.json")
    return file


@pytest.fixture
def report(measured: Path) -> dict[str, Any]:
    """A fresh copy of what one real repeat reported."""
    document: dict[str, Any] = json.loads((measured / "report.json").read_text(encoding="utf-8"))
    return document


@pytest.fixture
def record(record_file: Path) -> dict[str, Any]:
    """A fresh copy of the record in `measured`."""
    document: dict[str, Any] = json.loads(record_file.read_text(encoding="utf-8"))
    return document
