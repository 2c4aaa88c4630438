"""Provenance: exact where it can be, silent about names and paths."""

from __future__ import annotations

import json
import platform
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from gpu_bench.machine import provenance
from gpu_bench.machine.provenance import slugify
from gpu_bench.record import rules, shape


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('File "/home/ada/src/gpu_bench/data.py", line 3', 'File "…/data.py", line 3'),
        ("--out /data/secret/place/results", "--out …/results"),
        ("--out=/data/results", "--out=…/results"),
        (r"C:\Users\ada\results", "…/results"),
        ("7.5 GB/s at gpu_bench/results", "7.5 GB/s at gpu_bench/results"),
    ],
)
def test_absolute_folders_are_left_out(text: str, shown: str) -> None:
    assert provenance.redact(text) == shown


def test_command_is_the_one_to_type() -> None:
    assert provenance.recorded_command(["run", "--suite", "smoke"]) == "python -m gpu_bench run --suite smoke"


def test_host_is_a_hash_that_stays_the_same() -> None:
    assert re.fullmatch("[0-9a-f]{8}", provenance.host_hash())
    assert provenance.host_hash() == provenance.host_hash()


def test_record_names_neither_host_nor_absolute_path(record: dict[str, Any]) -> None:
    text = json.dumps(record, ensure_ascii=False)
    assert platform.node() not in text
    assert not re.search(r"(?<![\w…])/[a-z]+/", text)


def _commit(root: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(root), *identity, *arguments], check=True, capture_output=True)


@pytest.mark.parametrize(
    ("changed", "dirty"),
    [
        ("gpu_bench/cases.py", True),
        ("gpu_bench/new.py", True),
        ("engine/new.py", True),
        ("gpu_bench/results/smoke/new.json", False),
        ("gpu_bench/LOG.md", False),
        ("docs/new.md", False),
    ],
)
def test_dirty_is_about_the_code_that_decides_a_number(
    changed: str, dirty: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("gpu_bench/cases.py", "gpu_bench/LOG.md", "engine/ironlaw/__init__.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("before", encoding="utf-8")
    _commit(tmp_path, "init", "-q")
    _commit(tmp_path, "add", ".")
    _commit(tmp_path, "commit", "-q", "-m", "Begin")
    monkeypatch.setattr(provenance, "ROOT", tmp_path)
    assert provenance.git_state()["dirty"] is False
    (tmp_path / changed).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / changed).write_text("after", encoding="utf-8")
    assert provenance.git_state()["dirty"] is dirty


def test_outside_of_git_the_commit_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provenance, "ROOT", tmp_path)
    state = provenance.git_state()
    assert (state["git_commit"], state["dirty"]) == (None, None)
    assert state["sources"], "the hash of the sources stands in for the commit"


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("NVIDIA GeForce RTX 4090", "nvidia-geforce-rtx-4090"),
        ("NVIDIA H100 80GB HBM3", "nvidia-h100-80gb-hbm3"),
        ("Intel(R) Xeon(R) CPU @ 2.20GHz", "intel-xeon-cpu-2-20ghz"),
    ],
)
def test_device_slug_is_words_and_single_hyphens(name: str, slug: str) -> None:
    assert slugify(name) == slug


def test_what_an_image_of_cuda_puts_into_the_environment_fits_a_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its list of requirements has 2,165 characters, and every record that held it would be refused at home."""
    monkeypatch.setenv("NVIDIA_REQUIRE_CUDA", "cuda>=12.8 " * 200)
    monkeypatch.setenv("CUDA_MODULE_LOADING", "LAZY")
    monkeypatch.setenv("TORCH_NCCL_NOTE", "x" * 2165)
    monkeypatch.setenv("CUDA_" + "A" * 100, "1")
    monkeypatch.setenv("CUDA_lower", "1")
    found = provenance.environment()
    assert found["CUDA_MODULE_LOADING"] == "LAZY"
    assert not any(name.startswith("NVIDIA_") for name in found)
    assert found["TORCH_NCCL_NOTE"].endswith("… (2165 characters)")
    [stated] = [hint for name, (_, hint) in rules.hints(shape.Provenance).items() if name == "environment"]
    assert list(rules.faults(stated, found)) == []
    assert list(rules.faults(stated, {"NOTE": "x" * 2165})) != [], "the rule refuses what is not bounded"
