"""Write `requirements/*.txt`: every Python distribution that this project installs, with its version and its hashes.

    python -m tools.lock            # keep the versions that are locked, as far as pyproject.toml allows them
    python -m tools.lock --upgrade  # take the newest that pyproject.toml allows

`tools/install.sh` installs from these files. PyTorch stands apart, and so do the CUDA libraries that PyPI's build of it
asks for: a machine without a GPU that has PyTorch's build without CUDA at hand does not load gigabytes.
The files hold no address: where distributions come from is the machine's business, and the hashes say which they are.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "requirements"
CPU_BUILDS = {
    "torch==2.13.0": (
        # CPython 3.11 on x86-64 Linux.
        "6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b",
    )
}
"""The SHA-256 of PyTorch's own builds without CUDA, by version. PyPI does not have them."""
_CUDA = re.compile(r"nvidia-|cuda-|triton$")
OLDEST = "torch==2.11.0"
"""The oldest PyTorch that measures: machines with a GPU have it, and one workflow tests with it."""


def main(options: Sequence[str]) -> int:
    """Write all files; the status of `uv` when it finds no solution."""
    if unknown := [option for option in options if option != "--upgrade"]:
        print(f"lock: unknown option '{unknown[0]}'; allowed: --upgrade", file=sys.stderr)
        return 2
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        try:
            _lock(Path(folder), options)
        except subprocess.CalledProcessError as error:
            return error.returncode
    return 0


def _lock(folder: Path, options: Sequence[str]) -> None:
    """Find one set of versions for all files, beginning with what is locked today, then write the files."""
    whole = folder / "whole.txt"
    locked = "".join(
        file.read_text(encoding="utf-8")
        for file in sorted(FOLDER.glob("*.txt"))
        if file.stem not in ("torch-cpu", "torch-oldest")
    )
    whole.write_text("\n".join(sorted(dict(_blocks(locked)))), encoding="utf-8")
    _compile(whole, "pyproject.toml", "--extra=site", "--extra=bench", "--extra=dev", "--extra=audit", *options)

    def part(source: str, *extras: str) -> dict[str, str]:
        file = folder / "part.txt"
        file.unlink(missing_ok=True)
        return _compile(file, source, f"--constraints={whole}", *extras)

    installer = folder / "uv.in"
    installer.write_text("uv\n", encoding="utf-8")
    _write("site", "What `make serve` and `make build` need.", part("pyproject.toml", "--extra=site"))
    _write("audit", "What looks for published weaknesses of all these.", part("pyproject.toml", "--extra=audit"))
    _write("uv", "What installs all the others, in a fifth of pip's time.", part(str(installer)))
    tests = part("pyproject.toml", "--extra=site", "--extra=bench", "--extra=dev")
    torch = {key: block for key, block in tests.items() if _name(key) == "torch"}
    cuda = {key: block for key, block in tests.items() if _CUDA.match(_name(key))}
    rest = {key: block for key, block in tests.items() if key not in {*torch, *cuda}}
    _write("test", "What `make test` needs, but PyTorch.", rest)
    without = {f"{key}+cpu": CPU_BUILDS.get(key, ()) for key in torch}
    digests = {key: " \\\n    --hash=sha256:".join([key, *found]) for key, found in without.items() if found}
    _write("torch-cpu", "PyTorch without CUDA, for machines that have its build at hand: PyPI does not.", digests)
    _write("torch", "PyTorch as PyPI has it.", torch)
    _write("cuda", "What PyTorch's CUDA builds need, and no other build.", cuda)
    _write("torch-oldest", "The oldest PyTorch that measures, with its CUDA libraries.", _oldest(folder))


def _oldest(folder: Path) -> dict[str, str]:
    """The oldest PyTorch and its CUDA libraries; the rest of what it needs, the tests have already."""
    asked = folder / "oldest.in"
    asked.write_text(OLDEST + "\n", encoding="utf-8")
    found = _compile(folder / "oldest.txt", str(asked))
    return {key: block for key, block in found.items() if key == OLDEST or _CUDA.match(_name(key))}


def _compile(out: Path, source: str, *options: str) -> dict[str, str]:
    command = [sys.executable, "-m", "uv", "pip", "compile", source, "--output-file", str(out), "--quiet"]
    command += ["--universal", "--python-version=3.11", "--generate-hashes", "--no-emit-index-url", "--no-header"]
    subprocess.run([*command, *options], cwd=ROOT, check=True)
    return dict(_blocks(out.read_text(encoding="utf-8")))


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """Requirement by requirement: its first line without the continuation, and all its lines but comments."""
    for block in re.findall(r"^\w.*(?:\n[ \t].*)*", text, re.MULTILINE):
        lines = [line.rstrip() for line in block.splitlines() if not line.strip().startswith("#")]
        lines[-1] = lines[-1].removesuffix("\\").rstrip()
        yield lines[0].removesuffix("\\").strip(), "\n".join(lines)


def _name(key: str) -> str:
    return key.partition("==")[0].partition("[")[0]


def _write(name: str, what: str, blocks: dict[str, str]) -> None:
    lines = [f"# {what} Written by `make lock` from pyproject.toml; not by hand.", *sorted(blocks.values())]
    (FOLDER / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"requirements/{name}.txt: {len(blocks)} distributions")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
