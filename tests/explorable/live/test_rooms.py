"""Rooms: modules that several acts share travel with each act that imports them, and only those."""

from __future__ import annotations

from pathlib import Path

import pytest

from explorable.live.build.rooms import act_modules, shared_files
from explorable.live.runtime.acts import ActError, load
from explorable.live.runtime.program import Program

ACT = """\
from explorable import live
from ..room.scene import TITLE
from .own import MINUTES

ACT = live.Act(
    name="an-act", title=TITLE, minutes=MINUTES, situation="", contexts=(live.Context("a", "A", ""),),
    question=None, controls=(), reveal=None, charts={},
    compute=lambda state: live.View({}, live.Figure("", TITLE, ""), ""),
)
"""


@pytest.fixture
def acts(tmp_path: Path) -> Path:
    files = {
        "an_act/act.py": ACT,
        "an_act/own.py": "MINUTES = 3\n",
        "an_act/charts.py": "",
        "room/scene.py": "from .words import WORD\n\nTITLE = WORD\n",
        "room/words.py": 'WORD = "hello"\n',
        "room/unused.py": "",
        "other/act.py": "",
        "drawing.py": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def program(paths: list[Path]) -> Program:
    return Program({str(path): path.read_text() for path in paths})


def test_an_act_consists_of_its_folder_and_what_it_imports_of_rooms(acts: Path) -> None:
    paths = act_modules(acts / "an_act")
    names = [path.relative_to(acts).as_posix() for path in paths]
    assert names == ["an_act/act.py", "an_act/own.py", "room/scene.py", "room/words.py"]
    assert load("an-act", program(paths)).act.title == "hello"


def test_an_edited_room_is_read_again(acts: Path) -> None:
    paths = act_modules(acts / "an_act")
    load("an-act", program(paths))
    (acts / "room/words.py").write_text('WORD = "again"\n')
    assert load("an-act", program(paths)).act.title == "again"


def test_a_mistake_in_a_room_names_its_file(acts: Path) -> None:
    (acts / "room/words.py").write_text("WORD = 1 / 0\n")
    with pytest.raises(ActError, match=r"ZeroDivisionError.*words\.py"):
        load("an-act", program(act_modules(acts / "an_act")))


def test_shared_files_are_those_outside_the_folders_of_acts(acts: Path) -> None:
    names = [path.relative_to(acts).as_posix() for path in shared_files(acts)]
    assert names == ["drawing.py", "room/scene.py", "room/unused.py", "room/words.py"]
