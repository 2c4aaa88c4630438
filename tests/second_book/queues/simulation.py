"""A line, customer by customer."""

from __future__ import annotations

import heapq
import random


def simulated_waiting(arrivals: float, served: float, counters: int, customers: int, seed: int) -> list[float]:
    """Minutes that each customer waited.

    Args:
        arrivals: Mean arrivals an hour.
        served: Mean customers that a counter serves in an hour of work.
        counters: Equal counters behind one line.
        customers: How many come.
        seed: Of the random numbers.
    """
    chance, now = random.Random(seed), 0.0
    free, waited = [0.0] * counters, []
    for _ in range(customers):
        now += chance.expovariate(arrivals / 60)
        begins = max(now, heapq.heappop(free))
        waited.append(begins - now)
        heapq.heappush(free, begins + chance.expovariate(served / 60))
    return waited
