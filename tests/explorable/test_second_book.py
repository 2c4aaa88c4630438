"""The second book under another site generator, and in the page's Python: the same files, the same outputs."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
from importlib import import_module
from pathlib import Path

import pytest

_GENERATOR = re.compile(r'<meta name="generator" content="[^"]*">')
_DATE = re.compile(r"<lastmod>[^<]*</lastmod>")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as MkDocs builds it."""
    # By name, because the type checker knows that file by the path of the second book.
    made: Path = import_module("tests.second_book.build").build(tmp_path_factory.mktemp("second"))
    return made


def contents(site: Path) -> dict[str, str]:
    """File -> digest, without the generator's name and the day; the list for offline reading by its files alone."""
    found = {}
    for path in sorted(site.rglob("*")):
        if not path.is_file() or path.suffix == ".gz":
            continue
        data = path.read_bytes()
        if path.name == "offline.json":
            # It holds the sizes and hashes of pages, which name the generator.
            data = json.dumps(sorted(json.loads(data)["files"])).encode()
        elif path.suffix in (".html", ".xml"):
            data = _DATE.sub("", _GENERATOR.sub("", data.decode())).encode()
        found[path.relative_to(site).as_posix()] = hashlib.sha256(data).hexdigest()
    return found


@pytest.mark.full
def test_properdocs_makes_the_same_files(site: Path) -> None:
    of_mkdocs = contents(site)
    assert "assets/live/release.json" in of_mkdocs
    shutil.move(site, site.with_name("of-mkdocs"))
    try:
        python = site.parents[1] / "environment/bin/python"
        command = [str(python), "-m", "properdocs", "build", "--strict"]
        done = subprocess.run(command, cwd=site.parent, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "ProperDocs" in (site / "index.html").read_text("utf-8")
        assert contents(site) == of_mkdocs
    finally:
        shutil.rmtree(site, ignore_errors=True)
        shutil.move(site.with_name("of-mkdocs"), site)


@pytest.mark.full
def test_under_zensical_its_pages_show_the_same(site: Path, tmp_path: Path) -> None:
    book = tmp_path / "book"
    shutil.copytree(site.parent, book, ignore=shutil.ignore_patterns("site", ".cache"))
    import_module("tests.second_book.build").run(site.parents[1] / "environment/bin/python", "zensical", book)
    for page, least in (("index.html", 18), ("counter/index.html", 1)):
        ours, theirs = (constructs((folder / page).read_text("utf-8")) for folder in (site, book / "site"))
        assert len(ours) >= least
        assert ours == theirs
    # What makes the pages live is the same, byte for byte.
    live, same = (
        {name: of for name, of in contents(folder).items() if name.startswith(("assets/live/", "measured/", "sw.js"))}
        for folder in (site, book / "site")
    )
    assert "assets/live/acts.json" in live
    assert live == same


def constructs(page: str) -> list[str]:
    """The snippets, the acts, the inline numbers and the rows of measured tables of a page."""
    # Zensical reads this attribute and takes it out.
    page = page.replace(" data-search-exclude", "")
    found = re.finditer(r'<(live-snippet|live-act|tr)\b.*?</\1>|<span class="il-number.*?</span>', page, re.DOTALL)
    return [one[0] for one in found]


@pytest.mark.full
def test_its_snippets_give_in_the_page_what_the_build_printed(site: Path) -> None:
    command = [str(site.parents[1] / "environment/bin/python"), "-m", "explorable", "verify", str(site)]
    done = subprocess.run(command, cwd=site, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^verify: 10 snippets of 1 pages .* none differ", done.stdout, re.MULTILINE)


_WATCHED = """
from mkdocs.config import load_config

config = load_config("mkdocs.yml")
config.plugins.on_startup(command="serve", dirty=True)
print(*config.plugins.on_config(config).watch, sep="\\n")
"""


@pytest.mark.full
def test_a_server_watches_the_book_and_nothing_that_is_installed(site: Path) -> None:
    python, book = site.parents[1] / "environment/bin/python", site.parent
    done = subprocess.run([str(python), "-c", _WATCHED], cwd=book, capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {str(book / "ledger.json"), str(book / "records")}
