"""Real sites: a mistake in a source stops the strict build with its place, and a server shows it in the page."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.exceptions import Abort, PluginError

from tests.explorable.strict_build import build_strictly

ROOT = Path(__file__).parents[3]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    extensions = "markdown_extensions:\n  - pymdownx.superfences\n  - pymdownx.blocks.caption\n"
    (tmp_path / "mkdocs.yml").write_text(
        f"site_name: Tiny\ntheme: mkdocs\nplugins: [{{explorable: {{parts: []}}}}]\n{extensions}"
    )
    (tmp_path / "docs").mkdir()
    return tmp_path


@pytest.fixture(autouse=True)
def no_hook_listens_on() -> Iterator[None]:
    """Take away the handlers that the hooks have added, as MkDocs ends with its process."""
    yield
    logging.getLogger("mkdocs").handlers.clear()


def test_a_page_in_another_encoding_is_one_line_and_no_traceback(site: Path) -> None:
    (site / "docs/index.md").write_bytes("# Home\n\nA café.\n".encode("latin-1"))
    warnings: list[str] = []
    with pytest.raises(Abort):
        build_strictly(site, warnings)
    expected = "WARNING strict: docs/index.md:3: the byte 0xe9 is not UTF-8. save the file in the encoding UTF-8."
    assert [line for line in warnings if "docs/" in line] == [expected]


def test_a_file_beside_the_pages_in_another_encoding_is_one_line_too(
    site: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (site / "docs/index.md").write_text("# Home\n", "utf-8")
    (site / "docs/acts").mkdir()
    (site / "docs/acts/act.py").write_bytes("TITLE = 'A'\nNOTE = 'café'\n".encode("latin-1"))
    with pytest.raises(Abort):
        build_strictly(site, [])
    said = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert said == ["docs/acts/act.py:2: the byte 0xe9 is not UTF-8. save the file in the encoding UTF-8."]


def test_a_server_looks_again_only_at_changed_files_and_a_build_at_all_files(site: Path) -> None:
    file, other = site / "docs/one.py", site / "docs/other.toml"
    for path in (file, other):
        path.write_text("a = 'café'\n", "utf-8")
    config = load_config(str(site / "mkdocs.yml"))
    config.plugins.on_startup(command="serve", dirty=False)
    config.plugins.on_config(config)
    # The size and the time are the same as before, so that only reading the file shows its other encoding.
    before = file.stat()
    file.write_bytes("a = 'cafés'\n".encode("latin-1"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    config.plugins.on_config(config)
    other.write_bytes("b = 'cafés!'\n".encode("latin-1"))
    for _ in range(2):
        with pytest.raises(PluginError, match=r"other\.toml:1: the byte 0xe9"):
            config.plugins.on_config(config)
    config.plugins.on_startup(command="build", dirty=False)
    with pytest.raises(PluginError, match=r"one\.py:1: the byte 0xe9"):
        config.plugins.on_config(config)


def test_a_block_left_open_stops_the_strict_build(site: Path) -> None:
    (site / "docs/index.md").write_text("---\ntitle: Home\n---\n\n# Home\n\n/// caption\nwords\n", "utf-8")
    warnings: list[str] = []
    with pytest.raises(Abort):
        build_strictly(site, warnings)
    what = "the block '/// caption' is left open. close it with a line ///"
    assert warnings == [f"WARNING strict: docs/index.md:7: {what}."]


def test_a_server_says_in_every_page_what_is_wrong_with_data_and_in_its_page_what_is_wrong_with_another(
    site: Path,
) -> None:
    (site / "docs/index.md").write_text("# Home\n\nGood.\n", "utf-8")
    (site / "docs/other.md").write_text("# Other\n\nGood.\n", "utf-8")
    (site / "warn.py").write_text(
        "import logging\n"
        "log = logging.getLogger('mkdocs.plugins.any')\n"
        "def on_files(files, **_):\n"
        "    log.warning('docs/claims/some.toml:3: there is no unit')\n"
        "    log.warning('docs/other.md:9: it is named twice')\n",
        "utf-8",
    )
    file = site / "mkdocs.yml"
    file.write_text(file.read_text("utf-8").replace("markdown_ext", "hooks: [warn.py]\nmarkdown_ext"), "utf-8")
    config = load_config(str(file))
    config.plugins.on_startup(command="serve", dirty=False)
    for _ in range(2):  # The second build has heard nothing of the first.
        build(config)
        home, other = ((site / "site" / name).read_text("utf-8") for name in ("index.html", "other/index.html"))
        data, page = "<li>docs/claims/some.toml:3: there is no unit</li>", "<li>docs/other.md:9: it is named twice</li>"
        assert [text.count(line) for text in (home, other) for line in (data, page)] == [1, 0, 1, 1]


@pytest.mark.parametrize(("command", "shown"), [("serve", True), ("build", False)])
def test_a_server_says_in_the_page_what_any_plugin_warned_of(site: Path, command: str, shown: bool) -> None:
    (site / "docs/index.md").write_text("# Home\n\nGood.\n", "utf-8")
    (site / "docs/other.md").write_text("# Other\n\nGood.\n", "utf-8")
    (site / "warn.py").write_text(
        "import logging\n"
        "def on_page_markdown(markdown, /, page, **_):\n"
        "    if page.file.src_uri == 'index.md':\n"
        "        logging.getLogger('mkdocs.plugins.any').warning('docs/index.md:3: <b> is wrong')\n",
        "utf-8",
    )
    file = site / "mkdocs.yml"
    file.write_text(file.read_text("utf-8").replace("markdown_ext", "hooks: [warn.py]\nmarkdown_ext"), "utf-8")
    config = load_config(str(file))
    config.plugins.on_startup(command=command, dirty=False)  # type: ignore[arg-type]
    with contextlib.suppress(Abort):
        build(config)
    home, other = ((site / "site" / name).read_text("utf-8") for name in ("index.html", "other/index.html"))
    assert ("<li>docs/index.md:3: &lt;b&gt; is wrong</li>" in home) == shown
    assert "does not pass the strict build" not in other
