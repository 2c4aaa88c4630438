"""A file that somebody names is read up to a limit, also one that ends nowhere."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from ironlaw.core.contents import NoFileError, TooLargeError, content, ending


def test_a_file_is_read_whole_or_not_at_all(tmp_path: Path) -> None:
    file = tmp_path / "six"
    file.write_bytes(b"abcdef")
    assert content(file) == content(file, 6) == b"abcdef"
    with pytest.raises(TooLargeError, match="more than 5 B"):
        content(file, 5)
    with pytest.raises(OSError, match="No such file"):
        content(tmp_path / "none")


def test_of_a_log_the_end_is_read(tmp_path: Path) -> None:
    file = tmp_path / "six"
    file.write_bytes(b"abcdef")
    assert (ending(file), ending(file, 2)) == (b"abcdef", b"ef")


def test_the_end_of_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    """Opening a pipe waits until somebody writes into it, so it is not opened."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path(os.devnull)):
        with pytest.raises(NoFileError, match="it is no regular file"):
            ending(path)
    with pytest.raises(IsADirectoryError):
        ending(tmp_path)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no file without end")
def test_a_file_without_end_is_refused_in_one_line_and_little_memory() -> None:
    asked = f"ulimit -v 1000000; {shlex.quote(sys.executable)} -m ironlaw estimate --config /dev/zero"
    done = subprocess.run(asked, shell=True, capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error: --config '/dev/zero' is not allowed, it is no regular file; it must be a file with a JSON object\n"
    )
