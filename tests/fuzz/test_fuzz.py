"""Random input of every kind, in a full run: with another seed each day, bounded in memory and time, and counted."""

from __future__ import annotations

import datetime
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import SUMMARY
from tests.fuzz.tries import KINDS

ROOT = Path(__file__).parents[2]
SECONDS = 15
MEMORY = 6 * 2**30
"""Bytes of address space, most of which programs never touch."""


def bounded() -> None:
    """Let the process have so much memory and processor time."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (300, 300))


@pytest.mark.full
@pytest.mark.parametrize("kind", KINDS)
def test_what_a_stranger_hands_in_is_taken_or_refused_in_a_line(
    kind: str, record_property: Callable[[str, object], None]
) -> None:
    seed = int(os.environ.get("FUZZ_SEED") or datetime.datetime.now(datetime.UTC).date().toordinal() * 1_000_000)
    command = [
        sys.executable,
        "-m",
        "tests.fuzz.tries",
        kind,
        str(seed),
        os.environ.get("FUZZ_SECONDS") or str(SECONDS),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, preexec_fn=bounded)
    record_property(SUMMARY, done.stdout.strip())
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]


def test_a_run_in_several_processes_says_how_much_was_tried() -> None:
    name = test_what_a_stranger_hands_in_is_taken_or_refused_in_a_line.__name__
    words = ["-m", "pytest", "-q", "-n", "1", "-p", "no:cacheprovider", f"{__file__}::{name}[expression]"]
    environment = {**os.environ, "FUZZ_SECONDS": "0", "FUZZ_SEED": "7"}
    done = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True, env=environment)
    assert "expression: 1 tries from seed 7" in done.stdout.splitlines(), done.stdout + done.stderr
