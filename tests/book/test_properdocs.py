"""This book under ProperDocs: the same files as under MkDocs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.explorable.test_second_book import contents

ROOT = Path(__file__).parents[2]


def built(generator: str, site: Path) -> dict[str, str]:
    """The files of this book, built strictly."""
    command = [sys.executable, "-m", generator, "build", "--strict", "--quiet", "--site-dir", str(site)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return contents(site)


@pytest.mark.full
def test_properdocs_makes_the_same_files(tmp_path: Path) -> None:
    of_mkdocs, of_properdocs = (built(generator, tmp_path / generator) for generator in ("mkdocs", "properdocs"))
    assert "ProperDocs" in (tmp_path / "properdocs/index.html").read_text("utf-8")
    assert len(of_mkdocs) > 300
    assert of_properdocs == of_mkdocs
