"""What tests of the documents share: the built site."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config

from book.adapter import BOOK
from explorable.book import use
from explorable.measured.values.computed import Computed
from explorable.shared.cache import Cache

use(BOOK)

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def computed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Computed]:
    """Evaluates what claims ask, each expression once in a process of tests."""
    folder = tmp_path_factory.mktemp("computed")
    made = Computed(ROOT / "engine/ironlaw", Cache(folder / "values"), folder / "bytecode")
    yield made
    made.close()


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site in SITE_DIR, which `make test` has just built, or a strict build. A warning is an error."""
    if given := os.environ.get("SITE_DIR"):
        return ROOT / given
    folder = tmp_path_factory.mktemp("site")
    build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder), strict=True))
    return folder
