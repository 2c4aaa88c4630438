"""What `torch.compile` made, kept in a file, so that a fresh machine of the same kind need not compile again.

PyTorch collects what its compiler and Triton produce; it can be saved as bytes and loaded by another process, which
then finds it in its caches. Each artifact is found by the code and the machine that it is for, so a file for another
machine or another version does no harm: nothing in it is found.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

import torch

SUFFIX = ".compiled"


def cache_file(folder: Path, name: str) -> Path:
    """Where the artifacts of a case lie, for this version of PyTorch."""
    version = re.sub(r"[^A-Za-z0-9.]+", "-", torch.__version__)
    return folder / f"{name}--torch-{version}{SUFFIX}"


def load(file: Path) -> bool:
    """Fill the compiler's caches from a file. Returns whether there was anything to load."""
    try:
        artifacts = file.read_bytes()
    except OSError:
        return False
    return torch.compiler.load_cache_artifacts(artifacts) is not None


def save(file: Path) -> int:
    """Write what this process has compiled or loaded. Returns the bytes written; 0 where nothing was compiled."""
    saved = torch.compiler.save_cache_artifacts()
    if saved is None:
        return 0
    artifacts, _ = saved
    # A folder that cannot be written costs the next machine its compile time, not this one its measurement.
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_suffix(f"{SUFFIX}.partial")
        partial.write_bytes(artifacts)
        partial.replace(file)
        return len(artifacts)
    return 0
