"""The distribution `explorable`: what its wheel and its source hold, what it asks for, and what its README promises."""

from __future__ import annotations

import ast
import email
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import fields
from importlib import import_module, metadata
from pathlib import Path, PurePosixPath
from typing import get_args

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import explorable
from explorable import live
from explorable.book import Book, Units, use
from explorable.cli import main
from explorable.live.runtime.contract import Control
from explorable.measured.reported import data as reported
from explorable.measured.values.quantities import wrong_definition
from explorable.measured.values.recorded import Record
from explorable.records import JsonRecords

ROOT = Path(__file__).parents[2]
PLUGINS = ROOT / "plugins"
README = (PLUGINS / "README.md").read_text("utf-8")


def imported(files: set[Path]) -> set[str]:
    """The modules of others that any of these files imports, at its top or later."""
    modules = set()
    for file in files:
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                modules |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                modules.add(node.module.partition(".")[0])
    return modules - sys.stdlib_module_names - {"explorable"}


def closure(asked: list[str]) -> set[str]:
    """The distributions that requirements bring, with all that these bring, extras apart."""
    found: set[str] = set()
    waiting = [Requirement(one) for one in asked]
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name in found or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
            continue
        found.add(name)
        waiting += [Requirement(one) for one in metadata.requires(name) or ()]
    return found


@pytest.mark.full
def test_everything_that_it_imports_comes_with_it() -> None:
    """Tests run beside the libraries of this whole project, so a requirement that is missing would not be noticed."""
    import tomllib

    project = tomllib.loads((PLUGINS / "pyproject.toml").read_text("utf-8"))["project"]
    owners = metadata.packages_distributions()
    files = set((PLUGINS / "explorable").rglob("*.py"))
    # What executes notebooks comes with an extra; nothing else may import it.
    notebooks = {file for file in files if file.parent.name == "notebooks" and file.stem in ("source", "execute")}
    extra = project["optional-dependencies"]["notebooks"]
    assert imported(files - notebooks) >= {"mkdocs", "altair", "jinja2"}
    assert "jupytext" in imported(notebooks)
    for found, more in ((files - notebooks, []), (notebooks, extra)):
        brought = closure([*project["dependencies"], *more])
        modules = imported(found)
        missing = {name for name in modules if not {canonicalize_name(one) for one in owners[name]} & brought}
        assert not missing, f"plugins/pyproject.toml does not ask for {missing}"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the sdist."""
    folder = tmp_path_factory.mktemp("built")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    done = subprocess.run(command, cwd=PLUGINS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_wheel_and_source_carry_the_license_and_one_version(built: Path) -> None:
    [wheel], [sdist] = built.glob("*.whl"), built.glob("*.tar.gz")
    name = f"explorable-{explorable.__version__}"
    assert (wheel.name, sdist.name) == (f"{name}-py3-none-any.whl", f"{name}.tar.gz")
    license_text = (ROOT / "LICENSE").read_bytes()
    with zipfile.ZipFile(wheel) as archive:
        [described] = [one for one in archive.namelist() if one.endswith("METADATA")]
        about = email.message_from_string(archive.read(described).decode())
        assert about["Version"] == explorable.__version__
        assert archive.read(f"{name}.dist-info/licenses/LICENSE") == license_text
        # Of others, whose code the wheel carries.
        assert "explorable/licenses/npm.txt" in archive.namelist()
    with tarfile.open(sdist) as archive:
        member = archive.extractfile(f"{name}/LICENSE")
        assert member
        assert member.read() == license_text


@pytest.mark.full
def test_the_commands_of_the_readme_make_a_first_act(built: Path, tmp_path: Path) -> None:
    """In an empty folder and from the wheel; `mkdocs serve` would not end, so the site is built instead."""
    # By name, because the type checker knows that file by the path of the second book.
    installed = import_module("tests.second_book.build").installed
    python: Path = installed(tmp_path, sorted(built.glob("*.whl")))
    [config] = re.findall(r"^`mkdocs\.yml`:\n\n```yaml\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    install, commands, *others = re.findall(r"^```sh\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    assert (install.count("pip install"), others) == (1, [])
    book = tmp_path / "book"
    book.mkdir()
    (book / "mkdocs.yml").write_text(config, encoding="utf-8")
    assert commands.count("mkdocs serve") == 1
    done = subprocess.run(
        ["/bin/sh", "-e", "-c", commands.replace("mkdocs serve", "mkdocs build --strict")],
        cwd=book,
        env={"PATH": f"{python.parent}{os.pathsep}/usr/bin:/bin", "HOME": str(tmp_path), "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    page = (book / "site/index.html").read_text("utf-8")
    assert "<live-act" in page
    assert re.search(r'data-slot="result"[^>]*>\s*45\s*<', page)


def test_a_place_where_no_act_can_be_written_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "acts").write_text("")
    for name, acts in (("first", tmp_path / "acts"), ("a" * 300, tmp_path)):
        assert main(["new", "act", name, "--acts", str(acts)]) == 2
        said = capsys.readouterr()
        assert (said.out, said.err.count("\n")) == ("", 1)
        assert said.err.startswith(f"explorable: {acts / name}: ")


@pytest.mark.full
def test_a_second_act_of_the_same_name_is_refused_in_one_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "explorable.cli", "new", "act", "first", "--acts", str(tmp_path)]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (again.returncode, again.stdout, again.stderr.count("\n")) == (2, "", 1)
    shutil.rmtree(tmp_path / "first")


def test_the_examples_of_the_readme_are_sound(tmp_path: Path) -> None:
    """A record, its schema, and what others published, as an author copies them."""
    record, schema = re.findall(r"^```json\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    sources, rows = re.findall(r"^```toml\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    for name, text in (("records.schema.json", schema), ("sources.toml", sources), ("rows.toml", rows)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    reader = JsonRecords(tmp_path / "records.schema.json")
    document, faults = reader.checked(record.encode(), "floods/weir--gauge-7.json")
    assert (document is not None, faults) == (True, ())
    use(Book(records=reader))
    leaf = Record(PurePosixPath("floods/weir--gauge-7.json"), document or {}).number("summary.level")
    assert (leaf.unit, leaf.n) == ("m", 12)
    found = reported.load(tmp_path, tmp_path)
    assert not found.defects
    assert [row.id for row in found.rows] == ["peak-1940"]


def test_the_readme_names_every_word_of_an_act_and_nothing_that_a_wheel_lacks() -> None:
    named = set(re.findall(r"`(\w+)`", README.partition("## An act")[2].partition("## Measured numbers")[0]))
    assert {one.name for one in fields(live.Act)} <= named
    assert {kind.__name__ for kind in get_args(Control)} <= set(re.findall(r"`live\.(\w+)", README))
    assert {"NumberQuestion", "ChoiceQuestion"} <= set(re.findall(r"`live\.(\w+)", README))
    assert "help(explorable.live)" in README
    assert "tests/" not in README
    assert "generators.md" not in README
    units = re.search(r"^ +units: \|.*?\n((?: {10}.*\n)+)", README, re.MULTILINE)
    assert units
    assert "= fur" in units[1]
    assert not wrong_definition(Units(units[1]))
