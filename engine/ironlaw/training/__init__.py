"""What surrounds a step: data loading, learning rates, update rules, activation functions."""

from __future__ import annotations

from ironlaw.training.activation_functions import activation_function
from ironlaw.training.dynamics import (
    chinchilla_tokens,
    convergence,
    critical_batch_tokens,
    effective_batch,
    linear_scaling,
    steps_to_target,
    warmup_cosine,
)
from ironlaw.training.pipeline import (
    TOKENIZING,
    Iteration,
    Samples,
    StageTimes,
    buffer_bytes,
    english_text,
    stage_times,
    throughput,
    workers_to_feed,
)
from ironlaw.training.update_rules import descend, update_rule
