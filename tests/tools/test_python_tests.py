"""Every test belongs to one part of the run, and a part that fails fails the run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.python_tests import PARTS, ROOT, divided, found, main


def test_every_file_of_tests_belongs_to_one_part() -> None:
    files = found()
    assert Path(__file__).relative_to(ROOT).as_posix() in files
    assert sorted(file for part in divided(files) for file in part) == files
    for part in PARTS:
        assert all((ROOT / path).is_dir() for path in part), "its tests would be in no part of their own"


def test_a_file_belongs_to_the_longest_path_that_holds_it_and_one_of_none_comes_last() -> None:
    files = ["tests/a/b/test_1.py", "tests/a/test_2.py", "tests/ab/test_3.py", "tests/test_4.py"]
    assert divided(files, [("tests/a",), ("tests/a/b", "tests/ab")]) == [
        ["tests/a/test_2.py"],
        ["tests/a/b/test_1.py", "tests/ab/test_3.py"],
        ["tests/test_4.py"],
    ]


def test_no_two_files_of_a_part_have_the_same_name() -> None:
    """pytest imports them as modules of that name, and then runs none of the part."""
    for part in divided(found()):
        names = [Path(file).name for file in part]
        assert sorted(set(names)) == sorted(names)


PASSES = "def test_it():\n    pass\n"
FAILS = "def test_it():\n    raise ValueError\n"


def parts(root: Path, **texts: str) -> None:
    """Write a file of tests for each folder."""
    for folder, text in texts.items():
        (root / "tests" / folder).mkdir(parents=True)
        (root / "tests" / folder / f"test_{folder}.py").write_text(text)


def test_a_part_that_fails_fails_the_run_and_the_others_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parts(tmp_path, docs=FAILS, engine="import nothing_that_is_there\n", book=PASSES)
    assert main(tmp_path) == 1
    said = capsys.readouterr().out
    assert all(told in said for told in ("1 failed", "1 error", "1 passed", "==> 1 files in tests/book: "))


def test_a_part_that_has_nothing_for_this_run_fails_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parts(tmp_path, docs="", book=PASSES)
    assert main(tmp_path) == 0
    assert capsys.readouterr().out.count("1 passed") == 1
