"""The yardstick that `make test` prints beside its time."""

from __future__ import annotations

import re

from tools.yardstick import line


def test_it_gives_the_seconds_of_the_loop_and_of_the_start_of_node() -> None:
    said = line(3_000_000)
    found = re.fullmatch(
        r"3,000,000 squares in Python (\S+) s, a start of node (\S+) s, \d+ cores, \S+ processes.*", said
    )
    assert found, said
    assert min(map(float, found.groups())) > 0
