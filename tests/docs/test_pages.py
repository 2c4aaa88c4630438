"""The built site: strict, complete without another host, and with every public part of the engine documented."""

from __future__ import annotations

import re
from functools import cache
from html import unescape
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest

import ironlaw
from ironlaw import vocabulary

ROOT = Path(__file__).parents[2]
FETCHED = {
    "script": ("src",),
    "img": ("src", "srcset"),
    "iframe": ("src",),
    "source": ("src", "srcset"),
    "video": ("src", "poster"),
    "audio": ("src",),
    "object": ("data",),
    "embed": ("src",),
    "use": ("href", "xlink:href"),
    "image": ("href", "xlink:href"),
}
"""Attributes that make a browser fetch something. A link that a reader may follow is none of them."""
FETCHING_LINKS = {
    "stylesheet",
    "icon",
    "preload",
    "modulepreload",
    "prefetch",
    "preconnect",
    "dns-prefetch",
    "manifest",
}


class Resources(HTMLParser):
    """Collects what a page makes a browser fetch, and the ids it defines."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if "id" in values:
            self.ids.append(values["id"])
        if tag == "link" and FETCHING_LINKS & set(values.get("rel", "").split()):
            self.fetched.append(values.get("href", ""))
        self.fetched += [values[name] for name in FETCHED.get(tag, ()) if name in values]


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, str]:
    return {path.relative_to(site).as_posix(): path.read_text(encoding="utf-8") for path in site.rglob("*.html")}


@cache
def parsed(text: str) -> Resources:
    resources = Resources()
    resources.feed(text)
    return resources


def test_no_page_fetches_from_another_host(pages: dict[str, str]) -> None:
    fetched = {name: parsed(text).fetched for name, text in pages.items()}
    assert all(fetched.values())
    foreign = {(name, url) for name, urls in fetched.items() for url in urls if re.match(r"(?:[a-z]+:)?//", url)}
    assert not foreign


def test_no_style_sheet_fetches_from_another_host(site: Path) -> None:
    sheets = list(site.rglob("*.css"))
    assert sheets
    for sheet in sheets:
        text = sheet.read_text(encoding="utf-8")
        urls = re.findall(r"url\(\s*['\"]?([^'\")]+)", text) + re.findall(r"@import\s+['\"]([^'\"]+)", text)
        assert not [url for url in urls if re.match(r"(?:https?:)?//", url)], sheet


def test_every_font_that_a_style_sheet_names_is_there(site: Path) -> None:
    folder = site / "assets/css"
    names = re.findall(r'url\("([^"]+\.woff2)"\)', (folder / "fonts.css").read_text(encoding="utf-8"))
    assert len(names) == 4
    for name in names:
        assert (folder / name).read_bytes().startswith(b"wOF2")


def test_pages_link_to_each_other_by_relative_addresses(pages: dict[str, str]) -> None:
    # The 404 page is served at any depth, so it alone needs absolute addresses.
    for name, text in pages.items():
        if name != "404.html":
            assert not re.findall(r'(?:href|src)="/[^"]*"', text), name


def test_ids_are_unique_in_every_page(pages: dict[str, str]) -> None:
    for name, text in pages.items():
        ids = parsed(text).ids
        assert len(ids) == len(set(ids)), (name, {one for one in ids if ids.count(one) > 1})


def test_formulas_are_mathml_and_need_no_script(pages: dict[str, str]) -> None:
    assert pages["lab/act1/index.html"].count("<math ") > 5
    assert not re.search(r"mathjax|katex", "".join(pages.values()), re.IGNORECASE)


def test_the_sources_of_acts_are_not_published_as_pages(site: Path) -> None:
    assert not list((site / "acts").rglob("*"))


def test_every_public_name_of_the_engine_is_in_the_reference(pages: dict[str, str]) -> None:
    reference = [text for name, text in pages.items() if name.startswith("reference/engine/")]
    ids = {one for text in reference for one in parsed(text).ids}
    public = {name: getattr(ironlaw, name) for name in dir(ironlaw)} | vars(vocabulary)
    for name, thing in public.items():
        if name.startswith("_") or name == "annotations" or isinstance(thing, ModuleType):
            continue
        if module := getattr(thing, "__module__", None):
            assert f"{module}.{getattr(thing, '__qualname__', name)}" in ids
        else:  # A number does not know which module it is a constant of.
            assert any(found.startswith("ironlaw.") and found.endswith(f".{name}") for found in ids)


def test_anchors_from_before_the_engine_had_its_name_lead_to_the_same_parts(pages: dict[str, str]) -> None:
    """Right before each anchor of today stands the same as `engine`; before that, what modules joined since had."""
    named = re.compile(r'id="(ironlaw|engine)\.([\w.]+)"')
    for page, text in pages.items():
        ids = [(found[1], found[2]) for found in named.finditer(text)]
        assert not ids or ids[0][0] == "engine", page
        for (library, name), (before, old) in pairwise([*reversed(ids)]):
            if library == "ironlaw":
                assert (before, old) == ("engine", name), page
            elif before == "engine":
                assert old.rpartition(".")[2] == name.rpartition(".")[2], page
    for page, anchor in (
        ("core", "engine.core.units.unit_of"),
        ("memory", "engine.memory.ledger.training_memory"),
        ("parallel", "engine.parallel.search.Configuration"),
    ):
        assert f'<a id="{anchor}">' in pages[f"reference/engine/{page}/index.html"]


def test_every_module_of_a_room_is_in_the_reference() -> None:
    pages = (ROOT / "docs/reference/engine").glob("*.md")
    listed = [line for page in pages for line in page.read_text("utf-8").splitlines() if line.startswith("::: ")]
    modules = {
        ".".join(path.relative_to(ROOT / "engine").with_suffix("").parts).removesuffix(".__init__")
        for path in (ROOT / "engine/ironlaw").rglob("*.py")
        if path.parent.name not in ("ironlaw", "cli")
    }
    rooms = {module for module in modules if module.count(".") == 1}
    assert sorted(listed) == sorted(f"::: {module}" for module in modules - rooms)


def test_the_act_page_gives_no_answer_away_in_its_text(pages: dict[str, str]) -> None:
    page = pages["lab/act1/index.html"]
    article = page[page.index("<article") : page.index("</article>")]
    text = re.sub(r"<[^>]+>", " ", re.sub(r"<svg.*?</svg>|data-source=\"[^\"]*\"", " ", article, flags=re.DOTALL))
    assert "12.46" not in text
    assert "24.92" not in text
    assert "Out of memory" not in text


def test_every_number_that_a_notebook_derives_stands_on_its_page_of_the_chapter(pages: dict[str, str]) -> None:
    notebook = pages["notebooks/reproduce/index.html"]
    *_, last = re.findall(r'data-slot="output"[^>]*>([^<]*)</pre>', notebook)
    rows = re.findall(r"^(why|iron-law|operations) +(.+?)  +(.+)$", unescape(last), re.MULTILINE)
    assert len(rows) >= 10
    for page, what, shown in rows:
        text = " ".join(unescape(re.sub(r"<[^>]+>", "", pages[f"chapter/{page}/index.html"])).split())
        assert shown in text, (page, what, shown)


def test_notebooks_can_be_downloaded_with_the_wheel_that_runs_them(site: Path) -> None:
    names = {path.stem for path in (ROOT / "docs/notebooks").glob("*.py")}
    assert {path.stem for path in (site / "notebooks").glob("*.ipynb")} == names
    assert len(list((site / "notebooks").glob("iron_law_notebooks-*.whl"))) == 1
