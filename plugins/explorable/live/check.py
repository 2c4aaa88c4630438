"""Check one act without building the site: `python -m explorable.live.check docs/acts/an_act [parameter]`.

It does what the build does for an act: load it, compute every option, draw the charts. A problem is told as the build
tells it, with exit code 2.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from explorable import config
from explorable.build import Build
from explorable.live.build.measured import Evidence
from explorable.live.build.rooms import MAIN, Written
from explorable.live.build.runner import ActDefect, Runner
from explorable.live.options import LiveOptions
from explorable.shared.cache import Cache
from explorable.shared.errors import UnbuildableError
from explorable.shared.intake import Decoded


def check(given: Path, parameter: str = "") -> int:
    """Check the act in a folder, with the book of the configuration above it. Returns the exit code.

    `parameter` is what a page writes behind the act's name and a colon, where the folder makes several.
    """
    try:
        folder = given.resolve()
    except (OSError, RuntimeError):  # a link that leads to itself
        folder = given
    if not (folder / MAIN).is_file():
        print(f"{os.path.relpath(folder)}: there is no {MAIN}; name the folder of an act", file=sys.stderr)
        return 2
    written = Written(folder.name.replace("_", "-"), parameter)
    try:
        where, options = _book_above(folder)
        Decoded().check(folder.parent, where, changed=False)
    except UnbuildableError as error:
        print(error, file=sys.stderr)
        return 2
    evidence = Evidence(where / options.records, where)
    shown = os.path.relpath(folder.parent)
    with tempfile.TemporaryDirectory() as made:
        runner = Runner(Cache(None), Path(made) / "bytecode", options.time_limit_s, folder.parent, shown, evidence)
        try:
            act = runner.act(written)
        except ActDefect as error:
            print(error.defect, file=sys.stderr)
            return 2
        finally:
            runner.close()
    of = f" with {parameter!r}" if parameter else ""
    print(f"{shown}/{folder.name}{of}: no mistake found; charts drawn: {', '.join(act.charts) or 'none'}")
    return 0


def _book_above(folder: Path) -> tuple[Path, LiveOptions]:
    """Let this process build the book of the configuration above a folder. Returns its folder and its acts' options."""
    found = next((found for parent in folder.parents if (found := config.of(parent))), None)
    if found is None or found.options is None:
        return Path.cwd() if found is None else found.root, LiveOptions()
    build = Build(found.options, found.root)
    build.use_book()
    return found.root, build.acts()


def main(arguments: Sequence[str] | None = None) -> int:
    """Check the act whose folder is named. Returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m explorable.live.check", description=(__doc__ or "").splitlines()[0]
    )
    add_arguments(parser)
    given = parser.parse_args(arguments)
    return check(given.folder, given.parameter)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The act, and its parameter."""
    parser.add_argument("folder", type=Path, help="the folder of the act, e.g. docs/acts/an_act")
    parser.add_argument("parameter", nargs="?", default="", help="which of its acts, if it makes several")


if __name__ == "__main__":
    sys.exit(main())
