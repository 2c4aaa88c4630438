"""What a command prints, as an answer or as the one line of a refusal."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ironlaw.cli import main


def ask(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What a command prints when it succeeds."""
    code = main(words)
    out, err = capsys.readouterr()
    assert (code, err) == (0, "")
    return out


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    """The JSON that a command prints."""
    return json.loads(ask(capsys, *words, "--json"))


def complaint(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The one line of a command that is refused."""
    code = main(words)
    out, err = capsys.readouterr()
    assert code == 2
    assert out == ""
    assert err.startswith("error: ")
    assert err.endswith("\n")
    assert err.count("\n") == 1
    return err.strip()
