"""Patterns of names: one without wildcards means what `fnmatch` says of it."""

from __future__ import annotations

from fnmatch import fnmatchcase

from hypothesis import given
from hypothesis import strategies as st

from ironlaw.graph.adaptation import matches

PARTS = st.sampled_from(("blocks", "0", "1", "10", "attn", "q_proj", "mlp", "up", "q"))
NAMES = st.lists(PARTS, min_size=1, max_size=5).map(".".join)
WILD = st.lists(PARTS | st.sampled_from(("*", "q*", "?", "[ab]ttn", "")), min_size=1, max_size=3).map(".".join)


@given(name=NAMES, pattern=NAMES | WILD)
def test_a_pattern_is_some_neighboring_parts_of_a_name(name: str, pattern: str) -> None:
    parts = name.split(".")
    ends = [".".join(parts[start:]) for start in range(len(parts))]
    expected = any(fnmatchcase(end, pattern) or fnmatchcase(end, f"{pattern}.*") for end in ends)
    assert matches(name, pattern) == expected
