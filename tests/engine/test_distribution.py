"""The distribution `ironlaw`: what anybody gets who installs it, in an empty environment, from its wheel or a clone."""

from __future__ import annotations

import email
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import ironlaw

ROOT = Path(__file__).parents[2]
ENGINE = ROOT / "engine"
LARGEST_WHEEL = 448 * 1024
"""It was 400 KiB until devices that share experts and rollouts were counted, 410 until a value of the wrong kind in a
trainer's file was refused, 412 until what files switch on and no plan counts was told by the engine itself, 420
until commands with variables, and scripts of other ways to train on preferences, were read as they mean it, 424
until a text was read as its shell reads it, 430 until keys of files that nobody reads were told, and 440 until each
trainer's files had a reader of their own."""
README = (ENGINE / "README.md").read_text("utf-8")
COMMANDS = [line.partition("  #")[0] for line in re.findall(r"^ironlaw .*$", README, re.MULTILINE)]


def run(*command: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """A command with nothing of this checkout in reach but what it names."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(cwd), "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    words = [str(word) for word in command]
    return subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True, timeout=300, check=False)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the sdist."""
    folder = tmp_path_factory.mktemp("built")
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(folder)], cwd=ENGINE, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def python(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment in which the wheel, and nothing else, is installed."""
    folder = tmp_path_factory.mktemp("empty")
    venv.create(folder, with_pip=False)
    python = folder / "bin/python"
    [wheel] = built.glob("*.whl")
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-index", "--quiet", str(wheel)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return python


def test_the_wheel_is_small_typed_and_licensed_and_needs_nothing(built: Path) -> None:
    [wheel] = built.glob("*.whl")
    assert wheel.stat().st_size <= LARGEST_WHEEL
    assert wheel.name == f"ironlaw-{ironlaw.__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        [described] = [name for name in names if name.endswith("METADATA")]
        about = email.message_from_string(archive.read(described).decode())
        [license_file] = [name for name in names if name.endswith("licenses/LICENSE")]
        assert archive.read(license_file) == (ROOT / "LICENSE").read_bytes()
    assert "ironlaw/py.typed" in names
    assert about.get_all("Requires-Dist") == ["pyyaml<7,>=6; extra == 'plan'"]
    assert about["Version"] == ironlaw.__version__
    assert {name.partition("/")[0] for name in names} == {"ironlaw", f"ironlaw-{ironlaw.__version__}.dist-info"}


def test_there_is_one_version() -> None:
    [cited] = re.findall(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text("utf-8"), re.MULTILINE)
    assert cited == ironlaw.__version__
    for project in (ROOT / "pyproject.toml", ENGINE / "pyproject.toml"):
        assert tomllib.loads(project.read_text("utf-8"))["project"]["dynamic"] == ["version"]


def test_the_source_distribution_builds_the_same_wheel(built: Path, tmp_path: Path) -> None:
    [sdist] = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        assert f"ironlaw-{ironlaw.__version__}/LICENSE" in archive.getnames()
        # Debian's Python 3.11.2 has no filters yet.
        archive.extraction_filter = getattr(tarfile, "data_filter", lambda member, _: member)
        archive.extractall(tmp_path)
    [source] = tmp_path.iterdir()
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    [wheel], [first] = tmp_path.glob("*.whl"), built.glob("*.whl")
    assert wheel.read_bytes() == first.read_bytes()


def test_the_examples_of_the_readme_are_true_in_an_empty_environment(python: Path, tmp_path: Path) -> None:
    shutil.copy(ENGINE / "README.md", tmp_path)
    done = run(python, "-m", "doctest", "README.md", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout
    assert README.count(">>> ") >= 5


def test_the_commands_of_the_readme_answer_in_an_empty_environment(python: Path, tmp_path: Path) -> None:
    assert len(COMMANDS) >= 3
    for line in COMMANDS:
        done = run(python.with_name("ironlaw"), *line.split()[1:], cwd=tmp_path)
        if "--batch 0" in line:
            assert (done.returncode, done.stdout) == (2, "")
            assert re.fullmatch(r"error: .*--batch '0'.*\n", done.stderr)
        else:
            assert (done.returncode, done.stderr) == (0, ""), line
        module = run(python, "-m", "ironlaw", *line.split()[1:], cwd=tmp_path)
        assert (module.stdout, module.returncode) == (done.stdout, done.returncode)


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is committed here, as a reader gets it."""
    clone = tmp_path_factory.mktemp("cloned") / "clone"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    return clone


def install_lines() -> list[str]:
    """What the README says to install, in its order."""
    return re.findall(r"python -m pip install ([^`\n]+)", README)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("way", [0, 1])
def test_a_clone_installs_as_the_readme_says(clone: Path, tmp_path: Path, way: int) -> None:
    """The two ways before a release; with this environment's hatchling, because an isolated build asks an index."""
    [what] = shlex.split(install_lines()[way].replace("ADDRESS", clone.as_uri()))
    assert what.endswith("engine")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-build-isolation", "--target"]
    done = subprocess.run([*pip, str(tmp_path), what], cwd=clone, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import ironlaw as i; print(i.__version__, i.__file__)"
    answered = run(sys.executable, "-I", "-S", "-c", code, cwd=tmp_path)
    assert answered.stdout.split() == [ironlaw.__version__, f"{tmp_path}/ironlaw/__init__.py"], answered.stderr


@pytest.mark.full
@pytest.mark.parametrize("way", [0, 1])
def test_a_clone_installs_in_an_empty_environment(clone: Path, tmp_path: Path, way: int) -> None:
    """The same without anything of this environment, so that an index gives what builds the wheel."""
    venv.create(tmp_path / "environment", with_pip=False)
    python = tmp_path / "environment/bin/python"
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    what = shlex.split(install_lines()[way].replace("ADDRESS", clone.as_uri()))
    done = subprocess.run([*install, *what], cwd=clone, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answered = run(python.with_name("ironlaw"), "--version", cwd=tmp_path)
    assert answered.stdout.strip() == ironlaw.__version__
