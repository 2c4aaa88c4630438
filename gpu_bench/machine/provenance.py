"""Where a number comes from: code, command, machine, moment. What is not known is None, never a guess.

Records are public. So they name no host and no path: the host is a short hash that only tells two machines apart, and
the command and error texts are recorded without absolute folders.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import platform
import re
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
"""The checkout."""
_SOURCES = (":(top)engine", ":(top)gpu_bench", ":(top,exclude)gpu_bench/results", ":(top,exclude,glob)**/*.md")
"""What decides a number: the code of the measurements and of the engine. Prose and earlier records do not."""
_SOURCE_KINDS = frozenset({".py", ".json", ".toml", ".yaml", ".yml", ".csv", ".bpe"})
_ENVIRONMENT = re.compile(
    r"(PYTORCH|TORCH|TORCHINDUCTOR|TORCHDYNAMO|TRITON|CUBLAS|CUBLASLT|CUDNN|CUDA|NCCL|OMP|MKL|KMP|ONEDNN|DNNL|ATEN|GOMP)_"
    r"[A-Z0-9_]{1,64}"
)
"""`NVIDIA_…` is left out: images of CUDA say there what they require, in thousands of characters."""
_LONGEST = 500
"""Characters of a variable that a record has room for."""
_PACKAGES = ("numpy", "transformers", "torchao", "liger-kernel", "transformer-engine", "flash-attn")
_ABSOLUTE_FOLDER = re.compile(r"""(?<![\w.…/\\])(?:[A-Za-z]:\\|/)(?:[^\s/\\"':,;]+[/\\])+""")


_TIME = "%Y-%m-%dT%H:%M:%SZ"


def utc_now() -> str:
    """The time as ISO 8601 in UTC, to the second."""
    return datetime.now(UTC).strftime(_TIME)


def moment(text: str) -> datetime:
    """What `utc_now` wrote. Raises `ValueError` for anything else."""
    return datetime.strptime(text, _TIME).replace(tzinfo=UTC)


def lasted(repeat: Mapping[str, Any]) -> float:
    """Seconds that a repeat took at most; its times are written to the second."""
    return (moment(repeat["finished"]) - moment(repeat["started"])).total_seconds() + 2


def slugify(text: str) -> str:
    """Lower-case words joined by single hyphens: `NVIDIA GeForce RTX 4090` becomes `nvidia-geforce-rtx-4090`."""
    return re.sub(r"[^a-z0-9]+", "-", re.sub(r"\((r|tm)\)", "", text.lower())).strip("-")


def cpu_slug(name: str | None, cores: int | None) -> str:
    """A processor in file names, e.g. `cpu-amd-epyc-2c`."""
    return "-".join(part for part in ("cpu", slugify(name or ""), f"{cores}c" if cores else "") if part)


def redact(text: str) -> str:
    """Shorten every absolute path to its last part, and hide the name of the host."""
    text = _ABSOLUTE_FOLDER.sub("…/", text)
    host = platform.node()
    return text.replace(host, "<host>") if len(host) > 3 else text


def recorded_command(arguments: Sequence[str]) -> str:
    """The command to repeat a run, `python -m gpu_bench …`, with absolute paths shortened."""
    return " ".join(["python -m gpu_bench", *(redact(argument) for argument in arguments)])


def host_hash() -> str:
    """Eight hexadecimal digits that tell machines apart and do not name one.

    The machine's random identifier goes into the hash, so that it cannot be found by trying host names.
    """
    try:
        identity = Path("/etc/machine-id").read_text(encoding="ascii").strip()
    except OSError:
        identity = f"{uuid.getnode():x}"
    return hashlib.sha256(f"{platform.node()}/{identity}".encode()).hexdigest()[:8]


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def git_state() -> dict[str, Any]:
    """The commit, and whether the sources that decide a number differ from it; new files count as a difference."""
    commit = _git("rev-parse", "HEAD")
    changes = _git("status", "--porcelain", "--untracked-files=all", "--", *_SOURCES) if commit else None
    return {"git_commit": commit, "dirty": None if changes is None else bool(changes), "sources": source_hash()}


@cache
def source_hash() -> str:
    """Hash of the sources that decide a number, with or without git: equal on two machines that ran the same code."""
    digest = hashlib.sha256()
    for folder in ("engine", "gpu_bench"):
        for file in sorted((ROOT / folder).rglob("*")):
            if file.suffix in _SOURCE_KINDS and "results" not in file.relative_to(ROOT).parts:
                digest.update(file.relative_to(ROOT).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def environment() -> dict[str, str]:
    """Environment variables that can change a result: of the allocator, compilers, libraries and threads."""
    return {name: _bounded(redact(value)) for name, value in options().items()}


def options() -> dict[str, str]:
    """The same, as they are: what another machine has to be given to measure alike."""
    found = {name: value for name, value in os.environ.items() if _ENVIRONMENT.fullmatch(name)}
    return {name: found[name] for name in sorted(found) if not name.endswith(("_DIR", "_PATH", "_HOME"))}


def _bounded(text: str) -> str:
    """The text, or its beginning and its length where it is longer than a record allows."""
    if len(text) <= _LONGEST:
        return text
    tail = f"… ({len(text)} characters)"
    return text[: _LONGEST - len(tail)] + tail


def packages() -> dict[str, str]:
    """Versions of installed packages, beside PyTorch, that cases may compute with."""
    found = {name: package_version(name) for name in _PACKAGES}
    return {name: version for name, version in found.items() if version is not None}


def cpu_model() -> str | None:
    """The processor's name."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip() or None
    except OSError:
        pass
    return platform.processor() or None


def cpu_cores() -> int | None:
    """Logical processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count()


def memory_bytes() -> int | None:
    """The machine's memory."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None


def load_average() -> float | None:
    """Processes that wanted to run, on average over the last minute: above zero before a run, the machine was busy."""
    try:
        return os.getloadavg()[0]
    except (OSError, AttributeError):
        return None


def operating_system() -> str:
    """System and distribution, e.g. `Linux, Debian GNU/Linux 12 (bookworm)`."""
    try:
        return f"{platform.system()}, {platform.freedesktop_os_release()['PRETTY_NAME']}"
    except (OSError, KeyError):
        return platform.system()


def package_version(name: str) -> str | None:
    """The version of an installed package."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def machine() -> dict[str, Any]:
    """What is known of the machine without PyTorch."""
    return {
        "python": platform.python_version(),
        "os": operating_system(),
        "cpu": cpu_model(),
        "cores": cpu_cores(),
        "memory": memory_bytes(),
        "host": host_hash(),
    }
