"""Finds programs whose results depend on chance: each run gets random numbers of its own, and must not need them.

To compare two runs is not enough: two throws of a coin agree every second time. So a run also says of which random
numbers it was made. Those that a program begins itself, by a seed of its own, are the same in every run.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from explorable.shared.sums import digest

Drawn = dict[str, str]
"""By source of random numbers, what tells the numbers that a run took: "" if it took none."""


@contextmanager
def varied(seed: int) -> Iterator[Drawn]:
    """Give a program random numbers that follow from `seed`. What it took of them is in the mapping afterwards."""
    drawn: Drawn = {}
    entropy = random.Random(seed)
    taken = 0

    def bytes_of_seed(count: int) -> bytes:
        nonlocal taken
        taken += 1
        return entropy.randbytes(count)

    numpy: Any = sys.modules.get("numpy.random")
    random.seed(seed)
    if numpy is not None:
        numpy.seed(seed)
    before = _states()
    system, library, begin = os.urandom, vars(random)["_urandom"], random.Random.seed

    def seed_of_its_own(generator: random.Random, a: Any = None, *args: Any, **options: Any) -> None:
        begin(generator, bytes_of_seed(32) if a is None else a, *args, **options)

    os.urandom = vars(random)["_urandom"] = bytes_of_seed
    vars(random)["Random"].seed = seed_of_its_own
    try:
        yield drawn
    finally:
        os.urandom, vars(random)["_urandom"] = system, library
        vars(random)["Random"].seed = begin
        drawn |= {name: "" if state == before.get(name) else state for name, state in _states().items()}
        drawn["system"] = f"{seed}" if taken else ""


def by_chance(first: Mapping[str, str], second: Mapping[str, str]) -> bool:
    """Whether a program took random numbers that it had not begun itself, in the second of two runs.

    The first also imports what the program needs, and libraries take random numbers when they are imported.
    """
    return any(state and state != first.get(name) for name, state in second.items())


def _states() -> Drawn:
    states = {"random": str(hash(random.getstate()))}
    numpy: Any = sys.modules.get("numpy.random")
    if numpy is not None:
        _, keys, *rest = numpy.get_state()
        states["numpy"] = digest(keys.tobytes(), repr(rest))
    return states
