"""How the output looks in a terminal and in a pipe, and the exit code."""

from __future__ import annotations

import os
import pty
import shlex
import subprocess
import sys

from ironlaw.cli.terminal import number, table


def run_in_terminal(environment: dict[str, str]) -> str:
    """What `python -m ironlaw` prints into a terminal."""
    parent, child = pty.openpty()
    command = [sys.executable, "-m", "ironlaw", "estimate", "--model", "gpt2"]
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TERM")}
    with subprocess.Popen(command, stdout=child, env=kept | {"TERM": "xterm"} | environment) as process:
        os.close(child)
        text = b""
        while True:
            try:
                piece = os.read(parent, 65536)
            except OSError:
                break
            if not piece:
                break
            text += piece
    os.close(parent)
    assert process.returncode == 0
    return text.decode()


def test_a_terminal_gets_colors_unless_it_does_not_want_them() -> None:
    assert "\033[" in run_in_terminal({})
    assert "\033[" not in run_in_terminal({"NO_COLOR": "1"})
    assert "\033[" not in run_in_terminal({"TERM": "dumb"})


def test_a_pipe_gets_plain_text_and_may_close_early() -> None:
    command = (
        f"{shlex.quote(sys.executable)} -m ironlaw sweep --model gpt2 --vary batch={','.join(map(str, range(1, 400)))}"
    )
    whole = subprocess.run(shlex.split(command), capture_output=True, check=True, text=True)
    assert "\033" not in whole.stdout
    assert whole.stdout.isascii()
    short = subprocess.run(f"{command} | head -1", shell=True, capture_output=True, check=True, text=True)
    assert short.stdout == whole.stdout.splitlines(keepends=True)[0]
    assert short.stderr == ""


def test_an_exit_code_reaches_the_shell() -> None:
    done = subprocess.run([sys.executable, "-m", "ironlaw", "estimate", "--batch", "0"], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == "error: --batch '0' is not allowed; allowed: a whole number from 1 to 1000000\n"


def test_numbers_keep_about_four_digits() -> None:
    shown = [number(value) for value in (0, 0.0004, 0.16743, 1.25, 98.7654, 1234.5, 1.5e9, 2e15)]
    assert shown == ["0", "4.000e-04", "0.1674", "1.250", "98.77", "1,234", "1,500,000,000", "2.000e+15"]


def test_tables_align_numbers_on_the_right() -> None:
    assert (
        table([("a", "1.00"), ("bb", "10.00")], ("x", "GB"), right=(1,), indent=0) == "x      GB\na    1.00\nbb  10.00"
    )
