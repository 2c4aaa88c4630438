"""Material's search, as installed, can be changed so that it keeps all words of a large index apart."""

from __future__ import annotations

import re
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

from book.theme.search_words import kept_apart

STATES = """
const { TokenSet } = self.lunr;
const states = [{ 1: 234 }, { 1: 2, 3: 4 }].map((edges) => {
  const state = new TokenSet();
  for (const [label, id] of Object.entries(edges)) state.edges[label] = { id };
  return state.toString();
});
console.log(states[0] === states[1]);
"""
"""Two states of the graph: a `1` leads from one to state 234; from the other to state 2, and a `3` to state 4."""


def script() -> str:
    theme = find_spec("material")
    assert theme is not None
    assert theme.origin is not None
    folder = Path(theme.origin).parent / "templates"
    (found,) = [file for file in folder.rglob("*.js") if re.fullmatch(r"search\.\w+\.min\.js", file.name)]
    return found.read_text(encoding="utf-8")


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")
def test_states_that_differ_have_different_names_once_the_script_is_changed() -> None:
    changed = kept_apart(script())
    assert changed is not None
    before = "globalThis.self = globalThis; self.addEventListener = () => {};"
    for text, same in ((script(), "true"), (changed, "false")):
        ran = subprocess.run(
            ["node", "-"], input=before + text + STATES, capture_output=True, text=True, check=True, timeout=60
        )
        assert ran.stdout.strip() == same


def test_a_script_in_which_the_place_is_missing_is_refused() -> None:
    assert kept_apart(script().replace("o.id", "o.key")) is None
