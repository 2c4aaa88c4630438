"""Steady state of a line with Poisson arrivals, exponential service times and equal counters, M/M/c.

Source: A. K. Erlang, "Solution of some problems in the theory of probabilities of significance in automatic telephone
exchanges", 1917.
"""

from __future__ import annotations

from math import factorial
from typing import Annotated

PerHour = Annotated[float, "1/h"]


def busy(arrivals: PerHour, served: PerHour, counters: int = 1) -> Annotated[float, "1"]:
    """Share of the time that a counter is busy. Raises `ValueError` for a line that grows without end."""
    share = arrivals / (counters * served)
    if not 0 <= share < 1:
        raise ValueError(f"{arrivals:g} arrivals an hour are too many for {counters} x {served:g}; the line never ends")
    return share


def no_wait(arrivals: PerHour, served: PerHour, counters: int = 1) -> Annotated[float, "1"]:
    """Probability that a customer is served at once: one minus Erlang's C formula."""
    share, load = busy(arrivals, served, counters), arrivals / served
    last = load**counters / factorial(counters) / (1 - share)
    return 1 - last / (sum(load**k / factorial(k) for k in range(counters)) + last)


def waiting(arrivals: PerHour, served: PerHour, counters: int = 1) -> Annotated[float, "min"]:
    """Mean minutes in the line, before service."""
    return 60 * (1 - no_wait(arrivals, served, counters)) / (counters * served - arrivals)


def time_inside(arrivals: PerHour, served: PerHour, counters: int = 1) -> Annotated[float, "min"]:
    """Mean minutes from arrival to the end of service."""
    return waiting(arrivals, served, counters) + 60 / served


def length(arrivals: PerHour, served: PerHour, counters: int = 1) -> Annotated[float, "customer"]:
    """Mean customers in the line, by Little's law."""
    return arrivals * waiting(arrivals, served, counters) / 60
