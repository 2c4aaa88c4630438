"""The code patterns of the chapter do what their printed output says, on this machine's processor."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PATTERNS = Path(__file__).parents[2] / "docs/chapter/patterns"
ALONE = sorted(path for path in PATTERNS.glob("*.py") if path.stem not in ("parallel", "sharded"))
TEXT = "\n".join(path.read_text("utf-8") for path in PATTERNS.parent.glob("*.md"))


def test_every_pattern_is_shown_with_its_output() -> None:
    for path in PATTERNS.glob("*.py"):
        assert TEXT.count(f'"docs/chapter/patterns/{path.name}"') == 1
        assert TEXT.count(f'"docs/chapter/patterns/{path.stem}.txt"') == 1


@pytest.mark.parametrize("path", ALONE, ids=lambda path: path.stem)
def test_a_pattern_prints_what_the_page_shows(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(path.read_text("utf-8"), str(path), "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out == path.with_suffix(".txt").read_text("utf-8")


@pytest.mark.full
@pytest.mark.parametrize(("name", "processes"), [("parallel", 2), ("sharded", 4)])
def test_several_processes_print_what_the_page_shows(name: str, processes: int, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    ran = subprocess.run(
        [*command, str(PATTERNS / f"{name}.py")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == (PATTERNS / f"{name}.txt").read_text("utf-8")
