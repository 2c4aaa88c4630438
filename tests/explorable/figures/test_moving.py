"""Figures that move: every state is drawn at build, the page holds the default one, and mistakes are named."""

from __future__ import annotations

import json
import re

import pytest

from explorable.figures.moving import MOST_STATES, Control, first, states
from tests.explorable.figures.conftest import Site

MOVING = """
from ironlaw import model
from explorable.figures.drawing import Drawing
from explorable.figures.moving import Control, Drag, Reading
from explorable.figures.sketch import Sketch

CONTROLS = (
    Control("name", "Model", ("gpt2", "gpt2-xl"), ("small", "extra large"), "gpt2-xl", buttons=True),
    Control("batch", "Batch", (1, 2, 4), ("one", "two", "four"), 2),
)
DRAG = Drag("batch", 0, 440)

def draw(name, batch):
    sheet = Sketch(60)
    sheet.rect(0, 0, 50 * batch, 20, fill="compute", line="fg")
    sheet.text(4, 40, f"{name} < {batch}")
    return Drawing(sheet, f"{batch} of {name}.", (Reading("Weights", f"{model(name).parameters:,}", "in all"),))
"""


def test_states_are_all_combinations_and_the_last_control_changes_fastest() -> None:
    controls = (Control("a", "A", (1, 2), ("1", "2"), 2), Control("b", "B", "xyz", "xyz", "y"))
    made = list(states(controls))
    assert made[:4] == [{"a": 1, "b": "x"}, {"a": 1, "b": "y"}, {"a": 1, "b": "z"}, {"a": 2, "b": "x"}]
    assert made[first(controls)] == {"a": 2, "b": "y"}


def test_a_control_that_cannot_move_or_start_is_refused() -> None:
    with pytest.raises(ValueError, match="two or more values"):
        Control("a", "A", (1,), ("1",), 1)
    with pytest.raises(ValueError, match="default 3 is none"):
        Control("a", "A", (1, 2), ("1", "2"), 3)
    wide = Control("a", "A", range(MOST_STATES + 1), [str(n) for n in range(MOST_STATES + 1)], 0)
    with pytest.raises(ValueError, match="too many"):
        list(states((wide,)))


def test_a_page_holds_the_default_state_and_the_file_all_of_them(site: Site) -> None:
    site.write("chapter/figures/moves.py", MOVING)
    site.write("chapter/one.md", "# One\n\n/// figure | moves\nIt moves.\n///\n")
    site.write("index.md", "# Home\n\n/// instrument | moves\n///\n")
    page, home = site.build(), site.build(".")
    assert "Figure 1.1." in page
    assert "Figure" not in home
    for html, up in ((page, "../../"), (home, "")):
        assert 'aria-label="2 of gpt2-xl."' in html
        assert re.search(r'checked[^>]*value="1"', html), "the button of the default"
        assert 'aria-valuetext="two"' in html
        [address] = re.findall(rf'data-states="{up}(assets/book/figures/moves-\w+\.json)"', html)
        frames = json.loads((site.folder / "site" / address).read_text("utf-8"))
        assert [words for _, words, _ in frames] == [f"{n} of {m}." for m in ("gpt2", "gpt2-xl") for n in (1, 2, 4)]
        assert frames[0][2] == [["Weights", "124,439,808", "in all"]]
        assert "gpt2 &lt; 1" in frames[0][0]
        assert "var(--il-compute,#00763a)" in frames[0][0]


def test_mistakes_name_the_file_of_the_figure(site: Site) -> None:
    site.write("chapter/figures/moves.py", MOVING.replace('Drag("batch"', 'Drag("name"'))
    [warning] = site.defects("# One\n\n/// figure | moves\nIt moves.\n///\n")
    assert "DRAG sets 'name', which is no slider of this figure" in warning
