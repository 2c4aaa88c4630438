"""Tiny sites in temporary folders, built by MkDocs with the real plugin."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.exceptions import Abort

from explorable.live import part
from tests.explorable.strict_build import browser_code, share_bytecode


class Warnings(logging.Handler):
    """Keeps what a build warns of."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one message."""
        self.messages.append(record.getMessage())


@dataclass
class Site:
    """A site in a temporary folder. `messages` are the warnings of the last build."""

    root: Path
    messages: list[str]

    def write(self, path: str, text: str) -> None:
        """Write a source file, relative to the docs folder."""
        target = self.root / "docs" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def configure(self, **options: object) -> None:
        """Write `mkdocs.yml` with these options of the plugin."""
        lines = "".join(f"        {name}: {value}\n" for name, value in {"enabled": "true", **options}.items())
        (self.root / "mkdocs.yml").write_text(
            "site_name: Tiny\ntheme: mkdocs\nplugins:\n  - explorable:\n      book: tests.explorable.this_book\n"
            "      parts: [live]\n      live:\n" + lines + "markdown_extensions:\n"
            "  - admonition\n  - pymdownx.superfences\n  - pymdownx.tabbed:\n      alternate_style: true\n"
        )

    def build(self, strict: bool = True, serves: bool = False) -> bool:
        """Build the site, as a server does or once, and return whether that succeeded."""
        said = Warnings()
        logging.getLogger("mkdocs").addHandler(said)
        try:
            config = load_config(str(self.root / "mkdocs.yml"), strict=strict)
            config.plugins.on_startup(command="serve" if serves else "build", dirty=False)
            build(config)
            succeeded = True
        except Abort:
            succeeded = False
        finally:
            logging.getLogger("mkdocs").removeHandler(said)
        self.messages = said.messages
        return succeeded

    def page(self, path: str = "index.html") -> str:
        """A page of the built site."""
        return (self.root / "site" / path).read_text(encoding="utf-8")


@pytest.fixture(scope="session", name="browser_code")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stand-in for the bundled browser code: these tests are about what the build adds to it."""
    return browser_code(tmp_path_factory.mktemp("browser") / "dist")


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for the tests that are not about the cache."""
    cache = tmp_path_factory.mktemp("cache")
    share_bytecode(cache)
    return cache


@pytest.fixture
def site(
    tmp_path: Path,
    browser_code: Path,
    shared_cache: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Site:
    """An empty site."""
    monkeypatch.setattr(part, "DIST", browser_code)
    made = Site(tmp_path, [])
    made.configure(cache_dir=shared_cache)
    return made
