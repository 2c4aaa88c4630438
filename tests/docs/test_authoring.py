"""The lists in the guides for authors are complete and true."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

from explorable.figures.sketch import WIDTH
from explorable.measured.claims.data import SCHEMA
from explorable.shared.svg import INK

GUIDES = Path(__file__).parents[2] / "docs/authoring"


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
