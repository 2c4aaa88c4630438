"""Earlier releases in a deploy, from a published site that a local server stands for."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tools.keep_releases import LIST, MOST, keep, main


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def serve() -> Iterator[Callable[[Path], str]]:
    servers: list[ThreadingHTTPServer] = []

    def start(folder: Path) -> str:
        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{server.server_port}/book/"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def built(folder: Path, build: str, *files: str) -> Path:
    """A built site of a release."""
    site = folder / build / "book"
    names = [f"assets/live/{name}" for name in files]
    for name in names:
        path = site / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (site / LIST).write_text(json.dumps({"build": build, "version": "1", "files": names}))
    return site


def test_every_release_finds_its_files_until_it_is_too_old(serve: Callable[[Path], str], tmp_path: Path) -> None:
    published = built(tmp_path, "r0", "act-0.js", "wheels/0/shared.whl")
    for count in range(1, MOST + 3):
        site = built(tmp_path, f"r{count}", f"act-{count}.js", "wheels/0/shared.whl")
        kept = keep(site, serve(published.parent))
        assert kept == [f"r{one}" for one in range(count - 1, -1, -1)][:MOST]
        there = {path.name for path in (site / "assets/live").glob("act-*.js")}
        assert there == {f"act-{one}.js" for one in range(max(0, count - MOST), count + 1)}
        published = site


def test_the_first_deploy_and_a_deploy_of_the_same_release_keep_nothing(
    serve: Callable[[Path], str], tmp_path: Path
) -> None:
    site = built(tmp_path, "r1", "act-1.js")
    assert keep(site, serve(tmp_path / "nothing")) == []
    assert keep(site, serve(site.parent)) == []


@pytest.mark.parametrize("name", ["../secret", "assets/../../secret", "assets/./x", "/etc/passwd", "index.html", 3])
def test_a_list_that_leads_elsewhere_is_refused(
    serve: Callable[[Path], str], tmp_path: Path, name: object, capsys: pytest.CaptureFixture[str]
) -> None:
    old = built(tmp_path, "r1", "act-1.js")
    (old / LIST).write_text(json.dumps({"build": "r1", "files": [name]}))
    site = built(tmp_path, "r2", "act-2.js")
    assert main(["--site", str(site), "--from", serve(old.parent)]) == 2
    assert capsys.readouterr().err.endswith("is not the list of a release\n")


def test_a_site_that_is_not_built_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--site", str(tmp_path), "--from", "http://127.0.0.1:9/"]) == 2
    assert "holds no assets/live/release.json; build the site first" in capsys.readouterr().err


def test_the_deploy_keeps_them_before_it_uploads() -> None:
    workflow = (Path(__file__).parents[2] / ".github/workflows/pages.yml").read_text()
    assert 0 < workflow.index("tools.keep_releases") < workflow.index("upload-pages-artifact")
