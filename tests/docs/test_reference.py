"""The engine's reference page completes itself from the package's own imports."""

from __future__ import annotations

from pathlib import Path

from plugins.theme.reference import MARKER, complete, public_modules


def package(folder: Path, text: str) -> Path:
    init = folder / "engine" / "__init__.py"
    init.parent.mkdir()
    init.write_text(text, encoding="utf-8")
    return init


def test_public_modules_are_those_the_package_imports_from_itself(tmp_path: Path) -> None:
    init = package(tmp_path, "import os\nfrom json import loads\nfrom engine.a import x\nfrom engine.b.c import y\n")
    assert public_modules(init) == ["engine.a", "engine.b.c"]


def test_a_module_that_the_page_names_itself_is_not_added_again(tmp_path: Path) -> None:
    init = package(tmp_path, "from engine.a import x\nfrom engine.b import y\nfrom engine.b import z\n")
    assert complete(f"::: engine.a\n\n{MARKER}\n", init) == "::: engine.a\n\n::: engine.b\n"


def test_a_page_without_the_marker_stays_as_it_is(tmp_path: Path) -> None:
    assert complete("text", package(tmp_path, "from engine.a import x\n")) == "text"
