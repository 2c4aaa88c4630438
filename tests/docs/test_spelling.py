"""What is read is spelled as American English."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
READ = ("docs", "README.md", "CONTRIBUTING.md", "CHANGELOG.md")


def misspelled(*paths: Path | str) -> list[str]:
    """Lines `file:line: WORD ==> CORRECTION`. What is set as code is passed over."""
    command = [sys.executable, "-m", "codespell_lib", *map(str, paths)]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert answer.returncode in (0, 65), answer.stderr
    return answer.stdout.splitlines()


def test_nothing_that_is_read_is_misspelled() -> None:
    assert misspelled(*READ) == []


@pytest.mark.parametrize("word", ["recieve", "colour", "optimiser"])
def test_a_misspelled_word_is_found(tmp_path: Path, word: str) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Page\n\nA {word} and `{word}`.\n", "utf-8")
    [line] = misspelled(page)
    assert line.startswith(f"{page}:3: {word} ==> ")
