"""The page on the site generator counts what depends on it as the code has it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/authoring/generators.md").read_text("utf-8")
FILES = [path for folder in ("plugins/explorable", "book") for path in (ROOT / folder).rglob("*.py")]


def test_the_page_counts_what_depends_on_mkdocs() -> None:
    stated = [int(number) for number in re.findall(r"^\| .* \| (\d+) \|$", PAGE, re.MULTILINE)]
    importing = handlers = priorities = 0
    for path in FILES:
        nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
        names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
        names += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
        importing += any(name.partition(".")[0] == "mkdocs" for name in names)
        functions = [node for node in nodes if isinstance(node, ast.FunctionDef) and node.name.startswith("on_")]
        handlers += len(functions)
        priorities += sum("event_priority" in ast.unparse(one) for node in functions for one in node.decorator_list)
    config = (ROOT / "mkdocs.yml").read_text("utf-8")
    [listed] = re.findall(r"^hooks:\n((?:  - .*\n)+)", config, re.MULTILINE)
    templates = len(list((ROOT / "book/theme/overrides").rglob("*.html")))
    assert stated == [importing, handlers, priorities, listed.count("\n"), templates]


def test_the_page_names_the_version_that_is_tested() -> None:
    [locked] = re.findall(r"^properdocs==(\S+)", (ROOT / "requirements/test.txt").read_text("utf-8"), re.MULTILINE)
    assert set(re.findall(r"properdocs[= ]+([\d.]+\d)", PAGE, re.IGNORECASE)) == {locked}
