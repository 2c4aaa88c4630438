"""Build the second book as its author does: from wheels, in an environment of its own.

    python -m tests.second_book.build FOLDER [zensical]

In FOLDER it leaves the wheels, an environment in which they and what they ask for are installed and nothing else, a
copy of the book, and `book/site`, built by MkDocs or by Zensical. The versions are those that the tests are pinned to.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PLUGINS = ROOT / "plugins"
_PINNED = ROOT / "requirements" / "test.txt"


GENERATORS = ("properdocs", "zensical")
"""Site generators that `explorable` does not ask for."""
BUILDS = {
    "mkdocs": (("mkdocs", "build", "--strict"),),
    "zensical": (("explorable", "prepare"), ("zensical", "build", "--strict"), ("explorable", "finish", "site")),
}
"""Generator -> the modules that are run, with what they are told."""


def build(folder: Path, generator: str = "mkdocs") -> Path:
    """Build the wheels, install them, build the book strictly. Returns the folder of its site."""
    wheels, book = folder / "wheels", folder / "book"
    for source in (PLUGINS, HERE):
        _run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", wheels, cwd=source)
    python = installed(folder, [*wheels.glob("*.whl"), *GENERATORS])
    left_out = shutil.ignore_patterns("queues", "__pycache__", "*.py", "pyproject.toml")
    shutil.copytree(HERE, book, ignore=left_out)
    shutil.copytree(HERE / "docs", book / "docs", dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    run(python, generator, book)
    return book / "site"


def run(python: Path, generator: str, book: Path) -> None:
    """Build the book by a generator."""
    for command in BUILDS[generator]:
        _run(python, "-m", *command, cwd=book)


def installed(folder: Path, distributions: Sequence[Path | str]) -> Path:
    """The Python of a new environment in which these wheels and names are installed, and what they ask for."""
    environment = folder / "environment"
    python = environment / "bin" / "python"
    versions = re.findall(r"^[\w.-]+==[^\\\n]+", _PINNED.read_text("utf-8"), re.MULTILINE)
    (folder / "versions.txt").write_text("\n".join(versions), encoding="utf-8")
    what = ("install", "--quiet", "--constraint", folder / "versions.txt", *distributions)
    uv = (ROOT / "tools" / "uv.sh", sys.executable)
    _done((*uv, "venv", "--quiet", "--python", sys.executable, environment), ROOT, dict(os.environ))
    try:
        _done((*uv, "pip", *what, "--python", python), ROOT, dict(os.environ))
    except SystemExit:  # pip also reads settings from files
        _done((sys.executable, "-m", "pip", "--python", python, *what), ROOT, dict(os.environ))
    return python


def _run(*command: object, cwd: Path) -> None:
    """Run a command with nothing of this checkout in reach. Raises `SystemExit` with what it said if it fails."""
    _done(command, cwd, {"PATH": "/usr/bin:/bin", "HOME": str(cwd), "NO_MKDOCS_2_WARNING": "1"})


def _done(command: tuple[object, ...], cwd: Path, environment: dict[str, str]) -> None:
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    target = Path(sys.argv[1]).resolve()
    target.mkdir(parents=True, exist_ok=True)
    print(build(target, *sys.argv[2:]))
