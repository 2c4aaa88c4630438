"""Real sites: what is baked, what is published, and how the build names a mistake."""

from __future__ import annotations

import hashlib
import html
import json
import re
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from explorable.finish import budgets
from explorable.live import part
from tests.explorable.live.conftest import Site

ACT = """\
from explorable.live import *

def compute(state):
    size = 6.0 * state.controls["copies"]
    table = Table("Sizes", (Column("gb", "Size", "GB", numeric=True),), [{"gb": f"{size:.1f}"}])
    rows = [{"gb": size, "part": "weights"}]
    return View({"bars": rows}, Figure("Sum", f"{size:.1f}", "GB"), f"{size} GB.", {"ledger": table})

ACT = Act(
    "tiny-act", "The tiny act", 3, "There is a model.", (Context("node", "Node", "80 GB"),),
    ChoiceQuestion("How much?", (Option(3, "three", "too little"), Option(12, "twelve", "right")), "GB", lambda: 12.46),
    (Choice("copies", "Copies", (ControlOption(1, "1"), ControlOption(2, "2")), 1),),
    compute, lambda prediction, state: Verdict(prediction == 12, "It is 12.", ()), {"ledger": "The ledger"},
)
"""
CHARTS = """\
import altair as alt

def ledger():
    data = alt.InlineData(name="bars", values=[])
    return alt.Chart(data).mark_bar(fill="url(#il-hatch)").encode(x="gb:Q", color=alt.value("var(--il-memory)"))
"""


def write_act(site: Site, act: str = ACT, charts: str = CHARTS) -> None:
    """Write the tiny act, whose sources can be given, and a page that shows it."""
    site.write("acts/tiny_act/act.py", act)
    site.write("acts/tiny_act/charts.py", charts)
    site.write("index.md", "# Home\n\n/// act | tiny-act\nThe *peek*.\n///\n")


@pytest.fixture
def with_act(site: Site) -> Site:
    """A site with the tiny act."""
    write_act(site)
    return site


def snippet(name: str, code: str, options: str = "") -> str:
    return f'```live name="{name}"{options}\n{code}\n```\n'


def result(page: str, name: str) -> str:
    """The baked result of a snippet."""
    element = page[page.index(f'data-name="{name}"') :]
    found = re.search(r'data-slot="result"[^>]*>\n(.*?)</pre>', element, re.DOTALL)
    assert found
    return html.unescape(found[1])


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, browser_code: Path, shared_cache: Path) -> Site:
    """A site with snippets and the tiny act on two pages, built once; what it warned of is in `messages`."""
    site = Site(tmp_path_factory.mktemp("built"), [])
    site.configure(cache_dir=shared_cache)
    write_act(site)
    site.write("deep/er/page.md", "/// act | tiny-act\n///\n")
    site.write("acts/notes.md", "# Notes")
    tab = '=== "Tab"\n\n    ' + snippet("b", "x += 1\nx").replace("\n", "\n    ")
    note = "!!! note\n\n    " + snippet("c", "x * 10").replace("\n", "\n    ")
    engine = snippet("engine", "from ironlaw import model\nmodel('gpt2-xl').parameters")
    wrong = snippet("wrong", "1 / 0", ' error="expected"')
    first = snippet("size", 'print("two <", 3)\n6 * 7')
    site.write("snippets.md", "\n\n".join([first, engine, wrong, snippet("a", "x = 1"), tab, note]))
    shown = snippet("a", "1 / 0")
    inner = shown.replace("\n", "\n    ")
    site.write("samples.md", f"text\n\n    {inner}\n\n````markdown\n{shown}````\n\n<!--\n{shown}-->\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(part, "DIST", browser_code)
        site.build()
    return site


SNIPPETS = "snippets/index.html"


def test_a_snippet_is_baked_into_the_page(built: Site) -> None:
    assert built.messages == []
    assert "two &lt; 3" in built.page(SNIPPETS)
    assert result(built.page(SNIPPETS), "size") == "42"


def test_a_snippet_computes_with_the_engine(built: Site) -> None:
    assert result(built.page(SNIPPETS), "engine") == "1557611200"


def test_snippets_of_a_page_share_a_namespace_in_reading_order(built: Site) -> None:
    assert [result(built.page(SNIPPETS), name) for name in "bc"] == ["2", "20"]


def test_pages_do_not_share_a_namespace(site: Site) -> None:
    site.write("index.md", snippet("a", "x = 1"))
    site.write("other.md", snippet("a", "x"))
    assert not site.build()
    assert any("docs/other.md:2: snippet 'a' fails: NameError" in message for message in site.messages)


def test_code_samples_are_not_run(built: Site) -> None:
    page = built.page("samples/index.html")
    assert "<live-snippet" not in page
    assert "1 / 0" in page


def test_a_failing_snippet_fails_the_strict_build_with_file_and_line(site: Site) -> None:
    # A name like no other: from Python 3.12 on, a message may suggest a similar one.
    site.write(
        "sub/page.md",
        "---\ntitle: x\n---\n\n# T\n\n!!! note\n\n    "
        + snippet("bad", "ok = 1\n\nunheard_of").replace("\n", "\n    "),
    )
    site.write("index.md", "# Home")
    assert not site.build()
    assert site.messages == [
        "live: docs/sub/page.md:12: snippet 'bad' fails: NameError: name 'unheard_of' is not defined. "
        'Correct it, or write error="expected".'
    ]
    assert site.build(strict=False)
    assert "NameError" in site.page("sub/page/index.html")


def test_an_expected_error_is_shown_and_is_no_defect(built: Site) -> None:
    page = built.page(SNIPPETS)
    assert 'data-line="1"' in page[page.index('data-name="wrong"') :]
    assert "ZeroDivisionError" in page


def test_an_endless_loop_is_stopped_and_the_page_goes_on(site: Site) -> None:
    limit = 1  # second; a snippet that ends takes milliseconds, and the start of the process does not count
    site.configure(time_limit_s=limit, cache_dir=site.root / "cache")
    loop = snippet("loop", "while True: pass")
    site.write("index.md", f"{snippet('a', 'x = 1')}\n{loop}\n{snippet('b', 'x + 1')}")
    assert not site.build()
    assert site.messages == [f"live: docs/index.md:6: snippet 'loop' fails: stopped after {limit} s."]
    assert result(site.page(), "b") == "2"


def test_a_crash_is_named(site: Site) -> None:
    site.write("index.md", snippet("crash", "import os\nos._exit(7)"))
    assert not site.build()
    assert "docs/index.md:1: snippet 'crash' fails: the Python process ended with status 7." in site.messages[0]


PROCESS = "import os\nos.getpid()"
"""A program with another result in each build, because each has a new child process."""


def test_a_second_build_takes_results_from_the_cache(site: Site) -> None:
    site.configure(cache_dir=site.root / "cache")
    site.write("index.md", snippet("a", PROCESS))
    values = []
    for _ in range(2):
        assert site.build()
        values.append(result(site.page(), "a"))
    assert values[0] == values[1]


def test_without_the_cache_every_build_runs(site: Site, shared_cache: Path) -> None:
    site.configure(cache="false", cache_dir=shared_cache)
    site.write("index.md", snippet("a", PROCESS))
    values = []
    for _ in range(2):
        assert site.build()
        values.append(result(site.page(), "a"))
    assert values[0] != values[1]


def test_after_an_edit_the_snippets_behind_it_run_again(site: Site) -> None:
    site.configure(cache_dir=site.root / "cache")
    before = snippet("before", PROCESS)
    site.write("index.md", f"{before}\n{snippet('a', 'x = 1')}\n{snippet('b', 'x + 1')}")
    assert site.build()
    first = result(site.page(), "before")
    site.write("index.md", f"{before}\n{snippet('a', 'x = 2')}\n{snippet('b', 'x + 1')}")
    assert site.build()
    assert result(site.page(), "b") == "3"
    assert result(site.page(), "before") == first


def test_a_new_snippet_sees_what_cached_ones_defined(site: Site) -> None:
    site.configure(cache_dir=site.root / "cache")
    site.write("index.md", snippet("a", "x = 1"))
    assert site.build()
    site.write("index.md", f"{snippet('a', 'x = 1')}\n{snippet('b', 'x + 1')}")
    assert site.build()
    assert result(site.page(), "b") == "2"


def test_an_act_is_baked_into_the_page(built: Site) -> None:
    page = built.page()
    for shown in ("The tiny act", "How much?", "twelve", "<svg", "6.0", "The <em>peek</em>."):
        assert shown in page
    for secret in ("too little", "12.46", "It is 12."):
        assert secret not in page


def test_a_baked_chart_follows_the_colour_scheme(built: Site) -> None:
    assert "var(--il-fg)" in built.page()
    assert "url(#il-hatch)" in built.page()


def test_an_acts_files_are_published_relative_to_the_page(built: Site) -> None:
    folder = built.root / "site" / "deep" / "er" / "page"
    page = built.page("deep/er/page/index.html")
    source = re.search(r'data-act-url="([^"]+)"', page)
    spec = re.search(r'data-spec-url="([^"]+)"', page)
    assert source
    assert spec
    assert list(json.loads((folder / source[1]).read_text())["files"].values()) == [ACT]
    data = json.loads((folder / spec[1]).read_text())["data"]
    assert [one["name"] for one in data if one.get("values") == []] == ["bars"]


def test_the_folder_of_the_acts_is_not_published(built: Site) -> None:
    assert not (built.root / "site" / "acts").exists()


def test_a_page_for_a_class_holds_what_its_acts_ask(with_act: Site) -> None:
    site = with_act
    site.write("acts/tiny_act/act.py", ACT.replace("How much?", 'How \\"much\\" & more?'))
    element = '<live-class data-acts="tiny-act"></live-class>'
    site.write("class.md", f"# C\n\n{element}\n\n    {element}\n")
    assert site.build()
    [asked] = re.findall(r'<live-class data-acts="tiny-act" data-asked="([^"]*)">', site.page("class/index.html"))
    tiny = {"title": "The tiny act", "question": 'How "much" & more?', "unit": "GB"}
    assert json.loads(html.unescape(asked)) == {"tiny-act": tiny}
    site.write("class.md", '# C\n\n<live-class data-acts="tiny-act teeny-act"></live-class>\n')
    assert not site.build()
    assert site.messages == ["live: docs/class.md: no page shows an act 'teeny-act'. perhaps 'tiny-act' is meant."]


def test_a_missing_charts_file_is_named(with_act: Site) -> None:
    site = with_act
    (site.root / "docs/acts/tiny_act/charts.py").unlink()
    assert not site.build()
    assert "docs/acts/tiny_act/charts.py:1: it is missing; act 'tiny-act' has the charts ledger." in site.messages[0]


def test_after_an_edit_of_an_act_the_page_changes(with_act: Site) -> None:
    site = with_act
    assert site.build()
    write_act(site, ACT.replace("6.0 *", "7.5 *"), CHARTS.replace("hatch", "dots"))
    assert site.build()
    assert "7.5" in site.page()
    assert "url(#il-dots)" in site.page()


ENTRY = re.compile(r'<script src="((?:\.\./)*assets/live/live-\w+\.js)" type="module">')
STYLE = re.compile(r'href="((?:\.\./)*assets/live/live-\w+\.css)"')


def release(site: Site) -> dict[str, Any]:
    """What the entry of the built site says of its release."""
    [entry] = ENTRY.findall(site.page())
    said: dict[str, Any] = json.loads((site.root / "site" / entry).read_text())
    return said


def test_every_page_loads_one_module_and_one_stylesheet_by_relative_address(built: Site) -> None:
    for found in (ENTRY, STYLE):
        [address] = found.findall(built.page("deep/er/page/index.html"))
        assert (built.root / "site/deep/er/page" / address).is_file()


def test_a_changed_program_has_a_new_address_and_makes_a_new_release(
    with_act: Site, browser_code: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = with_act
    moving = "assets/book/figures/moves-0123456789ab.json"
    site.write(moving, "[]")
    assert site.build()
    before, [entry], live = release(site), ENTRY.findall(site.page()), site.root / "site/assets/live"
    listed = json.loads((live / "release.json").read_text())
    assert listed["build"] == before["build"]
    files = {path.relative_to(site.root / "site").as_posix() for path in live.rglob("*") if path.is_file()}
    # The browser always fetches these two anew, because they say what the site has now.
    assert set(listed["files"]) == files - {"assets/live/release.json", "assets/live/acts.json"} | {moving}

    site.write("index.md", "# Home\n\nOther words.\n\n/// act | tiny-act\n///\n")
    assert site.build()
    assert release(site) == before
    changed = tmp_path / "changed"
    shutil.copytree(browser_code, changed)
    (changed / "live.css").write_text("a{}")
    monkeypatch.setattr(part, "DIST", changed)
    assert site.build()
    assert release(site)["build"] != before["build"]
    assert ENTRY.findall(site.page()) != [entry]


def test_the_entry_leads_to_files_of_exactly_the_sizes_it_names(built: Site) -> None:
    base = built.root / "site" / "assets" / "live"
    said = release(built)
    manifest = said["runtime"]
    lock = json.loads((base / manifest["lockFileURL"]).read_text())
    files = {path.name: path.stat().st_size for path in (base / manifest["indexURL"]).iterdir()}
    files[Path(manifest["lockFileURL"]).name] = (base / manifest["lockFileURL"]).stat().st_size
    start, rest = (base / manifest["library"][part] for part in ("start", "rest"))
    files[start.name] = start.stat().st_size
    for name in manifest["packages"]:
        wheel = (base / manifest["lockFileURL"]).parent / f"{lock['packages'][name]['file_name']}.packed"
        files[wheel.name] = wheel.stat().st_size
    assert manifest["sizes"] == files
    assert {(base / first).stat().st_size for first in manifest["first"]} < set(files.values())
    assert rest.is_file()
    assert rest.name not in files, "the rest is fetched on demand: a start's progress must not wait for it"
    assert (base / said["vega"]).stat().st_size > 100_000


def test_the_list_of_the_book_names_every_file_with_its_hash(site: Site) -> None:
    site.write("index.md", "# Home")
    site.write("Zürich (1)#100%.txt", "text")
    assert site.build()
    root = site.root / "site"
    contents = json.loads((root / "offline.json").read_text())
    assert contents["files"]["Z%C3%BCrich%20%281%29%23100%25.txt"][0] == 4, "addresses stand there"
    for name in ("index.html", "404.html", f"assets/live/{release(site)['vega']}"):
        content = (root / name).read_bytes()
        assert contents["files"][name] == [len(content), hashlib.sha256(content).hexdigest()[:16]]
    missing = {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()} - {
        *map(unquote, contents["files"])
    }
    assert {name for name in missing if not name.startswith("sitemap") and not name.endswith(".map")} == {
        "offline.json",
        "sw.js",
        "assets/live/release.json",
    }
    assert site.build()
    again = json.loads((root / "offline.json").read_text())
    # MkDocs' own theme writes the time of the build into the home page.
    assert {name for name, file in again["files"].items() if file != contents["files"].get(name)} <= {"index.html"}
    site.write("index.md", "# Other")
    assert site.build()
    assert json.loads((root / "offline.json").read_text())["release"] != contents["release"]


def test_what_grew_too_heavy_fails_the_strict_build(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.write("index.md", "# Home")
    assert site.build(), site.messages
    for limit in ("SCRIPTS", "RUNTIME", "CHARTS", "PAGE"):
        monkeypatch.setattr(budgets, limit, 100)
    assert not site.build()
    heavy = [message for message in site.messages if "too heavy" in message]
    assert re.search(
        r"too heavy: our scripts on a page without acts: [\d,]+ bytes as sent, and the limit is 100", heavy[0]
    )
    assert all(any(part in one for one in heavy) for part in ("runtime", "chart", "index.html"))


def test_a_server_weighs_each_page_that_it_makes(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budgets, "PAGE", 100)
    site.write("index.md", "# Home")
    site.build(strict=False, serves=True)
    heavy = [message for message in site.messages if "too heavy" in message]
    assert len(heavy) == 1
    assert re.search(r"too heavy: docs/index.md: [\d,]+ bytes as sent, and the limit is 100\. .*divide it", heavy[0])


def test_missing_browser_code_stops_the_build_with_the_fix(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(part, "DIST", tmp_path / "nowhere")
    site.write("index.md", "# Home")
    assert not site.build()
    assert "run `make setup`" in site.messages[-1]


def test_a_disabled_plugin_leaves_the_page_alone(site: Site) -> None:
    site.configure(enabled="false")
    site.write("index.md", "# Home")
    assert site.build()
    assert "assets/live/" not in site.page()


def test_a_time_limit_must_be_positive(site: Site) -> None:
    site.configure(time_limit_s=0)
    site.write("index.md", "# Home")
    assert not site.build()
    assert "'time_limit_s': 0 is not allowed; it must be more than 0" in site.messages[-1]
