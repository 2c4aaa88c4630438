"""Waiting lines with random arrivals: what their theory says, and a simulation to hold it against."""

from queues.formulas import busy, length, no_wait, time_inside, waiting
from queues.simulation import simulated_waiting

__all__ = ["busy", "length", "no_wait", "simulated_waiting", "time_inside", "waiting"]
