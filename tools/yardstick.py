"""Print how fast this machine is just now: `make test` says it, so that two runs' times can be compared.

python -m tools.yardstick
"""

from __future__ import annotations

import os
import subprocess
import time

SQUARES = 10_000_000
"""Squares that Python sums: about a second."""


def line(squares: int = SQUARES) -> str:
    """Seconds of a fixed loop of Python and of a start of Node.js, and how many processes wanted a core meanwhile.

    Args:
        squares: how many squares the loop sums.

    Raises:
        FileNotFoundError: there is no Node.js.
        subprocess.CalledProcessError: Node.js does not start.
    """
    started = time.perf_counter()
    sum(number * number for number in range(squares))
    summed = time.perf_counter()
    subprocess.run(["node", "--eval", "0"], check=True)
    ended = time.perf_counter()
    return (
        f"{squares:,} squares in Python {summed - started:.2f} s, a start of node {ended - summed:.2f} s, "
        f"{os.cpu_count()} cores, {os.getloadavg()[0]:.1f} processes at once in the minute before"
    )


if __name__ == "__main__":
    print(f"==> Yardstick: {line()}")
