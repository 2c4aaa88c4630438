"""The page of dependencies names exactly what pyproject.toml and package.json ask for."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/authoring/dependencies.md").read_text(encoding="utf-8")
PYTHON = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
NPM = json.loads((ROOT / "package.json").read_text(encoding="utf-8"))


def documented(heading: str) -> set[str]:
    """The packages in the table under a heading; every row must give a reason."""
    section = re.search(rf"^## {re.escape(heading)}$(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert section, heading
    rows = re.findall(r"^\| `([^`]+)` \| (.*) \|$", section[1], re.MULTILINE)
    assert all(reason.strip() for _, reason in rows)
    return {name for name, _ in rows}


def required(extra: str) -> set[str]:
    """The names of an extra's requirements, without versions."""
    return {re.match(r"[A-Za-z0-9_-]+", requirement)[0] for requirement in PYTHON["optional-dependencies"][extra]}  # type: ignore[index]


@pytest.mark.parametrize(
    ("heading", "extra"),
    [
        ("Building the site (Python, extra `site`)", "site"),
        ("Running the notebooks (Python, extra `notebooks`)", "notebooks"),
        ("Measuring (Python, extra `bench`)", "bench"),
        ("Measuring on a cluster (Python, extra `ray`)", "ray"),
        ("Developing (Python, extra `dev`)", "dev"),
        ("Looking for weaknesses (Python, extra `audit`)", "audit"),
    ],
)
def test_every_python_dependency_has_a_reason(heading: str, extra: str) -> None:
    assert documented(heading) == required(extra)


@pytest.mark.parametrize(
    ("heading", "kind"),
    [("In the page (npm)", "dependencies"), ("Building and testing the page (npm)", "devDependencies")],
)
def test_every_npm_dependency_has_a_reason(heading: str, kind: str) -> None:
    assert documented(heading) == set(NPM[kind])


def test_installing_the_engine_installs_nothing_else() -> None:
    assert PYTHON["dependencies"] == []
