"""The workflows give no stranger a way in: actions by digest, least rights, no rights where foreign data is read."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / ".github/workflows").glob("*.yml"))
WORKFLOWS: dict[str, Any] = {file.stem: yaml.safe_load(file.read_text(encoding="utf-8")) for file in FILES}
JOBS = {f"{name}/{key}": job for name, workflow in WORKFLOWS.items() for key, job in workflow["jobs"].items()}


def _scripts(job: dict[str, Any]) -> str:
    return "\n".join(step.get("run", "") for step in job["steps"])


def test_every_action_and_image_is_named_by_digest_and_tells_its_version() -> None:
    lines = [line for file in FILES for line in file.read_text(encoding="utf-8").splitlines() if "uses:" in line]
    assert lines
    action = re.compile(r"uses: (actions/[\w-]+|pypa/gh-action-pypi-publish)@[0-9a-f]{40} # v\d+\.\d+\.\d+$")
    assert [one for one in lines if not action.search(one)] == []
    images = [job["container"] for job in JOBS.values() if "container" in job]
    assert images
    assert [one for one in images if not re.search(r"^[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}$", one)] == []


def test_a_job_has_only_the_rights_that_it_names() -> None:
    assert {name: workflow["permissions"] for name, workflow in WORKFLOWS.items()} == {name: {} for name in WORKFLOWS}
    assert [name for name, job in JOBS.items() if "permissions" not in job or "timeout-minutes" not in job] == []
    writing = {name for name, job in JOBS.items() if "write" in job["permissions"].values()}
    assert writing == {"gpu-bench/propose", "pages/deploy", "release/publish"}


@pytest.mark.parametrize("name", [name for name, job in JOBS.items() if "write" in job["permissions"].values()])
def test_a_job_that_may_write_installs_nothing_and_runs_no_program_of_what_it_was_handed(name: str) -> None:
    assert not re.search(r"\b(pip|npm|make|python3?|node)\b", _scripts(JOBS[name]))


@pytest.mark.parametrize("name", [name for name, job in JOBS.items() if "write" not in job["permissions"].values()])
def test_a_job_that_may_not_write_leaves_no_token_in_its_checkout(name: str) -> None:
    checkouts = [step for step in JOBS[name]["steps"] if step.get("uses", "").startswith("actions/checkout")]
    assert [step["with"]["persist-credentials"] for step in checkouts] == [False] * len(checkouts)


def test_the_gpu_machine_runs_main_only_and_nothing_that_a_stranger_starts() -> None:
    own = [name for name, job in JOBS.items() if "self-hosted" in job["runs-on"]]
    assert own == ["gpu-bench/measure"]
    # YAML reads the key `on` as true.
    assert set(WORKFLOWS["gpu-bench"][True]) == {"workflow_dispatch", "schedule"}
    condition = JOBS["gpu-bench/measure"]["if"]
    assert "github.ref == 'refs/heads/main'" in condition
    assert "!github.event.repository.fork" in condition
    assert WORKFLOWS["gpu-bench"]["concurrency"] == {"group": "gpu-bench", "cancel-in-progress": False}
    assert "pip" not in _scripts(JOBS["gpu-bench/measure"])


def test_the_gpu_job_waits_for_approval_and_first_refuses_a_workflow_that_is_not_mains() -> None:
    measure = JOBS["gpu-bench/measure"]
    assert measure["environment"] == "gpu"
    first = next(step for step in measure["steps"] if "run" in step)
    given = '"$GITHUB_WORKFLOW_REF" "$GITHUB_WORKFLOW_SHA" "$GITHUB_REPOSITORY"'
    assert first["run"] == f"tools/refuse_other_workflow.sh {given}"


def test_a_workflow_that_differs_from_mains_is_refused(tmp_path: Path) -> None:
    file = ".github/workflows/gpu-bench.yml"

    def git(*words: str) -> str:
        return subprocess.run(
            ["git", "-C", str(tmp_path / "work"), *words], check=True, capture_output=True, text=True
        ).stdout.strip()

    def commit(text: str) -> str:
        (tmp_path / "work" / file).write_text(text)
        git("add", ".")
        git("-c", "user.name=a", "-c", "user.email=a@b.example", "commit", "-q", "-m", "x")
        return git("rev-parse", "HEAD")

    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", tmp_path / "remote.git"], check=True)
    subprocess.run(["git", "init", "-q", "-b", "main", tmp_path / "work"], check=True)
    (tmp_path / "work" / file).parent.mkdir(parents=True)
    git("remote", "add", "origin", str(tmp_path / "remote.git"))
    mains = commit("on: main")
    git("push", "-q", "origin", "HEAD:main")
    other = commit("on: everything")

    def refused(reference: str, at: str) -> str:
        command = [str(ROOT / "tools/refuse_other_workflow.sh"), f"me/book/{file}@{reference}", at, "me/book"]
        done = subprocess.run(command, cwd=tmp_path / "work", capture_output=True, text=True)
        assert done.returncode == (1 if done.stderr else 0)
        return done.stderr

    assert refused("refs/heads/main", mains) == ""
    assert refused("refs/heads/main", other).endswith("is not the one on main\n")
    assert refused("refs/heads/main", "0" * 40).endswith("is not the one on main\n")
    assert "refused: the workflow is" in refused("refs/heads/branch", mains)
    assert "refused: the workflow is" in refused("refs/pull/1/merge", mains)


def test_what_was_measured_is_checked_without_rights_before_it_is_pushed_and_then_checked_as_a_change() -> None:
    chain = [WORKFLOWS["gpu-bench"]["jobs"][name].get("needs") for name in ("measure", "check", "propose")]
    assert chain == [None, "measure", "check"]
    assert JOBS["gpu-bench/check"]["permissions"] == {"contents": "read"}
    assert "gh workflow run checks.yml --ref" in _scripts(JOBS["gpu-bench/propose"])
    assert "workflow_dispatch" in WORKFLOWS["checks"][True]


def test_the_whole_suite_runs_once_for_a_change() -> None:
    whole = re.compile(r"\bmake\b.*\btest(?!-python)\b")
    assert [name for name, job in JOBS.items() if whole.search(_scripts(job))] == ["checks/test"]
    assert WORKFLOWS["pages"][True]["workflow_run"]["workflows"] == ["Checks"]
    assert "conclusion == 'success'" in JOBS["pages/build"]["if"]


def test_a_release_is_built_without_rights_from_a_tag_and_published_without_a_secret() -> None:
    assert WORKFLOWS["release"][True] == {"push": {"tags": ["ironlaw-v*", "explorable-v*"]}}
    assert JOBS["release/publish"]["needs"] == ["build", "answer"]
    assert JOBS["release/publish"]["permissions"] == {"id-token": "write"}
    assert JOBS["release/publish"]["environment"]["name"] == "pypi"
    assert not any("checkout" in step.get("uses", "") for step in JOBS["release/publish"]["steps"])
    assert JOBS["release/answer"]["permissions"] == {}
    assert [file.name for file in FILES if "secrets." in file.read_text(encoding="utf-8")] == []


def test_what_is_published_is_what_was_built_whatever_the_packages_between_have_done(tmp_path: Path) -> None:
    """Packages that no lock file pins run between: a job that they can write to may replace the artifact."""
    unpinned = {name for name, job in JOBS.items() if 'pip install --quiet "' in _scripts(job)}
    assert unpinned == {"release/answer"}
    told = next(step["run"] for step in JOBS["release/build"]["steps"] if step.get("id") == "sums")
    check = next(step["run"] for step in JOBS["release/publish"]["steps"] if "SUMS" in step.get("env", {}))
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist/a.whl").write_text("built")
    (tmp_path / "dist/a.tar.gz").write_text("built too")

    def run(script: str, **more: str) -> int:
        environment = {"PATH": os.environ["PATH"], "GITHUB_OUTPUT": str(tmp_path / "said"), **more}
        return subprocess.run(
            ["bash", "-e", "-c", script], cwd=tmp_path, env=environment, capture_output=True
        ).returncode

    assert run(told) == 0
    sums = (tmp_path / "said").read_text().removeprefix("sums<<END\n").removesuffix("END\n").rstrip("\n")
    assert run(check, SUMS=sums) == 0
    (tmp_path / "dist/b.whl").write_text("more")
    assert run(check, SUMS=sums) != 0
    (tmp_path / "dist/b.whl").unlink()
    (tmp_path / "dist/a.whl").write_text("forged")
    assert run(check, SUMS=sums) != 0


def test_every_python_that_is_promised_is_tested() -> None:
    versions = ["3.11", *JOBS["checks/other-pythons"]["strategy"]["matrix"]["python"]]
    assert versions == ["3.11", "3.12", "3.13", "3.14"]
    assert JOBS["checks/test"]["container"].startswith("python:3.11-")
    assert _scripts(JOBS["checks/other-pythons"]).split() == ["make", "test-python"], "all tests, not some folders"


def test_the_workflow_calls_the_job_with_options_that_exist() -> None:
    line = _scripts(JOBS["gpu-bench/measure"]).replace("\\\n", " ").partition("remeasure.sh measure ")[2]
    options = [word for word in line.split() if word.startswith("--")]
    assert "--budget-seconds" in options
    shown = subprocess.run(
        [sys.executable, "-m", "gpu_bench", "job", "--help"], cwd=ROOT, capture_output=True, text=True, timeout=60
    ).stdout
    assert [option for option in options if option not in shown] == []


def _locked(name: str) -> list[Requirement]:
    text = (ROOT / f"requirements/{name}.txt").read_text(encoding="utf-8")
    blocks = re.findall(r"^\w.*(?:\n[ \t].*)*", text, re.MULTILINE)
    assert all(re.search(r"--hash=sha256:[0-9a-f]{64}", block) for block in blocks)
    assert "://" not in text
    return [Requirement(block.partition("\\")[0]) for block in blocks]


@pytest.mark.parametrize(
    ("extra", "files"),
    [
        ("site", ["site"]),
        ("site", ["test"]),
        ("dev", ["test"]),
        ("bench", ["test", "torch"]),
        ("bench", ["test", "torch-cpu"]),
        ("audit", ["audit"]),
    ],
)
def test_what_is_asked_for_is_locked_by_version_and_hash(extra: str, files: list[str]) -> None:
    """`make lock` was run after the last change of pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    locked = [one for file in files for one in _locked(file)]
    for line in project["optional-dependencies"][extra]:
        asked = Requirement(line)
        found = [next(iter(one.specifier)).version for one in locked if one.name == asked.name.lower()]
        assert found, f"{asked.name} is not locked: run `make lock`"
        assert [version for version in found if version not in asked.specifier] == []


def test_measuring_is_tested_with_the_oldest_pytorch_that_the_first_hour_asks_for() -> None:
    (torch,) = (one for one in _locked("torch-oldest") if one.name == "torch")
    version = next(iter(torch.specifier)).version
    asked = (ROOT / "gpu_bench/FIRST_HOUR.md").read_text(encoding="utf-8")
    assert f"PyTorch {version.removesuffix('.0')} or newer" in " ".join(asked.split())
    assert set(WORKFLOWS["oldest-pytorch"][True]) == {"schedule", "workflow_dispatch"}
    script = _scripts(JOBS["oldest-pytorch/test"])
    assert "requirements/torch-oldest.txt" in script
    assert "requirements/torch.txt" not in script
    assert "pytest --numprocesses 2 --dist loadfile tests/gpu_bench/measure tests/gpu_bench/record" in script


def test_the_newest_zensical_builds_a_book_once_a_week_and_nothing_waits_for_it() -> None:
    assert set(WORKFLOWS["newest-zensical"][True]) == {"schedule", "workflow_dispatch"}
    script = _scripts(JOBS["newest-zensical/test"])
    assert "pip install --quiet --upgrade zensical" in script
    named = re.findall(r"tests/[\w/]+\.py", script)
    assert named
    assert all((ROOT / name).is_file() for name in named)
    [test] = re.findall(r"test_second_book\.py::(\w+)", script)
    assert f"def {test}(" in (ROOT / "tests/explorable/test_second_book.py").read_text(encoding="utf-8")
