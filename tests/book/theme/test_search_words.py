"""Material's search, as installed, keeps all words of a large index apart in the book's worker."""

from __future__ import annotations

import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

WORKER = Path(__file__).parents[3] / "book/theme/overrides/assets/javascripts/workers/words.js"
BEFORE = """
globalThis.self = globalThis;
self.addEventListener = () => {};
self.location = { hash: "#" + process.argv[2] };
self.importScripts = (name) => (0, eval)(require("fs").readFileSync(name, "utf8"));
"""
"""What a worker has and Node.js has not."""
STATES = """
const states = [{ 1: 234 }, { 1: 2, 3: 4 }].map((edges) => {
  const state = new self.lunr.TokenSet();
  for (const [label, id] of Object.entries(edges)) state.edges[label] = { id };
  return state.toString();
});
console.log(states[0] === states[1]);
"""
"""Two states of the graph: a `1` leads from one to state 234; from the other to state 2, and a `3` to state 4."""


ENDLESS = """
self.lunr.TokenSet.fromFuzzyString("a".repeat(40), 99);
console.log(self.lunr.TokenSet.fromFuzzyString("memory", 2).edges.m !== undefined);
"""
"""A query of forty characters and `~99`: a graph of all words at 99 changes, for which Node.js runs out of memory."""


def materials() -> Path:
    """The search's worker as Material has it."""
    theme = find_spec("material")
    assert theme is not None
    assert theme.origin is not None
    (found,) = (Path(theme.origin).parent / "templates/assets/javascripts/workers").glob("search.*.min.js")
    return found


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")
def test_a_search_for_words_at_99_changes_ends() -> None:
    assert _printed(WORKER.read_text("utf-8") + ENDLESS) == "true"


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")
def test_states_that_differ_have_different_names_in_the_books_worker() -> None:
    for worker, same in (("importScripts(location.hash.slice(1));", "true"), (WORKER.read_text("utf-8"), "false")):
        assert _printed(worker + STATES) == same


def _printed(program: str) -> str:
    """What a program prints where Material's worker runs."""
    ran = subprocess.run(
        ["node", "-", materials()], input=BEFORE + program, capture_output=True, text=True, check=True, timeout=60
    )
    return ran.stdout.strip()
