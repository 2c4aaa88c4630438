"""The command `explorable`: check an act as the build does, begin a new one; prepare, finish or verify a site."""

from __future__ import annotations

import argparse
import logging
import re
import sys
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path

from explorable import book, config, manifest
from explorable.finish import finish
from explorable.finish.prepared import unfit
from explorable.live import check
from explorable.live.options import LiveOptions
from explorable.prepare import prepare
from explorable.shared import intake
from explorable.shared.errors import UnbuildableError, in_a_line
from explorable.shared.log import ALL
from explorable.verify import verify

_IN_ORDER = "With Zensical: explorable prepare, zensical build, explorable finish, after each edit"
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command. Returns the exit code: 2 for what cannot be done, with a line that says why."""
    try:
        return _run(arguments)
    except UnbuildableError as error:
        said = str(error)
    except Exception as error:
        if not (line := in_a_line(error)):
            raise
        said = f"explorable: {line}"
    print(_inert(said), file=sys.stderr)
    return 2


def _run(arguments: Sequence[str] | None) -> int:
    parser = argparse.ArgumentParser(prog="explorable", description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    checked = commands.add_parser("check", help="load an act, try its options and draw its charts")
    check.add_arguments(checked)
    new = commands.add_parser("new", help="begin something new")
    new.add_argument("what", choices=["act"])
    new.add_argument("name", help='lower-case letters, digits and "-"')
    new.add_argument("--acts", type=Path, default=Path("docs/acts"), help="the folder of the acts")
    prepared = commands.add_parser(
        "prepare", help="compute all that the pages show, for Zensical; then build and finish"
    )
    prepared.add_argument("--config-file", type=Path, help="by default zensical.toml or mkdocs.yml of this folder")
    finished = commands.add_parser("finish", help="check and complete the folder of a built site")
    finished.add_argument("site", type=Path, help="the folder")
    finished.add_argument("--manifest", type=Path, default=Path(manifest.FILE), help="what its build left")
    verified = commands.add_parser("verify", help="run every snippet of a built site in the page's Python, and compare")
    verified.add_argument("site", type=Path, help="the folder")
    limit = LiveOptions().time_limit_s
    verified.add_argument(
        "--time-limit", type=float, default=limit, help=f"the book's option time_limit_s; by default {limit:g} s"
    )
    given = parser.parse_args(arguments)
    if given.command == "prepare":
        return prepare_site(given.config_file)
    if given.command == "verify":
        return verify(given.site, given.time_limit)
    if given.command == "finish":
        return finish_site(given.site, given.manifest)
    if given.command == "check":
        return check.check(given.folder, given.parameter)
    return new_act(given.name, given.acts)


def prepare_site(file: Path | None) -> int:
    """Prepare a site, and print what is wrong with it. Returns 1 for a site with faults."""
    if file is not None and file.exists() and not file.is_file():
        raise UnbuildableError(f"explorable: {file} is no file; give zensical.toml or mkdocs.yml")
    found = config.Configuration(file) if file else config.of(Path())
    if found is None:
        raise UnbuildableError("explorable: here is no zensical.toml and no mkdocs.yml; go to the book's folder")
    if not found.docs.is_dir():
        raise UnbuildableError(f"{found.file}: docs_dir: {found.docs} is no folder")
    with Said() as said:
        pages = prepare(found)
    print(f"prepare: {pages} pages")
    return int(said.any)


def finish_site(site: Path, left: Path) -> int:
    """Finish a site, and print what is wrong with it. Returns 1 for a site with faults."""
    if not (site / "index.html").is_file():
        raise UnbuildableError(f"explorable: {site} holds no site; give the folder of one that was built. {_IN_ORDER}")
    if not left.is_file():
        raise UnbuildableError(f"explorable: {left} is missing; build the site first. {_IN_ORDER}")
    try:
        found = manifest.read(left.read_text(encoding="utf-8"))
        made = book.from_module(found.book, Path(found.root)) if found.book[:1] != "{" else book.from_plain(found.book)
    except (OSError, ValueError, LookupError) as error:
        why = (in_a_line(error) or str(error)).removeprefix(f"{left}: ")
        raise UnbuildableError(f"explorable: {left}: {why}; build the site first") from None
    if faults := [*_unfinishable(site), *(unfit(site, found, found.prepared) if found.prepared else ())]:
        print(*map(_inert, faults), sep="\n", file=sys.stderr)
        return 2
    book.use(made)
    with Said() as said:
        finish(site, made, found)
    return int(said.any)


def _unfinishable(site: Path) -> Iterator[str]:
    """What of a site's folder cannot be finished: what leads out of it, and pages that are none."""
    for link in intake.links(site):
        yield f"{link}: it is a symbolic link to '{link.readlink()}', which is not followed. Put a copy in its place."
    for path in sorted(site.rglob("*")):
        if not (path.is_file() or path.is_dir() or path.is_symlink()):
            yield f"{path}: it is a pipe or a device, of which a site has none. Remove it."
        elif path.suffix == ".html":
            try:
                path.read_text(encoding="utf-8")
            except (OSError, UnicodeError) as error:
                yield f"{path}: {in_a_line(error)}"


def _inert(text: str) -> str:
    """The text with control characters written out: a file's name must not command a terminal."""
    return "".join(one if one.isprintable() or one == "\n" else repr(one)[1:-1] for one in text)


class Said(logging.Handler):
    """Prints what the toolkit says is wrong while it is active, and remembers whether anything was."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.any = False

    def __enter__(self) -> Said:
        logging.getLogger(ALL).addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        logging.getLogger(ALL).removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Print it."""
        self.any = True
        print(_inert(record.getMessage()), file=sys.stderr)


def new_act(name: str, acts: Path) -> int:
    """Write a first act that works, and say which lines a page needs."""
    if not _NAME.fullmatch(name):
        print(
            f'explorable: {name!r} is no name of an act; allowed: lower-case letters, digits and "-"', file=sys.stderr
        )
        return 2
    folder = acts / name.replace("-", "_")
    try:
        if folder.exists():
            print(f"explorable: {folder} is there already; give another name", file=sys.stderr)
            return 2
        folder.mkdir(parents=True)
        for source in ("act.py", "charts.py"):
            text = files("explorable").joinpath("first_act", source).read_text(encoding="utf-8")
            (folder / source).write_text(text.replace("first-act", name), encoding="utf-8")
    except OSError as error:
        print(f"explorable: {in_a_line(error) or error}", file=sys.stderr)
        return 2
    print(f"{folder}: act.py and charts.py; now write into a page:\n\n/// act | {name}\n///")
    return 0


if __name__ == "__main__":
    sys.exit(main())
