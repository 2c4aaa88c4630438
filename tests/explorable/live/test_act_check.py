"""One act is checked without a site: what is right, what is wrong, and what is no act."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from explorable.live import check

EXAMPLE = Path(__file__).parents[2] / "docs/batch_wall"


@pytest.fixture
def act(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the whole act of the authoring guide."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(EXAMPLE, tmp_path / "acts/batch_wall")
    return tmp_path / "acts/batch_wall"


def test_a_sound_act_is_computed_and_drawn(act: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check.main([str(act)]) == 0
    assert capsys.readouterr().out.startswith("acts/batch_wall: no mistake found; charts drawn: ")


def test_a_mistake_is_told_as_the_build_tells_it(act: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (act / "act.py").read_text(encoding="utf-8")
    (act / "act.py").write_text(text.replace("minutes=", "minuts="), encoding="utf-8")
    assert check.main([str(act)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("acts/batch_wall/act.py:")
    assert "Act takes no 'minuts'; did you mean 'minutes'?" in said


def test_a_folder_without_an_act_is_named(act: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check.main([str(act.parent)]) == 2
    assert capsys.readouterr().err == "acts: there is no act.py; name the folder of an act\n"
    loop = act.parent / "loop"
    loop.symlink_to(loop)
    assert check.main([str(loop)]) == 2
    assert capsys.readouterr().err.endswith("loop: there is no act.py; name the folder of an act\n")
