"""Tiny versions of cases: the same techniques on a model of a hundred thousand parameters, on any CPU, in seconds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from gpu_bench.cases.case import Case, TrainingCase
from gpu_bench.cases.kinds import AttentionCase, FitCase, RooflineCase
from gpu_bench.cases.sizes import UNTIMED
from gpu_bench.distributed.case import ScalingCase
from gpu_bench.experiments.failures.case import FailureCase
from gpu_bench.experiments.hybrid.case import HybridCase
from gpu_bench.input_pipeline.case import LoaderCase, TokenizeCase

_CPU_FORMATS = ("fp32", "bf16")
TINY_LIMIT = 24 * 2**20
"""Bytes of the emulated card in a tiny fit: between what one and what eight short sequences need."""


def tiny(cases: Iterable[Case]) -> tuple[Case, ...]:
    """The cases made tiny."""
    return tuple(tiny_case(case) for case in cases)


def tiny_case(case: Case) -> Case:
    """One case made tiny: its shape and repetitions shrink, its techniques stay where a CPU has them."""
    common: dict[str, Any] = {"device": "any", "minimum_memory": 0, "repeats": 1, "time_limit_s": 600.0}
    small: dict[str, Any] = {**common, "model": "pico"}
    brief: dict[str, Any] = {**small, "warmup": 1, "steps": 3}
    match case:
        case TrainingCase():
            return replace(
                case,
                **brief,
                batch=min(case.batch, 3),
                sequence=min(case.sequence, 64),
                # A kernel that is named stays named: of fused ones a CPU has one. GPU memory to limit, CUDA graphs, and
                # the packages that bring kernels exist on GPUs only.
                attention_kernel="flash" if case.attention_kernel == "cudnn" else case.attention_kernel,
                memory_limit=0,
                step_graph=False,
                implementation="transformers" if case.implementation == "transformers" else "own",
                scaling="delayed" if case.precision == "fp8" else case.scaling,
                update="flat" if case.optimizer == "adamw-8bit" else case.update,
                compile="default" if case.compile != "none" else "none",
                validate_every=1 if case.validate_every else 0,
                **UNTIMED,
                steady=False,
                energy_s=0.0,
            )
        case AttentionCase():
            formats = tuple(name for name in case.formats if name in _CPU_FORMATS)
            return replace(case, **common, sizes=(64, 128), formats=formats or ("fp32",), rounds=3, heads=2, batch=1)
        case FitCase():
            return replace(case, **small, sequence=64, memory_limit=TINY_LIMIT, batches=(1, 8, 256), steps=2)
        case TokenizeCase():
            return replace(case, **common, processes=(1, 2), chunk=2**14, rounds=3)
        case LoaderCase():
            loaders = (case.loaders[0], case.loaders[-1])
            return replace(case, **brief, precision="fp32", batch=2, sequence=64, loaders=loaders, profiled=1)
        case RooflineCase():
            shapes = ("64x32x48",) if case.shapes else ()
            return replace(case, **small, batch=1, sequence=32, shapes=shapes, sizes=case.sizes[:2], rounds=3)
        case ScalingCase():
            brief |= {"precision": "fp32", "compile": "none", "batch": 4, "sequence": 32, "micro_batches": 2}
            return replace(case, **brief, processes=(1, 2), profiled=1)
        case HybridCase():
            shape: dict[str, Any] = {"channels": 2, "task": "digits"}
            if case.task == "text":
                shape = {"model": "pico", "sequence": 16, "vocabulary": 256, "batch": 4, "precision": "fp32"}
            return replace(case, **common, **shape, steps=40)
        case FailureCase():
            return replace(case, **common, shortened=50)
        case _:
            return case
