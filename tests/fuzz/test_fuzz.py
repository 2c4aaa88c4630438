"""Random input of every kind, in a full run: with another seed each day, bounded in memory and time, and counted."""

from __future__ import annotations

import datetime
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

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
def test_what_a_stranger_hands_in_is_taken_or_refused_in_a_line(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
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
    with capsys.disabled():
        print(f"\n{done.stdout.strip()}")
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
