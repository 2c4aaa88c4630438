"""`python -m ironlaw plan`: the run that files describe: does it fit, how long, how much, what to change."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ironlaw.cli.estimate import render
from ironlaw.cli.options import GROUPS, MODEL, OPTIONS, Option, one_of
from ironlaw.cli.parser import Parser, show
from ironlaw.cli.terminal import UsageError, gigabytes, quoted, section, table, visible
from ironlaw.core.contents import LARGEST, NoFileError, ending, require_regular
from ironlaw.models.checkpoints import count_elements, header_text

if TYPE_CHECKING:
    from ironlaw.answers.advice import Advice
    from ironlaw.files.facts import Reading
    from ironlaw.files.gap import Gap
    from ironlaw.files.words import Understood

SAID = {"not": "does not fit"}
EXPORT = Option(
    "--export",
    one_of("command", "torchrun", "accelerate", "deepspeed", "fsdp", "markdown", "json"),
    "print this alone",
)


def run(words: Sequence[str]) -> int:
    """Read the files, estimate and print; 0 when it fits, 1 when it does not or when that is uncertain."""
    split = next((index for index, word in enumerate(words) if word.startswith("-") and word != "-"), len(words))
    parser = Parser("plan FILE...", __doc__ or "")
    parser.add_options({title: options for title, options in GROUPS.items() if title != "model"} | {"model": (MODEL,)})
    parser.add_options({"answer": (EXPORT,)})
    parser.add_switch("--diff", "print what to change as diffs of the files")
    parser.add_switch("--json", "print JSON")
    values = parser.parse(words[split:])
    if not split:
        raise UsageError(
            "no file is given; give a config.json, a trainer's YAML, a command, a log; '-' reads the input"
        )
    from ironlaw.files import parts
    from ironlaw.files.words import words_of

    read = {name: parts(_text(name)) for name in words[:split]}
    texts = {
        name if len(found) == 1 else f"{name} ({reading.kind})": text
        for name, found in read.items()
        for text, reading in found
    }
    given = {option.argument: values[option.argument] for option in OPTIONS.values() if option.argument in values}
    understood = words_of([reading for found in read.values() for _, reading in found], given)
    answer = _Answer(understood, texts if values["diff"] else {})
    if "export" in values:
        print(_export(understood, values["export"]), end="")
    else:
        show(values, answer.data, answer.lines())
    return 0 if answer.found.verdict == "fits" and not answer.waits else 1


def _export(understood: Understood, kind: str) -> str:
    from ironlaw.files.exports import exports

    texts = exports(understood)
    if kind not in texts:
        raise UsageError(f"--export {kind} is not allowed: it cannot say this setup; allowed: {', '.join(texts)}")
    return texts[kind].rstrip("\n") + "\n"


def _text(name: str) -> str:
    try:
        if name == "-" and sys.stdin is None:
            raise UsageError("'-' reads the input, and it is closed; give a file")
        if name.endswith(".safetensors"):
            require_regular(name)
            return header_text(name)
        raw = sys.stdin.buffer.read(LARGEST) if name == "-" else ending(name)
        return raw.decode(json.detect_encoding(raw), "replace")
    # A name with a zero byte, or an input that is not UTF-8, is a ValueError.
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        if isinstance(error, NoFileError):
            why = f"{why}; '-' reads the input"
        raise UsageError(f"file {quoted(name)} cannot be read: {why}") from None


class _Answer:
    """What the files come to: the estimate, what to change, and what was measured beside it."""

    def __init__(self, understood: Understood, texts: Mapping[str, str]) -> None:
        from ironlaw.answers.estimate import prepare
        from ironlaw.config.setup import setup
        from ironlaw.files.exports import command

        self.understood, self.texts = understood, texts
        self.asked = setup(**understood.words)
        self.found = prepare(self.asked)()
        self.command = command(understood.words)

    @property
    def waits(self) -> bool:
        """Whether the verdict waits for what files switch on and no plan counts."""
        from ironlaw.files.switches import waits

        return waits(self.found.verdict, self.understood.besides)

    def data(self) -> dict[str, Any]:
        """All of it as plain data."""
        understood = self.understood
        return {
            "verdict": self.found.verdict,
            "besides": understood.besides,
            "command": self.command,
            "assumed": understood.assumed,
            "missing": understood.missing,
            "files": [_data(one) for one in understood.readings],
            "advice": [{**asdict(one), "diffs": self.diffs(one)} for one in self.advice()],
            "measured": [{**asdict(gap), "sentence": gap.sentence} for gap in self.gaps()],
            "messages": self.messages(),
            "estimate": self.found.as_dict(),
        }

    def advice(self) -> tuple[Advice, ...]:
        from ironlaw.answers.advice import ways

        return ways(self.asked)

    def diffs(self, advice: Advice) -> list[str]:
        """The advice as diffs of the files that can say it."""
        from ironlaw.files.diffs import diff

        chip = self.asked.chip
        return [made for name, text in self.texts.items() if (made := diff(text, advice, name, chip)) is not None]

    def gaps(self) -> list[Gap]:
        """What files measured beside what is expected, where the engine has such a figure."""
        from ironlaw.files.gap import compare
        from ironlaw.files.words import said_words

        measured = [one.measured for one in self.understood.readings if one.measured is not None]
        known = said_words(self.understood.readings)
        uncounted = [name for one in self.understood.readings for name in one.uncounted]
        return [gap for one in measured if (gap := compare(self.asked, one, known, uncounted)).figures]

    def messages(self) -> list[tuple[tuple[str, str], ...]]:
        """What out-of-memory messages say, beside what is counted."""
        from ironlaw.files.failed import lines

        measured = [one.measured for one in self.understood.readings if one.measured is not None]
        return [told for one in measured if (told := lines(self.asked, one))]

    def lines(self) -> Iterator[str]:
        """All of it as text."""
        understood, verdict = self.understood, self.found.verdict
        yield section("Read", *(f"  {one.kind}: {_said(one)}" for one in understood.readings))
        yield from render(self.asked, self.found)
        yield section("Assumed, because no file says so", *(f"  {one}" for one in understood.assumed or ("nothing",)))
        if understood.missing:
            yield section("Still missing", *(f"  {line}" for line in understood.missing))
        for message in self.messages():
            yield section("The out-of-memory message", *(f"  {what}: {said}" for what, said in message))
        for gap in self.gaps():
            told = [one.sentence for one in gap.figures] + [one.sentence for one in gap.differences]
            yield section(
                "Measured beside expected", *(f"  {said}" for said in (*told, gap.sentence, gap.standing) if said)
            )
        yield from self._changes()
        beside = ", without what is not counted: see “Still missing”" if self.waits else ""
        yield section("Verdict", f"  {SAID.get(verdict, verdict)}{beside}", f"  The same numbers: {self.command}")

    def _changes(self) -> Iterator[str]:
        advice = self.advice()
        if not advice:
            return
        rows = [
            (one.title, gigabytes(one.saves_bytes), f"x {one.time_factor:.2f}", SAID.get(one.verdict, one.verdict),
             one.option, one.gives_up)
            for one in advice
        ]  # fmt: skip
        header = ("one of these", "saves GB", "time per token", "then", "option", "gives up")
        yield section("What to change", table(rows, header, right=(1, 2)))
        for one in advice:
            yield from (f"\n{one.title}:\n{visible(made.rstrip())}" for made in self.diffs(one))


def _data(reading: Reading) -> Mapping[str, Any]:
    return {"kind": reading.kind, **reading.facts.said(), "measured": reading.measured and asdict(reading.measured)}


def _said(reading: Reading) -> str:
    if reading.config is not None:
        return "the shape of a model"
    if reading.tensors:
        return f"{len(reading.tensors):,} tensors, {count_elements(reading.tensors):,} parameters"
    said = reading.facts.said()
    texts = [f"{name.replace('_', ' ')} {_listed(value)}" for name, value in said.items()]
    return ", ".join(texts) or "no settings"


def _listed(value: object) -> str:
    """A value as people read it, also of lists, and of lists of names with their sizes."""
    if not isinstance(value, tuple):
        return str(value)
    return ", ".join(" ".join(map(str, one)) if isinstance(one, tuple) else str(one) for one in value)
