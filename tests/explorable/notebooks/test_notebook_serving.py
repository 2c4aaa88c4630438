"""Notebooks under a server, and where what executes them is not installed."""

from __future__ import annotations

import sys

import pytest
from mkdocs.config import load_config
from mkdocs.exceptions import Abort

from tests.explorable.hosts.test_incremental import Server
from tests.explorable.notebooks.conftest import Site


@pytest.mark.full
def test_a_server_makes_a_changed_notebook_again_and_no_other_page(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    site.write("\nprint(40 + 1)")
    server = Server(site.folder, {})
    assert ">41</pre>" in site.page()
    assert server.rebuilt() == set()
    site.write("\nprint(40 + 2)")
    assert server.rebuilt() == {"notebooks/one"}
    assert ">42</pre>" in site.page()
    assert "print(40 + 2)" in (site.folder / "site/notebooks/one.ipynb").read_text("utf-8")
    site.write("\nprint(40 +)")
    assert server.rebuilt() == {"notebooks/one"}
    assert "docs/notebooks/one.py:5: cell 1 fails: SyntaxError" in caplog.text
    # The plugin keeps its state in this process; this makes the next build a complete one again.
    load_config(str(site.folder / "mkdocs.yml")).plugins.on_startup(command="build", dirty=False)


def test_what_is_not_installed_is_one_line(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    site.write("\n1")
    monkeypatch.delitem(sys.modules, "explorable.notebooks.source")
    monkeypatch.setitem(sys.modules, "jupytext", None)
    with pytest.raises(Abort):
        site.build()
    said = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert said == ["notebooks: jupytext is not there; install 'explorable[notebooks]'"]
