"""The data files of a page: there for the program that names them, published by content, and checked."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

from explorable.live.build.measured import Evidence
from explorable.live.build.runner import Runner
from explorable.shared.cache import Cache
from tests.explorable.live.conftest import Site

READ = 'print(open("runs.csv").read().strip())'
FENCE = '```live name="{name}" files="{files}"{more}\n{code}\n```\n\n'


def fence(name: str, files: str, code: str = READ, more: str = "") -> str:
    return FENCE.format(name=name, files=files, code=code, more=more)


def test_a_program_opens_the_file_that_it_names_and_a_reader_gets_the_same(site: Site) -> None:
    site.write("deep/data/runs.csv", "gpu,seconds\nh100,3\n")
    site.write(
        "deep/page.md", fence("read", "data/runs.csv", more=' opens="runs.csv"') + fence("again", "data/runs.csv")
    )
    assert site.build(), site.messages
    page = site.page("deep/page/index.html")
    assert page.count("gpu,seconds\nh100,3") == 2
    listed = json.loads(html.unescape(re.findall(r'data-files="([^"]+)"', page)[0]))
    assert [one["name"] for one in listed] == ["runs.csv"]
    assert (site.root / "site/deep/page" / listed[0]["url"]).read_text() == "gpu,seconds\nh100,3\n"
    assert page.count('data-slot="file"') == 1


def test_another_build_at_the_same_time_takes_no_file_away(tmp_path: Path) -> None:
    evidence, bytecode = Evidence(tmp_path, tmp_path), tmp_path / "bytecode"
    first, second = (Runner(Cache(None), bytecode, 60.0, tmp_path, "acts", evidence) for _ in range(2))
    try:
        for build in (first, second, first, second):
            outcome = build.snippet("page", "read", READ, {"runs.csv": b"gpu"})
            assert outcome.output == "gpu\n", outcome.error
    finally:
        first.close()
        second.close()


def test_another_content_runs_the_program_again(site: Site) -> None:
    site.configure(cache_dir=site.root / "cache")
    site.write("index.md", fence("read", "runs.csv") + '```live name="next"\n1\n```\n')
    for content in ("first", "second"):
        site.write("runs.csv", content)
        assert site.build(), site.messages
        assert f">\n{content}" in site.page()


def test_a_program_that_names_no_file_finds_none(site: Site) -> None:
    site.write("runs.csv", "1")
    site.write("index.md", fence("first", "runs.csv") + f'```live name="second"\n{READ}\n```\n')
    assert not site.build()
    assert any("docs/index.md:6: snippet 'second' fails: FileNotFoundError" in one for one in site.messages)


def test_mistakes_are_named_with_file_and_line(site: Site) -> None:
    site.write("runs.csv", "1")
    site.write("sub/runs.csv", "1")
    site.write("big.csv", "x" * 1_000_001)
    wrong = [
        fence("a", "run.csv"),
        fence("b", "../mkdocs.yml"),
        fence("c", "runs.csv sub/runs.csv"),
        fence("d", "big.csv"),
        fence("e", "runs.csv", more=' opens="other.csv"'),
    ]
    site.write("index.md", "".join(wrong))
    assert not site.build()
    assert [one.removeprefix("live: ") for one in site.messages] == [
        "docs/index.md:1: there is no file 'run.csv' beside the page. perhaps 'runs.csv' is meant.",
        "docs/index.md:5: there is no file '../mkdocs.yml' beside the page. allowed: big.csv, runs.csv.",
        "docs/index.md:9: two data files are called 'runs.csv'. The program opens them by this name: rename one.",
        "docs/index.md:13: its data files have 1,000,001 bytes. 1,000,000 are allowed; give a part, or a "
        "smaller format.",
        "docs/index.md:17: opens='other.csv' is no data file of the snippet. allowed: runs.csv.",
    ]
