"""A case that failed failed as its record says: by a limit that was reached, by memory that was needed or was gone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gpu_bench.measure.unsupported import kind_of, told
from gpu_bench.record import load
from gpu_bench.record.store import RESULTS
from gpu_bench.run import admission, runner
from gpu_bench.run.isolation import LocalExecutor
from gpu_bench.run.plan import Settings
from tests.explorable.measured.made import FULL_GPU, document
from tests.gpu_bench.tiny import tiny_case

FILE = "smoke/gpt2-nano-fp32-adam--cpu-amd-epyc-2c.json"
ABOUT = ("schema_version", "benchmark_version", "suite", "case", "device", "provenance", "predicted")
ALLOCATOR = "DefaultCPUAllocator: can't allocate memory: you tried to allocate {} bytes. Error code 12"


def _failed(outcome: str, message: str, seconds: int = 5) -> dict[str, Any]:
    """The committed record of a case that needs some MB of 8 GB, as one that failed in its first repeat."""
    record = load.parse((RESULTS / FILE).read_bytes())
    made = {name: record[name] for name in ABOUT} | {"outcome": outcome, "message": message}
    first = record["provenance"]["repeats"][0]
    first |= {"started": "2026-01-01T10:00:00Z", "finished": f"2026-01-01T10:{seconds // 60:02d}:{seconds % 60:02d}Z"}
    made["provenance"]["repeats"] = [first]
    return made


@pytest.mark.parametrize(
    ("record", "told"),
    [
        (_failed("timeout", "no result", 8), "the time limit of 120 s ended a repeat that took 10 s"),
        (_failed("timeout", "no result", 117), "the time limit of 120 s ended a repeat that took 119 s"),
        (_failed("timeout", "no result", 120), None),
        (_failed("timeout", "no result", 119), None),
        (_failed("oom", "it did"), "its message does not say so: 'it did'"),
        (_failed("oom", "std::bad_alloc"), "it ran out of memory, and needs"),
        (_failed("oom", "CUDA out of memory"), "it ran out of memory, and needs"),
        (_failed("oom", ALLOCATOR.format(2**20)), "it ran out of memory, and needs"),
        (_failed("oom", ALLOCATOR.format(2**40)), None),
        (_failed("oom", "MemoryError: the step needs 9000000000 B by the allocator's own count"), None),
        (_failed("error", "it broke"), None),
        (document("gpt2-nano-fp32-adam", status="oom"), None),
    ],
)
def test_an_outcome_that_contradicts_its_record_is_refused(record: dict[str, Any], told: str | None) -> None:
    found = load.faults(record)
    assert found == [] if told is None else told in " / ".join(found)


def test_a_gpu_that_others_have_filled_says_what_is_free() -> None:
    record = document("gpt2-nano-fp32-adam", status="oom")
    assert record["message"] == FULL_GPU
    record["message"] = FULL_GPU.replace("10.00 MiB is free", "90.00 GiB is free")
    assert "it ran out of memory, and needs" in load.faults(record)[0]
    record["predicted"]["memory"] = None
    assert "it ran out of memory, and needs" in load.faults(record)[0], "today's engine knows what it needs"


def test_a_step_that_needs_the_memory_may_run_out_of_it_whatever_a_library_says() -> None:
    record = document("ladder-1558m-0-fp32", status="oom")
    record["message"] = "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"
    assert load.faults(record) == []


def test_what_contradicts_itself_is_not_admitted(tmp_path: Path) -> None:
    (tmp_path / FILE).parent.mkdir()
    (tmp_path / FILE).write_text(json.dumps(_failed("timeout", "slow", 8)), encoding="utf-8")
    found, faults = admission.admit(tmp_path)
    assert found == []
    assert "the time limit of 120 s ended a repeat that took 10 s" in faults[0]


def test_memory_that_python_misses_is_named_in_the_message() -> None:
    """Python's own error has no words: its type says what it is."""
    outer = RuntimeError("the loader stopped")
    outer.__cause__ = MemoryError()
    for error in (outer, MemoryError(), MemoryError("the step needs 9 B")):
        assert kind_of(error) == "oom"
        assert "MemoryError" in told(error)
    assert told(RuntimeError("CUDA out of memory. Tried")) == "CUDA out of memory. Tried"


def test_a_case_that_cannot_have_needed_the_memory_is_no_result_and_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the runner writes is valid, whatever a machine that others fill reports."""
    report = {"status": "oom", "message": "std::bad_alloc"}
    monkeypatch.setattr(LocalExecutor, "collect", lambda self: ((self.taken(), report),), raising=True)
    monkeypatch.setattr(LocalExecutor, "taken", _taken, raising=False)
    assert runner.run([("trial", tiny_case())], Settings("cpu", tmp_path)) == 1
    (file,) = tmp_path.glob("trial/*.json")
    record, faults = load.read(file, tmp_path)
    assert record is not None, faults
    assert record["status"] == "impossible"
    assert "std::bad_alloc" in record["message"]


def _taken(executor: LocalExecutor) -> int:
    ticket, executor._next = executor._next[0], None  # type: ignore[index]
    return ticket
