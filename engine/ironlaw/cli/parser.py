"""Words of the command line as values by name: a parser that says in one line what is wrong with them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn

from ironlaw.cli.options import GROUPS, OPTIONS, Option
from ironlaw.cli.terminal import UsageError, closest_flag, quoted

ELSEWHERE = {"--vary": "compare and sweep", "--csv": "sweep"}
"""Options of some commands only."""

Values = Mapping[str, Any]
"""Options that were given, by argument."""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are `UsageError`s, and which tells unknown options from values that look like them."""

    def __init__(self, command: str, text: str) -> None:
        super().__init__(f"python -m ironlaw {command}", description=text, allow_abbrev=False, add_help=True)
        self._valued: set[str] = set()
        self._repeated: set[str] = set()
        self._switches: set[str] = {"-h", "--help"}

    def add_options(self, groups: Mapping[str, Iterable[Option]]) -> None:
        """Add the options of a table, group by group."""
        for title, options in groups.items():
            group = self.add_argument_group(title)
            for option in options:
                how: dict[str, Any] = {"dest": option.argument, "default": argparse.SUPPRESS}
                if option.kind is None:
                    self._switches.add(option.flag)
                    how |= {"action": "store_const", "const": option.constant, "help": option.text}
                else:
                    self._valued.add(option.flag)
                    how |= {"type": option.read, "metavar": "X", "help": option.help.replace("%", "%%")}
                group.add_argument(option.flag, **how)

    def add_switch(self, flag: str, text: str) -> None:
        """Add a switch that is off unless given."""
        self._switches.add(flag)
        self.add_argument(flag, action="store_true", help=text)

    def add_repeated(self, flag: str, read: Callable[[str], Any], text: str) -> None:
        """Add an option that may be given several times; `read` raises `UsageError`."""
        self._valued.add(flag)
        self._repeated.add(flag)
        self.add_argument(flag, type=read, action="append", default=[], metavar="X", help=text)

    def parse(self, words: Sequence[str]) -> dict[str, Any]:
        """The options given, by argument.

        Raises:
            UsageError: An unknown option, a value missing, or one that is not allowed.
        """
        known = self._valued | self._switches
        joined: list[str] = []
        given: dict[str, str] = {}
        waiting = iter(words)
        for word in waiting:
            flag, equals, value = word.partition("=")
            if not word.startswith("-"):
                raise UsageError(f"{quoted(word)} is not an option{closest_flag(word, known)}")
            if flag not in known:
                if flag in ELSEWHERE:
                    raise UsageError(f"{flag} is not allowed here; it belongs to {ELSEWHERE[flag]}")
                raise UsageError(f"option {quoted(flag)} is unknown{closest_flag(flag, known)}; --help lists all")
            before = given.get(self._what(flag))
            if before and flag not in self._repeated:
                twice = "is given twice; give it once" if before == flag else f"is not allowed with {before}"
                raise UsageError(f"{flag} {twice}")
            given[self._what(flag)] = flag
            if flag in self._switches:
                if equals:
                    raise UsageError(f"{flag} {quoted(value)} is not allowed; it takes no value")
                joined.append(word)
                continue
            if not equals:
                value = next(waiting, "")
                if not value or value in known or value == "--":
                    raise UsageError(f"{flag} has no value{self._expected(flag)}")
            if value == "--":
                raise UsageError(f"{flag} {value!r} is not allowed{self._expected(flag)}")
            joined.append(f"{flag}={value}")
        return vars(self.parse_args(joined))

    @staticmethod
    def _what(flag: str) -> str:
        """What an option sets: two switches may set the same."""
        return OPTIONS[flag].argument if flag in OPTIONS else flag

    def _expected(self, flag: str) -> str:
        kind = OPTIONS[flag].kind if flag in OPTIONS else None
        return f"; allowed: {kind.allowed}" if kind else ""

    def print_help(self, file: Any = None) -> None:
        """Print the help; unlike argparse's own, say when that fails."""
        print(self.format_help(), end="", file=file)

    def error(self, message: str) -> NoReturn:
        """Whatever argparse still objects to, in one line."""
        raise UsageError(message.replace("\n", " "))


def configuration_parser(command: str, text: str) -> Parser:
    """A parser with all options that describe a configuration, and `--json`."""
    parser = Parser(command, text)
    parser.add_options(GROUPS)
    parser.add_switch("--json", "print JSON")
    return parser


def show(values: Values, data: Callable[[], Any], lines: Iterable[str]) -> None:
    """Print an answer: its data where JSON is asked for, its lines otherwise."""
    if values["json"]:
        print_json(data())
    else:
        print("\n".join(lines))


def print_json(data: Any) -> None:
    """Print plain data as JSON."""
    import json

    json.dump(data, sys.stdout, indent=2, allow_nan=False)
    print()
