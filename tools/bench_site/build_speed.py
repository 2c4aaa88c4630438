"""Times the site's build from clean caches, and its rebuild after edits under `mkdocs serve`; prints JSON.

    python tools/bench_site/build_speed.py --site-dir FOLDER

The build happens in a workspace of its own, a copy, so that caches are cold and no file of the repository is edited.
The built site stays in FOLDER for further measurements.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
COPIED = ("docs", "book", "engine", "gpu_bench", "plugins", "requirements", "tests", "tools")
LINKED = ("node_modules",)


@dataclass(frozen=True)
class Edit:
    """A kind of edit, and how it is known to have arrived.

    file: what is edited. found: where in it, as a pattern. written: what takes its place; MARK differs each time.
    served: the address at which the mark is seen then; None for an edit that no page shows.
    limit_s: the goal. times: how often it is measured; the median counts.
    """

    file: str
    found: str
    written: str
    served: str | None
    limit_s: float
    times: int = 3


EDITS_OF = {
    "page": Edit("docs/index.md", r"\Z", "\nMARK\n", "", 1.5),
    "page with an act": Edit("docs/lab/act1.md", r"\Z", "\nMARK\n", "lab/act1/", 1.5),
    "snippet": Edit("docs/lab/act1.md", r'(?<=```live name="count"\n)', 'print("MARK")\n', "lab/act1/", 2.5),
    "act": Edit("docs/acts/optimizer_memory_tax/act.py", r'(?<=    title=")', "MARK ", "lab/act1/", 2.5),
    "figure": Edit(
        "docs/chapter/figures/part_and_whole.py",
        r"\Z",
        "\n\nunmarked = draw\n\n\ndef draw():\n    made = unmarked()\n"
        '    return type(made)(made.figure, f"{made.alternative} MARK")\n',
        "chapter/bottlenecks/",
        3.0,
    ),
    "style": Edit("book/theme/overrides/assets/css/site.css", r"\Z", "\n/* MARK */\n", "assets/css/site.css", 2.0),
    "engine": Edit("engine/ironlaw/core/units.py", r"\Z", "\n# MARK\n", None, 30.0, times=1),
}
LIMIT_S = 300
POLL_S = 0.02
QUIET = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true"}


def environment(root: Path) -> dict[str, str]:
    """For a build with the programs of a workspace: those that are installed are the repository's."""
    return {**QUIET, "PYTHONPATH": os.pathsep.join(str(root / name) for name in ("engine", "plugins", "."))}


@contextmanager
def workspace() -> Iterator[Path]:
    """A folder that builds the same site: links to the programs, copies of what is edited, no caches."""
    with tempfile.TemporaryDirectory(prefix="iron-law-bench-") as name:
        root = Path(name)
        for entry in LINKED:
            (root / entry).symlink_to(REPOSITORY / entry)
        for entry in COPIED:
            shutil.copytree(REPOSITORY / entry, root / entry)
        for file in REPOSITORY.iterdir():
            if file.is_file() and not file.name.startswith("."):
                shutil.copy(file, root)
        yield root


def mkdocs(*arguments: str) -> list[str]:
    """The command line of this environment's MkDocs."""
    return [sys.executable, "-m", "mkdocs", *arguments]


def clean_build_seconds(root: Path, site: Path) -> float:
    """Wall time of a strict build without any cache."""
    start = time.perf_counter()
    # Without --quiet: a strict build counts only warnings that are logged.
    command = mkdocs("build", "--strict", "--site-dir", str(site))
    done = subprocess.run(command, cwd=root, env=environment(root), stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"the strict build failed:\n{done.stderr}")
    return time.perf_counter() - start


def rebuild_seconds(root: Path) -> dict[str, float]:
    """Median seconds from saving an edit to the reload of open pages, per kind. Caches are warm by then."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"http://127.0.0.1:{port}/"
    server = subprocess.Popen(
        mkdocs("serve", "--dirty", "--quiet", "--dev-addr", f"127.0.0.1:{port}"),
        cwd=root,
        env={**environment(root), "SITE_URL": address},
        stdout=subprocess.DEVNULL,
    )
    try:
        _wait_for(address, "</html>")
        measured = {}
        for kind, edit in EDITS_OF.items():
            measured[kind] = _seconds(edit, root, address)
            print(f"{kind}: {measured[kind]:.1f} s", file=sys.stderr)
        return measured
    finally:
        server.terminate()
        server.wait()


def _seconds(edit: Edit, root: Path, address: str) -> float:
    """Median seconds of a kind of edit. The file is as before afterwards."""
    file = root / edit.file
    text = file.read_text(encoding="utf-8")
    times = []
    for number in range(edit.times):
        mark = f"Edit{number}Of{time.monotonic_ns()}"
        epoch = _epoch(address)
        start = time.perf_counter()
        at = re.search(edit.found, text)
        assert at is not None, f"{edit.file} has no place for the edit"
        file.write_text(text[: at.end()] + edit.written.replace("MARK", mark) + text[at.end() :], "utf-8")
        _reloaded(address, epoch)
        times.append(time.perf_counter() - start)
        if edit.served is not None:
            _wait_for(address + edit.served, mark)
        # The watcher joins edits that quickly follow one another, so the next edit waits.
        time.sleep(1.0)
    epoch = _epoch(address)
    file.write_text(text, "utf-8")
    _reloaded(address, epoch)
    time.sleep(1.0)
    return statistics.median(times)


def _epoch(address: str) -> int:
    """The build that the server shows now, as it tells the pages that wait for the next."""
    found = re.search(r"livereload\((\d+), \d+\)", _get(address))
    if found is None:
        raise SystemExit(f"{address} does not wait for a reload: MkDocs has changed how it tells pages of a build")
    return int(found[1])


def _reloaded(address: str, epoch: int) -> None:
    """Wait as an open page does, until the server says that there is a newer build."""
    deadline = time.monotonic() + LIMIT_S
    while int(_get(f"{address}livereload/{epoch}/1")) <= epoch:
        if time.monotonic() > deadline:
            raise TimeoutError(f"no reload within {LIMIT_S} s")


def _get(address: str) -> str:
    with urllib.request.urlopen(address, timeout=LIMIT_S) as answer:
        text: str = answer.read().decode()
        return text


def _wait_for(address: str, text: str) -> None:
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        try:
            if text in _get(address):
                return
        except (urllib.error.URLError, ConnectionError):
            pass
        time.sleep(POLL_S)
    raise TimeoutError(f"{address} did not show {text!r} within {LIMIT_S} s")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Time the site's build and rebuild.")
    parser.add_argument("--site-dir", type=Path, required=True, help="where the built site stays")
    site = parser.parse_args().site_dir.resolve()
    with workspace() as root:
        build_s = clean_build_seconds(root, site)
        measured = rebuild_seconds(root)
    rebuilds = {kind: {"s": seconds, "limit_s": EDITS_OF[kind].limit_s} for kind, seconds in measured.items()}
    report = {"build_s": build_s, "rebuilds": rebuilds}
    print(json.dumps(report))


if __name__ == "__main__":
    main()
