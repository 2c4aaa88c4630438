"""`python -m ironlaw plan`: the run that files describe: does it fit, how long, how much, what to change."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ironlaw.cli.errors import UsageError, quoted
from ironlaw.cli.estimate import render
from ironlaw.cli.options import GROUPS, MODEL, OPTIONS
from ironlaw.cli.parser import Parser, show
from ironlaw.cli.tables import section

if TYPE_CHECKING:
    from ironlaw.answers.estimate import Estimate
    from ironlaw.files.facts import Reading
    from ironlaw.files.words import Understood

SAID = {"not": "does not fit"}
LARGEST = 16 * 2**20
"""Bytes of a file that is read; of a longer log the end."""


def run(words: Sequence[str]) -> int:
    """Read the files, estimate and print; 0 when it fits, 1 when it does not or when that is uncertain."""
    split = next((index for index, word in enumerate(words) if word.startswith("-") and word != "-"), len(words))
    parser = Parser("plan FILE...", __doc__ or "")
    parser.add_options({title: options for title, options in GROUPS.items() if title != "model"} | {"model": (MODEL,)})
    parser.add_switch("--json", "print JSON")
    values = parser.parse(words[split:])
    if not split:
        raise UsageError(
            "no file is given; give a config.json, a trainer's YAML, a command, a log; '-' reads the input"
        )
    from ironlaw.config.setup import setup
    from ironlaw.files import read
    from ironlaw.files.exports import command
    from ironlaw.files.words import words_of

    readings = [read(_text(name)) for name in words[:split]]
    given = {option.argument: values[option.argument] for option in OPTIONS.values() if option.argument in values}
    understood = words_of(readings, given)
    asked = setup(**understood.words)
    from ironlaw.answers.estimate import prepare

    found = prepare(asked)()
    verdict = found.verdict
    data = {"verdict": verdict, "command": command(understood.words), "assumed": understood.assumed,
            "missing": understood.missing, "files": [_data(one) for one in readings], "estimate": None}  # fmt: skip
    show(values, lambda: {**data, "estimate": found.as_dict()}, _lines(asked, found, understood, verdict))
    return 0 if verdict == "fits" else 1


def _text(name: str) -> str:
    try:
        if name == "-":
            return sys.stdin.read(LARGEST)
        with Path(name).open("rb") as file:
            file.seek(0, 2)
            file.seek(max(file.tell() - LARGEST, 0))
            return file.read().decode("utf-8", "replace")
    except OSError as error:
        raise UsageError(f"file {quoted(name)} cannot be read: {error.strerror}") from None


def _data(reading: Reading) -> Mapping[str, Any]:
    from dataclasses import asdict

    return {"kind": reading.kind, **reading.facts.said(), "measured": reading.measured and asdict(reading.measured)}


def _lines(asked: Any, found: Estimate, understood: Understood, verdict: str) -> Iterator[str]:
    from ironlaw.files.exports import command

    yield section("Read", *(f"  {one.kind}: {_said(one)}" for one in understood.readings))
    yield from render(asked, found)
    yield section("Assumed, because no file says so", *(f"  {line}" for line in understood.assumed or ("nothing",)))
    if understood.missing:
        yield section("Still missing", *(f"  {line}" for line in understood.missing))
    yield section("Verdict", f"  {SAID.get(verdict, verdict)}", f"  The same numbers: {command(understood.words)}")


def _said(reading: Reading) -> str:
    if reading.config is not None:
        return "the shape of a model"
    said = reading.facts.said()
    texts = [
        f"{name.replace('_', ' ')} {', '.join(value) if isinstance(value, tuple) else value}"
        for name, value in said.items()
    ]
    return ", ".join(texts) or "no settings"
