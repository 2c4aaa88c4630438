"""Material's script, as installed, can be changed so that the search index is fetched at the first search."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

from book.theme.search_later import SCRIPT, postponed


def script() -> str:
    theme = find_spec("material")
    assert theme is not None
    assert theme.origin is not None
    folder = Path(theme.origin).parent / "templates"
    (found,) = [file for file in folder.rglob("*.js") if SCRIPT.fullmatch(file.name)]
    return found.read_text(encoding="utf-8")


def test_both_places_are_found_in_materials_script() -> None:
    changed = postponed(script())
    assert changed is not None
    assert changed.count(".searchParams.has('h')?") == 1
    assert 'location.protocol!=="file:"' not in changed


def test_a_script_in_which_a_place_is_missing_is_refused() -> None:
    assert postponed(script().replace('location.protocol!=="file:"', "!0")) is None
    assert postponed(re.sub(r"index\$:\w+,location\$:", "index$:", script())) is None
