"""The page on the site generator counts what depends on it as the code has it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/authoring/generators.md").read_text("utf-8")
ADAPTER = "plugins/explorable/hosts/mkdocs"
FILES = [path for folder in ("plugins/explorable", "book", "tools") for path in (ROOT / folder).rglob("*.py")]


def imports_mkdocs(path: Path) -> bool:
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    return any(name.partition(".")[0] == "mkdocs" for name in names)


IMPORTING = {path.relative_to(ROOT).as_posix() for path in FILES if imports_mkdocs(path)}


def test_only_the_adapter_knows_mkdocs() -> None:
    assert {f"{ADAPTER}/plugin.py"} == IMPORTING


def test_the_page_counts_what_depends_on_mkdocs() -> None:
    stated = [int(number) for number in re.findall(r"^\| .* \| (\d+) \|$", PAGE, re.MULTILINE)]
    nodes = [node for name in IMPORTING for node in ast.walk(ast.parse((ROOT / name).read_text("utf-8")))]
    handlers = [node for node in nodes if isinstance(node, ast.FunctionDef) and node.name.startswith("on_")]
    priorities = [one for node in handlers for one in node.decorator_list if "event_priority" in ast.unparse(one)]
    lines = sum(len(path.read_text("utf-8").splitlines()) for path in (ROOT / ADAPTER).glob("*.py"))
    config = (ROOT / "mkdocs.yml").read_text("utf-8")
    listed = "".join(re.findall(r"^hooks:\n((?:  - .*\n)+)", config, re.MULTILINE))
    templates = len(list((ROOT / "book/theme/overrides").rglob("*.html")))
    found = [len(IMPORTING), len(handlers), len(priorities), listed.count("\n"), templates]
    assert stated == [*found, round(lines, -1)]


@pytest.mark.parametrize("generator", ["properdocs", "zensical"])
def test_the_page_names_the_version_that_is_tested(generator: str) -> None:
    locks = (ROOT / "requirements/test.txt").read_text("utf-8")
    [locked] = re.findall(rf"^{generator}==(\S+)", locks, re.MULTILINE)
    assert set(re.findall(rf"{generator}[= ]+([\d.]+\d)", PAGE, re.IGNORECASE)) == {locked}
