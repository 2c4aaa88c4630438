"""Links that readers have: each address of the site in `old_anchors.json` still leads somewhere in the built site."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from tools.old_anchors import LIST, addresses, main, read, written

OLD = read(LIST.read_text("utf-8"))
GONE = {
    "authoring/vocabulary/#plugins.live.runtime.contract.PREDICTION",
    "chapter/pipeline/#references",
    "chapter/walkthrough/#references",
    "reference/engine/config/#engine.config.checks.require_dropout",
    "reference/engine/config/#engine.config.words.as_written",
    "reference/engine/config/#engine.config.words.require_text",
    "reference/engine/core/#engine.core.errors.one_of",
    "reference/engine/economics/#engine.economics.cost.runs_to_break_even",
    "reference/engine/graph/#engine.graph.tape.Tape.cross_entropy",
    "reference/engine/memory/#engine.memory.fully_sharded.is_fully_sharded",
    "reference/engine/memory/#engine.memory.static.stage_elements",
    "reference/engine/models/#engine.models.transformer.Transformer.kv_width",
    "reference/engine/parallel/#engine.parallel.zero.STATE_BYTES",
    "reference/engine/parallel/#engine.parallel.zero.state_bytes_per_parameter",
    "reference/engine/training/#engine.training.pipeline.shuffled_rate",
}
"""Nothing on their page took the place of these: they lead to its top."""


@cache
def places(page: Path) -> set[str]:
    return set(re.findall(r'\sid="([^"]+)"', page.read_text("utf-8")))


def there(site: Path, address: str) -> bool:
    file, _, place = address.partition("#")
    path = site / file / "index.html" if file == "" or file.endswith("/") else site / file
    return path.is_file() and (not place or place in places(path))


def test_the_list_holds_what_readers_could_link_to() -> None:
    assert len(OLD) > 2000
    assert {
        "chapter/prediction/#the-experiment",
        "chapter/prediction/#tab-hybrid-controls",
        "chapter/prediction/#eq-predicted-update",
        "claims/#ch-gpt2-cost",
        "chapter/figures/three_levers.py",
        "notebooks/size.ipynb",
    } <= set(OLD)


def test_every_old_address_leads_somewhere(site: Path) -> None:
    lost = [address for address in OLD if not there(site, address)]
    assert set(lost) == GONE, "give these anchors to what took their place, as `[text](page.md){ #anchor }`"


def test_addresses_are_pages_and_what_may_be_linked_to_on_them(tmp_path: Path) -> None:
    (tmp_path / "lab/act").mkdir(parents=True)
    (tmp_path / "index.html").write_text(
        '<h2 id="nav"></h2><a href="lab/a.csv">a</a><a href="https://x.org/b.csv">b</a>'
    )
    (tmp_path / "lab/act/index.html").write_text(
        '<article><h1 id="title"></h1><h2 class="x" id="two"></h2><svg><g id="axis"></g></svg><live-act id="act-a">'
        '<h3 id="act-a-reveal"></h3></live-act><h3 id="engine.core.units.Unit"></h3><li id="ref-a"></li></article>'
    )
    found = ["#", "lab/a.csv", "lab/act/#", "lab/act/#two", "lab/act/#act-a", "lab/act/#engine.core.units.Unit"]
    assert list(addresses(tmp_path)) == found
    assert sorted(read(written("abc", found))) == sorted(found)


def test_a_folder_that_holds_no_site_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path), "abc"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
