"""The physics of training: memory, operations, time, cost and energy, from named tensors and explicit operation lists.

Standard library only. Everything public is importable from here:

    >>> from engine import model, training_memory
    >>> model("gpt2-xl").parameters
    1557611200
    >>> training_memory("gpt2-xl", optimizer="adam").component("optimizer")
    12460889600
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.config.layout import Layout
    from engine.config.optimizers import Optimizer, StateVector, galore, list_optimizers, optimizer
    from engine.core.errors import EngineError
    from engine.core.records import Source
    from engine.core.sizes import Size
    from engine.core.units import GB, GIB, Unit, format_bytes, unit_of
    from engine.economics.cost import (
        NODE_OVERHEAD,
        buy,
        carbon,
        days,
        device_hours,
        dollars_per_billion_tokens,
        energy,
        joules_per_token,
        rent,
        runs_to_break_even,
        training_seconds,
        worth_of_utilization,
    )
    from engine.economics.reliability import checkpoint_interval, failure_overhead, time_between_failures
    from engine.graph.blocks import sections
    from engine.graph.checkpointing import Checkpointing, alive_tensors, sqrt_placement
    from engine.graph.ir import Matmul, Op, Section, Value
    from engine.graph.operations import (
        OperationCount,
        count_operations,
        flops_per_token,
        korthikanti_hardware_flops,
        korthikanti_model_flops,
        megatron_flops,
        megatron_parameters,
        product_parameters,
        total_flops,
        utilization,
    )
    from engine.hardware.accelerators import Accelerator, Ceiling, Peak, Price, accelerator, list_accelerators
    from engine.hardware.cluster import Cluster, cluster
    from engine.hardware.links import Link, link, list_links
    from engine.hardware.storage import Storage, list_storage, storage
    from engine.memory.ledger import training_memory
    from engine.memory.tensors import MemoryLedger, Moment, Tensor
    from engine.memory.textbook import chapter_activation_bytes, hidden_states_bytes
    from engine.models.transformer import Parameter, Transformer, list_models, model
    from engine.networks.convnets import ConvNet, mobilenet_v2, resnet50
    from engine.networks.recommenders import DLRM, Recommender
    from engine.networks.recurrent import RecurrentNet, rnnoise
    from engine.numerics.dtypes import DType, dtype
    from engine.numerics.formats import FloatFormat, float_format, loss_scale_window
    from engine.numerics.precision import Precision, list_precisions, precision
    from engine.parallel.collectives import all_reduce_factor, ring_all_reduce, tree_all_reduce
    from engine.parallel.data_parallel import amdahl_speedup, data_parallel_step, tokens_to_hide
    from engine.parallel.job import Job, JobTime, job, job_time, weak_scaling
    from engine.parallel.pipeline_parallel import bubble_fraction, bubble_overhead
    from engine.parallel.search import Advice, Configuration, choose, device_bytes, search
    from engine.parallel.tensor_parallel import (
        activation_bytes_per_layer,
        all_reduces_per_layer,
        bytes_sent_per_layer,
    )
    from engine.parallel.zero import state_bytes_per_parameter
    from engine.time.attention_io import score_bytes, traffic_ratio
    from engine.time.gemm import gemm_rate, tile_quantization, wave_quantization
    from engine.time.products import product_bytes, product_seconds
    from engine.time.roofline import (
        RooflinePoint,
        attainable,
        intensity,
        least_seconds,
        matmul_intensity,
        ridge_point,
        step_points,
    )
    from engine.time.step import StepPlan, StepTime, batch_curve, step_plan, step_time
    from engine.training.activation_functions import ActivationFunction, activation_function, list_activation_functions
    from engine.training.dynamics import (
        chinchilla_tokens,
        convergence,
        critical_batch_tokens,
        effective_batch,
        linear_scaling,
        steps_to_target,
        warmup_cosine,
    )
    from engine.training.pipeline import (
        Iteration,
        Samples,
        StageTimes,
        buffer_bytes,
        shuffled_rate,
        stage_times,
        throughput,
        workers_to_feed,
    )
    from engine.training.update_rules import UpdateRule, descend, list_update_rules, update_rule

__version__ = "0.1.0"

__all__ = [
    "DLRM",
    "GB",
    "GIB",
    "NODE_OVERHEAD",
    "Accelerator",
    "ActivationFunction",
    "Advice",
    "Ceiling",
    "Checkpointing",
    "Cluster",
    "Configuration",
    "ConvNet",
    "DType",
    "EngineError",
    "FloatFormat",
    "Iteration",
    "Job",
    "JobTime",
    "Layout",
    "Link",
    "Matmul",
    "MemoryLedger",
    "Moment",
    "Op",
    "OperationCount",
    "Optimizer",
    "Parameter",
    "Peak",
    "Precision",
    "Price",
    "Recommender",
    "RecurrentNet",
    "RooflinePoint",
    "Samples",
    "Section",
    "Size",
    "Source",
    "StageTimes",
    "StateVector",
    "StepPlan",
    "StepTime",
    "Storage",
    "Tensor",
    "Transformer",
    "Unit",
    "UpdateRule",
    "Value",
    "__version__",
    "accelerator",
    "activation_bytes_per_layer",
    "activation_function",
    "alive_tensors",
    "all_reduce_factor",
    "all_reduces_per_layer",
    "amdahl_speedup",
    "attainable",
    "batch_curve",
    "bubble_fraction",
    "bubble_overhead",
    "buffer_bytes",
    "buy",
    "bytes_sent_per_layer",
    "carbon",
    "chapter_activation_bytes",
    "checkpoint_interval",
    "chinchilla_tokens",
    "choose",
    "cluster",
    "convergence",
    "count_operations",
    "critical_batch_tokens",
    "data_parallel_step",
    "days",
    "descend",
    "device_bytes",
    "device_hours",
    "dollars_per_billion_tokens",
    "dtype",
    "effective_batch",
    "energy",
    "failure_overhead",
    "float_format",
    "flops_per_token",
    "format_bytes",
    "galore",
    "gemm_rate",
    "hidden_states_bytes",
    "intensity",
    "job",
    "job_time",
    "joules_per_token",
    "korthikanti_hardware_flops",
    "korthikanti_model_flops",
    "least_seconds",
    "linear_scaling",
    "link",
    "list_accelerators",
    "list_activation_functions",
    "list_links",
    "list_models",
    "list_optimizers",
    "list_precisions",
    "list_storage",
    "list_update_rules",
    "loss_scale_window",
    "matmul_intensity",
    "megatron_flops",
    "megatron_parameters",
    "mobilenet_v2",
    "model",
    "optimizer",
    "precision",
    "product_bytes",
    "product_parameters",
    "product_seconds",
    "rent",
    "resnet50",
    "ridge_point",
    "ring_all_reduce",
    "rnnoise",
    "runs_to_break_even",
    "score_bytes",
    "search",
    "sections",
    "shuffled_rate",
    "sqrt_placement",
    "stage_times",
    "state_bytes_per_parameter",
    "step_plan",
    "step_points",
    "step_time",
    "steps_to_target",
    "storage",
    "throughput",
    "tile_quantization",
    "time_between_failures",
    "tokens_to_hide",
    "total_flops",
    "traffic_ratio",
    "training_memory",
    "training_seconds",
    "tree_all_reduce",
    "unit_of",
    "update_rule",
    "utilization",
    "warmup_cosine",
    "wave_quantization",
    "weak_scaling",
    "workers_to_feed",
    "worth_of_utilization",
]

_HOMES = {
    "engine.hardware.accelerators": ("Accelerator", "Ceiling", "Peak", "Price", "accelerator", "list_accelerators"),
    "engine.training.activation_functions": ("ActivationFunction", "activation_function", "list_activation_functions"),
    "engine.graph.blocks": ("sections",),
    "engine.time.attention_io": ("score_bytes", "traffic_ratio"),
    "engine.graph.ir": ("Matmul", "Op", "Section", "Value"),
    "engine.graph.checkpointing": ("Checkpointing", "alive_tensors", "sqrt_placement"),
    "engine.networks.convnets": ("ConvNet", "mobilenet_v2", "resnet50"),
    "engine.economics.cost": (
        "NODE_OVERHEAD",
        "buy",
        "carbon",
        "days",
        "device_hours",
        "dollars_per_billion_tokens",
        "energy",
        "joules_per_token",
        "rent",
        "runs_to_break_even",
        "training_seconds",
        "worth_of_utilization",
    ),
    "engine.numerics.dtypes": ("DType", "dtype"),
    "engine.training.dynamics": (
        "chinchilla_tokens",
        "convergence",
        "critical_batch_tokens",
        "effective_batch",
        "linear_scaling",
        "steps_to_target",
        "warmup_cosine",
    ),
    "engine.core.errors": ("EngineError",),
    "engine.numerics.formats": ("FloatFormat", "float_format", "loss_scale_window"),
    "engine.time.gemm": ("gemm_rate", "tile_quantization", "wave_quantization"),
    "engine.config.layout": ("Layout",),
    "engine.hardware.links": ("Link", "link", "list_links"),
    "engine.memory.ledger": ("training_memory",),
    "engine.models.transformer": ("Parameter", "Transformer", "list_models", "model"),
    "engine.graph.operations": (
        "OperationCount",
        "count_operations",
        "flops_per_token",
        "korthikanti_hardware_flops",
        "korthikanti_model_flops",
        "megatron_flops",
        "megatron_parameters",
        "product_parameters",
        "total_flops",
        "utilization",
    ),
    "engine.config.optimizers": ("Optimizer", "StateVector", "galore", "list_optimizers", "optimizer"),
    "engine.hardware.cluster": ("Cluster", "cluster"),
    "engine.parallel.collectives": ("all_reduce_factor", "ring_all_reduce", "tree_all_reduce"),
    "engine.parallel.data_parallel": ("amdahl_speedup", "data_parallel_step", "tokens_to_hide"),
    "engine.parallel.pipeline_parallel": ("bubble_fraction", "bubble_overhead"),
    "engine.parallel.job": ("Job", "JobTime", "job", "job_time", "weak_scaling"),
    "engine.parallel.search": ("Advice", "Configuration", "choose", "device_bytes", "search"),
    "engine.parallel.tensor_parallel": (
        "activation_bytes_per_layer",
        "all_reduces_per_layer",
        "bytes_sent_per_layer",
    ),
    "engine.parallel.zero": ("state_bytes_per_parameter",),
    "engine.training.pipeline": (
        "Iteration",
        "Samples",
        "StageTimes",
        "buffer_bytes",
        "shuffled_rate",
        "stage_times",
        "throughput",
        "workers_to_feed",
    ),
    "engine.numerics.precision": ("Precision", "list_precisions", "precision"),
    "engine.time.products": ("product_bytes", "product_seconds"),
    "engine.networks.recommenders": ("DLRM", "Recommender"),
    "engine.core.records": ("Source",),
    "engine.networks.recurrent": ("RecurrentNet", "rnnoise"),
    "engine.economics.reliability": ("checkpoint_interval", "failure_overhead", "time_between_failures"),
    "engine.time.roofline": (
        "RooflinePoint",
        "attainable",
        "intensity",
        "least_seconds",
        "matmul_intensity",
        "ridge_point",
        "step_points",
    ),
    "engine.core.sizes": ("Size",),
    "engine.hardware.storage": ("Storage", "list_storage", "storage"),
    "engine.memory.tensors": ("MemoryLedger", "Moment", "Tensor"),
    "engine.memory.textbook": ("chapter_activation_bytes", "hidden_states_bytes"),
    "engine.time.step": ("StepPlan", "StepTime", "batch_curve", "step_plan", "step_time"),
    "engine.core.units": ("GB", "GIB", "Unit", "format_bytes", "unit_of"),
    "engine.training.update_rules": ("UpdateRule", "descend", "list_update_rules", "update_rule"),
}
"""Where every public name lives. Modules are imported when one of their names is first asked for: most programs need
few of them, and the browser starts faster."""

_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a public name's module on first use."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
