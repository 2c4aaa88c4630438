"""Times the site's build from clean caches, and its rebuild after one edit under `mkdocs serve`; prints JSON.

    python tools/bench_site/build_speed.py --site-dir FOLDER

The build happens in a workspace of its own, whose `docs/` is a copy, so that caches are cold and no file of the
repository is edited. The built site stays in FOLDER for further measurements.
"""

from __future__ import annotations

import argparse
import json
import os
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
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
LINKED = (
    "engine",
    "gpu_bench",
    "plugins",
    "tests",
    "tools",
    "node_modules",
    "package.json",
    "pyproject.toml",
    "LICENSE",
    "LICENSE-docs",
    "requirements",
)
EDITED = {"index.md": "", "lab/act1.md": "lab/act1/"}
"""The pages that are edited, and where they are served: one of prose, one with an act and snippets."""
EDITS = 3
LIMIT_S = 180
POLL_S = 0.02
QUIET = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true"}


@contextmanager
def workspace() -> Iterator[Path]:
    """A folder that builds the same site: links to the programs, copies of what is edited, no caches."""
    with tempfile.TemporaryDirectory(prefix="iron-law-bench-") as name:
        root = Path(name)
        for entry in LINKED:
            if (REPOSITORY / entry).exists():
                (root / entry).symlink_to(REPOSITORY / entry)
        for page in REPOSITORY.glob("*.md"):
            shutil.copy(page, root)
        shutil.copy(REPOSITORY / "mkdocs.yml", root)
        shutil.copytree(REPOSITORY / "docs", root / "docs", ignore=shutil.ignore_patterns("__pycache__"))
        yield root


def mkdocs(*arguments: str) -> list[str]:
    """The command line of this environment's MkDocs."""
    return [sys.executable, "-m", "mkdocs", *arguments]


def clean_build_seconds(root: Path, site: Path) -> float:
    """Wall time of a strict build without any cache."""
    start = time.perf_counter()
    # Without --quiet: a strict build counts only warnings that are logged.
    command = mkdocs("build", "--strict", "--site-dir", str(site))
    done = subprocess.run(command, cwd=root, env=QUIET, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"the strict build failed:\n{done.stderr}")
    return time.perf_counter() - start


def rebuild_seconds(root: Path) -> dict[str, float]:
    """Median seconds from saving a page to the server answering with it, per page. Caches are warm by then."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"http://127.0.0.1:{port}/"
    server = subprocess.Popen(
        mkdocs("serve", "--dirty", "--quiet", "--dev-addr", f"127.0.0.1:{port}"),
        cwd=root,
        env={**QUIET, "SITE_URL": address},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_for(address, "</html>")
        return {page: _edit(root / "docs" / page, address + served) for page, served in EDITED.items()}
    finally:
        server.terminate()
        server.wait()


def _edit(page: Path, address: str) -> float:
    text = page.read_text(encoding="utf-8")
    times = []
    for number in range(EDITS):
        mark = f"Edit number {number} of this page."
        start = time.perf_counter()
        page.write_text(f"{text}\n\n{mark}\n", encoding="utf-8")
        _wait_for(address, mark)
        times.append(time.perf_counter() - start)
        # The watcher joins edits that quickly follow one another, so the next edit waits.
        time.sleep(1.0)
    return statistics.median(times)


def _wait_for(address: str, text: str) -> None:
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(address, timeout=LIMIT_S) as answer:
                if text in answer.read().decode():
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
        report = {"build_s": clean_build_seconds(root, site), "rebuild_s": rebuild_seconds(root)}
    print(json.dumps(report))


if __name__ == "__main__":
    main()
