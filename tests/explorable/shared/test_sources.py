"""Mistakes that Markdown ignores are found at their lines, with a way out; correct text is left alone."""

from __future__ import annotations

import pytest

from explorable.shared.errors import nearest
from explorable.shared.locate import Constructs
from explorable.shared.sources import mistakes

KNOWN = Constructs(("live",), ("act", "figure", "table"), ("engine", "record"))


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("# A\n\n/// act | one\npeek\n", 3, "the block '/// act' is left open"),
        ("# A\n\n/// figure | one\nwords\n\n/// table | two\nwords\n///\n", 3, "the block '/// figure' is left open"),
        ("//// act | one\n/// table | two\n////\n", 2, "the block '/// table' is left open"),
        ("text\n\n///\n", 3, "'///' closes nothing"),
        ("/// figrue | one\n///\n", 1, "there is no block 'figrue'"),
        ('# A\n\n```live name="x"\n1 + 1\n', 3, "the fence '```live name=\"x\"' is left open"),
        ("---\ntitle: A\n\n# A\n", 1, "the front matter has no end"),
        ("---\ntitle: [A\n---\n# A\n", 2, "the front matter is no YAML"),
        ("---\n- A\n---\n# A\n", 1, "the front matter is no mapping"),
        ("---\nsearch: 5\n---\n# A\n", 1, "the front matter is no YAML that is read: 'search' is no mapping"),
        ("---\nhide: 5\n---\n# A\n", 1, "the front matter is no YAML that is read: 'hide' is no list"),
        (f"---\ntitle: 0x{'f' * 9000}\n---\n# A\n", 2, "the front matter is no YAML: a number is too large"),
        (f"---\ntitle: 1{':59' * 6000}\n---\n# A\n", 2, "the front matter is no YAML: a number is too large"),
        ("---\ntitle: A\ntitel: B\n---\n# A\n", 3, "the front matter's 'titel' is read by nobody"),
        ("# A\n\nIt has `{engin} model('gpt2').parameters`.\n", 3, "there is no role '{engin}'"),
        ("# A\n\n![](a.png)\n", 3, "a picture has no words"),
        ('# A\n\n<img src="a.png">\n', 3, "a picture has no words"),
    ],
)
def test_a_mistake_is_found_at_its_line_with_a_way_out(text: str, line: int, what: str) -> None:
    [(found, said, fix)] = mistakes(text, KNOWN)
    assert (found, said[: len(what)]) == (line, what)
    assert fix


@pytest.mark.parametrize(
    "text",
    [
        "---\ntitle: A\nhide: [toc]\n---\n\n# A\n\n/// act | one\npeek\n///\n",
        "````markdown\n/// act | one\n```live\n![](x)\n`{engin} x`\n````\n",
        "//// figure | one\n/// caption\nwords\n///\n////\n",
        "> /// table | one\n> | a |\n> |---|\n> ///\n",
        "<!-- /// act | one\n![](x) -->\n",
        "A span of two signs ``{engin} x`` and a set `{a, b} c` are examples.\n",
        '![words](a.png) and <img alt="" src="b.png">\n',
        "",
    ],
)
def test_what_is_meant_is_left_alone(text: str) -> None:
    assert mistakes(text, KNOWN) == []


def test_a_wrong_name_is_answered_by_the_names_near_it_and_not_by_all() -> None:
    known = [f"fig-number-{number}" for number in range(90)] + ["eq-iron-law"]
    assert nearest("eq-iron-lwa", known) == "perhaps 'eq-iron-law' is meant"
    assert nearest("something else", known) == "91 are known"
    assert nearest("gb", ["GB", "count"]) == "perhaps 'GB' is meant"
    assert nearest("x", ["one", "two"]) == "allowed: one, two"
