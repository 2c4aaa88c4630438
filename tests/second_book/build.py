"""Build the second book as its author does: from wheels, in an environment of its own.

    python -m tests.second_book.build FOLDER [zensical]

In FOLDER it leaves the wheels, an environment in which only they are installed, a copy of the book, and `book/site`,
built by MkDocs or by Zensical.
The libraries that `explorable` asks for are those of this Python, seen through a path file; what is installed here as
a checkout is not seen through it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

HERE = Path(__file__).parent
PLUGINS = HERE.parents[1] / "plugins"
SITE_PACKAGES = Path(sysconfig.get_path("purelib"))


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
    python = installed(folder, sorted(wheels.glob("*.whl")))
    left_out = shutil.ignore_patterns("queues", "__pycache__", "*.py", "pyproject.toml")
    shutil.copytree(HERE, book, ignore=left_out)
    shutil.copytree(HERE / "docs", book / "docs", dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    run(python, generator, book)
    return book / "site"


def run(python: Path, generator: str, book: Path) -> None:
    """Build the book by a generator."""
    for command in BUILDS[generator]:
        _run(python, "-m", *command, cwd=book)


def installed(folder: Path, wheels: list[Path]) -> Path:
    """The Python of a new environment in which these wheels are installed."""
    venv.create(folder / "environment", with_pip=False)
    python = folder / "environment/bin/python"
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--no-index", "--no-deps", "--quiet")
    _run(*pip, *wheels, cwd=folder)
    [own] = (folder / "environment/lib").glob("python*/site-packages")
    (own / "libraries.pth").write_text(f"{SITE_PACKAGES}\n", encoding="utf-8")
    return python


def _run(*command: object, cwd: Path) -> None:
    """Run a command with nothing of this checkout in reach. Raises `SystemExit` with what it said if it fails."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(cwd), "NO_MKDOCS_2_WARNING": "1"}
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    target = Path(sys.argv[1]).resolve()
    target.mkdir(parents=True, exist_ok=True)
    print(build(target, *sys.argv[2:]))
