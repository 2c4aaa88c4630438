"""Many devices: collectives, what data, tensor, context and pipeline parallelism send, and the time of a whole job."""

from __future__ import annotations

from ironlaw.memory.textbook import state_bytes_per_parameter
from ironlaw.parallel.collectives import all_reduce_factor, ring_all_reduce, tree_all_reduce
from ironlaw.parallel.data_parallel import amdahl_speedup, data_parallel_step, tokens_to_hide
from ironlaw.parallel.job import JobTime, job_time
from ironlaw.parallel.model_parallel import (
    activation_bytes_per_layer,
    all_reduces_per_layer,
    bubble_fraction,
    bubble_overhead,
    bytes_sent_per_layer,
)
from ironlaw.parallel.search import search
