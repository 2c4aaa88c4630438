"""The lists in the guides for authors are complete and true."""

from __future__ import annotations

import json
import re
import textwrap
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from mkdocs.plugins import get_plugins

from explorable.figures.sketch import WIDTH
from explorable.measured.claims.data import SCHEMA
from explorable.shared.scan import scan
from explorable.shared.svg import INK

ROOT = Path(__file__).parents[2]
GUIDES = ROOT / "docs/authoring"
# A file that a reader is to write is none of this checkout.
_FILE = re.compile(r"(?<!Save this as )`((?:plugins|book|tools|tests|engine|gpu_bench|docs|requirements)/[\w./-]+)`")


def plugins() -> Iterator[tuple[str, dict[str, Any]]]:
    """The plugins, with their options, of all configurations that the guides show."""
    for guide in GUIDES.glob("*.md"):
        page = scan(guide.read_text(encoding="utf-8"))
        for fence in page.fences:
            shown = textwrap.dedent("\n".join(page.lines[fence.line : fence.last - 1]))
            if fence.language == "yaml" and "plugins:" in shown:
                for plugin in yaml.safe_load(shown)["plugins"]:
                    yield from plugin.items() if isinstance(plugin, dict) else [(plugin, {})]


def test_configurations_name_plugins_and_options_that_there_are() -> None:
    assert "explorable" in dict(plugins())
    for name, options in plugins():
        plugin = get_plugins()[name].load()()
        errors, warnings = plugin.load_config(options, str(ROOT / "mkdocs.yml"))
        assert not errors + warnings, (name, options)


@pytest.mark.parametrize("guide", sorted(GUIDES.glob("*.md")), ids=lambda path: path.stem)
def test_files_that_a_guide_names_are_there(guide: Path) -> None:
    named = _FILE.findall(guide.read_text(encoding="utf-8"))
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_colors_and_the_width_of_a_sheet_are_listed() -> None:
    text = (GUIDES / "writing.md").read_text(encoding="utf-8")
    [paragraph] = re.findall(r"^Colors are names of `INK`.*?\n\n", text, re.DOTALL | re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", paragraph)) == {"INK", *INK}
    assert f"{WIDTH} units wide" in text


def test_the_source_that_is_shown_has_every_key_that_the_build_asks_for() -> None:
    text = (GUIDES / "evidence.md").read_text(encoding="utf-8")
    [shown] = re.findall(r"```toml\n(    \[\[source\]\]\n    id = .*?)```", text, re.DOTALL)
    [source] = tomllib.loads(shown.replace("\n    ", "\n").strip())["source"]
    kind = json.loads(SCHEMA.read_text(encoding="utf-8"))["$defs"]["sources"]["properties"]["source"]
    assert set(source) == set(kind["items"]["required"])
