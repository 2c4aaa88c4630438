"""What stands around the pages, in a tiny site with the real theme under a project's sub-path."""

from __future__ import annotations

import importlib.metadata
import json
import re
import struct
from pathlib import Path

import pytest
from mkdocs.exceptions import Abort

from book.theme.social import SIZE
from explorable.finish import licenses
from tests.explorable.strict_build import build_strictly

ROOT = Path(__file__).parents[3]

ADDRESS = "https://example.org/some/project/"
FOLDER = ROOT / "book/theme/licenses"
COMPONENTS = licenses.components(FOLDER)


def configure(folder: Path, stray: str = "") -> None:
    (folder / "docs/chapter").mkdir(parents=True)
    (folder / "docs/index.md").write_text("# Home\n\n[on](chapter/two.md)\n")
    (folder / "docs/chapter/two.md").write_text("# Two & three\n")
    if stray:
        (folder / "docs/assets").mkdir()
        (folder / "docs/assets" / stray).write_text("")
    (folder / "mkdocs.yml").write_text(
        f"site_name: Tiny\nsite_url: {ADDRESS}\nsite_description: A tiny site.\n"
        f"theme:\n  name: material\n  custom_dir: {ROOT}/book/theme/overrides\n  font: false\n"
        "plugins: [search, {explorable: {book: book.adapter, parts: []}}]\n"
        "nav:\n  - Home: index.md\n  - Chapter:\n      - Two & three: chapter/two.md\n"
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("theme")
    configure(folder)
    build_strictly(folder, [])
    return folder / "site"


def test_the_page_for_unknown_addresses_leads_on_from_any_depth(site: Path) -> None:
    page = (site / "404.html").read_text()
    addresses = [one for one in re.findall(r'(?:href|src)="([^"]*)"', page) if not one.startswith(("#", "data:"))]
    assert "/some/project/chapter/two/" in addresses
    assert [one for one in addresses if not one.startswith(("/some/project/", ADDRESS, "https://squidfunk"))] == []
    assert "There is no page at this address" in page


@pytest.mark.parametrize("page", ["404.html", "index.html", "chapter/two/index.html"])
def test_the_search_runs_in_the_books_worker_that_loads_materials(site: Path, page: str) -> None:
    [worker, file] = re.findall(r'"search": "([^"#]*)#([^"]*)"', (site / page).read_text())[0]
    found = site / worker.removeprefix("/some/project/") if page == "404.html" else (site / page).parent / worker
    assert found.name == "words.js"
    assert found.with_name(file).is_file()


def test_the_sitemap_lists_the_pages_under_the_sub_path(site: Path) -> None:
    listed = re.findall(r"<loc>(.*)</loc>", (site / "sitemap.xml").read_text())
    assert listed == [ADDRESS, f"{ADDRESS}chapter/two/"]


def test_each_page_has_a_picture_of_its_own_that_is_in_the_site(site: Path) -> None:
    pictures = set()
    for path, title in {"index.html": "Home", "chapter/two/index.html": "Two &amp; three"}.items():
        said = dict(re.findall(r'<meta property="og:([\w:]+)" content="([^"]*)">', (site / path).read_text()))
        assert said["title"] == title
        assert said["description"] == "A tiny site."
        assert said["url"] == f"{ADDRESS}{path.removesuffix('index.html')}"
        assert said["image"].startswith(ADDRESS)
        picture = site / said["image"].removeprefix(ADDRESS)
        assert struct.unpack(">II", picture.read_bytes()[16:24]) == SIZE
        pictures.add(picture.name)
    assert len(pictures) == 2


def test_a_browser_can_install_the_site_from_any_page_under_the_sub_path(site: Path) -> None:
    for path in ("index.html", "chapter/two/index.html"):
        [link] = re.findall(r'<link rel="manifest" href="([^"]*)">', (site / path).read_text())
        at = ((site / path).parent / link).resolve()
        manifest = json.loads(at.read_text())
        assert (
            (at.parent / manifest["start_url"]).resolve() == (at.parent / manifest["scope"]).resolve() == site.resolve()
        )
        for icon in manifest["icons"]:
            width, height = struct.unpack(">II", (at.parent / icon["src"]).read_bytes()[16:24])
            assert icon["sizes"] == f"{width}x{height}"
    assert [icon["sizes"] for icon in manifest["icons"]] == ["192x192", "512x512"]
    assert [manifest["name"], manifest["display"]] == ["Tiny", "standalone"]


def test_the_footer_leads_to_the_licenses_and_asks_nobody_else(site: Path) -> None:
    page = (site / "chapter/two/index.html").read_text()
    assert 'href="../../LICENSES.txt"' in page
    assert [
        one for one in re.findall(r'<(?:script|link|img)[^>]*(?:src|href)="(https?:[^"]*)"', page) if ADDRESS not in one
    ] == []


def test_the_licenses_are_those_of_what_is_in_the_site(site: Path) -> None:
    text = (site / "LICENSES.txt").read_text()
    assert "STIX Two Math" in text
    assert "SIL OPEN FONT LICENSE" in text
    assert "Martin Donath" in text
    assert "Pyodide" not in text, "this site has no Python"
    assert not (site / "assets/javascripts/lunr").exists()


def test_a_file_whose_license_nobody_knows_stops_the_build(tmp_path: Path) -> None:
    configure(tmp_path, stray="stray.wasm")
    warnings: list[str] = []
    with pytest.raises(Abort):
        build_strictly(tmp_path, warnings)
    assert [line for line in warnings if "no license is known for assets/stray.wasm" in line]


def test_the_collected_texts_are_of_the_versions_that_are_installed() -> None:
    assert list(licenses.outdated(FOLDER, COMPONENTS)) == []
    old = [{**one, "version": "mkdocs"} for one in COMPONENTS if one.get("version") == "mkdocs-material"]
    assert importlib.metadata.version("mkdocs") in next(iter(licenses.outdated(FOLDER, old)))


@pytest.mark.parametrize(
    ("files", "words"),
    [
        (
            "assets/live/pyodide/1/pyodide.asm.wasm",
            ["Mozilla Public License Version 2.0", "PYTHON SOFTWARE FOUNDATION LICENSE", "musl"],
        ),
        ("assets/live/library/ab/python_start.zip", ["PYTHON SOFTWARE FOUNDATION LICENSE"]),
        ("assets/live/vega-1.js", ["University of Washington", "Mike Bostock", "Mapbox"]),
        ("assets/live/live-1.js", ["@codemirror/view", "Marijn Haverbeke", "idb", "Jake Archibald"]),
    ],
)
def test_what_the_page_runs_is_named_with_its_text(files: str, words: list[str]) -> None:
    text = licenses.text(Path(), [files], FOLDER)
    assert [word for word in words if word not in text] == []
