"""The names that expressions in prose and in claims may use: `plugins/measured` evaluates them over this module."""

from __future__ import annotations

from engine.answers import estimate, explain, fit, fits, prepare
from engine.config import Layout, Setup, list_optimizers, optimizer, setup, stages
from engine.core import GB, GIB, EngineError, unit_of
from engine.economics import (
    NODE_OVERHEAD,
    buy,
    carbon,
    checkpoint_interval,
    days,
    device_hours,
    dollars_per_billion_tokens,
    energy,
    failure_overhead,
    joules_per_token,
    rent,
    runs_to_break_even,
    time_between_failures,
    training_seconds,
    worth_of_utilization,
)
from engine.graph import (
    alive_tensors,
    count_operations,
    flops_per_token,
    korthikanti_model_flops,
    megatron_flops,
    product_parameters,
    sections,
    sqrt_placement,
    total_flops,
    utilization,
)
from engine.hardware import Storage, accelerator, cluster, link, list_accelerators, list_links, storage
from engine.memory import chapter_activation_bytes, hidden_states_bytes, training_memory
from engine.models import Transformer, list_models, model
from engine.networks import DLRM, resnet50
from engine.numerics import dtype, float_format, list_precisions, loss_scale_window, precision
from engine.parallel import (
    activation_bytes_per_layer,
    all_reduce_factor,
    all_reduces_per_layer,
    amdahl_speedup,
    bubble_fraction,
    bubble_overhead,
    bytes_sent_per_layer,
    data_parallel_step,
    job_time,
    ring_all_reduce,
    search,
    state_bytes_per_parameter,
    tokens_to_hide,
    tree_all_reduce,
)
from engine.time import (
    attainable,
    gemm_rate,
    intensity,
    least_seconds,
    matmul_intensity,
    product_bytes,
    product_seconds,
    ridge_point,
    score_bytes,
    step_plan,
    step_points,
    step_time,
    traffic_ratio,
)
from engine.training import (
    Samples,
    StageTimes,
    activation_function,
    buffer_bytes,
    chinchilla_tokens,
    convergence,
    critical_batch_tokens,
    descend,
    effective_batch,
    linear_scaling,
    shuffled_rate,
    stage_times,
    steps_to_target,
    throughput,
    update_rule,
    warmup_cosine,
    workers_to_feed,
)
