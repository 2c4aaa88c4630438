"""The command `explorable`: check an act as the build does, or begin a new one."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from explorable.live import check

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command. Returns the exit code: 2 for what cannot be done."""
    parser = argparse.ArgumentParser(prog="explorable", description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    checked = commands.add_parser("check", help="load an act, try its options and draw its charts")
    checked.add_argument("folder", type=Path, help="the folder of the act, e.g. docs/acts/an_act")
    new = commands.add_parser("new", help="begin something new")
    new.add_argument("what", choices=["act"])
    new.add_argument("name", help='lower-case letters, digits and "-"')
    new.add_argument("--acts", type=Path, default=Path("docs/acts"), help="the folder of the acts")
    given = parser.parse_args(arguments)
    return check.check(given.folder) if given.command == "check" else new_act(given.name, given.acts)


def new_act(name: str, acts: Path) -> int:
    """Write a first act that works, and say which lines a page needs."""
    if not _NAME.fullmatch(name):
        print(
            f'explorable: {name!r} is no name of an act; allowed: lower-case letters, digits and "-"', file=sys.stderr
        )
        return 2
    folder = acts / name.replace("-", "_")
    if folder.exists():
        print(f"explorable: {folder} is there already; give another name", file=sys.stderr)
        return 2
    folder.mkdir(parents=True)
    for source in ("act.py", "charts.py"):
        text = files("explorable").joinpath("first_act", source).read_text(encoding="utf-8")
        (folder / source).write_text(text.replace("first-act", name), encoding="utf-8")
    print(f"{folder}: act.py and charts.py; now write into a page:\n\n/// act | {name}\n///")
    return 0


if __name__ == "__main__":
    sys.exit(main())
